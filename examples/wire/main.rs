//! Decodes recorded responses and encodes requests without any network.
//!
//! ```text
//! wire decode --protocol P [--status N] [--chunk BYTES] FILE
//! wire decode-all [--chunk BYTES] [--protocol P]... DIR
//! wire encode --protocol P --model M [--host H] < request.json
//! ```
//!
//! `decode` prints what a response says as one JSON object. `decode-all` walks `DIR/<protocol>/<name>/`, compares each
//! `response.*` with its `expect.json` and ends with `N passed, M failed`. `encode` reads a `ModelRequest` in its JSON form and prints
//! the body that goes to the provider.

mod compare;
mod decode;
mod known;

use std::{
    io::{Read, Write},
    num::NonZeroUsize,
    path::PathBuf,
    process::ExitCode,
};

use known::Known;
use tower_genai::ModelRequest;

type Failure = Box<dyn std::error::Error>;

const USAGE: &str = "usage:
  wire decode --protocol P [--status N] [--chunk BYTES] FILE
  wire decode-all [--chunk BYTES] [--protocol P]... DIR
  wire encode --protocol P --model M [--host H] < request.json";

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(2)
        }
    }
}

/// What the command line says.
#[derive(Default)]
struct Options {
    protocols: Vec<String>,
    status: Option<u16>,
    chunk: Option<NonZeroUsize>,
    model: Option<String>,
    host: Option<String>,
    path: Option<PathBuf>,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut options = Self::default();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value\n{USAGE}"));
            match argument.as_str() {
                "--protocol" => options.protocols.push(value()?),
                "--status" => options.status = Some(value()?.parse()?),
                "--chunk" => options.chunk = Some(value()?.parse()?),
                "--model" => options.model = Some(value()?),
                "--host" => options.host = Some(value()?),
                path if !path.starts_with('-') && options.path.is_none() => options.path = Some(path.into()),
                _ => return Err(format!("{argument} is not understood\n{USAGE}").into()),
            }
        }
        Ok(options)
    }

    fn path(&self) -> Result<&PathBuf, Failure> {
        self.path.as_ref().ok_or_else(|| USAGE.into())
    }

    fn protocol(&self) -> Result<Known, Failure> {
        let [name] = self.protocols.as_slice() else { return Err(format!("give one --protocol\n{USAGE}").into()) };
        known::find(name).ok_or_else(|| format!("the protocol `{name}` is not known to this build").into())
    }
}

/// Says whether everything passed.
fn run(mut arguments: impl Iterator<Item = String>) -> Result<bool, Failure> {
    let command = arguments.next().ok_or(USAGE)?;
    let options = Options::parse(arguments)?;
    match command.as_str() {
        "decode" => {
            let body = std::fs::read(options.path()?)?;
            let decoded = decode::decode(&options.protocol()?, options.status.unwrap_or(200), &body, options.chunk)?;
            writeln!(std::io::stdout(), "{decoded}")?;
            Ok(true)
        }
        "decode-all" => compare::all(options.path()?, &options.protocols, options.chunk),
        "encode" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            let request: ModelRequest = serde_json::from_str(&text)?;
            let model = options.model.as_deref().ok_or("encode needs --model")?;
            let body = options.protocol()?.encode(request, model, options.host.as_deref())?;
            let mut out = std::io::stdout().lock();
            out.write_all(&body)?;
            writeln!(out)?;
            Ok(true)
        }
        _ => Err(USAGE.into()),
    }
}
