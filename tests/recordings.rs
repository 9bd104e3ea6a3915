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

use std::{collections::VecDeque, fs, num::NonZeroUsize, path::PathBuf};

use tower_genai::{
    ErrorKind, ModelEvent,
    transport::{DEFAULT_MAX_EVENT_BYTES, SseParser},
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

/// Every recorded stream, cut behind each event and inside it.
#[test]
fn a_recording_that_is_cut_gives_no_response_and_no_panic() {
    let Some(folder) = recordings() else { return };
    let mut streams = 0;
    for protocol in PROTOCOLS {
        let known = known::find(protocol).unwrap();
        for recording in fs::read_dir(folder.join(protocol)).unwrap() {
            let Ok(body) = fs::read(recording.unwrap().path().join("response.sse")) else { continue };
            streams += 1;
            let mut parser = SseParser::new(DEFAULT_MAX_EVENT_BYTES);
            parser.push(&body);
            parser.finish();
            let mut decoder = known.decoder();
            let mut events = VecDeque::new();
            while let Some(event) = parser.next_event().unwrap() {
                assert!(!events.iter().any(|event| matches!(event, ModelEvent::Response(_))) || decoder.is_done());
                let middle = (0..=event.data.len() / 2).rev().find(|end| event.data.is_char_boundary(*end)).unwrap();
                if !decoder.is_done() {
                    let mut scratch = VecDeque::new();
                    let error = decoder.push(&event.data[..middle], &mut scratch).unwrap_err();
                    assert_eq!((error.kind(), scratch.len()), (ErrorKind::Protocol, 0));
                    assert_eq!(decoder.end(&mut VecDeque::new()).unwrap_err().kind(), ErrorKind::Protocol);
                }
                if let Err(error) = decoder.push(&event.data, &mut events) {
                    assert!(error.provider().is_some(), "a recorded failure is the provider's: {error}");
                }
            }
            assert!(decoder.is_done());
        }
    }
    assert!(streams > 0);
}
