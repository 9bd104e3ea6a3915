//! What is unknown, broken or cut.

use proptest::prelude::*;

use super::*;

fn push_all(events: &[&str]) -> (Result<(), Error>, Decoder, VecDeque<ModelEvent>) {
    let (mut decoder, mut out) = (decoder(None), VecDeque::new());
    let result = events.iter().try_for_each(|event| decoder.push(event, &mut out));
    (result, decoder, out)
}

#[test]
fn unknown_events_and_deltas_are_ignored_whatever_they_hold() {
    let (result, decoder, _) = push_all(&[
        r#"{"type":"ping"}"#,
        r#"{"type":"novel","delta":7,"message":"text","index":"x","usage":[],"content_block":null}"#,
        r#"{"note":"no type"}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"novel_delta","text":{"odd":1}}}"#,
        r#"{"type":"content_block_delta","index":9,"delta":{"type":"novel_delta"}}"#,
        r#"{"type":"content_block_stop","index":5}"#,
        r#"{"type":"message_stop"}"#,
        "not even JSON, but nobody reads it",
    ]);
    result.unwrap();
    assert!(decoder.is_done());
}

#[test]
fn half_a_character_costs_no_more_than_itself() {
    let (result, _, out) = push_all(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"read","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\":\"\\ud8"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"3d\"}"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let read = Read { events: out.into(), result };
    assert_eq!(read.message().text(), "a\u{fffd}");
    assert_eq!(read.calls()[0].arguments.to_value(), json!({"x": "\u{fffd}"}));
    assert_eq!(read.items()[1]["input"], json!({"x": "\u{fffd}"}), "what goes back can be read too");

    let body = br#"{"type":"message","content":[{"type":"text","text":"\ude00"}],"stop_reason":"end_turn"}"#;
    let (mut decoder, mut out) = (decoder(None), VecDeque::new());
    decoder.whole(body, &mut out).unwrap();
    assert_eq!(Read { events: out.into(), result: Ok(()) }.message().text(), "\u{fffd}");
}

#[test]
fn broken_events_are_errors_that_repeat_nothing() {
    for event in [
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"secret"#,
        r#"{"type":"content_block_delta","index":"secret","delta":{"type":"text_delta","text":"secret"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":["secret"]}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"secret","id":{"secret":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":"secret"}"#,
        r#"{"type":"message_start","message":"secret"}"#,
        r#""secret""#,
        "secret",
        "",
    ] {
        let (result, ..) = push_all(&[event]);
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{event}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    let (result, ..) = push_all(&[r#"{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"x"}}"#]);
    assert!(result.unwrap_err().to_string().contains("has not started"));
}

#[test]
fn an_error_in_the_middle_ends_the_response() {
    let text = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"so far"}}"#;
    for (event, kind, message) in [
        (r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, ErrorKind::Overloaded, "Overloaded"),
        (r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}"#, ErrorKind::RateLimit, "slow"),
        (r#"{"error":{"type":"api_error","message":"broken"}}"#, ErrorKind::Server, "broken"),
        (r#"{"type":"error","error":"gateway","delta":1}"#, ErrorKind::Server, "gateway"),
    ] {
        let (result, decoder, out) = push_all(&[text, event]);
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.provider().unwrap().message.as_deref()), (kind, Some(message)));
        assert!(!decoder.is_done());
        assert_eq!(out.len(), 1, "what came before stays");
    }
}

#[test]
fn a_stream_without_its_end_is_not_a_response() {
    let (result, mut decoder, out) = push_all(&[r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}"#]);
    result.unwrap();
    assert!(!decoder.is_done() && out.len() == 1);
    assert_eq!(decoder.end(&mut VecDeque::new()).unwrap_err().kind(), ErrorKind::Protocol);
}

#[test]
fn a_block_without_its_end_is_closed_by_the_end_of_the_message() {
    let start = json!({"type": "content_block_start", "index": 0, "content_block": tool_use("a", "plain")});
    let delta = json!({"type": "content_block_delta", "delta": partial("{\"q\":1}")});
    let read = read(&[start, delta]);
    assert_eq!(read.calls()[0].arguments.as_str(), "{\"q\":1}");
}

#[test]
fn documents_that_are_no_message() {
    let failed = document_of(json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}));
    assert_eq!(failed.result.unwrap_err().kind(), ErrorKind::Overloaded);
    let (mut decoder, mut out) = (decoder(None), VecDeque::new());
    for body in [&b"{}"[..], b"", b"<html>secret", b"{\"content\":\"secret\"}", b"\xff\xfe"] {
        let error = decoder.whole(body, &mut out).unwrap_err();
        assert!(error.kind() == ErrorKind::Protocol && !error.to_string().contains("secret"), "{error}");
    }
    assert!(out.is_empty() && !decoder.is_done());
}

/// A stream with a block of each kind.
fn sample() -> Vec<String> {
    let mut events =
        block(0, json!({"type": "thinking", "thinking": "", "signature": ""}), &[json!({"type": "thinking_delta", "thinking": "hm"})]);
    events.extend(block(
        1,
        json!({"type": "text", "text": ""}),
        &[json!({"type": "text_delta", "text": "hé"}), json!({"type": "citations_delta", "citation": {"a": 1}})],
    ));
    events.extend(block(2, tool_use("a", "crm__find"), &[partial("{\"q\":"), partial("1}")]));
    events.extend(block(3, json!({"type": "server_tool_use", "id": "h", "name": "web_search", "input": {}}), &[partial("{}")]));
    events.extend(block(4, json!({"type": "web_search_tool_result", "tool_use_id": "h", "content": []}), &[]));
    events.extend(block(5, json!({"type": "compaction", "content": null}), &[json!({"type": "compaction_delta", "content": "c"})]));
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(Value::to_string).collect()
}

fn json_like() -> impl Strategy<Value = String> {
    let keys = prop::sample::select(vec![
        "type",
        "index",
        "delta",
        "content_block",
        "message",
        "usage",
        "error",
        "text",
        "input",
        "id",
        "name",
        "tool_use_id",
        "content",
        "partial_json",
        "stop_reason",
        "citation",
        "container",
        "is_error",
        "thinking",
        "signature",
    ]);
    let words = prop::sample::select(vec![
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "text",
        "tool_use",
        "text_delta",
        "input_json_delta",
        "server_tool_use",
        "web_search_tool_result",
        "compaction",
        "compaction_delta",
        "error",
        "{\"a\":1}",
        "",
    ]);
    let leaf = prop_oneof![
        3 => words.prop_map(Value::from),
        1 => (0u64..4).prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            4 => prop::collection::vec((keys.clone(), inner), 0..6).prop_map(|members| members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<serde_json::Map<_, _>>().into()),
        ]
    })
    .prop_map(|value: Value| value.to_string())
}

proptest! {
    #[test]
    fn any_events_are_read_without_panic(events in prop::collection::vec(prop_oneof![json_like(), "\\PC{0,40}"], 0..12)) {
        let (mut decoder, mut out) = (decoder(None), VecDeque::new());
        for event in &events {
            // Whatever an event says, the next one is still read.
            let _ = decoder.push(event, &mut out);
        }
        let _ = decoder.push(r#"{"type":"message_stop"}"#, &mut out);
        prop_assert!(decoder.is_done());
        prop_assert!(matches!(out.back(), Some(ModelEvent::Response(_))));
        let messages = out.iter().filter(|event| matches!(event, ModelEvent::Message(_))).count();
        prop_assert_eq!(messages, 1);
    }

    #[test]
    fn any_document_is_read_without_panic(body in prop_oneof![json_like(), "\\PC{0,40}"]) {
        let (mut decoder, mut out) = (decoder(None), VecDeque::new());
        let result = decoder.whole(body.as_bytes(), &mut out);
        prop_assert_eq!(result.is_ok(), decoder.is_done());
    }

    #[test]
    fn a_cut_event_is_an_error_and_a_lost_one_is_not_a_panic(cut in 0usize..400, lost in 0usize..30, swapped in 0usize..30) {
        let mut events = sample();
        let at = cut % events.len();
        let event = events[at].clone();
        let end = (0..=cut % event.len()).rev().find(|end| event.is_char_boundary(*end)).unwrap();
        let (mut decoder_, mut out) = (decoder(None), VecDeque::new());
        for event in &events[..at] {
            decoder_.push(event, &mut out).unwrap();
        }
        let error = decoder_.push(&event[..end], &mut out).unwrap_err();
        prop_assert_eq!(error.kind(), ErrorKind::Protocol);

        let len = events.len();
        events.swap(swapped % len, (swapped * 7 + 3) % len);
        events.remove(lost % len);
        let mut decoder_ = decoder(None);
        for event in &events {
            let _ = decoder_.push(event, &mut out);
        }
    }
}
