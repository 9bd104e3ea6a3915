use proptest::prelude::*;
use tower_genai_core::{Conversation, Message, ModelRequest};

use super::*;
use crate::protocols::samples::{answer, context, said, tool, user};

#[test]
fn why_it_ended() {
    for (reason, expected) in [
        ("STOP", StopReason::EndTurn),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("SAFETY", StopReason::ContentFilter),
        ("RECITATION", StopReason::ContentFilter),
        ("MODEL_ARMOR", StopReason::ContentFilter),
        ("MALFORMED_FUNCTION_CALL", StopReason::InvalidCall),
        ("UNEXPECTED_TOOL_CALL", StopReason::InvalidCall),
        ("OTHER", StopReason::Other),
        ("SOMETHING_NEW", StopReason::Other),
    ] {
        let decoded = decoded(&[json!({"candidates": [{"finishReason": reason, "finishMessage": "because"}]})]);
        let stop = &decoded.response().stop;
        assert_eq!((stop.reason, stop.native.as_deref(), stop.detail.as_deref()), (expected, Some(reason), Some("because")));
    }
    let call = parts(json!([{"functionCall": {"name": "f", "args": {}}}]));
    assert_eq!(decoded(&[call.clone(), end("UNEXPECTED_TOOL_CALL")]).response().stop.reason, StopReason::ToolUse);
    assert_eq!(decoded(&[call, end("SAFETY")]).response().stop.reason, StopReason::ContentFilter);
    let blocked = decoded(&[json!({"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "no"}})]);
    let stop = &blocked.response().stop;
    assert_eq!(
        (stop.reason, stop.native.as_deref(), stop.detail.as_deref()),
        (StopReason::ContentFilter, Some("blocked:SAFETY"), Some("no"))
    );
    assert!(blocked.message().parts.is_empty());
}

#[test]
fn the_body_ends_the_response() {
    let mut decoder = Decoder::new(Context::default(), &samples::target());
    let mut events = VecDeque::new();
    decoder.push(&end("STOP").to_string(), &mut events).unwrap();
    assert!(!decoder.is_done());
    decoder.push(&parts(json!([{"text": "late"}])).to_string(), &mut events).unwrap();
    decoder.end(&mut events).unwrap();
    assert!(decoder.is_done() && format!("{decoder:?}").contains("true"));
    assert!(matches!(events.back(), Some(ModelEvent::Response(response)) if response.text() == "late"));
    let lines = [end("STOP").to_string(), "[DONE]".to_owned(), "not read".to_owned()];
    assert!(samples::decoded::<GenerateContent>(Context::default(), &lines).outcome.is_ok());
    let cut = decoded(&[parts(json!([{"text": "a"}]))]);
    assert_eq!((cut.shown(), cut.outcome.unwrap_err().kind()), (vec!["text a".to_owned()], ErrorKind::Protocol));
}

#[test]
fn only_the_first_candidate_counts() {
    let two = json!({"candidates": [{"index": 1, "content": {"parts": [{"text": "b"}]}, "finishReason": "OTHER"}, {"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}]});
    let decoded = decoded(&[two]);
    assert_eq!((decoded.message().parts.clone(), decoded.response().stop.reason), (vec![said("a")], StopReason::EndTurn));
}

#[test]
fn errors_inside_a_stream() {
    let error =
        json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE", "details": [{"retryDelay": "2s"}]}});
    for event in [error.clone(), json!([error])] {
        let failed = decoded(&[parts(json!([{"text": "a"}])), event]);
        assert_eq!(failed.shown(), ["text a"]);
        let error = failed.outcome.unwrap_err();
        assert_eq!((error.kind(), error.retry_after().map(|wait| wait.as_secs())), (ErrorKind::Overloaded, Some(2)));
        assert_eq!(error.provider().unwrap().error_type.as_deref(), Some("UNAVAILABLE"));
    }
    let broken = samples::decoded::<GenerateContent>(Context::default(), &["{\"secret\":"]).outcome.unwrap_err();
    assert!(broken.kind() == ErrorKind::Protocol && !broken.to_string().contains("secret"), "{broken}");
}

#[test]
fn a_whole_response_is_a_document_or_a_list_of_them() {
    let one = json!({"candidates": [{"content": {"parts": [{"text": "ab"}]}, "finishReason": "STOP"}]});
    let list = json!([parts(json!([{"text": "a"}])), parts(json!([{"text": "b"}])), end("STOP")]);
    for body in [one, list] {
        assert_eq!(samples::decoded_whole::<GenerateContent>(Context::default(), &body.to_string()).response().text(), "ab");
    }
    for (body, kind) in [
        ("{}", ErrorKind::Protocol),
        ("[]", ErrorKind::Protocol),
        ("", ErrorKind::Protocol),
        (r#"{"candidates":[{"content":{"parts":[]}}]}"#, ErrorKind::Protocol),
        (r#"[{"error":{"code":429}}]"#, ErrorKind::RateLimit),
    ] {
        assert_eq!(samples::decoded_whole::<GenerateContent>(Context::default(), body).outcome.unwrap_err().kind(), kind, "{body}");
    }
}

#[test]
fn counters_that_are_zero_are_left_out() {
    let usage = |usage: Value| decoded(&[json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage})]).response().usage;
    assert_eq!(usage(json!({"thoughtsTokenCount": 7})).output_tokens, Some(7));
    assert_eq!(usage(json!({"promptTokenCount": 7})).output_tokens, None);
    assert_eq!(usage(json!({"candidatesTokenCount": u64::MAX, "thoughtsTokenCount": 7})).output_tokens, Some(u64::MAX));
    assert_eq!(usage(json!(null)), Usage::default());
}

#[test]
fn an_answer_goes_back_as_it_came() {
    let event = r#"{"candidates":[{"content":{"parts":[{"text":"Well."},{"functionCall":{"id":"f1","name":"read","args":{"z":1,"a":1.50}},"thoughtSignature":"S"}]},"finishReason":"STOP"}]}"#;
    let decoded = samples::decoded::<GenerateContent>(context::<GenerateContent>([tool("read")], &Capabilities::gemini()), &[event]);
    let messages: Vec<Arc<Message>> = vec![user("u"), decoded.message().clone().into(), answer("f1", "read", "r")];
    let stored: Conversation = serde_json::from_str(&serde_json::to_string(&messages).unwrap()).unwrap();
    let body = samples::text::<GenerateContent>(&ModelRequest::new().messages(stored), &Capabilities::gemini());
    let expected = r#"{"role":"model","parts":[{"text":"Well."},{"functionCall":{"id":"f1","name":"read","args":{"z":1,"a":1.50}},"thoughtSignature":"S"}]},{"role":"user","parts":[{"functionResponse":{"id":"f1","name":"read","response":{"output":"r"}}}]}"#;
    assert!(body.contains(expected), "{body}");
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z\"\\\\é日{}$.\\[\\]]{0,6}".prop_map(Value::from),
        prop::sample::select(vec!["$.a", "$.a[0].b", "STOP", "SAFETY"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 24, 4, |inner| {
        let keys = [
            "candidates",
            "content",
            "parts",
            "text",
            "thought",
            "thoughtSignature",
            "functionCall",
            "name",
            "args",
            "id",
            "partialArgs",
            "jsonPath",
            "stringValue",
            "numberValue",
            "willContinue",
            "finishReason",
            "executableCode",
            "codeExecutionResult",
            "outcome",
            "toolCall",
            "toolResponse",
            "toolType",
            "inlineData",
            "mimeType",
            "data",
            "groundingMetadata",
            "webSearchQueries",
            "urlContextMetadata",
            "urlMetadata",
            "usageMetadata",
            "promptTokenCount",
            "promptFeedback",
            "blockReason",
            "index",
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
    fn no_json_makes_it_panic(pieces in prop::collection::vec(prop::collection::vec(json_value(), 0..4), 1..4), raw in json_value()) {
        let mut events: Vec<Value> = pieces.into_iter().map(|pieces| parts(Value::from(pieces))).collect();
        events.push(end("STOP"));
        let decoded = decoded(&events);
        prop_assert!(decoded.outcome.is_ok(), "{:?}", decoded.outcome);
        // What came in can go out.
        let message = decoded.message().clone();
        let calls: Vec<_> = decoded.response().open_calls().cloned().collect();
        let mut request = ModelRequest::new().user("u").message(message);
        for call in &calls {
            request = request.message(tower_genai_core::ToolResult::text(call, "r"));
        }
        let body = samples::body::<GenerateContent>(&request, &Capabilities::gemini());
        let contents = body["contents"].as_array().unwrap();
        prop_assert!(contents.iter().all(|content| content["parts"].as_array().is_some_and(|parts| !parts.is_empty())));
        samples::decoded::<GenerateContent>(Context::default(), &[raw.to_string()]).outcome.ok();
        samples::decoded_whole::<GenerateContent>(Context::default(), &raw.to_string()).outcome.ok();
    }

    #[test]
    fn a_stream_gives_the_same_wherever_its_text_is_cut(text in "[a-zé日 \"\\\\]{1,20}", cut in any::<prop::sample::Index>()) {
        let at = (0..=cut.index(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let pieces = decoded(&[parts(json!([{"text": text[..at]}])), parts(json!([{"text": text[at..]}])), end("STOP")]);
        let whole = decoded(&[parts(json!([{"text": text}])), end("STOP")]);
        prop_assert_eq!(pieces.message(), whole.message());
    }
}
