//! Messages, roles, and calls with their answers.

use tower_genai_core::{Content, Effort, Image, Reasoning, UserMessage};

use super::*;
use crate::protocols::Resume;

#[test]
fn all_results_of_a_turn_stand_first_in_one_message() {
    let mut request = request();
    push_answer(&mut request, json!([text("I look"), tool_use("a", "read"), tool_use("s", "tool_search"), tool_use("b", "read")]));
    request.messages.push(result("b", "B"));
    request.messages.push(found("s", &["d1"], "d1 is loaded."));
    request.messages.push(Message::user("hurry"));
    request.messages.push(result("a", "A"));
    assert_eq!(
        shape_of(&request),
        [
            r#"user: "hi""#,
            r#"assistant: "I look" call(a,read,{}) call(s,tool_search,{}) call(b,read,{})"#,
            r#"user: result(a: "A") result(s: ->d1) result(b: "B") "d1 is loaded." "hurry""#,
        ]
    );
}

#[test]
fn roles_alternate() {
    let mut request = request();
    request.messages.push(Message::user("there"));
    request.messages.push(Message::system("From now on in French."));
    request.messages.push(neutral(vec![part("one")]));
    request.messages.push(neutral(vec![part("two")]));
    request.messages.push(Message::user("bye"));
    assert_eq!(shape_of(&request), [r#"user: "hi" "there" "From now on in French.""#, r#"assistant: "one" "two""#, r#"user: "bye""#]);
}

#[test]
fn instructions_in_the_middle_have_a_role_where_the_model_knows_it() {
    let mut capabilities = Capabilities::anthropic();
    capabilities.system_messages = true;
    let mut request = request();
    request.messages.push(Message::system("French."));
    request.messages.push(Message::system("Short."));
    request.messages.push(neutral(vec![part("oui")]));
    // Behind the model or before the user there is no place for it.
    request.messages.push(Message::system("English."));
    request.messages.push(Message::user("and now?"));
    request.messages.push(Message::system("Last."));
    assert_eq!(
        shape(&body_with(&request, &capabilities)),
        [r#"user: "hi""#, r#"system: "French." "Short.""#, r#"assistant: "oui""#, r#"user: "English." "and now?""#, r#"system: "Last.""#]
    );
}

#[test]
fn missing_answers_are_told_and_repeated_ids_told_apart() {
    let mut request = request();
    push_answer(&mut request, json!([tool_use("a", "read"), tool_use("b", "read")]));
    request.messages.push(result("b", "B"));
    push_answer(&mut request, json!([tool_use("a", "read")]));
    request.messages.push(result("a", "A"));
    assert_eq!(
        shape_of(&request)[1..],
        [
            r#"assistant: call(a,read,{}) call(b,read,{})"#,
            r#"user: result!(a: "No result was recorded for this call.") result(b: "B")"#,
            r#"assistant: call(a_2,read,{})"#,
            r#"user: result(a_2: "A")"#,
        ]
    );
}

#[test]
fn another_models_turn_goes_out_from_its_parts() {
    let mut request = request();
    let mut custom = call("c 1", "read");
    custom.arguments = Json::string("free text");
    let mut broken = ToolCall::from_text("c2", tower_genai_core::ToolName::namespaced("crm", "find it"), "{\"a\":");
    broken.call_type = Some("function_call".into());
    request.messages.push(neutral(vec![
        AssistantPart::Reasoning { text: "secret".into() },
        part("t"),
        part("  "),
        AssistantPart::ToolCall(custom.clone()),
        AssistantPart::Hosted(tower_genai_core::HostedCall::new("h", "web_search", "web_search_call")),
        AssistantPart::ToolCall(broken),
        AssistantPart::Refusal { text: "no".into() },
    ]));
    request.messages.push(ToolResult::text(&custom, "ok"));
    let shape = shape_of(&request);
    assert!(shape[1].starts_with(r#"assistant: "t" call(c_1_2,read,{"input":"free text"}) call(c2,crm__find_it_"#), "{}", shape[1]);
    assert!(shape[1].ends_with(r#",{}) "no""#), "{}", shape[1]);
    assert!(shape[2].starts_with(r#"user: result(c_1_2: "ok") result!(c2: "#), "{}", shape[2]);
}

#[test]
fn items_go_back_verbatim_to_the_same_endpoint_and_model_only() {
    let mut request = request();
    let item = json!({"type": "text", "text": "cited", "citations": [{"encrypted_index": "x"}], "new_field": 1.50});
    push_answer(
        &mut request,
        json!([thinking(""), item, {"type": "fallback", "from": "a"}, {"type": "redacted_thinking", "data": "d"}, text("")]),
    );
    request.messages.push(Message::user("more"));
    assert_eq!(body(&request)["messages"][1]["content"], json!([thinking(""), item, {"type": "fallback", "from": "a"}]));
    for other in [Target::new("elsewhere", "model"), Target::new("host", "other")] {
        let body = AnthropicMessages::new().encode(&request, &other, &Capabilities::anthropic()).unwrap().body;
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["messages"][1]["content"], json!([text("cited")]));
    }
}

#[test]
fn items_that_no_longer_fit_the_parts_are_not_used() {
    let mut request = request();
    let message = answer(&request, json!([thinking("t"), tool_use("a", "read"), tool_use("b", "read")]));
    let Message::Assistant(message) = &*message else { panic!() };
    let mut edited = message.clone();
    edited.parts.pop();
    request.messages.push(edited);
    request.messages.push(result("a", "A"));
    assert_eq!(shape_of(&request)[1], "assistant: call(a,read,{})");
}

#[test]
fn what_cannot_be_repaired_is_refused_by_place() {
    let ends_with_model = request().message(Message::assistant("done"));
    assert!(error(&ends_with_model).contains("message 1 of the model"), "{}", error(&ends_with_model));
    let mut capabilities = Capabilities::anthropic();
    capabilities.prefill = true;
    let prefill = request().message(Message::assistant("It is \n"));
    assert_eq!(shape(&body_with(&prefill, &capabilities)), [r#"user: "hi""#, r#"assistant: "It is""#]);
    let mut resumed = ends_with_model.clone();
    resumed.extensions.insert(Resume);
    assert_eq!(shape_of(&resumed).len(), 2);

    let begins_with_model = ModelRequest::new().message(Message::assistant("hello")).user("hi");
    assert!(error(&begins_with_model).contains("begins with a message of the model"));
    assert!(error(&ModelRequest::new()).contains("no message"));
    let blank = request().message(Message::assistant("x")).user("  \n");
    assert!(error(&blank).contains("message 2 of the user"), "{}", error(&blank));
}

#[test]
fn an_empty_message_of_the_model_is_left_out() {
    let mut request = request();
    push_answer(&mut request, json!([]));
    request.messages.push(Message::user("again"));
    push_answer(&mut request, json!([thinking("cut short")]));
    request.messages.push(Message::user("and again"));
    assert_eq!(shape_of(&request), [r#"user: "hi" "again" "and again""#]);
}

#[test]
fn content_of_every_kind() {
    let image = Content::Image(Image::Base64 { media_type: "image/png".into(), data: "AAAA".into() });
    let document = Json::parse(r#"{"type":"document","source":{"type":"text","data":"x"}}"#).unwrap();
    let foreign = Content::Provider { protocol: "openai_responses".into(), item: document.clone(), text: None };
    let own = Content::Provider { protocol: "anthropic".into(), item: document, text: None };
    let linked = Content::Image(Image::Url { url: "https://example.org/\"a\".png".into(), media_type: None });
    let content = vec![image.clone(), Content::text(" "), foreign, own, linked];
    let mut request = ModelRequest::new().message(UserMessage { content: content.clone() });
    let sent = json!([
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "document", "source": {"type": "text", "data": "x"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/\"a\".png"}},
    ]);
    let mut capabilities = Capabilities::anthropic();
    capabilities.prompt_cache = false;
    assert_eq!(body_with(&request, &capabilities)["messages"][0]["content"], sent);
    request.messages.push(neutral(vec![AssistantPart::ToolCall(call("a", "read")), AssistantPart::ToolCall(call("b", "read"))]));
    let mut with_images = result("a", "");
    with_images.content = content;
    request.messages.push(with_images);
    request.messages.push(ToolResult::error(&call("b", "read"), ""));
    let results = &body_with(&request, &capabilities)["messages"][2]["content"];
    assert_eq!(results[0]["content"], sent);
    assert_eq!(results[1], json!({"type": "tool_result", "tool_use_id": "b", "is_error": true}));
    capabilities.images = false;
    let texts = body_with(&request, &capabilities)["messages"][0]["content"].clone();
    assert!(texts[0]["text"].as_str().unwrap().contains("image omitted") && texts[1]["type"] == "document", "{texts}");
}

#[test]
fn another_providers_compaction_is_a_text_where_it_can_be_read() {
    let compaction = |summary: Option<&str>| AssistantPart::Compaction { summary: summary.map(Into::into) };
    let dialogue = |summary| {
        let mut request = request().reasoning(Reasoning::effort(Effort::Low));
        request.messages.push(neutral(vec![part("old")]));
        request.messages.push(Message::user("old question"));
        request.messages.push(neutral(vec![part("before"), compaction(summary), part("after")]));
        request.messages.push(Message::user("new"));
        shape_of(&request)
    };
    assert_eq!(
        dialogue(Some("We spoke.")),
        [r#"user: "Summary of the conversation so far:\n\nWe spoke.""#, r#"assistant: "after""#, r#"user: "new""#]
    );
    assert_eq!(dialogue(None).len(), 5);
}

#[test]
fn its_own_compaction_goes_back_and_comes_first_where_it_is_alone() {
    let compaction = json!({"type": "compaction", "content": "We spoke.", "encrypted_content": "e"});
    let mut request = request();
    push_answer(&mut request, json!([compaction, text("on")]));
    request.messages.push(Message::user("more"));
    assert_eq!(shape_of(&request), [r#"user: "hi""#, r#"assistant: compaction "on""#, r#"user: "more""#]);
    push_answer(&mut request, json!([compaction]));
    request.messages.push(Message::user("new"));
    assert_eq!(shape_of(&request), ["assistant: compaction", r#"user: "new""#]);
}
