//! The same input gives the same bytes in every process, whatever the seeds of its hash maps.

use std::process::Command;

use tower_genai::{
    AssistantMessage, AssistantPart, BoxModelService, Json, ModelRequest, ModelServiceExt, SearchResult, ToolCall, ToolResult,
    tool_guidelines::ToolGuidelinesLayer, tool_search::ToolSearchLayer,
};

use crate::{Part, build, endpoint::Endpoint, endpoint::Wire, tools};

const CHILD: &str = "TOWER_GENAI_DETERMINISM_CHILD";

/// Everything whose order could come from a map: definitions, loads, labels, fields of the body.
fn request() -> ModelRequest {
    let search = ToolCall::new("s", "tool_search", Json::parse(r#"{"queries":["mail","customer"]}"#).unwrap());
    let calls = ["get_weather", "send_mail"].map(|name| ToolCall::new(name, name, Json::parse(r#"{"b":1,"a":2}"#).unwrap()));
    let loaded = tools().iter().filter(|tool| tool.deferred).rev().cloned().collect();
    let mut request = ModelRequest::new().system("Base.").tools(tools()).user("Do it.");
    request.messages.push(AssistantMessage::new(vec![AssistantPart::Search(search.clone())]));
    request.messages.push(SearchResult::new(&search, loaded, "Loaded."));
    request.messages.push(AssistantMessage::new(calls.iter().cloned().map(AssistantPart::ToolCall).collect()));
    request.messages.extend(calls.iter().map(|call| ToolResult::text(call, "done")));
    for key in ["user_id", "b", "c", "a"] {
        request.metadata.insert(key.into(), key.into());
        request.extra_body.insert(format!("x_{key}").into(), Json::empty_object());
    }
    request.user("And now?")
}

async fn bodies() -> String {
    let mut out = String::new();
    for wire in [Wire::Anthropic, Wire::Responses] {
        let endpoint = Endpoint::new(wire);
        let parts = [Part::Search(ToolSearchLayer::new()), Part::Guidelines(ToolGuidelinesLayer::new()), Part::Deferred];
        let model: BoxModelService = build(&endpoint, &parts);
        model.complete(request()).await.unwrap();
        for body in endpoint.sent() {
            out.push_str(std::str::from_utf8(&body).unwrap());
        }
    }
    out
}

#[tokio::test]
async fn twenty_processes_send_one_text() {
    if std::env::var_os(CHILD).is_some() {
        println!("body: {}", bodies().await);
        return;
    }
    let expected = format!("body: {}", bodies().await);
    for _ in 0..20 {
        let program = std::env::current_exe().unwrap();
        let arguments = ["determinism::twenty_processes_send_one_text", "--exact", "--nocapture"];
        let output = Command::new(program).args(arguments).env(CHILD, "1").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let sent = text.lines().find_map(|line| Some(line.get(line.find("body: ")?..)?.trim_end_matches(" ok")));
        assert_eq!(sent, Some(&*expected));
    }
}
