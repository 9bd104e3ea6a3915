//! Recorded responses, where the environment says where they are.

use std::{fs, path::PathBuf};

use super::*;

/// The recordings of this protocol: name, body, what it is expected to say.
fn recordings() -> Vec<(String, Vec<u8>, Value)> {
    let Some(root) = std::env::var_os("TOWER_GENAI_SHARED") else {
        println!("skipped: TOWER_GENAI_SHARED is not set");
        return Vec::new();
    };
    let folder = PathBuf::from(root).join("recordings/openai_responses");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let expected: Value = serde_json::from_slice(&fs::read(path.join("expect.json")).unwrap()).unwrap();
        if fs::read_to_string(path.join("status")).is_ok_and(|status| status.trim() != "200") {
            continue;
        }
        let body = ["response.sse", "response.json"].iter().find_map(|name| fs::read(path.join(name)).ok()).unwrap();
        found.push((path.file_name().unwrap().to_string_lossy().into_owned(), body, expected));
    }
    found
}

fn decode(body: &[u8]) -> Decoded {
    let text = String::from_utf8_lossy(body);
    if text.trim_start().starts_with('{') {
        return whole_body(body);
    }
    let mut decoder = Decoder::new(Context::default(), &Target::new("host", "model"));
    let mut events = VecDeque::new();
    let mut outcome = Ok(());
    for data in text.lines().filter_map(|line| line.strip_prefix("data:")) {
        outcome = decoder.push(data, &mut events);
    }
    Decoded { events: events.into(), outcome, is_done: decoder.is_done() }
}

#[test]
fn every_recording_says_what_it_is_expected_to() {
    for (name, body, expected) in recordings() {
        let decoded = decode(&body);
        if !expected["extra"]["error"].is_null() {
            let error = decoded.outcome.unwrap_err();
            assert_eq!(json!(error.provider().unwrap().message), expected["extra"]["error"]["message"], "{name}");
            continue;
        }
        let response = decoded.response();
        assert_eq!(json!(response.text()), expected["text"], "{name}");
        assert_eq!(json!(response.stop.native), expected["finish_reason"], "{name}");
        let usage = json!({"input": response.usage.input_tokens, "output": response.usage.output_tokens, "cache_read": response.usage.cache_read_tokens});
        assert_eq!(usage, expected["usage"], "{name}");
        let message = decoded.message();
        let ids: Vec<&str> = message
            .parts
            .iter()
            .filter_map(|part| match part {
                AssistantPart::ToolCall(call) | AssistantPart::Search(call)
                    if call.call_type.as_deref() != Some("mcp_approval_request") =>
                {
                    Some(&*call.id)
                }
                _ => None,
            })
            .collect();
        let wanted: Vec<&str> = expected["tool_calls"].as_array().unwrap().iter().filter_map(|call| call["id"].as_str()).collect();
        assert_eq!(ids, wanted, "{name}");
        let hosted = message.parts.iter().filter(|part| matches!(part, AssistantPart::Hosted(_))).count();
        assert_eq!(hosted, expected["server_tools"].as_array().unwrap().len(), "{name}");
    }
}

#[test]
fn every_recorded_item_is_kept_to_the_byte() {
    for (name, body, _) in recordings() {
        let decoded = decode(&body);
        let Ok(()) = decoded.outcome else { continue };
        let Some(replay) = &decoded.message().replay else { continue };
        let text = String::from_utf8_lossy(&body);
        for item in &replay.items {
            let minified = || Json::parse(&text).is_ok_and(|whole| whole.as_str().contains(item.as_str()));
            let in_event = || {
                text.lines()
                    .filter_map(|line| line.strip_prefix("data:"))
                    .any(|data| data.contains(item.as_str()) || Json::parse(data).is_ok_and(|data| data.as_str().contains(item.as_str())))
            };
            assert!(in_event() || minified(), "{name}: {item}");
        }
    }
}
