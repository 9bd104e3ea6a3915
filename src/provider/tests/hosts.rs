//! The providers that are known: where their requests go, what proves who sends them, and what the model says in the form of each wire.

use super::*;
use crate::provider::{Anthropic, Auth, Gemini, Ollama, OpenAi, OpenAiChat, deepseek, groq, mistral, openrouter, xai};
use tower_genai_core::{Effort, ModelServiceExt, Reasoning, ServerTool, ToolChoice, ToolDefinition, ToolKind, ToolSet};

/// A request as a provider sends it, and what becomes of the answer.
async fn exchange<P>(provider: Provider<P>, request: ModelRequest, answer: Answer) -> (http::Request<Bytes>, Result<Response, Error>)
where
    P: Protocol + Clone,
{
    let http = Http::new([answer]);
    let outcome = provider.http(http.clone()).complete(request).await;
    let [request] = &http.requests()[..] else { panic!("one request: {outcome:?}") };
    (request.clone(), outcome)
}

/// Method, place, and the headers that hold the key.
async fn place<P: Protocol + Clone>(provider: Provider<P>) -> (String, String) {
    let refusal = Answer::of(400, &[("content-type", "application/json")], [send("{}")]);
    let (request, outcome) = exchange(provider, hello(), refusal).await;
    assert_eq!((request.method(), outcome.unwrap_err().status()), (&http::Method::POST, Some(400)));
    let keys: Vec<String> = request
        .headers()
        .iter()
        .filter(|(_, value)| value.to_str().unwrap().contains(KEY))
        .inspect(|(_, value)| assert!(value.is_sensitive()))
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap().replace(KEY, "KEY")))
        .collect();
    (request.uri().to_string(), keys.join(", "))
}

#[tokio::test]
async fn where_each_provider_is() {
    let bearer = "authorization: Bearer KEY";
    for ((uri, key), expected, auth) in [
        (place(Anthropic::new(KEY, "m")).await, "https://api.anthropic.com/v1/messages", "x-api-key: KEY"),
        (place(OpenAi::new(KEY, "m")).await, "https://api.openai.com/v1/responses", bearer),
        (place(OpenAiChat::new(KEY, "m")).await, "https://api.openai.com/v1/chat/completions", bearer),
        (
            place(Gemini::new(KEY, "m")).await,
            "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
            "x-goog-api-key: KEY",
        ),
        (
            place(Gemini::new(KEY, "tunedModels/m")).await,
            "https://generativelanguage.googleapis.com/v1beta/tunedModels/m:streamGenerateContent?alt=sse",
            "x-goog-api-key: KEY",
        ),
        (
            place(Gemini::new(KEY, "m").streaming(false).query("a", "b")).await,
            "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent?a=b",
            "x-goog-api-key: KEY",
        ),
        (
            place(Gemini::new(KEY, "m").query("a", "b")).await,
            "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse&a=b",
            "x-goog-api-key: KEY",
        ),
        (place(Ollama::new("m")).await, "http://localhost:11434/api/chat", ""),
        (place(Ollama::new("m").base_url("https://ollama.com").unwrap().api_key(KEY)).await, "https://ollama.com/api/chat", bearer),
        (place(deepseek::chat(KEY, "m")).await, "https://api.deepseek.com/chat/completions", bearer),
        (place(deepseek::responses(KEY, "m")).await, "https://api.deepseek.com/responses", bearer),
        (place(deepseek::messages(KEY, "m")).await, "https://api.deepseek.com/anthropic/v1/messages", "x-api-key: KEY"),
        (place(openrouter::chat(KEY, "m")).await, "https://openrouter.ai/api/v1/chat/completions", bearer),
        (place(openrouter::responses(KEY, "m")).await, "https://openrouter.ai/api/v1/responses", bearer),
        (place(openrouter::messages(KEY, "m")).await, "https://openrouter.ai/api/v1/messages", bearer),
        (place(xai::responses(KEY, "m")).await, "https://api.x.ai/v1/responses", bearer),
        (place(xai::chat(KEY, "m")).await, "https://api.x.ai/v1/chat/completions", bearer),
        (place(groq::chat(KEY, "m")).await, "https://api.groq.com/openai/v1/chat/completions", bearer),
        (place(mistral::chat(KEY, "m")).await, "https://api.mistral.ai/v1/chat/completions", bearer),
        (place(OpenAiChat::compatible("http://h:1/v1", KEY, "m").unwrap()).await, "http://h:1/v1/chat/completions", bearer),
        (
            place(Gemini::compatible("http://h/v1", KEY, "m").unwrap().auth(Auth::Bearer)).await,
            "http://h/v1/models/m:streamGenerateContent?alt=sse",
            bearer,
        ),
        (place(Ollama::compatible("http://h:1", "m").unwrap()).await, "http://h:1/api/chat", ""),
    ] {
        assert_eq!((&*uri, &*key), (expected, auth));
    }
    assert!(Gemini::compatible("http://h/v1beta/models", KEY, "m").is_err());
    assert!(Ollama::compatible("http://h/api", "m").is_err());
    assert!(OpenAiChat::compatible("http://h/v1/chat", KEY, "m").is_err());
}

/// Everything at once that a host may know or not.
fn full() -> ModelRequest {
    let tools =
        [ToolDefinition::new("read"), ToolDefinition::new("tool_search").kind(ToolKind::Search), ToolDefinition::new("get").deferred(true)];
    let mut request = hello().tools(ToolSet::new(tools).unwrap()).session("s").metadata("k", "v").parallel_tool_calls(false);
    request.reasoning = Some(Reasoning::effort(Effort::Low));
    request.max_output_tokens = Some(5_000);
    request
}

async fn body<P: Protocol + Clone>(provider: Provider<P>, request: ModelRequest) -> Value {
    let (request, _) = exchange(provider, request, Answer::of(400, &[], [send("{}")])).await;
    serde_json::from_slice(request.body()).unwrap()
}

fn keys(body: &Value) -> Vec<&str> {
    body.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn what_each_host_is_sent() {
    let chat = |provider| body::<crate::protocols::chat_completions::ChatCompletions>(provider, full());
    for (sent, expected) in [
        (
            chat(OpenAiChat::new(KEY, "m")).await,
            "max_completion_tokens messages metadata model parallel_tool_calls prompt_cache_key reasoning_effort stream stream_options tools",
        ),
        (
            chat(OpenAiChat::compatible("http://h/v1", KEY, "m").unwrap()).await,
            "max_tokens messages model parallel_tool_calls reasoning_effort stream stream_options tools",
        ),
        (chat(deepseek::chat(KEY, "m")).await, "max_tokens messages model reasoning_effort stream stream_options thinking tools"),
        (
            chat(openrouter::chat(KEY, "m")).await,
            "max_tokens messages metadata model parallel_tool_calls reasoning stream stream_options tools",
        ),
        (chat(xai::chat(KEY, "m")).await, "max_tokens messages model parallel_tool_calls reasoning_effort stream tools"),
        (
            chat(groq::chat(KEY, "m")).await,
            "max_completion_tokens messages model parallel_tool_calls reasoning_effort stream stream_options tools",
        ),
        (chat(mistral::chat(KEY, "m")).await, "max_tokens messages model parallel_tool_calls reasoning_effort stream tools"),
    ] {
        assert_eq!(keys(&sent).join(" "), expected);
        assert_eq!(sent["tools"].as_array().unwrap().len(), 2, "what is deferred is not declared: {}", sent["tools"]);
    }
    let responses = |provider| body::<crate::protocols::openai_responses::OpenAiResponses>(provider, full());
    for sent in [
        responses(deepseek::responses(KEY, "m")).await,
        responses(openrouter::responses(KEY, "m")).await,
        responses(xai::responses(KEY, "m")).await,
    ] {
        let text = sent.to_string();
        assert!(
            !text.contains("\"type\":\"tool_search\"") && !text.contains("defer_loading") && !text.contains("additional_tools"),
            "{text}"
        );
        assert_eq!(sent["prompt_cache_key"], Value::Null);
    }
    let messages = |provider| body::<crate::protocols::anthropic_messages::AnthropicMessages>(provider, full());
    for sent in [messages(deepseek::messages(KEY, "m")).await, messages(openrouter::messages(KEY, "m")).await] {
        assert!(!sent.to_string().contains("defer_loading"), "{sent}");
    }
    assert!(!messages(deepseek::messages(KEY, "m")).await.to_string().contains("cache_control"));
}

#[tokio::test]
async fn hosted_tools_where_they_are_and_a_clear_word_where_not() {
    let hosting = |kind: &str| hello().server_tool(ServerTool::new(kind, r#"{"max_results":3}"#).unwrap()).unwrap();
    let sent = body(openrouter::chat(KEY, "m"), hosting("openrouter:web_search")).await;
    assert_eq!(sent["tools"], json!([{"type": "openrouter:web_search", "parameters": {"max_results": 3}}]));
    let sent = body(openrouter::responses(KEY, "m"), hosting("openrouter:web_search")).await;
    assert_eq!(sent["tools"], json!([{"type": "openrouter:web_search", "parameters": {"max_results": 3}}]));
    let sent = body(xai::responses(KEY, "m"), hosting("x_search")).await;
    assert_eq!(sent["tools"], json!([{"type": "x_search", "max_results": 3}]));
    let sent = body(groq::chat(KEY, "m"), hosting("browser_search")).await;
    assert_eq!(sent["tools"], json!([{"type": "browser_search", "max_results": 3}]));
    let sent = body(Gemini::new(KEY, "m"), hosting("google_search")).await;
    assert_eq!(sent["tools"], json!([{"google_search": {"max_results": 3}}]));
    let unused = || Http::new([]);
    for (error, word) in [
        (deepseek::chat(KEY, "m").http(unused()).complete(hosting("web_search")).await.unwrap_err(), "Responses API"),
        (OpenAiChat::new(KEY, "m").http(unused()).complete(hosting("web_search")).await.unwrap_err(), "Responses API"),
        (xai::chat(KEY, "m").http(unused()).complete(hosting("x_search")).await.unwrap_err(), "Responses API"),
        (Ollama::new("m").http(unused()).complete(hosting("web_search")).await.unwrap_err(), "Capabilities::server_tools"),
        (
            Gemini::new(KEY, "gemini-2.5-flash")
                .http(unused())
                .complete(hosting("google_search").tools(ToolSet::new([ToolDefinition::new("f")]).unwrap()))
                .await
                .unwrap_err(),
            "third generation",
        ),
    ] {
        assert!(error.kind() == ErrorKind::InvalidRequest && error.to_string().contains(word), "{error}");
    }
    let forced = hello().tools(ToolSet::new([ToolDefinition::new("f")]).unwrap()).tool_choice(ToolChoice::Required);
    assert!(Ollama::new("m").http(unused()).complete(forced).await.unwrap_err().to_string().contains("`tool_choice`"));
}

#[tokio::test]
async fn the_search_of_openrouter_on_each_api() {
    let searching = || full().server_tool(ServerTool::plain("openrouter:tool_search").unwrap()).unwrap();
    let without_ours = |mut request: ModelRequest| {
        let tools = request.tools.iter().filter(|tool| tool.kind != ToolKind::Search).map(|tool| (**tool).clone());
        request.tools = ToolSet::new(tools.collect::<Vec<_>>()).unwrap();
        request
    };
    let mut chat = openrouter::chat(KEY, "m");
    chat.capabilities_mut().hosted_search = crate::protocols::HostedSearch::Field;
    let sent = body(chat, without_ours(searching())).await;
    assert_eq!(sent["deferred_tools"]["search"], json!({"type": "bm25"}));
    assert_eq!(sent["tools"][1]["defer_loading"], true, "{}", sent["tools"]);
    let sent = body(openrouter::responses(KEY, "m"), without_ours(searching())).await;
    let tools = sent["tools"].to_string();
    assert!(tools.contains("\"openrouter:tool_search\"") && tools.contains("\"defer_loading\":true"), "{tools}");
    let sent = body(openrouter::messages(KEY, "m"), without_ours(searching())).await;
    let tools = sent["tools"].to_string();
    assert!(tools.contains("\"openrouter:tool_search\"") && tools.contains("\"defer_loading\":true"), "{tools}");
}

const LINES: &str = "{\"message\":{\"content\":\"hé\"},\"done\":false}\n{\"message\":{\"content\":\"llo\"},\"done\":true,\"done_reason\":\"stop\",\"eval_count\":2}\n";

#[tokio::test]
async fn lines_are_read_byte_by_byte_and_whatever_they_are_called() {
    for content_type in ["application/x-ndjson", "application/json", "text/plain", ""] {
        let steps = LINES.as_bytes().iter().map(|byte| Step::Send(Bytes::copy_from_slice(&[*byte])));
        let (request, outcome) = exchange(Ollama::new("m"), hello(), Answer::of(200, &[("content-type", content_type)], steps)).await;
        let response = outcome.unwrap();
        assert_eq!((response.text(), response.usage.output_tokens), ("héllo".to_owned(), Some(2)), "{content_type}");
        assert!(request.headers().get("authorization").is_none());
    }
    let (_, outcome) =
        exchange(Ollama::new("m"), hello(), Answer::of(200, &[("content-type", "application/x-ndjson")], [send("{\"error\":\"gone\"}\n")]))
            .await;
    assert_eq!(outcome.unwrap_err().provider().unwrap().message.as_deref(), Some("gone"));
    let (_, outcome) = exchange(Ollama::new("m"), hello(), Answer::of(404, &[], [send("{\"error\":\"model 'm' not found\"}")])).await;
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_stream_without_a_last_event_ends_with_its_body() {
    let chunk = |text: &str, finish: &str| format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}]}}{finish}}}]}}"#);
    let stop = r#","finishReason":"STOP""#;
    let stream = |texts: &[String]| Answer::stream([events(&texts.iter().map(String::as_str).collect::<Vec<_>>())]);
    let (_, outcome) = exchange(Gemini::new(KEY, "m"), hello(), stream(&[chunk("a", ""), chunk("b", stop)])).await;
    assert_eq!(outcome.unwrap().text(), "ab");
    let (_, outcome) = exchange(Gemini::new(KEY, "m"), hello(), stream(&[chunk("a", "")])).await;
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Protocol);
    // An error in the middle comes without the framing.
    let raw = "{\n \"error\": {\"code\": 503, \"message\": \"busy\", \"status\": \"UNAVAILABLE\"}\n}\n";
    let steps = [events(&[&chunk("a", "")]), send(raw)];
    let (_, outcome) = exchange(Gemini::new(KEY, "m"), hello(), Answer::stream(steps)).await;
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Overloaded);
    let list = format!("[{}\n,\r\n{}]", chunk("a", ""), chunk("b", stop));
    let (_, outcome) =
        exchange(Gemini::new(KEY, "m"), hello(), Answer::of(200, &[("content-type", "application/json")], [send(list)])).await;
    assert_eq!(outcome.unwrap().text(), "ab");
    let wrong = r#"[{"error":{"code":400,"message":"API key not valid: sk-very-secret","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]"#;
    let (_, outcome) = exchange(Gemini::new(KEY, "m"), hello(), Answer::of(400, &[], [send(wrong)])).await;
    let error = outcome.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Authentication, Some(400)));
    assert!(!format!("{error} {error:?}").contains(KEY));
}
