//! The prompt only grows.

use proptest::prelude::*;
use tower_genai_core::ServerTool;

use super::*;

/// One thing that happens in a dialogue.
#[derive(Clone, Debug)]
enum Step {
    User(String),
    System(String),
    /// The model answers with blocks, each given by a number, and its calls are answered, some with a definition.
    Turn {
        blocks: Vec<u8>,
        answered: Vec<bool>,
        interject: bool,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => "[a-z]{1,5}".prop_map(Step::User),
        1 => "[a-z]{1,5}".prop_map(Step::System),
        5 => (prop::collection::vec(0u8..8, 0..6), prop::collection::vec(any::<bool>(), 6), any::<bool>())
            .prop_map(|(blocks, answered, interject)| Step::Turn { blocks, answered, interject }),
    ];
    prop::collection::vec(step, 1..14)
}

/// The blocks of a prompt in their order, without breakpoints.
fn blocks(request: &ModelRequest) -> Vec<String> {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.remove("cache_control");
                members.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut body = body(request);
    strip(&mut body);
    let mut out: Vec<String> = ["tools", "system"].iter().map(|part| body[*part].to_string()).collect();
    for message in body["messages"].as_array().unwrap() {
        for block in message["content"].as_array().unwrap() {
            out.push(format!("{} {block}", message["role"]));
        }
    }
    out
}

/// What every endpoint checks.
fn check_rules(body: &Value) {
    let messages = body["messages"].as_array().unwrap();
    let mut open: Vec<String> = Vec::new();
    let mut referenced = std::collections::HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        let content = message["content"].as_array().unwrap();
        assert!(!content.is_empty());
        let role = message["role"].as_str().unwrap();
        assert_eq!(role, if index % 2 == 0 { "user" } else { "assistant" }, "roles alternate");
        let of = |kind: &str, key: &str| -> Vec<String> {
            content.iter().filter(|block| block["type"] == kind).map(|block| block[key].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(of("tool_result", "tool_use_id"), open, "answers in the order of their calls");
        let results_later = content.iter().skip_while(|block| block["type"] == "tool_result").any(|block| block["type"] == "tool_result");
        assert!(!results_later, "results come first");
        open = of("tool_use", "id");
        for reference in content.iter().flat_map(|block| block["content"].as_array().into_iter().flatten()) {
            if reference["type"] == "tool_reference" {
                let name = reference["tool_name"].as_str().unwrap().to_owned();
                assert!(body["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == name.as_str()), "declared");
                assert!(referenced.insert(name), "referenced once");
            }
        }
        for hosted in of("server_tool_use", "id") {
            let came = |message: &Value| {
                message["content"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|block| block["tool_use_id"] == hosted.as_str() && block["type"] != "tool_result")
            };
            let answered = messages.get(index + 1);
            let only_results =
                answered.is_some_and(|next| next["content"].as_array().unwrap().iter().all(|block| block["type"] == "tool_result"));
            let resolved = came(message) || only_results && messages.get(index + 2).is_none_or(came);
            assert!(resolved, "hosted call {hosted} is unpaired: {body}");
        }
    }
    assert!(open.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn each_prompt_is_a_prefix_of_the_next(steps in steps()) {
        let mut request = request().server_tool(ServerTool::plain("web_fetch_20250910").unwrap()).unwrap();
        let mut said: Vec<String> = vec!["\"hi\"".to_owned()];
        let mut before = blocks(&request);
        let mut pending: Vec<String> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::User(text) => {
                    said.push(format!("{:?}", format!("{text}{number}")));
                    request.messages.push(Message::user(format!("{text}{number}")));
                }
                Step::System(text) => {
                    said.push(format!("{:?}", format!("{text}{number}")));
                    request.messages.push(Message::system(format!("{text}{number}")));
                }
                Step::Turn { blocks: kinds, answered, interject } => {
                    let Ok(prompt) = try_encode(&request, &Capabilities::anthropic()) else { continue };
                    check_rules(&serde_json::from_slice(&prompt.body).unwrap());
                    let now = blocks(&request);
                    prop_assert!(now.starts_with(&before), "{now:#?}\n{before:#?}");
                    before = now;
                    let mut content: Vec<Value> = std::mem::take(&mut pending)
                        .iter()
                        .map(|id| json!({"type": "web_fetch_tool_result", "tool_use_id": id, "content": {}}))
                        .collect();
                    let mut calls = Vec::new();
                    for (at, kind) in kinds.iter().enumerate() {
                        let id = format!("c{number}x{at}");
                        match kind {
                            0 => content.push(thinking(&id)),
                            1 | 2 => content.push(text(&id)),
                            3 => content.extend([
                                json!({"type": "server_tool_use", "id": id, "name": "web_fetch", "input": {}}),
                                json!({"type": "web_fetch_tool_result", "tool_use_id": id, "content": {}}),
                            ]),
                            4 => pending.push(id.clone()),
                            5 | 6 => calls.push((id.clone(), "read")),
                            _ => calls.push((id.clone(), "tool_search")),
                        }
                    }
                    if calls.is_empty() {
                        pending.clear();
                    }
                    content.extend(pending.iter().map(|id| json!({"type": "server_tool_use", "id": id, "name": "web_fetch", "input": {}})));
                    content.extend(calls.iter().map(|(id, name)| tool_use(id, name)));
                    push_answer(&mut request, json!(content));
                    for ((id, name), answered) in calls.iter().zip(&answered) {
                        if *name == "tool_search" {
                            let names: &[&str] = if *answered { &["d1", "d2"] } else { &["d1"] };
                            request.messages.push(found(id, names, if *answered { "" } else { "note" }));
                        } else {
                            request.messages.push(result(id, if *answered { "text" } else { "" }));
                        }
                    }
                    if interject && !calls.is_empty() {
                        said.push(format!("\"said{number}\""));
                        request.messages.push(Message::user(format!("said{number}")));
                    }
                }
            }
        }
        request.messages.push(neutral(vec![part("end")]));
        request.messages.push(Message::user("last"));
        let body = body(&request);
        check_rules(&body);
        let shape = shape(&body).join("\n");
        for text in said {
            prop_assert!(shape.contains(&text), "{text} is lost in {shape}");
        }
    }
}
