//! Lines, read piece by piece: newline-delimited JSON.

use std::borrow::Cow;

use memchr::memchr;
use tower_genai_core::{Error, ErrorKind};

/// Reads lines from chunks of any size.
///
/// Each byte is copied once and looked at once. A line ends at a line feed; a carriage return before it is white space to JSON and stays. Bytes
/// that are not UTF-8 become replacement characters, a byte order mark at the beginning is skipped.
///
/// ```
/// use tower_genai::transport::LineParser;
///
/// let mut parser = LineParser::new(1024);
/// parser.push(b"{\"a\":1}\n{\"b\"");
/// assert_eq!(parser.next_line()?.as_deref(), Some("{\"a\":1}"));
/// assert!(parser.next_line()?.is_none());
/// parser.push(b":2}");
/// parser.finish();
/// assert_eq!(parser.next_line()?.as_deref(), Some("{\"b\":2}"));
/// # Ok::<(), tower_genai::Error>(())
/// ```
#[derive(Debug)]
pub struct LineParser {
    max_line_bytes: usize,
    buffer: Vec<u8>,
    /// Where the line begins that is being read; what stands before is done with.
    start: usize,
    /// No line ends between `start` and here.
    scanned: usize,
    at_beginning: bool,
    ended: bool,
}

impl LineParser {
    /// A parser that refuses lines of more than `max_line_bytes`.
    #[must_use]
    pub fn new(max_line_bytes: usize) -> Self {
        Self { max_line_bytes, buffer: Vec::new(), start: 0, scanned: 0, at_beginning: true, ended: false }
    }

    /// Adds the next bytes of the body.
    pub fn push(&mut self, chunk: &[u8]) {
        // Moving the rest only when it is the smaller half keeps the sum of all moves below the length of the body.
        if self.start >= self.buffer.len() - self.start {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(chunk);
    }

    /// Says that the body ended: [`next_line`](Self::next_line) then also gives a last line without an end.
    pub fn finish(&mut self) {
        self.ended = true;
    }

    /// The next complete line, without its end.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Limit`] for a line that is too large; nothing can be read behind it.
    pub fn next_line(&mut self) -> Result<Option<Cow<'_, str>>, Error> {
        let found = memchr(b'\n', self.buffer.get(self.scanned..).unwrap_or_default());
        let end = found.map_or(self.buffer.len(), |offset| self.scanned + offset);
        if end - self.start > self.max_line_bytes {
            let max = self.max_line_bytes;
            *self = Self { ended: true, ..Self::new(max) };
            return Err(Error::new(
                ErrorKind::Limit,
                format!("a line of the streamed response is larger than {max} bytes; raise max_event_bytes if that is legitimate"),
            ));
        }
        if found.is_none() && (!self.ended || self.start == end) {
            self.scanned = end;
            return Ok(None);
        }
        let line = self.start..end;
        self.start = end + usize::from(found.is_some());
        self.scanned = self.start;
        let mut bytes = self.buffer.get(line).unwrap_or_default();
        if std::mem::replace(&mut self.at_beginning, false) {
            bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        }
        Ok(Some(String::from_utf8_lossy(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(body: &[u8], size: usize) -> Vec<String> {
        let mut parser = LineParser::new(1024);
        let mut lines = Vec::new();
        for chunk in body.chunks(size) {
            parser.push(chunk);
            while let Some(line) = parser.next_line().unwrap() {
                lines.push(line.into_owned());
            }
        }
        parser.finish();
        while let Some(line) = parser.next_line().unwrap() {
            lines.push(line.into_owned());
        }
        lines
    }

    #[test]
    fn lines_end_at_line_feeds_and_at_the_end() {
        for size in [1, 2, 3, 100] {
            assert_eq!(lines(b"\xEF\xBB\xBFa\r\n\nb\xFF\nc", size), ["a\r", "", "b\u{FFFD}", "c"], "{size}");
            assert_eq!(lines(b"a\n", size), ["a"]);
            assert!(lines(b"", size).is_empty());
        }
    }

    #[test]
    fn a_line_that_is_too_large_is_refused_before_its_end() {
        let mut parser = LineParser::new(4);
        parser.push(b"abcd\nabcde");
        assert_eq!(parser.next_line().unwrap().as_deref(), Some("abcd"));
        assert_eq!(parser.next_line().unwrap_err().kind(), ErrorKind::Limit);
        assert!(parser.next_line().unwrap().is_none());
    }

    proptest! {
        #[test]
        fn chunks_make_no_difference(text in "[a-zé検\\n]{0,80}", size in 1usize..9) {
            let mut expected: Vec<&str> = text.split('\n').collect();
            if expected.last() == Some(&"") {
                expected.pop();
            }
            prop_assert_eq!(lines(text.as_bytes(), size), expected);
        }
    }
}
