use proptest::prelude::*;
use tower_genai_core::{Conversation, Message, ModelRequest, ToolResult};

use super::*;
use crate::protocols::samples::{answer, context, said, tool, user};

#[test]
fn text_and_refusals_are_shown_as_they_come() {
    let decoded = decoded(&[
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"content": "Hel"})),
        delta(json!({"content": "lo"})),
        delta(json!({"refusal": "No."})),
        end("stop"),
    ]);
    assert_eq!(decoded.shown(), ["text Hel", "text lo", "refusal No."]);
    assert_eq!(decoded.message().parts, [said("Hello"), AssistantPart::Refusal { text: "No.".into() }]);
    let response = decoded.response();
    assert_eq!(
        (response.id.as_deref(), response.model.as_deref(), response.stop.reason),
        (Some("chatcmpl-1"), Some("m-1"), StopReason::Refusal)
    );
    assert_eq!(item(&decoded), json!({"role": "assistant", "content": "Hello", "refusal": "No."}));
}

#[test]
fn why_it_ended() {
    for (reason, expected) in [
        ("stop", StopReason::EndTurn),
        ("eos", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::ContentFilter),
        ("model_length", StopReason::ContextWindow),
        ("tool_calls", StopReason::EndTurn),
        ("something_new", StopReason::Other),
    ] {
        let decoded = decoded(&[delta(json!({"content": "a"})), end(reason)]);
        assert_eq!((decoded.response().stop.reason, decoded.response().stop.native.as_deref()), (expected, Some(reason)));
    }
}

#[test]
fn where_a_stream_ends() {
    let text = |chunks: &[&str]| samples::decoded::<ChatCompletions>(Context::default(), chunks);
    let hello = delta(json!({"content": "a"})).to_string();
    let done = text(&[&hello, "[DONE]", "not read"]);
    assert_eq!((done.response().text(), done.response().stop.native.as_deref()), ("a".to_owned(), None));
    let without_done = text(&[&hello, &end("stop").to_string(), &delta(json!({"content": "b"})).to_string(), " "]);
    assert_eq!(without_done.response().text(), "ab");
    let cut = text(&[&hello]);
    assert_eq!((cut.shown(), cut.outcome.unwrap_err().kind()), (vec!["text a".to_owned()], ErrorKind::Protocol));
    let broken = text(&[&hello, "{\"secret\":"]).outcome.unwrap_err();
    assert!(broken.kind() == ErrorKind::Protocol && !broken.to_string().contains("secret"), "{broken}");
}

#[test]
fn errors_inside_a_stream() {
    for (chunk, kind) in [
        (json!({"error": {"message": "slow", "code": 429}}), ErrorKind::RateLimit),
        (json!({"error": "overloaded"}), ErrorKind::Server),
        (
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": null}], "error": {"type": "server_error", "message": "m"}}),
            ErrorKind::Server,
        ),
        (json!({"x_groq": {"error": "boom"}}), ErrorKind::Server),
        (
            json!({"error": {"code": 502, "message": "m"}, "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}),
            ErrorKind::Server,
        ),
    ] {
        let failed = decoded(&[delta(json!({"content": "a"})), chunk.clone()]);
        assert_eq!(failed.shown(), ["text a"]);
        assert_eq!(failed.outcome.unwrap_err().kind(), kind, "{chunk}");
    }
    for nothing in [json!(null), json!({}), json!(""), json!(false)] {
        assert!(decoded(&[json!({"error": nothing, "choices": [{"delta": {"content": "a"}}]}), end("stop")]).outcome.is_ok());
    }
}

#[test]
fn a_host_that_fails_behind_its_last_word_has_answered() {
    let late = decoded(&[
        delta(json!({"content": "a"})),
        end("stop"),
        json!({"error": {"code": 502, "message": "late"}}),
        json!({"choices": [], "usage": {"prompt_tokens": 1}}),
    ]);
    assert_eq!(late.shown(), ["text a", "warning host_error"]);
    let Some(ModelEvent::Response(response)) = late.events.last() else { panic!("{:?}", late.events) };
    assert_eq!((response.text(), response.usage.input_tokens), ("a".to_owned(), Some(1)));
    assert_eq!(late.outcome.unwrap_err().kind(), ErrorKind::Server);
}

#[test]
fn a_whole_response() {
    let one = whole(
        &json!({"id": "c", "model": "m", "choices": [{"index": 1, "message": {"content": "other"}}, {"index": 0, "finish_reason": "tool_calls",
        "message": {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1}}),
    );
    assert_eq!((one.calls(), one.response().stop.reason), (vec!["a f {}".to_owned()], StopReason::ToolUse));
    assert_eq!(one.response().usage.input_tokens, Some(3));
    for (body, kind) in [
        (json!({}), ErrorKind::Protocol),
        (json!({"choices": []}), ErrorKind::Protocol),
        (json!({"error": {"message": "m", "code": "insufficient_quota"}}), ErrorKind::Billing),
        (json!({"object": "error", "message": "m", "type": "invalid_request_error", "code": 3000}), ErrorKind::Server),
    ] {
        assert_eq!(whole(&body).outcome.unwrap_err().kind(), kind, "{body}");
    }
    for body in ["", "<html>", "[1]"] {
        let outcome = samples::decoded_whole::<ChatCompletions>(Context::default(), body).outcome;
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Protocol, "{body}");
    }
}

#[test]
fn an_answer_goes_back_as_it_came() {
    let chunks = [
        delta(json!({"reasoning_content": "hm"})),
        delta(json!({"content": "Well."})),
        delta(
            json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "read", "arguments": "{\"z\":1, \"a\":1.50}"}}]}),
        ),
        end("tool_calls"),
    ];
    let chunks: Vec<String> = chunks.iter().map(Value::to_string).collect();
    let decoded = samples::decoded::<ChatCompletions>(context::<ChatCompletions>([tool("read")], &Capabilities::openai_chat()), &chunks);
    let messages: Vec<Arc<Message>> = vec![user("u"), decoded.message().clone().into(), answer("a", "read", "r")];
    let stored: Conversation = serde_json::from_str(&serde_json::to_string(&messages).unwrap()).unwrap();
    let body = samples::text::<ChatCompletions>(&ModelRequest::new().messages(stored), &Capabilities::openai_chat());
    let expected = r#"{"role":"assistant","content":"Well.","reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{\"z\":1, \"a\":1.50}"}}]},{"role":"tool","tool_call_id":"a","content":"r"}"#;
    assert!(body.contains(expected), "{body}");
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z\"\\\\é日{}]{0,6}".prop_map(Value::from),
        prop::sample::select(vec!["{\"a\":1}", "{", "stop", "thinking", "text"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let keys = [
            "content",
            "refusal",
            "reasoning_content",
            "reasoning",
            "reasoning_details",
            "tool_calls",
            "function_call",
            "executed_tools",
            "images",
            "image_url",
            "url",
            "annotations",
            "index",
            "id",
            "type",
            "function",
            "custom",
            "name",
            "arguments",
            "input",
            "text",
            "thinking",
            "output",
            "data",
        ];
        let object = prop::collection::vec((prop::sample::select(keys.to_vec()), inner.clone()), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            object.prop_map(|members| members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
        ]
    })
}

proptest! {
    #[test]
    fn no_json_makes_it_panic(deltas in prop::collection::vec(json_value(), 1..5), raw in json_value()) {
        let mut chunks: Vec<Value> = deltas.into_iter().map(delta).collect();
        chunks.push(end("stop"));
        let decoded = decoded(&chunks);
        prop_assert!(decoded.outcome.is_ok(), "{:?}", decoded.outcome);
        // What came in can go out, each call with its answer.
        let calls: Vec<_> = decoded.response().open_calls().cloned().collect();
        let mut request = ModelRequest::new().user("u").message(decoded.message().clone());
        for call in &calls {
            request = request.message(ToolResult::text(call, "r"));
        }
        let body = samples::body::<ChatCompletions>(&request, &Capabilities::openai_chat());
        let messages = body["messages"].as_array().unwrap();
        let made: usize = messages.iter().map(|message| message["tool_calls"].as_array().map_or(0, Vec::len)).sum();
        prop_assert_eq!(made, messages.iter().filter(|message| message["role"] == "tool").count());
        samples::decoded::<ChatCompletions>(Context::default(), &[raw.to_string()]).outcome.ok();
        samples::decoded_whole::<ChatCompletions>(Context::default(), &raw.to_string()).outcome.ok();
    }

    #[test]
    fn a_stream_gives_the_same_wherever_it_is_cut(text in "[a-zé日 \"\\\\]{1,20}", cut in any::<prop::sample::Index>()) {
        let pieces = |text: &str| -> [String; 2] {
            let at = (0..=cut.index(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            [text[..at].to_owned(), text[at..].to_owned()]
        };
        let arguments = json!({"x": text}).to_string();
        let call = |arguments: &str| json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": arguments}}]});
        let [early, late] = pieces(&text);
        let [open, close] = pieces(&arguments);
        let cut = decoded(&[delta(json!({"content": early})), delta(json!({"content": late})), delta(call(&open)), delta(call(&close)), end("stop")]);
        let whole = decoded(&[delta(json!({"content": text})), delta(call(&arguments)), end("stop")]);
        prop_assert_eq!(cut.message(), whole.message());
    }
}
