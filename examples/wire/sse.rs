//! The data of server-sent events, from bytes that arrive in any pieces.

use std::mem;

/// Collects complete lines; the rest of a cut line waits for the next bytes.
#[derive(Default)]
pub(crate) struct SseParser {
    bytes: Vec<u8>,
    /// How much of `bytes` is used up.
    used: usize,
    /// How much of `bytes` is known to hold no end of a line.
    searched: usize,
    data: Option<String>,
    started: bool,
}

impl SseParser {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..mem::take(&mut self.used));
        self.bytes.extend_from_slice(bytes);
    }

    /// The data of the next complete event.
    pub(crate) fn next_data(&mut self) -> Option<String> {
        while let Some(line) = self.next_line() {
            if let Some(data) = self.take_line(&line) {
                return Some(data);
            }
        }
        None
    }

    /// The data of an event that the end of the body left open.
    pub(crate) fn finish(&mut self) -> Option<String> {
        let rest = self.bytes.split_off(self.used.min(self.bytes.len()));
        self.bytes.clear();
        self.used = 0;
        let rest = String::from_utf8_lossy(&rest).into_owned();
        self.take_line(rest.trim_end_matches('\r'));
        self.data.take()
    }

    fn next_line(&mut self) -> Option<String> {
        let rest = self.bytes.get(self.used..)?;
        let found = rest.iter().skip(self.searched).position(|byte| matches!(byte, b'\r' | b'\n'));
        let Some(found) = found.map(|at| at + self.searched) else {
            self.searched = rest.len();
            return None;
        };
        let ending = match (rest.get(found), rest.get(found + 1)) {
            // Only the next byte says whether this is one end of a line or half of one.
            (Some(b'\r'), None) => {
                self.searched = found;
                return None;
            }
            (Some(b'\r'), Some(b'\n')) => 2,
            _ => 1,
        };
        let line = String::from_utf8_lossy(rest.get(..found).unwrap_or_default()).into_owned();
        self.used += found + ending;
        self.searched = 0;
        if mem::replace(&mut self.started, true) { Some(line) } else { Some(line.trim_start_matches('\u{feff}').to_owned()) }
    }

    fn take_line(&mut self, line: &str) -> Option<String> {
        if line.is_empty() {
            return self.data.take();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        None
    }
}
