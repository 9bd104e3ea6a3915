//! The conversation so far, and the file that keeps it.

use std::{
    error::Error,
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, ErrorKind, Write},
    sync::Arc,
};

use tower_genai::{Conversation, Message};

/// The messages, and where each is written when it is complete.
pub(crate) struct History {
    messages: Conversation,
    file: Option<File>,
}

impl History {
    /// Reads the messages of a file, one JSON object a line; a file that is not there yet holds none.
    pub(crate) fn open(path: Option<&str>) -> Result<Self, Box<dyn Error>> {
        let Some(path) = path else { return Ok(Self { messages: Conversation::new(), file: None }) };
        let failed = |error: &dyn std::fmt::Display| format!("{path}: {error}");
        let mut messages = Conversation::new();
        match File::open(path) {
            Ok(file) => {
                for (number, line) in BufReader::new(file).lines().enumerate() {
                    let line = line.map_err(|error| failed(&error))?;
                    if !line.trim().is_empty() {
                        let message: Message =
                            serde_json::from_str(&line).map_err(|error| failed(&format!("line {}: {error}", number + 1)))?;
                        messages.push(message);
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed(&error).into()),
        }
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(|error| failed(&error))?;
        Ok(Self { messages, file: Some(file) })
    }

    pub(crate) fn messages(&self) -> &Conversation {
        &self.messages
    }

    /// Adds a complete message, in the file first: a line is written at once, so that no half of one stays behind.
    pub(crate) fn push(&mut self, message: Arc<Message>) -> Result<(), Box<dyn Error>> {
        if let Some(file) = &mut self.file {
            let mut line = serde_json::to_string(&*message)?;
            line.push('\n');
            file.write_all(line.as_bytes())?;
        }
        self.messages.push(message);
        Ok(())
    }
}
