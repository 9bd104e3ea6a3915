//! Recorded traffic, read as the `wire` program reads it.
//!
//! The recordings are not part of the repository: `TOWER_GENAI_SHARED` names the folder that holds `recordings/`.
#![cfg(all(feature = "anthropic", feature = "gemini", feature = "ollama", feature = "openai"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

#[path = "../examples/wire/compare.rs"]
mod compare;
#[path = "../examples/wire/decode.rs"]
mod decode;
#[allow(dead_code)]
#[path = "../examples/wire/known.rs"]
mod known;

use std::{
    collections::VecDeque,
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use tower_genai::{
    Error, ErrorKind, ModelEvent,
    transport::{DEFAULT_MAX_EVENT_BYTES, LineParser, SseParser},
};

type Failure = Box<dyn std::error::Error>;

/// Protocols whose recordings are checked.
const PROTOCOLS: [&str; 5] = ["anthropic", "gemini", "ollama", "openai_chat", "openai_responses"];

fn recordings() -> Option<PathBuf> {
    let folder = std::env::var_os("TOWER_GENAI_SHARED").map(|folder| PathBuf::from(folder).join("recordings"));
    if folder.is_none() {
        println!("skipped: TOWER_GENAI_SHARED is not set");
    }
    folder
}

#[test]
fn every_recording_says_what_is_expected() {
    let Some(folder) = recordings() else { return };
    let protocols = PROTOCOLS.map(str::to_owned);
    for chunk in [0, 1, 7] {
        let mut out = Vec::new();
        let passed = compare::all(&folder, &protocols, NonZeroUsize::new(chunk), &mut out).unwrap();
        assert!(passed, "in chunks of {chunk}: {}", String::from_utf8_lossy(&out));
    }
}

/// The events of a recorded stream.
fn events_of(folder: &Path) -> Option<Vec<String>> {
    let mut events = Vec::new();
    if let Ok(body) = fs::read(folder.join("response.sse")) {
        let mut parser = SseParser::new(DEFAULT_MAX_EVENT_BYTES);
        parser.push(&body);
        parser.finish();
        while let Some(event) = parser.next_event().unwrap() {
            events.push(event.data.to_string());
        }
        return Some(events);
    }
    let mut parser = LineParser::new(DEFAULT_MAX_EVENT_BYTES);
    parser.push(&fs::read(folder.join("response.ndjson")).ok()?);
    parser.finish();
    while let Some(line) = parser.next_line().unwrap() {
        events.push(line.into_owned());
    }
    Some(events)
}

/// Reads events, and the end behind them.
fn read(known: &known::Known, events: &[String]) -> (Vec<ModelEvent>, Result<(), Error>) {
    let mut decoder = known.decoder();
    let mut seen = VecDeque::new();
    let mut outcome = events.iter().try_for_each(|event| decoder.push(event, &mut seen));
    if outcome.is_ok() && !decoder.is_done() {
        outcome = decoder.end(&mut seen);
    }
    (seen.into(), outcome)
}

/// At most so many cuts of one recording.
const CUTS: usize = 30;

#[test]
fn a_recording_that_is_cut_ends_with_a_response_or_with_an_error() {
    let Some(folder) = recordings() else { return };
    for protocol in PROTOCOLS {
        let known = known::find(protocol).unwrap();
        let mut streams = 0;
        for recording in fs::read_dir(folder.join(protocol)).unwrap() {
            let recording = recording.unwrap().path();
            let Some(events) = events_of(&recording) else { continue };
            streams += 1;
            assert_eq!(read(&known, &[]).1.unwrap_err().kind(), ErrorKind::Protocol);
            for cut in (0..=events.len()).step_by(events.len() / CUTS + 1).chain([events.len()]) {
                let (seen, outcome) = read(&known, &events[..cut]);
                let responses = seen.iter().filter(|event| matches!(event, ModelEvent::Response(_))).count();
                match outcome {
                    Ok(()) => assert!(responses == 1 && matches!(seen.last(), Some(ModelEvent::Response(_))), "{recording:?} {cut}"),
                    Err(error) if error.provider().is_some() => assert!(responses <= 1),
                    Err(error) => {
                        assert_eq!((error.kind(), responses), (ErrorKind::Protocol, 0), "{recording:?} {cut}");
                        assert_ne!(cut, events.len(), "{recording:?} is whole: {error}");
                    }
                }
            }
        }
        assert!(streams > 0, "{protocol}");
    }
}

#[test]
fn half_an_event_is_an_error_and_changes_nothing() {
    let Some(folder) = recordings() else { return };
    for protocol in PROTOCOLS {
        let known = known::find(protocol).unwrap();
        for recording in fs::read_dir(folder.join(protocol)).unwrap() {
            let Some(events) = events_of(&recording.unwrap().path()) else { continue };
            let (mut decoder, mut seen) = (known.decoder(), VecDeque::new());
            for event in &events {
                let middle = (0..=event.len() / 2).rev().find(|end| event.is_char_boundary(*end)).unwrap();
                if !decoder.is_done() && middle > 0 {
                    let mut scratch = VecDeque::new();
                    let error = decoder.push(&event[..middle], &mut scratch).unwrap_err();
                    assert_eq!((error.kind(), scratch.len()), (ErrorKind::Protocol, 0));
                }
                if decoder.push(event, &mut seen).is_err() {
                    break;
                }
            }
            assert!(Vec::from(seen).iter().zip(read(&known, &events).0).all(|(one, other)| *one == other));
        }
    }
}
