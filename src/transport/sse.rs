//! Server-sent events, read piece by piece.
//!
//! Follows "interpreting an event stream" of the WHATWG HTML standard, except at the end of a body; see
//! [`SseParser::finish`].

use std::{borrow::Cow, mem, ops::Range};

use memchr::{memchr, memchr2};
use serde::de::IgnoredAny;
use tower_genai_core::{Error, ErrorKind};

/// The largest event by default, in bytes: images and search results reach megabytes.
pub const DEFAULT_MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;

/// How much of a body that is not server-sent events is kept.
const MAX_FOREIGN_BYTES: usize = 64 * 1024;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The type, `message` where the stream names none.
    pub event: Cow<'a, str>,
    /// The `data` lines, joined by line feeds.
    pub data: Cow<'a, str>,
}

/// Reads server-sent events from chunks of any size.
///
/// Each byte is copied once and looked at once, however the chunks fall. An event with one `data` line, which is every event of
/// the model providers, is lent out of the buffer. Comments are skipped: who wants to know that a connection is alive looks at the chunks.
///
/// ```
/// use tower_genai::transport::SseParser;
///
/// let mut parser = SseParser::new(1024);
/// parser.push(b": hello\n\ndata: {\"te");
/// assert!(parser.next_event()?.is_none());
/// parser.push(b"xt\":1}\r\n\r\n");
/// assert_eq!(parser.next_event()?.unwrap().data, "{\"text\":1}");
/// # Ok::<(), tower_genai::Error>(())
/// ```
#[derive(Debug)]
pub struct SseParser {
    max_event_bytes: usize,
    buffer: Vec<u8>,
    /// Where the event begins that is being read; what stands before is done with.
    start: usize,
    /// Where the line begins that is being read.
    line: usize,
    /// No line ends between `line` and here.
    scanned: usize,
    /// A carriage return ended the last line; a line feed right behind it belongs to it.
    skip_line_feed: bool,
    /// Nothing but a byte order mark, or a part of one, has been read.
    at_beginning: bool,
    ended: bool,
    data: Data,
    /// The `data` lines of an event that has several.
    joined: Vec<u8>,
    /// The value of `event`, relative to `start`.
    event: Option<Range<usize>>,
    foreign: Vec<u8>,
}

#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    /// One line, relative to the start of the event.
    Line(Range<usize>),
    Joined,
}

impl SseParser {
    /// A parser that refuses events of more than `max_event_bytes`.
    #[must_use]
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            buffer: Vec::new(),
            start: 0,
            line: 0,
            scanned: 0,
            skip_line_feed: false,
            at_beginning: true,
            ended: false,
            data: Data::None,
            joined: Vec::new(),
            event: None,
            foreign: Vec::new(),
        }
    }

    /// Adds the next bytes of the body.
    pub fn push(&mut self, chunk: &[u8]) {
        // Moving the rest only when it is the smaller half keeps the sum of all moves below the length of the body.
        if self.start >= self.buffer.len() - self.start {
            self.buffer.drain(..self.start);
            self.line -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(chunk);
    }

    /// Says that the body ended well. [`next_event`](Self::next_event) then also reads what no line end follows.
    ///
    /// The standard discards an event without its blank line. Gateways do cut that line off, so an event whose data is complete (a JSON
    /// object or array, or `[DONE]`) counts; everything else is discarded.
    pub fn finish(&mut self) {
        self.ended = true;
    }

    /// The next complete event; `None` when more bytes are needed, or after [`finish`](Self::finish) when there are no more.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Limit`] when an event, or a line that belongs to none, is too large. Nothing that follows makes sense then.
    pub fn next_event(&mut self) -> Result<Option<SseEvent<'_>>, Error> {
        while let Some(line) = self.next_line() {
            if line.is_empty() {
                if matches!(self.data, Data::None) {
                    self.event = None;
                    self.start = self.line;
                    continue;
                }
                return Ok(Some(self.dispatch()));
            }
            self.check_size(line.end)?;
            self.read_line(line);
        }
        if self.line < self.buffer.len() {
            self.check_size(self.buffer.len())?;
        }
        if self.ended && self.is_complete() {
            return Ok(Some(self.dispatch()));
        }
        Ok(None)
    }

    /// The lines so far that are neither fields of an event nor comments, cut to 64 KiB: the text of an error that a
    /// provider wrote without the framing.
    #[must_use]
    pub fn foreign(&self) -> &[u8] {
        &self.foreign
    }

    /// The next complete line, without its end.
    fn next_line(&mut self) -> Option<Range<usize>> {
        if self.at_beginning {
            self.skip_bom()?;
        }
        if self.skip_line_feed {
            if *self.buffer.get(self.line)? == b'\n' {
                self.start += usize::from(self.start == self.line);
                self.line += 1;
            }
            self.skip_line_feed = false;
        }
        self.scanned = self.scanned.max(self.line);
        let rest = self.buffer.get(self.scanned..)?;
        let start = self.line;
        if let Some(offset) = memchr2(b'\n', b'\r', rest) {
            let end = self.scanned + offset;
            self.skip_line_feed = rest.get(offset) == Some(&b'\r');
            self.line = end + 1;
            self.scanned = self.line;
            return Some(start..end);
        }
        self.scanned = self.buffer.len();
        if self.ended && start < self.scanned {
            self.line = self.scanned;
            return Some(start..self.scanned);
        }
        None
    }

    /// Skips the mark; `None` while it cannot be told yet.
    fn skip_bom(&mut self) -> Option<()> {
        if self.buffer.starts_with(BOM) {
            self.line = BOM.len();
            self.start = self.line;
        } else if BOM.starts_with(&self.buffer) && !self.ended {
            return None;
        }
        self.at_beginning = false;
        Some(())
    }

    fn check_size(&mut self, end: usize) -> Result<(), Error> {
        if end - self.start <= self.max_event_bytes {
            return Ok(());
        }
        let max = self.max_event_bytes;
        *self = Self { ended: true, foreign: mem::take(&mut self.foreign), ..Self::new(max) };
        Err(Error::new(
            ErrorKind::Limit,
            format!("an event of the streamed response is larger than {max} bytes; raise max_event_bytes if that is legitimate"),
        ))
    }

    fn read_line(&mut self, line: Range<usize>) {
        let bytes = self.buffer.get(line.clone()).unwrap_or_default();
        let colon = memchr(b':', bytes);
        let name = colon.map_or(bytes, |colon| bytes.get(..colon).unwrap_or_default());
        let mut value = colon.map_or(line.end, |colon| line.start + colon + 1)..line.end;
        if self.buffer.get(value.start) == Some(&b' ') && !value.is_empty() {
            value.start += 1;
        }
        let relative = value.start - self.start..value.end - self.start;
        match name {
            b"data" => match mem::take(&mut self.data) {
                Data::None => self.data = Data::Line(relative),
                first => {
                    if let Data::Line(first) = first {
                        self.joined.clear();
                        let first = self.start + first.start..self.start + first.end;
                        self.joined.extend_from_slice(self.buffer.get(first).unwrap_or_default());
                    }
                    self.joined.push(b'\n');
                    self.joined.extend_from_slice(self.buffer.get(value).unwrap_or_default());
                    self.data = Data::Joined;
                }
            },
            b"event" => self.event = Some(relative),
            // A comment has an empty name. Nobody reconnects, so ids and delays have no use.
            b"" | b"id" | b"retry" => {}
            _ => {
                let room = MAX_FOREIGN_BYTES.saturating_sub(self.foreign.len());
                self.foreign.extend(bytes.iter().chain(b"\n").take(room));
            }
        }
        if matches!(self.data, Data::None) && self.event.is_none() {
            self.start = self.line;
        }
    }

    /// Whether what was read at the end of the body is an event that only lacks its blank line.
    fn is_complete(&self) -> bool {
        let data = self.data(self.start, &self.data);
        let data = data.trim();
        // A number could have been cut.
        data == "[DONE]" || (data.starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(data).is_ok())
    }

    fn data(&self, start: usize, data: &Data) -> Cow<'_, str> {
        match data {
            Data::None => Cow::Borrowed(""),
            Data::Line(line) => self.text(start, line),
            Data::Joined => lossy(&self.joined),
        }
    }

    fn text(&self, start: usize, relative: &Range<usize>) -> Cow<'_, str> {
        lossy(self.buffer.get(start + relative.start..start + relative.end).unwrap_or_default())
    }

    /// Hands out the event that was read and gets ready for the next one.
    fn dispatch(&mut self) -> SseEvent<'_> {
        let start = mem::replace(&mut self.start, self.line);
        let data = mem::take(&mut self.data);
        let event = self.event.take().filter(|event| !event.is_empty());
        let this = &*self;
        SseEvent { event: event.map_or(Cow::Borrowed("message"), |event| this.text(start, &event)), data: this.data(start, &data) }
    }
}

/// Decodes without a copy where the bytes are UTF-8.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

#[cfg(test)]
mod tests;
