mod properties;
mod recordings;
mod streams;

use serde_json::{Value, json};
use tower_genai_core::{Json, NameRules, ToolDefinition, ToolName, ToolSet};

use super::*;
use crate::protocols::wire_names::WireNames;

/// What a decoder made of a response.
struct Decoded {
    events: Vec<ModelEvent>,
    outcome: Result<(), Error>,
    is_done: bool,
}

impl Decoded {
    fn response(&self) -> &Response {
        self.outcome.as_ref().expect("the response failed");
        match self.events.last() {
            Some(ModelEvent::Response(response)) => response,
            other => panic!("the last event is {other:?}"),
        }
    }

    fn message(&self) -> &AssistantMessage {
        self.response().assistant().unwrap()
    }

    /// The events in short, without the two at the end.
    fn trace(&self) -> Vec<String> {
        let show = |event: &ModelEvent| match event {
            ModelEvent::Text(delta) => format!("text {}", delta.text),
            ModelEvent::Reasoning(delta) => format!("reasoning {}", delta.text),
            ModelEvent::Refusal(delta) => format!("refusal {}", delta.text),
            ModelEvent::ToolCallStarted { id, name, .. } => format!("call {id} {name}"),
            ModelEvent::ToolCallDelta { id, arguments, .. } => format!("arguments {id} {arguments}"),
            ModelEvent::HostedStarted(hosted) => format!("hosted {} {}", hosted.id, hosted.name),
            ModelEvent::HostedInput { hosted, input } => format!("input {} {input}", hosted.id),
            ModelEvent::HostedCompleted(hosted) => format!("completed {}", hosted.id),
            ModelEvent::HostedFailed { hosted, code } => format!("failed {} {code}", hosted.id),
            other => format!("{other:?}"),
        };
        let inner = self.events.iter().filter(|event| !matches!(event, ModelEvent::Message(_) | ModelEvent::Response(_)));
        inner.map(show).collect()
    }
}

fn context(tools: &[ToolName], search: Option<&str>) -> Context {
    let set = ToolSet::new(tools.iter().cloned().map(ToolDefinition::new)).unwrap();
    Context { names: WireNames::new(&set, NameRules::PORTABLE).unwrap(), search: search.map(ToolName::new) }
}

fn stream_with(context: Context, events: &[Value]) -> Decoded {
    let mut decoder = Decoder::new(context, &Target::new("host", "model"));
    let mut out = VecDeque::new();
    let outcome = events.iter().try_for_each(|event| decoder.push(&event.to_string(), &mut out));
    Decoded { events: out.into(), outcome, is_done: decoder.is_done() }
}

fn stream(events: &[Value]) -> Decoded {
    stream_with(Context::default(), events)
}

fn whole(body: &Value) -> Decoded {
    whole_body(body.to_string().as_bytes())
}

fn whole_body(body: &[u8]) -> Decoded {
    let mut decoder = Decoder::new(Context::default(), &Target::new("host", "model"));
    let mut out = VecDeque::new();
    let outcome = decoder.whole(body, &mut out);
    Decoded { events: out.into(), outcome, is_done: decoder.is_done() }
}

fn added(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn delta(kind: &str, index: u64, text: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": index, "delta": text})
}

fn completed(output: Value) -> Value {
    json!({"type": "response.completed", "response": {"id": "resp_1", "model": "m-1", "status": "completed", "output": output}})
}

fn message(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

#[test]
fn half_a_character_costs_no_more_than_itself() {
    let item = r#"{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"a\ud83d"}]}"#;
    let call = r#"{"type":"function_call","id":"fc","call_id":"c","name":"read","arguments":"{\"x\":\"\\ud83d\"}"}"#;
    let response = format!(r#"{{"id":"r","status":"completed","output":[{item},{call}]}}"#);
    let event = |kind: &str, rest: &str| format!(r#"{{"type":"response.{kind}",{rest}}}"#);
    let (mut decoder, mut out) = (Decoder::new(Context::default(), &Target::new("host", "model")), VecDeque::new());
    for event in [
        event("output_text.delta", r#""output_index":0,"delta":"a\ud83d""#),
        event("output_item.done", &format!(r#""output_index":0,"item":{item}"#)),
        event("output_item.done", &format!(r#""output_index":1,"item":{call}"#)),
        event("completed", &format!(r#""response":{response}"#)),
    ] {
        decoder.push(&event, &mut out).unwrap();
    }
    let streamed = Decoded { events: out.into(), outcome: Ok(()), is_done: decoder.is_done() };
    for decoded in [streamed, whole_body(response.as_bytes())] {
        assert_eq!(decoded.message().text(), "a\u{fffd}");
        let arguments = decoded.message().tool_calls().next().unwrap().arguments.to_value();
        assert_eq!(arguments, json!({"x": "\u{fffd}"}));
    }
}

#[test]
fn one_document_says_what_the_stream_of_it_says() {
    let body = json!({
        "id": "resp_1", "model": "m-1", "status": "completed",
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"},
            message("Hello."),
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{\"a\":1}"},
        ],
        "usage": {
            "input_tokens": 10, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
            "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 15, "num_server_side_tools_used": 1,
        },
    });
    let one = whole(&body);
    assert_eq!(one.trace(), ["reasoning Hm.", "text Hello.", "call call_1 read", "arguments call_1 {\"a\":1}"]);
    let response = one.response();
    assert_eq!((response.stop.reason, response.stop.native.as_deref()), (StopReason::ToolUse, Some("completed")));
    assert_eq!((response.id.as_deref(), response.model.as_deref(), &*response.text()), (Some("resp_1"), Some("m-1"), "Hello."));
    let usage = response.usage;
    assert_eq!((usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens), (Some(10), Some(4), Some(2)));
    assert_eq!((usage.output_tokens, usage.reasoning_tokens, usage.server_tool_uses), (Some(5), Some(3), Some(1)));

    let items = body["output"].as_array().unwrap();
    let mut events: Vec<Value> = (0u64..).zip(items).map(|(index, item)| done(index, item.clone())).collect();
    events.push(json!({"type": "response.completed", "response": body}));
    assert_eq!(stream(&events).message(), one.message());
    let replay = one.message().replay.as_ref().unwrap();
    assert!(replay.is_from("openai_responses", "host", "model"));
    assert_eq!(replay.items.iter().map(Json::to_value).collect::<Vec<_>>(), *items);
}

#[test]
fn every_status_has_its_own_end() {
    let end = |status: Value, reason: Value, output: Value| {
        let mut body = json!({"output": output});
        body["status"] = status;
        body["incomplete_details"] = json!({"reason": reason});
        let decoded = whole(&body);
        let stop = decoded.response().stop.clone();
        (stop.reason, stop.native.as_deref().unwrap_or("-").to_owned())
    };
    let none = || json!([]);
    let refusal = json!([{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]);
    let call = json!([{"type": "function_call", "call_id": "c", "name": "n", "arguments": ""}]);
    let search = json!([{"type": "tool_search_call", "execution": "client", "call_id": "c", "arguments": {}}]);
    let compaction = json!([{"type": "compaction", "encrypted_content": "x"}]);
    for (status, reason, output, expected) in [
        (json!("completed"), json!(null), none(), (StopReason::EndTurn, "completed")),
        (json!(null), json!(null), none(), (StopReason::EndTurn, "-")),
        (json!("completed"), json!(null), call.clone(), (StopReason::ToolUse, "completed")),
        (json!("completed"), json!(null), search, (StopReason::ToolUse, "completed")),
        (json!("completed"), json!(null), refusal, (StopReason::Refusal, "completed")),
        (json!("completed"), json!(null), compaction, (StopReason::Compaction, "completed")),
        (json!("incomplete"), json!("max_output_tokens"), call, (StopReason::MaxTokens, "incomplete:max_output_tokens")),
        (json!("incomplete"), json!("content_filter"), none(), (StopReason::ContentFilter, "incomplete:content_filter")),
        (json!("incomplete"), json!("steered"), none(), (StopReason::Other, "incomplete:steered")),
        (json!("incomplete"), json!(null), none(), (StopReason::Other, "incomplete")),
        (json!("queued"), json!(null), none(), (StopReason::Other, "queued")),
        (json!("in_progress"), json!(null), none(), (StopReason::Other, "in_progress")),
        (json!("cancelled"), json!(null), none(), (StopReason::Other, "cancelled")),
    ] {
        let (expected, native) = expected;
        assert_eq!(end(status.clone(), reason, output), (expected, native.to_owned()), "{status}");
    }
}

#[test]
fn a_body_that_is_no_response_is_an_error() {
    let error = |body: &[u8]| {
        let mut decoder = Decoder::new(Context::default(), &Target::new("host", "model"));
        let error = decoder.whole(body, &mut VecDeque::new()).unwrap_err();
        (error.kind(), error.provider().and_then(|provider| provider.code.clone()))
    };
    let code = |code: &str| Some(code.to_owned());
    assert_eq!(error(br#"{"status":"failed","error":{"code":"server_error","message":"m"}}"#), (ErrorKind::Server, code("server_error")));
    let billing = br#"{"error":{"code":"insufficient_quota","message":"m"}}"#;
    assert_eq!(error(billing), (ErrorKind::Billing, code("insufficient_quota")));
    assert_eq!(error(br#"{"code":"invalid-argument","error":"m"}"#), (ErrorKind::InvalidRequest, code("invalid-argument")));
    for body in [&b"<html>"[..], b"", b"{}", b"\xff", br#"{"message":"hi"}"#, b"3"] {
        assert_eq!(error(body), (ErrorKind::Protocol, None), "{body:?}");
    }
}
