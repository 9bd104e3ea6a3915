use tower_genai_core::AssistantPart;

use super::*;
use crate::protocols::samples::{context, search_tool, tool};

fn with_tools(chunks: &[Value]) -> Decoded {
    let tools = [tool("read").namespace("fs"), search_tool(), tool("now")];
    let chunks: Vec<String> = chunks.iter().map(Value::to_string).collect();
    samples::decoded::<ChatCompletions>(context::<ChatCompletions>(tools, &Capabilities::openai_chat()), &chunks)
}

fn calls(calls: Value) -> Value {
    delta(json!({"tool_calls": calls}))
}

/// The calls of a stream of pieces, in short.
fn read(pieces: &[Value]) -> Vec<String> {
    let mut chunks: Vec<Value> = pieces.iter().map(|piece| calls(json!([piece]))).collect();
    chunks.push(end("tool_calls"));
    let decoded = with_tools(&chunks);
    assert_eq!(decoded.response().stop.reason, StopReason::ToolUse);
    decoded.calls()
}

#[test]
fn arguments_come_in_pieces() {
    let decoded = with_tools(
        &[
            calls(json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "fs__read", "arguments": ""}}])),
            calls(
                json!([{"index": 0, "function": {"arguments": "{\"p\":"}}, {"index": 1, "id": "b", "function": {"name": "tool_search", "arguments": "{}"}}]),
            ),
            calls(json!([{"index": 0, "function": {"arguments": "1}"}}])),
            end("stop"),
            json!("[DONE]"),
        ][..4],
    );
    assert_eq!(decoded.shown(), ["call a fs.read", "arguments a {\"p\":", "arguments a 1}"]);
    assert_eq!(decoded.calls(), ["a fs.read {\"p\":1}", "search b tool_search {}"]);
    assert_eq!(decoded.response().stop.reason, StopReason::ToolUse);
    assert_eq!(
        item(&decoded)["tool_calls"][0],
        json!({"id": "a", "type": "function", "function": {"name": "fs__read", "arguments": "{\"p\":1}"}})
    );
}

#[test]
fn which_call_a_piece_belongs_to() {
    let function = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
    // A new id at a used index opens a call; a piece without an id goes to the latest.
    assert_eq!(
        read(&[
            json!({"index": 0, "id": "a", "function": function("now", "")}),
            json!({"index": 0, "id": "b", "function": function("now", "")}),
            json!({"index": 0, "function": {"arguments": "{\"x\":1}"}}),
        ]),
        ["a now {}", "b now {\"x\":1}"]
    );
    // Without an index the id tells calls apart.
    assert_eq!(
        read(&[
            json!({"id": "a", "function": function("now", "{}")}),
            json!({"id": "b", "function": function("now", "{\"x\":1}")}),
            json!({"id": "a", "function": {"arguments": ""}}),
        ]),
        ["a now {}", "b now {\"x\":1}"]
    );
    // Id and name repeated in every piece are one call.
    assert_eq!(
        read(&[
            json!({"index": 0, "id": "a", "function": function("now", "{\"x\"")}),
            json!({"index": 0, "id": "a", "function": function("now", ":1}")})
        ]),
        ["a now {\"x\":1}"]
    );
    // A continuation with a new id and no name goes on.
    assert_eq!(
        read(&[
            json!({"index": 0, "id": "a", "function": function("now", "{")}),
            json!({"index": 0, "id": "other", "function": {"arguments": "}"}})
        ]),
        ["a now {}"]
    );
}

#[test]
fn ids_that_are_missing_are_made_and_numbers_are_ids() {
    let function = json!({"name": "now", "arguments": "{}"});
    assert_eq!(
        read(&[
            json!({"index": 0, "function": function}),
            json!({"index": 1, "id": null, "function": function}),
            json!({"index": 2, "id": 7, "function": function})
        ]),
        ["made_call_0 now {}", "made_call_1 now {}", "7 now {}"]
    );
}

#[test]
fn arguments_of_every_shape() {
    let one = |arguments: Value| read(&[json!({"index": 0, "id": "a", "function": {"name": "now", "arguments": arguments}})]);
    for (arguments, expected) in [
        (json!(""), "{}"),
        (json!(null), "{}"),
        (json!("null"), "{}"),
        (json!({"x": 1}), "{\"x\":1}"),
        (json!("\"{\\\"x\\\":1}\""), "{\"x\":1}"),
    ] {
        assert_eq!(one(arguments.clone()), [format!("a now {expected}")], "{arguments}");
    }
    // Some gateways repeat all arguments at the end.
    let piece = |arguments: &str| json!({"index": 0, "id": "a", "function": {"name": "now", "arguments": arguments}});
    assert_eq!(read(&[piece("{\"x\":"), piece("1}"), piece("{\"x\":1}")]), ["a now {\"x\":1}"]);
    assert_eq!(read(&[piece("{\"x\":1}"), piece("{ \"x\": 1 }")]), ["a now {\"x\":1}"]);
}

#[test]
fn broken_arguments_are_kept_aside() {
    let decoded =
        with_tools(&[calls(json!([{"index": 0, "id": "a", "function": {"name": "now", "arguments": "{\"x\":"}}])), end("length")]);
    let Some(AssistantPart::ToolCall(call)) = decoded.message().parts.last() else { panic!("a call") };
    assert_eq!((call.arguments.as_str(), call.invalid_arguments.as_deref()), ("{}", Some("{\"x\":")));
    assert_eq!(decoded.response().stop.reason, StopReason::MaxTokens);
}

#[test]
fn a_name_that_comes_late_waits_for_nothing_else() {
    assert_eq!(
        read(&[
            json!({"index": 0, "id": "a", "function": {"arguments": "{\"x\""}}),
            json!({"index": 0, "function": {"name": "now", "arguments": ":1}"}})
        ]),
        ["a now {\"x\":1}"]
    );
}

#[test]
fn calls_of_free_text_and_of_the_first_version() {
    let custom = with_tools(&[
        calls(json!([{"index": 0, "id": "a", "type": "custom", "custom": {"name": "now", "input": "say "}}])),
        calls(json!([{"index": 0, "custom": {"input": "\"hi\""}}])),
        end("tool_calls"),
    ]);
    let Some(AssistantPart::ToolCall(call)) = custom.message().parts.last() else { panic!("a call") };
    assert_eq!((call.call_type.as_deref(), call.arguments.to_value()), (Some("custom_tool_call"), json!({"input": "say \"hi\""})));
    assert_eq!(item(&custom)["tool_calls"][0], json!({"id": "a", "type": "custom", "custom": {"name": "now", "input": "say \"hi\""}}));
    let legacy = with_tools(&[
        delta(json!({"function_call": {"name": "now", "arguments": ""}})),
        delta(json!({"function_call": {"name": "", "arguments": "{\"x\":1}"}, "tool_calls": null})),
        end("function_call"),
    ]);
    assert_eq!((legacy.calls(), legacy.response().stop.reason), (vec!["made_call_0 now {\"x\":1}".to_owned()], StopReason::ToolUse));
    let nothing = with_tools(&[delta(json!({"content": "a", "function_call": {"name": "", "arguments": ""}})), end("stop")]);
    assert!(nothing.calls().is_empty());
}

#[test]
fn what_a_gateway_adds_to_a_call_is_kept() {
    let signed = json!({"google": {"thought_signature": "S"}});
    let decoded = with_tools(&[
        calls(json!([{"index": 0, "id": "a", "extra_content": signed, "function": {"name": "now", "arguments": "{}"}}])),
        end("stop"),
    ]);
    assert_eq!(item(&decoded)["tool_calls"][0]["extra_content"], signed);
}
