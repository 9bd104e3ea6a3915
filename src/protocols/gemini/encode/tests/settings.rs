use tower_genai_core::{Effort, Json, OutputFormat, Reasoning, Sampling, ServerTool, ToolChoice};

use super::*;
use crate::protocols::{
    ThinkingStyle,
    samples::{deferred, encoded, request, search_tool, tool, user},
};

#[test]
fn every_setting_has_its_field() {
    let mut request = ModelRequest::new().system("Be").system("").system("brief.").user("hi").max_output_tokens(5).stop_sequence("END");
    request.sampling = Sampling::new().temperature(0.5).top_p(0.9).top_k(40).seed(-7);
    request.sampling.frequency_penalty = Some(0.25);
    request.sampling.presence_penalty = Some(f64::INFINITY);
    request.output = OutputFormat::JsonSchema { name: "x".into(), schema: Json::parse(r#"{"type":"object"}"#).unwrap(), strict: true };
    request = request.extra_body("generationConfig", json!({"topK": 3, "candidateCount": 1})).extra_body("safetySettings", json!([]));
    assert_eq!(
        body(&request),
        json!({
            "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}, "maxOutputTokens": 5,
                "stopSequences": ["END"], "temperature": 0.5, "topP": 0.9, "frequencyPenalty": 0.25, "topK": 3, "seed": -7, "candidateCount": 1},
            "systemInstruction": {"parts": [{"text": "Be"}, {"text": "brief."}]},
            "safetySettings": [],
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        })
    );
    request.output = OutputFormat::Json;
    assert_eq!(body(&request)["generationConfig"]["responseMimeType"], "application/json");
    let plain = Capabilities { sampling: false, output_schema: false, ..Capabilities::gemini() };
    assert_eq!(body_with(&request, &plain)["generationConfig"]["temperature"], Value::Null);
    request.output = OutputFormat::JsonSchema { name: "x".into(), schema: Json::empty_object(), strict: false };
    assert!(refusal(&request, &plain).contains("`output`"));
}

#[test]
fn thinking_is_a_level_or_a_number_of_tokens() {
    let config = |reasoning: Reasoning, style| {
        let capabilities = Capabilities { thinking: style, ..Capabilities::gemini() };
        body_with(&ModelRequest::new().user("hi").reasoning(reasoning), &capabilities)["generationConfig"]["thinkingConfig"].clone()
    };
    use ThinkingStyle::{Budget, Effort as Level, Unsupported};
    for (effort, level, tokens) in [
        (Effort::None, "MINIMAL", 0),
        (Effort::Minimal, "MINIMAL", 1_024),
        (Effort::Low, "LOW", 1_024),
        (Effort::Medium, "MEDIUM", 8_192),
        (Effort::High, "HIGH", 24_576),
        (Effort::XHigh, "XHIGH", 24_576),
        (Effort::Max, "XHIGH", 24_576),
    ] {
        assert_eq!(config(Reasoning::effort(effort), Level), json!({"thinkingLevel": level}));
        assert_eq!(config(Reasoning::effort(effort), Budget), json!({"thinkingBudget": tokens}));
    }
    assert_eq!(config(Reasoning::budget(5).summary(true), Level), json!({"thinkingBudget": 5, "includeThoughts": true}));
    let mut both = Reasoning::effort(Effort::Low).summary(false);
    both.budget_tokens = Some(7);
    assert_eq!(config(both, Level), json!({"thinkingLevel": "LOW", "includeThoughts": false}));
    assert_eq!(config(both, Budget), json!({"thinkingBudget": 7, "includeThoughts": false}));
    assert_eq!(config(Reasoning::default(), Level), Value::Null);
    assert_eq!(config(both, Unsupported), Value::Null);
    let error = refusal(
        &ModelRequest::new().user("hi").reasoning(both),
        &Capabilities { thinking: ThinkingStyle::Adaptive, ..Capabilities::gemini() },
    );
    assert!(error.contains("Capabilities::thinking is Adaptive"), "{error}");
}

#[test]
fn the_path_says_whether_it_streams() {
    let streamed = encoded::<GenerateContent>(&ModelRequest::new().user("hi"), &Capabilities::gemini()).unwrap();
    assert_eq!(streamed.path, None);
    for (stream, path) in [(json!(false), Some("/models/model:generateContent")), (json!(true), None), (Value::Null, None)] {
        let request = ModelRequest::new().user("hi").extra_body("stream", stream);
        let encoded = encoded::<GenerateContent>(&request, &Capabilities::gemini()).unwrap();
        assert_eq!(encoded.path.as_deref(), path);
        assert_eq!(encoded.body, r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#);
    }
    assert_eq!(crate::protocols::gemini::path("tunedModels/mine", "generateContent"), "/tunedModels/mine:generateContent");
}

#[test]
fn functions_stand_behind_the_tools_of_the_provider() {
    let tools = [tool("read").parameters(Json::parse(r#"{"properties":{"a":{"const":1}}}"#).unwrap()), tool("list").namespace("crm")];
    let request = request(tools, vec![user("hi")])
        .server_tool(ServerTool::plain("google_search").unwrap())
        .unwrap()
        .server_tool(ServerTool::new("file_search", r#"{"file_search_store_names":["s"]}"#).unwrap())
        .unwrap();
    let mixed = body(&request);
    assert_eq!(
        mixed["tools"],
        json!([{"google_search": {}}, {"file_search": {"file_search_store_names": ["s"]}}, {"functionDeclarations": [
            {"name": "read", "description": "Does read.", "parametersJsonSchema": {"type": "object", "properties": {"a": {"const": 1}}}},
            {"name": "crm__list", "description": "Does list.", "parametersJsonSchema": {"type": "object", "properties": {}}},
        ]}])
    );
    assert_eq!(mixed["toolConfig"], json!({"includeServerSideToolInvocations": true}));
    let alone = ModelRequest::new().user("hi").server_tool(ServerTool::plain("url_context").unwrap()).unwrap();
    assert_eq!((&body(&alone)["tools"], &body(&alone)["toolConfig"]), (&json!([{"url_context": {}}]), &Value::Null));
    let refused = refusal(&request, &Capabilities::gemini_2());
    assert!(refused.contains("`google_search`") && refused.contains("`read`"), "{refused}");
    let allowed = Capabilities { mixed_tools: MixedTools::Allowed, ..Capabilities::gemini() };
    assert_eq!(body_with(&request, &allowed)["toolConfig"], Value::Null);
    let searching = self::request([deferred("get")], vec![user("hi")]).server_tool(ServerTool::plain("tool_search").unwrap()).unwrap();
    let refused = refusal(&searching, &Capabilities::gemini());
    assert!(refused.contains("`tool_search`") && refused.contains("has no such search"), "{refused}");
}

#[test]
fn what_the_model_is_told_about_calling() {
    let request = request([search_tool(), tool("read").namespace("fs")], vec![user("hi")]);
    for (choice, config) in [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::None, json!({"mode": "NONE"})),
        (ToolChoice::Required, json!({"mode": "ANY"})),
        (ToolChoice::Tool(tool("read").namespace("fs").name), json!({"mode": "ANY", "allowedFunctionNames": ["fs__read"]})),
    ] {
        assert_eq!(body(&request.clone().tool_choice(choice))["toolConfig"]["functionCallingConfig"], config);
    }
    let error = refusal(&request.clone().tool_choice(ToolChoice::Tool("gone".into())), &Capabilities::gemini());
    assert!(error.contains("`gone`"), "{error}");
    assert_eq!(body(&ModelRequest::new().user("hi").tool_choice(ToolChoice::None))["toolConfig"], Value::Null);
    let few = Capabilities { max_tools: Some(1), ..Capabilities::gemini() };
    assert!(refusal(&request, &few).contains("2 tools"));
    let small = Capabilities { max_body_bytes: Some(20), ..Capabilities::gemini() };
    assert!(refusal(&request, &small).contains("at most 20"));
}
