//! Blocks of every type, and what is left of them.

use super::*;

#[test]
fn a_text_with_citations() {
    let citation = |n: u32| json!({"type": "web_search_result_location", "encrypted_index": n});
    let deltas = [
        json!({"type": "text_delta", "text": ""}),
        json!({"type": "text_delta", "text": "He"}),
        json!({"type": "citations_delta", "citation": citation(1)}),
        json!({"type": "text_delta", "text": "llo \"日本\"\n"}),
        json!({"type": "citations_delta", "citation": citation(2)}),
    ];
    let read = read(&block(0, json!({"type": "text", "text": "", "citations": [citation(0)], "extra": {"b": 1, "a": 2}}), &deltas));
    assert_eq!(read.shape(), ["text He", "text llo \"日本\"\n"]);
    assert_eq!(read.message().text(), "Hello \"日本\"\n");
    let expected = json!({"type": "text", "text": "Hello \"日本\"\n", "citations": [citation(0), citation(1), citation(2)], "extra": {"b": 1, "a": 2}});
    assert_eq!(read.items(), [expected]);
}

#[test]
fn an_item_keeps_the_bytes_that_nobody_changed() {
    let mut decoder = decoder(None);
    let mut events = VecDeque::new();
    let raw = r#"{"type":"content_block_start","index":0,"content_block":{"z": 1.50, "type":"tool_use","id":"a","input":{},"name":"n","\u0061b":"\u00e9"}}"#;
    decoder.push(raw, &mut events).unwrap();
    decoder.push(r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"q\": 1.0, \"a\":\"\\u00e9\"}"}}"#, &mut events).unwrap();
    decoder.push(r#"{"type":"message_stop"}"#, &mut events).unwrap();
    let Some(ModelEvent::Response(response)) = events.back() else { panic!() };
    let item = response.assistant().unwrap().replay.as_ref().unwrap().items[0].as_str();
    assert_eq!(item, r#"{"z":1.50,"type":"tool_use","id":"a","input":{"q":1.0,"a":"\u00e9"},"name":"n","ab":"\u00e9"}"#);
}

#[test]
fn thinking_takes_the_newest_signature() {
    let deltas = [
        json!({"type": "thinking_delta", "thinking": "hm"}),
        json!({"type": "signature_delta", "signature": "first"}),
        json!({"type": "signature_delta", "signature": "second"}),
    ];
    let mut events = block(0, json!({"type": "thinking", "thinking": "", "signature": ""}), &deltas);
    events.extend(block(1, json!({"type": "thinking", "thinking": "", "signature": ""}), &deltas[1..2]));
    events.extend(block(2, json!({"type": "redacted_thinking", "data": "d"}), &[]));
    let read = read(&events);
    assert_eq!(read.shape(), ["reasoning hm"]);
    let parts: Vec<_> = ["hm", ""].iter().map(|text| AssistantPart::Reasoning { text: (*text).into() }).collect();
    assert_eq!(read.message().parts, parts);
    assert_eq!(
        read.items(),
        [
            json!({"type": "thinking", "thinking": "hm", "signature": "second"}),
            json!({"type": "thinking", "thinking": "", "signature": "first"}),
            json!({"type": "redacted_thinking", "data": "d"}),
        ]
    );
}

#[test]
fn calls_with_their_input_in_pieces_and_without_any() {
    let mut events = block(0, tool_use("a", "crm__find"), &[partial(""), partial("{\"q\":"), partial(" 1}")]);
    events.extend(block(1, tool_use("b", "plain"), &[]));
    events.extend(block(2, tool_use("c", "plain"), &[partial(""), partial("")]));
    let read = read(&events);
    assert_eq!(read.shape(), ["call a crm.find", "arguments a {\"q\":", "arguments a  1}", "call b plain", "call c plain"]);
    let calls = read.calls();
    assert_eq!(calls[0].name, ToolName::namespaced("crm", "find"));
    assert_eq!(calls.iter().map(|call| call.arguments.as_str()).collect::<Vec<_>>(), ["{\"q\":1}", "{}", "{}"]);
    assert_eq!(read.items()[0]["input"], json!({"q": 1}));
}

#[test]
fn broken_input_is_kept_aside_and_not_replayed() {
    for (input, aside) in [("{\"q\":", Some("{\"q\":")), ("[1]", Some("[1]")), ("null", None), ("  ", None)] {
        let read = read(&block(0, tool_use("a", "plain"), &[partial(input)]));
        let call = read.calls()[0];
        assert_eq!((call.arguments.as_str(), call.invalid_arguments.as_deref()), ("{}", aside), "{input}");
        assert_eq!(read.items()[0]["input"], json!({}));
    }
}

#[test]
fn input_that_came_with_the_start_is_told_once() {
    let start = json!({"type": "tool_use", "id": "a", "name": "plain", "input": {"q": 1}});
    let read = read(&block(0, start.clone(), &[]));
    assert_eq!(read.shape(), ["call a plain", "arguments a {\"q\":1}"]);
    assert_eq!((read.calls()[0].arguments.as_str(), &read.items()[0]), ("{\"q\":1}", &start));
}

#[test]
fn a_search_is_no_event_of_the_caller() {
    let read = read(&block(0, tool_use("s", "look_up"), &[partial("{\"queries\":[]}")]));
    assert_eq!(read.shape(), Vec::<String>::new());
    let AssistantPart::Search(call) = &read.message().parts[0] else { panic!() };
    assert_eq!((&*call.id, &*call.name.name, call.arguments.as_str()), ("s", "look_up", "{\"queries\":[]}"));
    assert_eq!(read.items()[0]["name"], "look_up");
}

#[test]
fn a_compaction_arrives_in_one_delta() {
    let delta = json!({"type": "compaction_delta", "content": "We spoke.", "encrypted_content": "e"});
    let read = read(&block(0, json!({"type": "compaction", "content": null}), &[delta]));
    assert_eq!(read.message().parts, [AssistantPart::Compaction { summary: Some("We spoke.".into()) }]);
    assert_eq!(read.items(), [json!({"type": "compaction", "content": "We spoke.", "encrypted_content": "e"})]);
    let unreadable = document(json!([{"type": "compaction", "content": null, "encrypted_content": "e"}]));
    assert_eq!(unreadable.message().parts, [AssistantPart::Compaction { summary: None }]);
}

#[test]
fn blocks_of_unknown_types_are_kept_raw() {
    let blocks = [
        json!({"type": "fallback", "from": "a"}),
        json!({"type": "container_upload", "file_id": "f"}),
        json!({"type": "novel", "x": [1, {"y": null}]}),
    ];
    let events: Vec<Value> = blocks.iter().zip(0..).flat_map(|(start, index)| block(index, start.clone(), &[])).collect();
    let read = read(&events);
    assert_eq!(read.items(), blocks);
    assert!(read.message().parts.is_empty() && read.shape().is_empty());
}

#[test]
fn a_document_reads_like_its_stream() {
    let content = json!([
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "hi", "citations": null},
        {"type": "tool_use", "id": "a", "name": "crm__find", "input": {"q": 1}, "caller": {"type": "direct"}},
        {"type": "server_tool_use", "id": "h", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "h", "content": []},
    ]);
    let deltas = [
        vec![json!({"type": "thinking_delta", "thinking": "hm"}), json!({"type": "signature_delta", "signature": "s"})],
        vec![json!({"type": "text_delta", "text": "hi"})],
        vec![partial("{\"q\":1}")],
        vec![partial("{\"query\":\"x\"}")],
        vec![],
    ];
    let starts = [
        json!({"type": "thinking", "thinking": "", "signature": ""}),
        json!({"type": "text", "text": "", "citations": null}),
        json!({"type": "tool_use", "id": "a", "name": "crm__find", "input": {}, "caller": {"type": "direct"}}),
        json!({"type": "server_tool_use", "id": "h", "name": "web_search", "input": {}}),
        content[4].clone(),
    ];
    let events: Vec<Value> =
        starts.into_iter().zip(&deltas).zip(0..).flat_map(|((start, deltas), index)| block(index, start, deltas)).collect();
    let (streamed, whole) = (read(&events), document(content.clone()));
    assert_eq!(streamed.shape(), whole.shape());
    assert_eq!(streamed.message(), whole.message());
    assert_eq!(json!(whole.items()), content);
}

#[test]
fn the_end_of_a_response() {
    let read = read(&block(0, json!({"type": "text", "text": "hi"}), &[]));
    let response = read.response();
    assert_eq!((response.id.as_deref(), response.model.as_deref()), (Some("msg_1"), Some("model-1")));
    assert_eq!((response.usage.input_tokens, response.usage.output_tokens), (Some(3), Some(5)));
    let [.., ModelEvent::Message(message), ModelEvent::Response(_)] = read.events.as_slice() else { panic!() };
    assert!(Arc::ptr_eq(message, &response.messages[0]) && response.messages.len() == 1);
    let replay = read.message().replay.as_ref().unwrap();
    assert!(replay.is_from("anthropic", "host", "model"));
    assert_eq!(replay.prefix.as_deref(), Some("prefix"));
}

#[test]
fn usage_is_cumulative() {
    let usage = |usage: Value| json!({"type": "message_delta", "delta": {}, "usage": usage});
    let read = read(&[
        usage(json!({"input_tokens": 10, "cache_read_input_tokens": 7, "output_tokens": 4})),
        usage(json!({"output_tokens": 9, "server_tool_use": {"web_search_requests": 2}, "iterations": [{"input_tokens": 99}]})),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
    ]);
    let usage = read.response().usage;
    assert_eq!((usage.input_tokens, usage.cache_read_tokens, usage.output_tokens), (Some(17), Some(7), Some(9)));
    assert_eq!((usage.server_tool_uses, usage.cache_write_tokens), (Some(2), None));
}

#[test]
fn every_reason_to_stop() {
    for (native, reason) in [
        ("end_turn", StopReason::EndTurn),
        ("tool_use", StopReason::ToolUse),
        ("max_tokens", StopReason::MaxTokens),
        ("pause_turn", StopReason::Pause),
        ("model_context_window_exceeded", StopReason::ContextWindow),
        ("compaction", StopReason::Compaction),
        ("something_new", StopReason::Other),
    ] {
        let read = read(&[json!({"type": "message_delta", "delta": {"stop_reason": native}})]);
        assert_eq!(read.response().stop, Stop::new(reason).native(native));
    }
    let sequence = read(&[json!({"type": "message_delta", "delta": {"stop_reason": "stop_sequence", "stop_sequence": "END"}})]);
    assert_eq!(sequence.response().stop, Stop::new(StopReason::StopSequence).native("stop_sequence").detail("END"));
}

#[test]
fn a_refusal_says_why() {
    let details = json!({"type": "refusal", "category": "cyber", "explanation": "Not that."});
    let refused = read(&[json!({"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": details}})]);
    assert_eq!(refused.response().stop, Stop::new(StopReason::Refusal).native("refusal").detail("cyber"));
    assert_eq!(refused.shape(), ["refusal Not that."]);
    assert_eq!(refused.message().parts, [AssistantPart::Refusal { text: "Not that.".into() }]);
    assert!(refused.message().text().is_empty() && refused.items().is_empty());
    let silent = read(&[json!({"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": null}})]);
    assert_eq!(silent.response().stop.detail, None);
}
