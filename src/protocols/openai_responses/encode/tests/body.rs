use super::*;
use tower_genai_core::{Image, Reasoning, ServerTool, UserMessage};

fn hello() -> ModelRequest {
    ModelRequest::new().user("hi")
}

#[test]
fn a_request_says_what_it_must_and_ends_with_the_dialogue() {
    assert_eq!(
        text(&hello()),
        r#"{"model":"model","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[{"role":"user","content":"hi"}]}"#
    );
}

#[test]
fn every_field_goes_out_in_one_order() {
    let mut request = hello()
        .system("Be terse.")
        .system("Be kind.")
        .tools(set([tool("read"), search_tool()]))
        .server_tool(ServerTool::new("web_search", r#"{"search_context_size":"low"}"#).unwrap())
        .unwrap()
        .tool_choice(ToolChoice::Required)
        .reasoning(Reasoning::effort(Effort::XHigh).summary(true))
        .output(OutputFormat::JsonSchema { name: "an answer".into(), schema: Json::parse("{\"type\":\"object\"}").unwrap(), strict: true })
        .max_output_tokens(100)
        .session("s-1");
    request.parallel_tool_calls = Some(false);
    request.sampling.temperature = Some(0.5);
    request.sampling.top_p = Some(1.0);
    request.sampling.seed = Some(1);
    request.metadata.insert("team".into(), "a\"b".into());
    request.extra_body.insert("service_tier".into(), Json::string("flex"));
    let parameters = r#""parameters":{"properties":{},"type":"object"}"#;
    let expected = [
        r#"{"model":"model","stream":true,"store":false,"include":["reasoning.encrypted_content"],"instructions":"Be terse.\n\nBe kind.","#,
        r#""tools":[{"type":"web_search","search_context_size":"low"},{"type":"function","name":"read","description":"Does read.","#,
        parameters,
        r#"},{"type":"tool_search","execution":"client","description":"Finds tools.","#,
        parameters,
        r#"}],"tool_choice":"required","parallel_tool_calls":false,"reasoning":{"effort":"xhigh","summary":"auto"},"#,
        r#""text":{"format":{"type":"json_schema","name":"an_answer_cb2b7ff7","schema":{"type":"object"},"strict":true}},"#,
        r#""max_output_tokens":100,"temperature":0.5,"top_p":1.0,"prompt_cache_key":"s-1","metadata":{"team":"a\"b"},"#,
        r#""service_tier":"flex","input":[{"role":"user","content":"hi"}]}"#,
    ];
    let written = text(&request);
    let name = wire_name(&ToolName::new("an answer"), tower_genai_core::NameRules::PORTABLE).into_owned();
    assert_eq!(written, expected.concat().replace("an_answer_cb2b7ff7", &name));
    assert_eq!(written, text(&request));
}

#[test]
fn reasoning_is_switched_off_in_words_and_left_out_where_there_is_none() {
    let reasoning = |reasoning: Reasoning| body(&hello().reasoning(reasoning))["reasoning"].clone();
    assert_eq!(reasoning(Reasoning::effort(Effort::None).summary(true)), json!({"effort": "none"}));
    assert_eq!(reasoning(Reasoning::effort(Effort::Max)), json!({"effort": "max"}));
    assert_eq!(reasoning(Reasoning::budget(5)), Value::Null);
    assert_eq!(reasoning(Reasoning::default().summary(true)), json!({"summary": "auto"}));
    let none = Capabilities { thinking: ThinkingStyle::Unsupported, ..Capabilities::openai_responses() };
    let without = body_with(&hello().reasoning(Reasoning::effort(Effort::High)), &none);
    assert_eq!((&without["reasoning"], &without["include"]), (&Value::Null, &Value::Null));
    let plain = Capabilities { encrypted_reasoning: false, ..Capabilities::openai_responses() };
    assert_eq!(body_with(&hello(), &plain)["include"], Value::Null);
}

#[test]
fn the_cache_key_is_bounded() {
    let key = |request: ModelRequest| body(&request)["prompt_cache_key"].clone();
    assert_eq!(key(hello()), Value::Null);
    assert_eq!(key(hello().session("s")), json!("s"));
    let mut request = hello().session("s");
    request.cache_key = Some("k".repeat(64).into());
    assert_eq!(key(request.clone()), json!("k".repeat(64)));
    request.cache_key = Some("k".repeat(65).into());
    let hashed = key(request.clone()).as_str().unwrap().to_owned();
    assert_eq!(hashed.len(), 32);
    request.cache_key = Some("l".repeat(65).into());
    assert_ne!(json!(hashed), key(request.clone()));
    let off = Capabilities { prompt_cache: false, ..Capabilities::openai_responses() };
    assert_eq!(body_with(&request, &off)["prompt_cache_key"], Value::Null);
}

#[test]
fn the_callers_fields_replace_and_add() {
    let mut request = hello();
    for (key, value) in [("store", json!(true)), ("zeta", json!({"b": 1})), ("alpha", json!(null)), ("include", json!([]))] {
        request.extra_body.insert(key.into(), parse(&value));
    }
    assert_eq!(
        text(&request),
        r#"{"model":"model","stream":true,"alpha":null,"include":[],"store":true,"zeta":{"b":1},"input":[{"role":"user","content":"hi"}]}"#
    );
    let mut request = ModelRequest::new();
    assert!(refusal(&request, &Capabilities::openai_responses()).contains("no message"));
    request.extra_body.insert("previous_response_id".into(), Json::string("resp_1"));
    assert_eq!(body(&request)["input"], json!([]));
    request.extra_body.insert("input".into(), Json::string("raw"));
    assert_eq!(body(&request)["input"], json!("raw"));
}

#[test]
fn what_the_protocol_has_no_field_for_is_refused_by_name() {
    let refused = |change: fn(&mut ModelRequest), field: &str| {
        let mut request = hello();
        change(&mut request);
        let error = refusal(&request, &Capabilities::openai_responses());
        assert!(error.contains(field), "{error}");
    };
    refused(|request| request.stop_sequences.push("x".into()), "`stop_sequences`");
    refused(|request| request.sampling.top_k = Some(1), "`sampling.top_k`");
    refused(|request| request.sampling.frequency_penalty = Some(1.0), "`sampling.frequency_penalty`");
    refused(|request| request.sampling.presence_penalty = Some(1.0), "`sampling.presence_penalty`");
    let mut request = hello();
    request.sampling.temperature = Some(1.0);
    request.sampling.top_k = Some(1);
    let off = Capabilities { sampling: false, ..Capabilities::openai_responses() };
    assert_eq!(body_with(&request, &off)["temperature"], Value::Null);
    request.sampling.top_k = None;
    request.sampling.temperature = Some(f64::NAN);
    assert_eq!(body(&request)["temperature"], Value::Null);
}

#[test]
fn a_choice_is_sent_only_where_the_endpoint_takes_it() {
    let tools = || set([tool("read"), deferred("hidden"), ToolDefinition::new("find").namespace("crm"), search_tool()]);
    let hosted = |kind: &str, configuration: &str| ServerTool::new(kind, configuration).unwrap();
    let choose = |choice: ToolChoice| {
        let mut request = hello().tools(tools()).tool_choice(choice);
        request.server_tools = vec![hosted("web_search", "{}"), hosted("file_search", "{}"), hosted("mcp", r#"{"server_label":"s"}"#)];
        try_encode(&request, &Capabilities::openai_responses())
            .map(|text| serde_json::from_str::<Value>(&text).unwrap()["tool_choice"].clone())
    };
    for (choice, expected) in [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("required")),
        (ToolChoice::Tool("read".into()), json!({"type": "function", "name": "read"})),
        (ToolChoice::Tool("hidden".into()), json!({"type": "function", "name": "hidden"})),
        (ToolChoice::Tool(ToolName::namespaced("crm", "find")), json!({"type": "function", "name": "crm__find"})),
        (ToolChoice::ServerTool("file_search".into()), json!({"type": "file_search"})),
        (ToolChoice::ServerTool("mcp".into()), json!({"type": "mcp", "server_label": "s"})),
    ] {
        assert_eq!(choose(choice.clone()).unwrap(), expected, "{choice:?}");
    }
    for (choice, named) in [
        (ToolChoice::Tool("absent".into()), "`absent`"),
        (ToolChoice::Tool("tool_search".into()), "`tool_search`"),
        (ToolChoice::ServerTool("web_search".into()), "`web_search`"),
        (ToolChoice::ServerTool("code_interpreter".into()), "`code_interpreter`"),
    ] {
        let error = choose(choice).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(error.to_string().contains(named), "{error}");
    }
    assert!(refusal(&hello().tool_choice(ToolChoice::Required), &Capabilities::openai_responses()).contains("declares no tool"));
    assert_eq!(body(&hello().tool_choice(ToolChoice::None))["tool_choice"], Value::Null);
    let never = Capabilities { forced_tool_choice: false, ..Capabilities::openai_responses() };
    assert!(refusal(&hello().tools(tools()).tool_choice(ToolChoice::Required), &never).contains("`auto`"));
    let function = hello().tools(tools()).tool_choice(ToolChoice::Tool("tool_search".into()));
    assert_eq!(body_with(&function, &append_mode())["tool_choice"]["name"], json!("tool_search"));
    let mut parallel = hello();
    parallel.parallel_tool_calls = Some(true);
    assert_eq!(body(&parallel)["parallel_tool_calls"], Value::Null);
}

#[test]
fn limits_are_refused_with_the_figures() {
    let limited = |change: fn(&mut Capabilities)| {
        let mut capabilities = Capabilities::openai_responses();
        change(&mut capabilities);
        capabilities
    };
    let request = hello().tools(set([tool("one"), tool("two")])).server_tool(ServerTool::plain("web_search").unwrap()).unwrap();
    let error = refusal(&request, &limited(|capabilities| capabilities.max_tools = Some(2)));
    assert!(error.contains("3 tools") && error.contains("at most 2"), "{error}");
    let described = limited(|capabilities| capabilities.max_description = Some(10));
    assert!(try_encode(&hello().tools(set([tool("x").description("éééééééééé")])), &described).is_ok());
    let error = refusal(&request, &limited(|capabilities| capabilities.max_description = Some(8)));
    assert!(error.contains("`one`") && error.contains("9 characters") && error.contains("at most 8"), "{error}");
    let error = try_encode(&request, &limited(|capabilities| capabilities.max_body_bytes = Some(100))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.to_string().contains("at most 100"), "{error}");
    let hosted = hello().tools(set([deferred("a"), deferred("b")])).server_tool(ServerTool::plain("tool_search").unwrap()).unwrap();
    let error = refusal(&hosted, &limited(|capabilities| capabilities.max_deferred_tools = Some(1)));
    assert!(error.contains("2 tools") && error.contains("at most 1"), "{error}");
}

#[test]
fn deferred_tools_and_their_search_go_out_together_or_not_at_all() {
    let tools = |request: &ModelRequest| {
        let tools = body(request)["tools"].as_array().cloned().unwrap_or_default();
        let show = |tool: &Value| {
            format!("{}{}", tool["name"].as_str().or(tool["type"].as_str()).unwrap(), if tool["defer_loading"] == true { "*" } else { "" })
        };
        tools.iter().map(show).collect::<Vec<_>>()
    };
    let hosted = || ServerTool::plain("tool_search").unwrap();
    assert_eq!(tools(&hello().tools(set([tool("e"), deferred("d"), search_tool()]))), ["e", "tool_search"]);
    assert_eq!(tools(&hello().tools(set([tool("e"), deferred("d")])).server_tool(hosted()).unwrap()), ["tool_search", "e", "d*"]);
    assert_eq!(tools(&hello().tools(set([tool("e")])).server_tool(hosted()).unwrap()), ["e"]);
    assert_eq!(tools(&hello().tools(set([tool("e"), deferred("d")]))), ["e", "d"]);
    assert_eq!(tools(&hello().tools(set([tool("e"), deferred("d"), search_tool()]))).len(), 2);

    let encode = |request: ModelRequest| OpenAiResponses::new().encode(&request, &target(), &Capabilities::openai_responses());
    let mut unlowered = hello().tools(set([tool("e"), deferred("d")]));
    let error = encode(unlowered.clone()).unwrap_err().to_string();
    assert!(error.contains("`d`") && error.contains("search"), "{error}");
    unlowered.server_tools.push(hosted());
    assert!(encode(unlowered).is_ok());
    let client = ServerTool::new("tool_search", r#"{"execution":"client"}"#).unwrap();
    let error = encode(hello().tools(set([search_tool()])).server_tool(client).unwrap()).unwrap_err().to_string();
    assert!(error.contains("two tool searches"), "{error}");
    let two = hello().tools(set([search_tool(), ToolDefinition::new("other").kind(ToolKind::Search)]));
    let error = encode(two).unwrap_err().to_string();
    assert!(error.contains("`tool_search`") && error.contains("`other`"), "{error}");
    let mut twice = hello().server_tool(hosted()).unwrap();
    twice.server_tools.push(hosted());
    assert!(encode(twice).unwrap_err().to_string().contains("declared twice"));
}

#[test]
fn a_definition_asks_for_nothing_that_the_endpoint_refuses() {
    let function = |tool: ToolDefinition| body(&hello().tools(set([tool])))["tools"][0].clone();
    let strict = json!({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": false});
    let loose = json!({"type": "object", "properties": {"a": {}}});
    assert_eq!(function(tool("t").parameters(parse(&strict)).strict(true))["strict"], json!(true));
    assert_eq!(function(tool("t").parameters(parse(&loose)).strict(true))["strict"], json!(false));
    assert_eq!(function(tool("t").parameters(parse(&strict)).strict(false))["strict"], json!(false));
    assert_eq!(function(tool("t").parameters(parse(&strict)))["strict"], Value::Null);
    let alternatives = json!({"anyOf": [{"properties": {"a": {}}}]});
    assert_eq!(function(tool("t").parameters(parse(&alternatives)))["parameters"], json!({"type": "object", "properties": {"a": {}}}));
    assert_eq!(function(ToolDefinition::new("a b"))["description"], Value::Null);
    assert!(function(ToolDefinition::new("a b"))["name"].as_str().unwrap().starts_with("a_b_"));
    let raw = Json::parse(r#"{"type":"object","properties":{"z":{"minimum":1.50},"a":{}}}"#).unwrap();
    assert!(text(&hello().tools(set([tool("t").parameters(raw.clone())]))).contains(raw.as_str()));
    let clash = hello().tools(set([tool("crm__find"), tool("find").namespace("crm")]));
    let error = refusal(&clash, &Capabilities::openai_responses());
    assert!(error.contains("`crm__find`") && error.contains("`crm.find`"), "{error}");
}

#[test]
fn content_goes_out_in_the_form_of_its_kind() {
    let say = |content: Vec<Content>| ModelRequest::new().user("first").message(Message::User(UserMessage { content }));
    let image = |image: Image| Content::Image(image);
    let request = say(vec![
        Content::text("look"),
        image(Image::Url { url: "https://x/a.png".into(), media_type: None }),
        image(Image::Base64 { media_type: "image/png".into(), data: "AA".into() }),
        Content::Provider {
            protocol: "openai_responses".into(),
            item: Json::parse(r#"{"type":"input_file","file_id":"f"}"#).unwrap(),
            text: None,
        },
        Content::Provider { protocol: "anthropic".into(), item: Json::parse(r#"{"type":"document"}"#).unwrap(), text: None },
    ]);
    assert_eq!(
        body(&request)["input"][1]["content"],
        json!([
            {"type": "input_text", "text": "look"},
            {"type": "input_image", "detail": "auto", "image_url": "https://x/a.png"},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AA"},
            {"type": "input_file", "file_id": "f"},
        ])
    );
    let blind = Capabilities { images: false, ..Capabilities::openai_responses() };
    let omitted = json!({"type": "input_text", "text": "[image omitted: this model reads text only]"});
    assert_eq!(body_with(&request, &blind)["input"][1]["content"][1], omitted);
    let foreign = |text: Option<&str>| {
        say(vec![Content::Provider { protocol: "anthropic".into(), item: Json::empty_object(), text: text.map(Into::into) }])
    };
    assert_eq!(shape(&body(&foreign(None))), ["user: first"]);
    assert_eq!(body(&foreign(Some("a document")))["input"][1]["content"][0], json!({"type": "input_text", "text": "a document"}));
    let middle = hello().message(Message::system("Now be brief.")).user("go");
    assert_eq!(shape(&body(&middle)), ["user: hi", "developer: Now be brief.", "user: go"]);
    let plain = Capabilities { system_messages: false, ..Capabilities::openai_responses() };
    assert_eq!(shape(&body_with(&middle, &plain)), ["user: hi", "user: Now be brief.", "user: go"]);
}
