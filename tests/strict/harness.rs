//! Starts the strict fake of the providers, builds stacks against it, talks to them, and reads its log.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use crate::bodies::Bodies;

use serde_json::Value;
use tower::{Layer, retry::RetryLayer};
use tower_genai::{
    BoxModelService, Conversation, Error, ErrorKind, Json, Message, ModelRequest, ModelServiceExt, Reasoning, ServerTool, StopReason,
    ToolDefinition, ToolResult, ToolSet,
    deferred_tools::DeferredToolsLayer,
    protocols::{Capabilities, Protocol},
    provider::{Anthropic, Gemini, Ollama, OpenAi, OpenAiChat, Provider},
    server_tools::ServerToolsLayer,
    tool_guidelines::{Placement, ToolGuidelinesLayer},
    tool_search::{CatalogPlacement, ToolSearchLayer},
    transport::{Waits, retry::RetryPolicy},
};

/// The folder with the data that is not part of the repository.
pub(crate) fn shared() -> Option<PathBuf> {
    match std::env::var_os("TOWER_GENAI_SHARED") {
        Some(folder) => Some(folder.into()),
        None => {
            println!("skipped: TOWER_GENAI_SHARED is not set");
            None
        }
    }
}

/// A running server, killed when dropped.
pub(crate) struct Strict {
    child: Child,
    url: String,
    log: PathBuf,
    bodies: Bodies,
}

impl Strict {
    /// Starts a server; `None`, with a word, where its files or its Python packages are not at hand.
    pub(crate) fn start(options: &[&str]) -> Option<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let program = shared()?.join("strict-provider/strict_provider.py");
        let python = std::env::var_os("TOWER_GENAI_PYTHON").unwrap_or_else(|| "python3".into());
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        let log = std::env::temp_dir().join(format!("tower-genai-strict-{}-{number}.jsonl", std::process::id()));
        let mut child = Command::new(python)
            .arg(program)
            .args(["--port", "0", "--log"])
            .arg(&log)
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .expect("TOWER_GENAI_PYTHON names a Python with the packages of strict-provider/requirements.txt");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("the first line");
        let url = line.trim().rsplit(' ').next().unwrap_or_default().to_owned();
        assert!(url.starts_with("http://"), "the strict provider did not start: {line}");
        Some(Self { child, url, log, bodies: Bodies::default() })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The log of one conversation.
    pub(crate) fn log(&self, conversation: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a JSON line"));
        lines.filter(|line| line["conversation"] == conversation).collect()
    }

    /// Every request was accepted, and each is a full prefix of the next.
    pub(crate) fn assert_accepted(&self, conversation: &str) -> Vec<Value> {
        let log = self.log(conversation);
        assert!(!log.is_empty(), "{conversation} made no request");
        for line in &log {
            assert_eq!(line["status"], 200, "{conversation}: {line:#}");
        }
        log
    }

    /// Every request was accepted, and each begins as the one before: as one text, or, where the list of tools may grow, member by member.
    pub(crate) fn assert_prefixes(&self, conversation: &str) {
        let log = self.assert_accepted(conversation);
        assert_eq!(self.broken_prefix(conversation, &log), None, "{conversation}");
    }

    /// What does not begin as the request before, in a log of accepted requests.
    pub(crate) fn broken_prefix(&self, conversation: &str, log: &[Value]) -> Option<String> {
        if WIRES.iter().any(|wire| wire.appends() && conversation.contains(&format!("-{wire:?}"))) {
            return self.bodies.broken(conversation);
        }
        log.iter().find(|line| line["previous_is_prefix"] == false).map(|line| format!("{line:#}"))
    }
}

impl Drop for Strict {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::env::var_os("KEEP_LOG").is_none() {
            let _ = std::fs::remove_file(&self.log);
        } else {
            println!("log {}", self.log.display());
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Anthropic,
    Responses,
    Chat,
    Gemini,
    Ollama,
}

pub(crate) const WIRES: [Wire; 5] = [Wire::Anthropic, Wire::Responses, Wire::Chat, Wire::Gemini, Wire::Ollama];

impl Wire {
    /// Whether a loaded tool joins the others, so that the list of tools grows.
    pub(crate) fn appends(self) -> bool {
        matches!(self, Self::Chat | Self::Gemini | Self::Ollama)
    }

    /// A tool that the provider runs.
    pub(crate) fn hosted(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("web_search_20250305"),
            Self::Responses => Some("web_search"),
            Self::Gemini => Some("googleSearch"),
            Self::Chat | Self::Ollama => None,
        }
    }
}

/// A layer of the stack.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    ServerTools(ServerToolsLayer),
    Search(ToolSearchLayer),
    Guidelines(ToolGuidelinesLayer),
    Deferred,
}

/// What a conversation is held with.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) wire: Wire,
    pub(crate) model: String,
    pub(crate) conversation: String,
    key: &'static str,
    /// Outermost first.
    pub(crate) parts: Vec<Part>,
    pub(crate) reasoning: Option<Reasoning>,
    pub(crate) waits: Waits,
    /// Changes what the endpoint is taken to accept.
    pub(crate) change: fn(&mut Capabilities),
}

impl Setup {
    pub(crate) fn new(wire: Wire, model: &str, conversation: &str) -> Self {
        let parts = vec![Part::Search(ToolSearchLayer::new()), Part::Guidelines(ToolGuidelinesLayer::new()), Part::Deferred];
        let (model, conversation) = (model.to_owned(), format!("{conversation}-{wire:?}"));
        Self { wire, model, conversation, key: "key", parts, reasoning: None, waits: Waits::default(), change: |_| {} }
    }

    pub(crate) fn with_key(mut self, key: &'static str) -> Self {
        self.key = key;
        self
    }

    pub(crate) fn placed(mut self, catalog: CatalogPlacement, guidelines: Placement) -> Self {
        self.parts = vec![
            Part::Search(ToolSearchLayer::new().catalog(catalog)),
            Part::Guidelines(ToolGuidelinesLayer::new().placement(guidelines)),
            Part::Deferred,
        ];
        self
    }

    pub(crate) fn hosting(mut self, tool_type: &str) -> Self {
        let tool = ServerTool::plain(tool_type).expect("a type");
        self.parts.insert(0, Part::ServerTools(ServerToolsLayer::with([tool]).expect("one tool")));
        self
    }

    pub(crate) fn build(&self, strict: &Strict) -> BoxModelService {
        let (model, url) = (self.model.as_str(), strict.url.as_str());
        match self.wire {
            Wire::Anthropic => self.stack(Anthropic::new(self.key, model), url, strict),
            Wire::Responses => self.stack(OpenAi::new(self.key, model), &format!("{url}/v1"), strict),
            Wire::Chat => self.stack(OpenAiChat::new(self.key, model), &format!("{url}/v1"), strict),
            Wire::Gemini => self.stack(Gemini::new(self.key, model), &format!("{url}/v1beta"), strict),
            Wire::Ollama => self.stack(Ollama::new(model), url, strict),
        }
    }

    /// The layers around a provider.
    pub(crate) fn stack<P>(&self, provider: Provider<P>, url: &str, strict: &Strict) -> BoxModelService
    where
        P: Protocol + Clone + Send + Sync + 'static,
    {
        let provider = provider.base_url(url).expect("a URL").header("x-conversation", &self.conversation).expect("a header");
        let http = strict.bodies.record(&self.conversation, provider.get_http().clone());
        let mut provider = provider.waits(self.waits).http(http);
        (self.change)(provider.capabilities_mut());
        let mode = provider.deferral();
        let retried = RetryLayer::new(RetryPolicy::default()).layer(provider).boxed_model();
        self.parts.iter().rev().fold(retried, |inner, part| match part {
            Part::ServerTools(layer) => layer.layer(inner).boxed_model(),
            Part::Search(layer) => layer.layer(inner).boxed_model(),
            Part::Guidelines(layer) => layer.layer(inner).boxed_model(),
            Part::Deferred => DeferredToolsLayer::new(mode).layer(inner).boxed_model(),
        })
    }
}

/// A dialogue with a stack.
pub(crate) struct Talk {
    pub(crate) model: BoxModelService,
    pub(crate) history: Conversation,
    pub(crate) tools: ToolSet,
    pub(crate) reasoning: Option<Reasoning>,
}

impl Talk {
    pub(crate) fn new(setup: &Setup, strict: &Strict, tools: ToolSet) -> Self {
        Self { model: setup.build(strict), history: Conversation::new(), tools, reasoning: setup.reasoning }
    }

    /// Says something, answers local calls, and gives the text of the last answer.
    pub(crate) async fn say(&mut self, text: &str) -> Result<String, Error> {
        self.history.push(Message::user(text));
        loop {
            let mut request = ModelRequest::new().system("You are a test.").messages(self.history.clone()).tools(self.tools.clone());
            request.reasoning = self.reasoning;
            let response = self.model.clone().complete(request).await?;
            if response.stop.reason == StopReason::SearchLimit {
                return Err(Error::new(ErrorKind::Limit, "the model searched too often"));
            }
            let results: Vec<ToolResult> = response
                .open_calls()
                .map(|call| match &*call.name.name {
                    "fail" => ToolResult::error(call, "it did not work"),
                    _ => ToolResult::text(call, format!("ran {} {}", call.name, call.arguments)),
                })
                .collect();
            let text = response.text();
            // A history as a store gives it back.
            self.history.extend(response.messages);
            self.history = serde_json::from_value(serde_json::to_value(&self.history).expect("JSON")).expect("a history");
            if results.is_empty() {
                return Ok(text);
            }
            self.history.extend(results);
        }
    }
}

pub(crate) fn deferred(name: &str, description: &str) -> ToolDefinition {
    let parameters = Json::parse(r#"{"type":"object","properties":{"x":{"type":"integer","description":"A number"}}}"#).expect("JSON");
    ToolDefinition::new(name).description(description).parameters(parameters).guideline(format!("Use {name} with care.")).deferred(true)
}

/// A small set: two shown, the rest deferred, one with a namespace and one with an odd name.
pub(crate) fn small_tools() -> ToolSet {
    let mut tools = vec![
        ToolDefinition::new("now").description("The current time").snippet("now()").guideline("Never guess the time."),
        ToolDefinition::new("echo").description("Says it again"),
        ToolDefinition::new("fail").description("Does not work"),
        deferred("list", "List the customers").namespace("crm"),
        deferred("weather report", "The weather of a place"),
    ];
    tools.extend(["alpha", "beta", "gamma", "delta"].map(|name| deferred(&format!("get_{name}"), &format!("Reads the {name} record"))));
    ToolSet::new(tools).expect("valid tools")
}

/// Waits that make a stalled stream fail soon.
pub(crate) fn short_waits() -> Waits {
    let mut waits = Waits::default();
    waits.content = Some(Duration::from_secs(3));
    waits
}
