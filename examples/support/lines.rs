//! Files of one JSON object a line, as `search` and `agent` read them.

use std::{
    error::Error,
    fs::File,
    io::{BufRead, BufReader},
};

use serde::{Deserialize, de::DeserializeOwned};
use tower_genai::Json;

/// What both programs read of a tool. Only the name is required; unknown fields are ignored.
#[derive(Debug, Deserialize)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) server: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) parameters: Option<Json>,
    pub(crate) snippet: Option<String>,
    pub(crate) guidelines: Option<Vec<String>>,
}

/// Reads each line of a file that is not blank.
pub(crate) fn read_lines<T: DeserializeOwned>(
    file: &str,
    mut each: impl FnMut(T) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let lines = File::open(file).map_err(|error| format!("{file}: {error}"))?;
    for (line, number) in BufReader::new(lines).lines().zip(1..) {
        let line = line.map_err(|error| format!("{file}:{number}: {error}"))?;
        if !line.trim().is_empty() {
            each(serde_json::from_str(&line).map_err(|error| format!("{file}:{number}: {error}"))?)?;
        }
    }
    Ok(())
}
