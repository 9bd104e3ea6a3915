use tower_genai_core::{Effort, Json, OutputFormat, Reasoning, Sampling, ServerTool, ToolChoice};

use super::*;
use crate::protocols::{
    ThinkingStyle,
    samples::{request, search_tool, tool, user},
};

#[test]
fn every_setting_has_its_field() {
    let mut request = ModelRequest::new().system("Be").system("brief.").user("hi").max_output_tokens(5).stop_sequence("END");
    request.sampling = Sampling::new().temperature(0.5).top_p(0.9).seed(-7);
    request.sampling.frequency_penalty = Some(0.25);
    request.sampling.presence_penalty = Some(f64::NAN);
    request.output =
        OutputFormat::JsonSchema { name: "an answer!".into(), schema: Json::parse(r#"{"type":"object"}"#).unwrap(), strict: true };
    request = request
        .metadata("team", "a")
        .cache_key("k")
        .extra_body("top_k", json!(40))
        .extra_body("stream_options", json!({"include_obfuscation": false}));
    let openai = body(&request);
    let name = openai["response_format"]["json_schema"]["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("an_answer"), "{name}");
    assert_eq!(
        openai,
        json!({
            "model": "model", "stream": true, "stream_options": {"include_usage": true, "include_obfuscation": false}, "max_completion_tokens": 5,
            "stop": ["END"], "temperature": 0.5, "top_p": 0.9, "frequency_penalty": 0.25, "seed": -7, "top_k": 40, "metadata": {"team": "a"},
            "prompt_cache_key": "k",
            "response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": {"type": "object"}, "strict": true}},
            "messages": [{"role": "system", "content": "Be\n\nbrief."}, {"role": "user", "content": "hi"}],
        })
    );
    let other = body_with(&request, &Capabilities::compatible_chat());
    assert_eq!((&other["max_tokens"], &other["metadata"], &other["prompt_cache_key"]), (&json!(5), &Value::Null, &Value::Null));
    request.output = OutputFormat::Json;
    assert_eq!(body(&request)["response_format"], json!({"type": "json_object"}));
    request.output = OutputFormat::JsonSchema { name: "".into(), schema: Json::empty_object(), strict: false };
    assert_eq!(body(&request)["response_format"]["json_schema"]["name"], "output");
    assert!(refusal(&request, &Capabilities { output_schema: false, ..Capabilities::openai_chat() }).contains("`output`"));
}

#[test]
fn what_is_not_streamed_has_no_options_of_a_stream() {
    let whole = body(&ModelRequest::new().user("hi").extra_body("stream", json!(false)));
    assert_eq!((&whole["stream"], &whole["stream_options"]), (&json!(false), &Value::Null));
    let silent = Capabilities { stream_usage: false, ..Capabilities::compatible_chat() };
    assert_eq!(body_with(&ModelRequest::new().user("hi"), &silent)["stream_options"], Value::Null);
}

#[test]
fn a_setting_without_a_field_is_refused() {
    let mut request = ModelRequest::new().user("hi");
    request.sampling.top_k = Some(3);
    assert!(refusal(&request, &Capabilities::openai_chat()).contains("`sampling.top_k`"));
    let without = Capabilities { sampling: false, ..Capabilities::openai_chat() };
    assert_eq!(body_with(&request, &without)["top_k"], Value::Null);
    let long = ModelRequest::new().user("hi").cache_key("k".repeat(80));
    let key = body(&long)["prompt_cache_key"].as_str().unwrap().to_owned();
    assert_eq!((key.len(), &key), (32, &body(&long)["prompt_cache_key"].as_str().unwrap().to_owned()));
}

#[test]
fn reasoning_in_the_words_of_each_host() {
    let fields = |reasoning: Reasoning, style| {
        let capabilities = Capabilities { thinking: style, ..Capabilities::compatible_chat() };
        let body = body_with(&ModelRequest::new().user("hi").reasoning(reasoning), &capabilities);
        ["reasoning_effort", "reasoning", "thinking"].map(|key| body[key].clone())
    };
    use ThinkingStyle::{Effort as Word, Object, Switch, Unsupported};
    let none = Value::Null;
    let (low, off, budget) = (Reasoning::effort(Effort::Low), Reasoning::effort(Effort::None), Reasoning::budget(100));
    for (reasoning, style, expected) in [
        (low, Word, [json!("low"), none.clone(), none.clone()]),
        (off, Word, [json!("none"), none.clone(), none.clone()]),
        (budget, Word, [none.clone(), none.clone(), none.clone()]),
        (low, Object, [none.clone(), json!({"effort": "low"}), none.clone()]),
        (off, Object, [none.clone(), json!({"enabled": false}), none.clone()]),
        (budget.summary(false), Object, [none.clone(), json!({"max_tokens": 100, "exclude": true}), none.clone()]),
        (Reasoning::default(), Object, [none.clone(), json!({"enabled": true}), none.clone()]),
        (low, Switch, [json!("low"), none.clone(), json!({"type": "enabled"})]),
        (off, Switch, [none.clone(), none.clone(), json!({"type": "disabled"})]),
        (low, Unsupported, [none.clone(), none.clone(), none.clone()]),
    ] {
        assert_eq!(fields(reasoning, style), expected, "{reasoning:?} {style:?}");
    }
    let adaptive = Capabilities { thinking: ThinkingStyle::Adaptive, ..Capabilities::compatible_chat() };
    assert!(refusal(&ModelRequest::new().user("hi").reasoning(low), &adaptive).contains("Capabilities::thinking is Adaptive"));
}

#[test]
fn tools_and_what_the_model_is_told_about_calling() {
    let loose = Json::parse(r#"{"properties":{"a":{"type":"string"}}}"#).unwrap();
    let mut strict =
        tool("strict").parameters(Json::parse(r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#).unwrap());
    let mut lax = tool("lax").parameters(loose);
    (strict.strict, lax.strict) = (Some(true), Some(true));
    let request = request([strict, lax, tool("list").namespace("crm"), search_tool()], vec![user("hi")]);
    let openai = body(&request);
    let functions: Vec<&Value> = openai["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]).collect();
    assert_eq!(functions[0]["strict"], true);
    assert_eq!((&functions[1]["strict"], &functions[1]["parameters"]["type"]), (&json!(false), &json!("object")));
    assert_eq!((&functions[2]["name"], &functions[3]["name"]), (&json!("crm__list"), &json!("tool_search")));
    for (choice, expected) in [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("required")),
        (ToolChoice::Tool(tool("list").namespace("crm").name), json!({"type": "function", "function": {"name": "crm__list"}})),
    ] {
        assert_eq!(body(&request.clone().tool_choice(choice))["tool_choice"], expected);
    }
    assert_eq!(body(&request.clone().parallel_tool_calls(false))["parallel_tool_calls"], false);
    let without = Capabilities { parallel_tool_calls: false, forced_tool_choice: false, ..Capabilities::openai_chat() };
    assert_eq!(body_with(&request.clone().parallel_tool_calls(false), &without)["parallel_tool_calls"], Value::Null);
    assert!(refusal(&request.clone().tool_choice(ToolChoice::Required), &without).contains("`tool_choice`"));
    let bare = body(&ModelRequest::new().user("hi").tool_choice(ToolChoice::None).parallel_tool_calls(true));
    assert_eq!([&bare["tools"], &bare["tool_choice"], &bare["parallel_tool_calls"]], [&Value::Null; 3]);
    assert!(
        refusal(&ModelRequest::new().user("hi").tool_choice(ToolChoice::Required), &Capabilities::openai_chat()).contains("no function")
    );
}

#[test]
fn limits_are_errors_before_anything_is_sent() {
    let many = request((0..129).map(|number| tool(&format!("t{number}"))), vec![user("hi")]);
    let error = refusal(&many, &Capabilities::openai_chat());
    assert!(error.contains("129 tools") && error.contains("at most 128"), "{error}");
    assert_eq!(body_with(&many, &Capabilities::compatible_chat())["tools"].as_array().unwrap().len(), 129);
    let small = Capabilities { max_body_bytes: Some(50), ..Capabilities::openai_chat() };
    assert!(refusal(&many, &small).contains("tools"));
    assert!(refusal(&ModelRequest::new().user("x".repeat(60)), &small).contains("at most 50"));
    assert!(refusal(&ModelRequest::new(), &Capabilities::openai_chat()).contains("no message"));
    let hosted = ModelRequest::new().user("hi").server_tool(ServerTool::plain("web_search").unwrap()).unwrap();
    let error = refusal(&hosted, &Capabilities::openai_chat());
    assert!(error.contains("server tool `web_search`") && error.contains("Responses"), "{error}");
}
