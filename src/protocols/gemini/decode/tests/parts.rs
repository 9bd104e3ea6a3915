use tower_genai_core::{AssistantPart, HostedOutcome, Image};

use super::*;
use crate::protocols::samples::{context, said, search_tool, thought, tool};

fn with_tools(events: &[Value]) -> Decoded {
    let tools = [tool("read").namespace("fs"), search_tool(), tool("getWeather")];
    let events: Vec<String> = events.iter().map(Value::to_string).collect();
    samples::decoded::<GenerateContent>(context::<GenerateContent>(tools, &Capabilities::gemini()), &events)
}

fn hosted(decoded: &Decoded) -> Vec<String> {
    let calls = decoded.message().parts.iter().filter_map(|part| match part {
        AssistantPart::Hosted(call) => Some(call),
        _ => None,
    });
    calls
        .map(|call| {
            let outcome = match &call.outcome {
                HostedOutcome::Completed => "ok",
                HostedOutcome::Failed { code } => code,
                _ => "pending",
            };
            let input = call.input.as_ref().map_or("-", Json::as_str);
            format!("{} {} {} {input} {outcome}", call.id, call.name, call.call_type)
        })
        .collect()
}

#[test]
fn text_and_thoughts_are_shown_as_they_come_and_kept_as_they_are_signed() {
    let decoded = decoded(&[
        parts(json!([{"text": "h", "thought": true}])),
        parts(json!([{"text": "m", "thought": true}, {"text": "Hel"}])),
        parts(json!([{"text": "lo"}, {}, {"text": ""}])),
        parts(json!([{"text": "!", "thoughtSignature": "S"}, {"text": "", "thoughtSignature": "E"}, {"text": "?"}])),
        end("STOP"),
    ]);
    assert_eq!(decoded.shown(), ["reasoning h", "reasoning m", "text Hel", "text lo", "text !", "text ?"]);
    assert_eq!(decoded.message().parts, [thought("hm"), said("Hello!?")]);
    assert_eq!(
        items(&decoded),
        [
            json!({"text": "Hello"}),
            json!({"text": "!", "thoughtSignature": "S"}),
            json!({"text": "", "thoughtSignature": "E"}),
            json!({"text": "?"})
        ]
    );
    let response = decoded.response();
    assert_eq!((response.id.as_deref(), response.model.as_deref()), (Some("r"), Some("m-1")));
    let usage = response.usage;
    assert_eq!(
        (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens, usage.reasoning_tokens),
        (Some(10), Some(4), Some(5), Some(2))
    );
}

#[test]
fn calls_come_whole_with_or_without_ids() {
    let call = json!({"functionCall": {"id": "fc1", "name": "fs__read", "args": {"a": 1}}, "thoughtSignature": "S"});
    let calls = json!([call, {"functionCall": {"name": "tool_search", "args": {"queries": ["x"]}}}, {"functionCall": {"name": "now"}}]);
    let decoded = with_tools(&[parts(json!([{"text": "Well."}])), parts(calls.clone()), end("STOP")]);
    assert_eq!(decoded.calls(), ["fc1 fs.read {\"a\":1}", "search made_call_1 tool_search {\"queries\":[\"x\"]}", "made_call_2 now {}"]);
    assert_eq!(
        decoded.shown(),
        ["text Well.", "call fc1 fs.read", "arguments fc1 {\"a\":1}", "call made_call_2 now", "arguments made_call_2 {}"]
    );
    assert_eq!(decoded.response().stop.reason, StopReason::ToolUse);
    assert_eq!(items(&decoded)[1], call);
    assert_eq!(items(&decoded)[3], json!({"functionCall": {"name": "now", "args": {}}}));
}

#[test]
fn arguments_that_come_value_by_value_are_put_together() {
    let piece = |call: Value| parts(json!([{"functionCall": call}]));
    let signed = parts(json!([{"functionCall": {"name": "getWeather", "willContinue": true}, "thoughtSignature": "S"}]));
    let place = |text: &str, goes_on: bool| {
        piece(json!({"partialArgs": [{"jsonPath": "$.place", "stringValue": text, "willContinue": goes_on}], "willContinue": true}))
    };
    let values = json!([{"jsonPath": "$.days[0]", "numberValue": 1.50}, {"jsonPath": "$.days[1]", "boolValue": true}, {"jsonPath": "$.unit", "nullValue": null},
        {"jsonPath": "$.note", "nullValue": "NULL_VALUE"}]);
    let decoded = with_tools(&[
        signed,
        place("Bos", true),
        place("ton", false),
        piece(json!({"partialArgs": values, "willContinue": true})),
        piece(json!({})),
        piece(json!({"name": "getWeather", "willContinue": true})),
        piece(json!({"partialArgs": [{"jsonPath": "$.place", "stringValue": "Oslo"}]})),
        piece(
            json!({"id": "fc9", "name": "getWeather", "partialArgs": [{"jsonPath": "$.place", "stringValue": "Rom"}], "willContinue": true}),
        ),
        end("STOP"),
    ]);
    assert_eq!(
        decoded.calls(),
        [
            r#"made_call_0 getWeather {"place":"Boston","days":[1.5,true],"note":null}"#,
            r#"made_call_1 getWeather {"place":"Oslo"}"#,
            r#"fc9 getWeather {"place":"Rom"}"#
        ]
    );
    assert_eq!(
        items(&decoded)[0],
        json!({"functionCall": {"name": "getWeather", "args": {"place": "Boston", "days": [1.5, true], "note": null}}, "thoughtSignature": "S"})
    );
    assert_eq!(items(&decoded)[2], json!({"functionCall": {"id": "fc9", "name": "getWeather", "args": {"place": "Rom"}}}));
    let shown = decoded.shown();
    assert_eq!(shown[..2], ["call made_call_0 getWeather", r#"arguments made_call_0 {"place":"Boston","days":[1.5,true],"note":null}"#]);
}

#[test]
fn code_that_the_provider_runs() {
    let code = json!({"language": "PYTHON", "code": "print(1)"});
    let decoded = decoded(&[
        parts(json!([{"executableCode": code}])),
        parts(json!([{"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}])),
        parts(
            json!([{"executableCode": code}, {"codeExecutionResult": {"outcome": "OUTCOME_FAILED"}}, {"executableCode": code}, {"text": "1"}]),
        ),
        end("STOP"),
    ]);
    let input = r#"{"code":"print(1)","language":"PYTHON"}"#;
    assert_eq!(
        hosted(&decoded),
        [
            format!("executed_0 code_execution executableCode {input} ok"),
            format!("executed_1 code_execution executableCode {input} OUTCOME_FAILED"),
            format!("executed_2 code_execution executableCode {input} pending")
        ]
    );
    assert_eq!(
        decoded.shown()[..3],
        ["hosted executed_0 code_execution".to_owned(), format!("input executed_0 {input}"), "completed executed_0".to_owned()]
    );
    assert_eq!(decoded.shown()[5], "failed executed_1 OUTCOME_FAILED");
    assert_eq!(items(&decoded).len(), 6);
}

#[test]
fn tools_that_the_provider_calls() {
    let call = json!({"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}}, "thoughtSignature": "S"});
    let response = json!({"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}, "thoughtSignature": "R"});
    let decoded = decoded(&[parts(json!([call, response, {"functionCall": {"name": "f", "args": {}}}])), end("STOP")]);
    assert_eq!(hosted(&decoded), [r#"t1 GOOGLE_SEARCH_WEB toolCall {"queries":["q"]} ok"#]);
    assert_eq!(items(&decoded)[..2], [call, response]);
    assert_eq!(decoded.calls(), ["made_call_0 f {}"]);
}

#[test]
fn what_an_answer_rests_on() {
    let candidate = |candidate: Value| json!({"candidates": [candidate]});
    let grounded = candidate(
        json!({"content": {"parts": [{"text": "x"}]}, "groundingMetadata": {"webSearchQueries": ["a", "b"], "groundingChunks": [{"web": {"uri": "u"}}, {"maps": {"uri": "m"}}]},
        "citationMetadata": {"citationSources": [1]}}),
    );
    let again = candidate(
        json!({"groundingMetadata": {"webSearchQueries": ["b"], "groundingChunks": [{"retrievedContext": {"text": "t"}}]}, "finishReason": "STOP"}),
    );
    let decoded_twice = decoded(&[grounded, again]);
    assert_eq!(
        hosted(&decoded_twice),
        [
            r#"executed_0 google_search grounding {"queries":["a","b"]} ok"#,
            "executed_1 google_maps grounding - ok",
            "executed_2 file_search grounding - ok"
        ]
    );
    let last = items(&decoded_twice).pop().unwrap();
    assert_eq!(last["groundingMetadata"]["webSearchQueries"], json!(["b"]));
    assert_eq!(last["citationMetadata"], json!({"citationSources": [1]}));
    let page = |status: &str| json!({"retrievedUrl": "u", "urlRetrievalStatus": format!("URL_RETRIEVAL_STATUS_{status}")});
    let fetched = |pages: Value| {
        let grounding = json!({"groundingChunks": [{"web": {"uri": "u"}}]});
        hosted(&decoded(&[candidate(
            json!({"urlContextMetadata": {"urlMetadata": pages}, "groundingMetadata": grounding, "finishReason": "STOP"}),
        )]))
    };
    assert_eq!(fetched(json!([page("SUCCESS"), page("SUCCESS")])), ["executed_0 url_context grounding - ok"]);
    assert_eq!(
        fetched(json!([page("SUCCESS"), page("PAYWALL"), page("ERROR")])),
        ["executed_0 url_context grounding - URL_RETRIEVAL_STATUS_PAYWALL"]
    );
    for empty in [json!({}), json!(null), json!({"webSearchQueries": [], "groundingChunks": [{}], "searchEntryPoint": {}})] {
        assert!(hosted(&decoded(&[candidate(json!({"groundingMetadata": empty, "finishReason": "STOP"}))])).is_empty());
    }
}

#[test]
fn media_in_an_answer() {
    let bytes = json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thoughtSignature": "S"});
    let sound = json!({"inlineData": {"mimeType": "audio/wav", "data": "BBBB"}});
    let decoded = decoded(&[parts(json!([bytes, sound, {"fileData": {"mimeType": "image/webp", "fileUri": "u"}}])), end("STOP")]);
    let url = Image::Url { url: "u".into(), media_type: Some("image/webp".into()) };
    let inline = Image::Base64 { media_type: "image/png".into(), data: "AAAA".into() };
    assert_eq!(decoded.message().parts, [inline, url].map(AssistantPart::Image));
    assert_eq!(items(&decoded)[..2], [bytes, sound]);
}
