use super::*;
use proptest::prelude::*;
use std::{fs, path::Path};

type Event = (String, String);

/// The events of a body that arrives in chunks, and what is no event.
fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, max: usize) -> (Vec<Event>, Vec<u8>, Option<ErrorKind>) {
    let mut parser = SseParser::new(max);
    let mut events = Vec::new();
    let mut drain = |parser: &mut SseParser| {
        while let Some(event) = parser.next_event()? {
            events.push((event.event.into_owned(), event.data.into_owned()));
        }
        Ok::<_, Error>(())
    };
    for chunk in chunks {
        parser.push(chunk);
        if let Err(error) = drain(&mut parser) {
            return (events, parser.foreign().to_vec(), Some(error.kind()));
        }
    }
    parser.finish();
    let error = drain(&mut parser).err().map(|error| error.kind());
    (events, parser.foreign().to_vec(), error)
}

fn data(body: impl AsRef<[u8]>) -> Vec<String> {
    let (events, _, error) = read([body.as_ref()], 1 << 20);
    assert_eq!(error, None);
    events.into_iter().map(|(_, data)| data).collect()
}

#[test]
fn lines_end_at_three_terminators_and_no_others() {
    assert_eq!(data("data:a\ndata:b\r\ndata:c\rdata:d\r\n\rdata:e\n\n"), ["a\nb\nc\nd", "e"]);
    assert_eq!(data("data:a\u{2028}b\u{85}c\u{b}d\u{c}e\n\n"), ["a\u{2028}b\u{85}c\u{b}d\u{c}e"]);
    assert_eq!(data("data:1\r\r\ndata:2\r\n\r\ndata:3\n\r"), ["1", "2", "3"]);
}

#[test]
fn fields() {
    assert_eq!(data("data:  two spaces \n\n"), [" two spaces "]);
    assert_eq!(data("data\n\ndata\ndata\n\ndata:\n\n"), ["", "\n", ""]);
    assert_eq!(data(": ping\n\nevent: x\n\nid: 1\nretry: 10\nother: y\nDATA: z\n data: z\n\ndata: 1\n\n"), ["1"]);
    assert_eq!(data("data: {\"a\": \"b: c\"}\n:comment inside\n\n"), ["{\"a\": \"b: c\"}"]);
    assert_eq!(data(b"data: a\xFFb\xE6\xA4\n\n"), ["a\u{FFFD}b\u{FFFD}"]);
}

#[test]
fn types_come_in_any_order_and_do_not_outlive_their_event() {
    let body = "data: 1\nevent: a\n\nevent: b\n\ndata: 2\n\nevent: c\nevent:d\ndata: 3\n\nevent: e\nevent:\ndata: 4\n\n";
    let (events, ..) = read([body.as_bytes()], 1024);
    let events: Vec<_> = events.iter().map(|(event, data)| (event.as_str(), data.as_str())).collect();
    assert_eq!(events, [("a", "1"), ("message", "2"), ("d", "3"), ("message", "4")]);
}

#[test]
fn one_mark_at_the_beginning_is_dropped() {
    assert_eq!(data("\u{FEFF}data: 1\n\ndata: \u{FEFF}2\n\n\u{FEFF}data: 3\n\n"), ["1", "\u{FEFF}2"]);
    assert_eq!(data("\u{FEFF}\u{FEFF}data: 1\n\n"), Vec::<String>::new());
    assert_eq!(data(b"\xEF\xBB"), Vec::<String>::new());
}

#[test]
fn what_is_complete_at_the_end_counts() {
    for (body, expected) in [
        ("data: {\"a\":1}", vec!["{\"a\":1}"]),
        ("data: {\"a\":1}\r", vec!["{\"a\":1}"]),
        ("event: x\ndata: [1,\ndata: 2]\n", vec!["[1,\n2]"]),
        ("data: 1\n\ndata: [DONE]", vec!["1", "[DONE]"]),
        ("data: {\"a\":1", vec![]),
        ("data: {\"a\":\"}", vec![]),
        ("data: 12", vec![]),
        ("data: nul", vec![]),
        ("data: {}\n\nevent: x", vec!["{}"]),
        ("", vec![]),
    ] {
        assert_eq!(data(body), expected, "{body:?}");
    }
}

#[test]
fn a_body_without_framing_is_kept() {
    let body = "{\n  \"error\": {\"code\": 400}\n}";
    let (events, foreign, error) = read(body.as_bytes().chunks(3), 1024);
    assert!(events.is_empty() && error.is_none());
    assert_eq!(foreign, format!("{body}\n").as_bytes());
    let (_, foreign, _) = read(["x".repeat(100).as_str(), "\n"].repeat(1000).iter().map(|line| line.as_bytes()), 1024);
    assert_eq!(foreign.len(), MAX_FOREIGN_BYTES);
}

#[test]
fn too_large_an_event_is_an_error_after_the_events_before_it() {
    let line = |len: usize| format!("data:{}\n", "x".repeat(len - 5));
    for (body, events, error) in [
        (format!("data:1\n\n{}\n", line(64)), 2, None),
        (format!("data:1\n\n{}\n", line(65)), 1, Some(ErrorKind::Limit)),
        (format!("data:1\n\n{}{}\n", line(40), line(40)), 1, Some(ErrorKind::Limit)),
        (format!("data:1\n\n:{}", "x".repeat(80)), 1, Some(ErrorKind::Limit)),
        (format!("data:1\n\n{}{}", ":comment\n".repeat(80), line(64)), 1, None),
    ] {
        for size in [1, 7, body.len()] {
            let (read, _, failed) = read(body.as_bytes().chunks(size), 64);
            assert_eq!((read.len(), failed), (events, error), "chunks of {size}: {body:?}");
        }
    }
}

#[test]
fn one_event_of_a_megabyte_byte_by_byte() {
    // Scanning the line again for each byte would take hours.
    let text = "検".repeat(350_000);
    let body = format!("data: {text}\n\ndata: 2\n\n");
    let (events, ..) = read(body.as_bytes().chunks(1), 2 << 20);
    assert_eq!(events.len(), 2);
    assert!(events[0].1 == text);
}

#[test]
fn events_are_lent_out_of_the_buffer() {
    let mut parser = SseParser::new(1024);
    parser.push(b"event: x\ndata: {}\n\ndata: a\xFF\n\n");
    let event = parser.next_event().unwrap().unwrap();
    assert!(matches!((event.event, event.data), (Cow::Borrowed("x"), Cow::Borrowed("{}"))));
    assert!(matches!(parser.next_event().unwrap().unwrap().data, Cow::Owned(_)));
}

fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let pieces: [&[u8]; 15] = [
        b"data:",
        b"data: ",
        b"event: x",
        b":",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\r\n\r\n",
        b"{\"a\":1}",
        b"[DONE]",
        "検é".as_bytes(),
        b"\xE6\xA4",
        BOM,
        b"other",
    ];
    let piece = prop::sample::select(pieces.to_vec());
    (any::<bool>(), prop::collection::vec(piece, 0..40)).prop_map(|(mark, pieces)| {
        let mut body = if mark { BOM.to_vec() } else { Vec::new() };
        body.extend(pieces.concat());
        body
    })
}

/// Reads a body as the standard says it, with everything at hand.
fn reference(body: &[u8]) -> Vec<Event> {
    let body = String::from_utf8_lossy(body.strip_prefix(BOM).unwrap_or(body)).into_owned();
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    let (mut events, mut event, mut lines) = (Vec::new(), String::new(), Vec::new());
    let mut dispatch = |event: &mut String, lines: &mut Vec<String>| {
        let name = std::mem::take(event);
        if !lines.is_empty() {
            events.push((if name.is_empty() { "message".to_owned() } else { name }, lines.join("\n")));
            lines.clear();
        }
    };
    let (whole, rest) = body.rsplit_once('\n').map_or(("", &*body), |(whole, rest)| (whole, rest));
    let whole = if body.contains('\n') { format!("{whole}\n") } else { String::new() };
    for line in whole.split_inclusive('\n').map(|line| line.trim_end_matches('\n')).chain((!rest.is_empty()).then_some(rest)) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        match name {
            _ if line.is_empty() => dispatch(&mut event, &mut lines),
            "data" => lines.push(value),
            "event" => event = value,
            _ => {}
        }
    }
    let last = lines.join("\n");
    let json = last.trim().starts_with(['{', '[']) && serde_json::from_str::<serde_json::Value>(&last).is_ok();
    if json || last.trim() == "[DONE]" {
        dispatch(&mut event, &mut lines);
    }
    events
}

proptest! {
    #[test]
    fn every_chunking_gives_what_the_standard_says(body in bodies(), sizes in prop::collection::vec(1usize..9, 1..6)) {
        let expected = reference(&body);
        let whole = read([&*body], 1 << 20);
        prop_assert_eq!(&whole.0, &expected);
        let mut chunks = Vec::new();
        let mut rest = &*body;
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            chunks.push(chunk);
            rest = after;
        }
        prop_assert_eq!(&read(chunks.iter().copied(), 1 << 20), &whole);
        prop_assert_eq!(&read(body.chunks(1), 1 << 20), &whole);
        let limited = read([&*body], 12);
        prop_assert_eq!(read(chunks, 12), limited);
    }

    #[test]
    fn draining_late_changes_nothing(body in bodies()) {
        let mut parser = SseParser::new(1 << 20);
        let mut events = Vec::new();
        for chunk in body.chunks(5) {
            parser.push(chunk);
            if let Some(event) = parser.next_event().unwrap() {
                events.push((event.event.into_owned(), event.data.into_owned()));
            }
        }
        parser.finish();
        while let Some(event) = parser.next_event().unwrap() {
            events.push((event.event.into_owned(), event.data.into_owned()));
        }
        prop_assert_eq!(events, reference(&body));
    }
}

#[test]
fn recorded_streams() {
    let Some(shared) = std::env::var_os("TOWER_GENAI_SHARED") else {
        println!("skipped: TOWER_GENAI_SHARED is not set");
        return;
    };
    let mut streams = 0;
    for protocol in ["anthropic", "openai_responses", "openai_chat", "gemini"] {
        for recording in fs::read_dir(Path::new(&shared).join("recordings").join(protocol)).unwrap() {
            let Ok(body) = fs::read(recording.unwrap().path().join("response.sse")) else { continue };
            let whole = read([&*body], 1 << 24);
            assert!(!whole.0.is_empty() || !whole.1.is_empty());
            assert_eq!(whole.0, reference(&body));
            for size in [1, 7, 64] {
                assert!(read(body.chunks(size), 1 << 24) == whole, "chunks of {size}");
            }
            streams += 1;
        }
    }
    assert!(streams > 0);
}
