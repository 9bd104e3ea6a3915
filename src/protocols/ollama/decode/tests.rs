use proptest::prelude::*;
use serde_json::{Value, json};
use tower_genai_core::ToolDefinition;

use super::*;
use crate::protocols::{
    Capabilities, Protocol,
    ollama::OllamaChat,
    samples::{self, Decoded, context, search_tool, tool},
};

fn decoded(lines: &[Value]) -> Decoded {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    samples::decoded::<OllamaChat>(Context::default(), &lines)
}

fn with_tools(tools: impl IntoIterator<Item = ToolDefinition>, lines: &[Value]) -> Decoded {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    samples::decoded::<OllamaChat>(context::<OllamaChat>(tools, &Capabilities::ollama()), &lines)
}

fn line(message: Value) -> Value {
    json!({"model": "m", "message": message, "done": false})
}

fn last(reason: &str) -> Value {
    json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason, "prompt_eval_count": 9, "eval_count": 4})
}

#[test]
fn text_and_thinking_are_shown_as_they_come() {
    let lines = [
        line(json!({"thinking": "h", "content": ""})),
        line(json!({"thinking": "m"})),
        line(json!({"content": "o"})),
        line(json!({"content": "k"})),
        last("stop"),
    ];
    let decoded = decoded(&lines);
    assert_eq!(decoded.shown(), ["reasoning h", "reasoning m", "text o", "text k"]);
    let response = decoded.response();
    assert_eq!(decoded.message().parts, [samples::thought("hm"), samples::said("ok")]);
    assert_eq!((response.stop.reason, response.stop.native.as_deref()), (StopReason::EndTurn, Some("stop")));
    assert_eq!((response.usage.input_tokens, response.usage.output_tokens, response.model.as_deref()), (Some(9), Some(4), Some("m")));
    let replay = decoded.message().replay.as_ref().unwrap();
    assert_eq!(replay.items[0].to_value(), json!({"role": "assistant", "content": "ok", "thinking": "hm"}));
}

#[test]
fn calls_come_whole_with_or_without_ids() {
    let calls = json!({"content": "", "tool_calls": [
        {"id": "c9", "function": {"index": 0, "name": "ns__read", "arguments": {"a": 1}}},
        {"function": {"name": "tool_search", "arguments": {"queries": ["x"]}}},
        {"function": {"name": "now", "arguments": null}},
        {"function": {"name": "now", "arguments": "{\"b\":2}"}},
        {"function": {"name": "", "arguments": {}}},
    ]});
    let decoded = with_tools([tool("read").namespace("ns"), search_tool(), tool("now")], &[line(calls), last("stop")]);
    assert_eq!(
        decoded.calls(),
        ["c9 ns.read {\"a\":1}", "search made_call_1 tool_search {\"queries\":[\"x\"]}", "made_call_2 now {}", "made_call_3 now {\"b\":2}"]
    );
    assert_eq!(
        decoded.shown(),
        ["call c9 ns.read", "arguments c9 {\"a\":1}", "call made_call_2 now", "call made_call_3 now", "arguments made_call_3 {\"b\":2}"]
    );
    assert_eq!(decoded.response().stop.reason, StopReason::ToolUse);
    let item = decoded.message().replay.as_ref().unwrap().items[0].to_value();
    assert_eq!(item["tool_calls"][0], json!({"id": "c9", "function": {"name": "ns__read", "arguments": {"a": 1}}}));
}

#[test]
fn why_it_ended() {
    for (reason, expected) in
        [("stop", StopReason::EndTurn), ("length", StopReason::MaxTokens), ("load", StopReason::EndTurn), ("new", StopReason::Other)]
    {
        assert_eq!(decoded(&[last(reason)]).response().stop.reason, expected, "{reason}");
    }
    let silent = decoded(&[json!({"message": {"content": "a"}, "done": true})]);
    assert_eq!((silent.response().stop.reason, silent.response().stop.native.as_deref()), (StopReason::EndTurn, None));
    assert_eq!((silent.response().text(), silent.response().usage.output_tokens), ("a".to_owned(), None));
}

#[test]
fn errors_and_early_ends() {
    let failed = decoded(&[line(json!({"content": "a"})), json!({"error": "an error was encountered while running the model"})]);
    assert_eq!(failed.shown(), ["text a"]);
    let error = failed.outcome.unwrap_err();
    assert_eq!(
        (error.kind(), error.provider().unwrap().message.as_deref()),
        (ErrorKind::Server, Some("an error was encountered while running the model"))
    );
    assert_eq!(decoded(&[line(json!({"content": "a"}))]).outcome.unwrap_err().kind(), ErrorKind::Protocol);
    let broken = samples::decoded::<OllamaChat>(Context::default(), &["{\"secret\":"]).outcome.unwrap_err();
    assert!(broken.kind() == ErrorKind::Protocol && !broken.to_string().contains("secret"), "{broken}");
    assert_eq!(decoded(&[last("stop"), json!({"error": "late"})]).outcome.map_err(|error| error.to_string()), Ok(()));
}

#[test]
fn a_whole_response_is_one_document_or_lines() {
    let text = json!({"model": "m", "message": {"content": "hi", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}, "done": true, "done_reason": "stop"}).to_string();
    let lines =
        format!("{}\n{}\n", line(json!({"content": "hi", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]})), last("stop"));
    for body in [text, lines] {
        let decoded = samples::decoded_whole::<OllamaChat>(Context::default(), &body);
        assert_eq!((decoded.response().text(), decoded.calls()), ("hi".to_owned(), vec!["made_call_0 f {}".to_owned()]), "{body}");
    }
    for (body, kind) in
        [("{}", ErrorKind::Protocol), ("", ErrorKind::Protocol), ("<html>", ErrorKind::Protocol), (r#"{"error":"x"}"#, ErrorKind::Server)]
    {
        assert_eq!(samples::decoded_whole::<OllamaChat>(Context::default(), body).outcome.unwrap_err().kind(), kind, "{body}");
    }
}

#[test]
fn an_answer_goes_back_as_it_came() {
    let lines = [
        r#"{"message":{"thinking":"hm","content":"Well."}}"#,
        r#"{"message":{"tool_calls":[{"id":"c","function":{"index":0,"name":"read","arguments":{"z":1,"a":1.50}}}]}}"#,
        r#"{"message":{},"done":true,"done_reason":"stop"}"#,
    ];
    let decoded = samples::decoded::<OllamaChat>(context::<OllamaChat>([tool("read")], &Capabilities::ollama()), &lines);
    let message = decoded.message().clone();
    let request = samples::request([tool("read")], vec![samples::user("u"), message.into(), samples::answer("c", "read", "r")]);
    let body = samples::text::<OllamaChat>(&request, &Capabilities::ollama());
    let expected = r#"{"role":"assistant","content":"Well.","thinking":"hm","tool_calls":[{"id":"c","function":{"name":"read","arguments":{"z":1,"a":1.50}}}]}"#;
    assert!(body.contains(expected), "{body}");
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z\"\\\\é日{}]{0,6}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let keys = [
            "message",
            "content",
            "thinking",
            "tool_calls",
            "function",
            "name",
            "arguments",
            "id",
            "done",
            "done_reason",
            "error",
            "eval_count",
        ];
        let object = prop::collection::vec((prop::sample::select(keys.to_vec()), inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Value::from),
            object.prop_map(|members| members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
        ]
    })
}

proptest! {
    #[test]
    fn no_json_makes_it_panic(lines in prop::collection::vec(json_value(), 1..4)) {
        let decoded = decoded(&lines);
        prop_assert_eq!(decoded.outcome.is_ok(), matches!(decoded.events.last(), Some(ModelEvent::Response(_))));
        let whole = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        samples::decoded_whole::<OllamaChat>(Context::default(), &whole).outcome.ok();
    }

    #[test]
    fn a_stream_gives_the_same_wherever_its_text_is_cut(text in "[a-zé日 \"\\\\]{0,20}", cut in any::<prop::sample::Index>()) {
        let at = (0..=cut.index(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let pieces = decoded(&[line(json!({"content": text[..at]})), line(json!({"content": text[at..]})), last("stop")]);
        let whole = decoded(&[line(json!({"content": text})), last("stop")]);
        prop_assert_eq!(pieces.message(), whole.message());
    }
}

#[test]
fn lines_are_the_framing() {
    let decoder = OllamaChat::new().decoder(Context::default(), &samples::target(), None);
    assert_eq!(decoder.framing(), Framing::Lines);
}
