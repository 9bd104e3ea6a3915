//! The protocols of this build, one entry each.

use http::{HeaderMap, StatusCode};
use tower_genai::{
    Error, Lowering, ModelRequest, Usage,
    protocols::{
        Capabilities, Decode, Protocol, Target, anthropic_messages::AnthropicMessages, chat_completions::ChatCompletions,
        gemini::GenerateContent, ollama::OllamaChat, openai_responses::OpenAiResponses,
    },
};

/// Every protocol of this build. A new one is one entry: `Known::new(Protocol::default(), "host", Capabilities::of_it(), Habits { .. })`.
fn all() -> Vec<Known> {
    Vec::from([
        Known::new(
            AnthropicMessages::new(),
            "api.anthropic.com",
            Capabilities::anthropic(),
            Habits { counts_cache_apart: true, ..Habits::default() },
        ),
        Known::new(
            OpenAiResponses::new(),
            "api.openai.com",
            Capabilities::openai_responses(),
            Habits { failure_is_finish: true, ..Habits::default() },
        ),
        Known::new(ChatCompletions::new(), "api.openai.com", Capabilities::openai_chat(), Habits::default()),
        Known::new(
            GenerateContent::new(),
            "generativelanguage.googleapis.com",
            Capabilities::gemini(),
            Habits { counts_thoughts_apart: true, ..Habits::default() },
        ),
        Known::new(OllamaChat::new(), "localhost:11434", Capabilities::ollama(), Habits::default()),
    ])
}

/// The protocol of a name.
pub(crate) fn find(name: &str) -> Option<Known> {
    all().into_iter().find(|known| known.name == name)
}

/// What a provider does differently from others.
#[derive(Default)]
struct Habits {
    /// Cached tokens are counted apart from the input.
    counts_cache_apart: bool,
    /// What the model thought is counted apart from the output, and a counter that is zero is left out.
    counts_thoughts_apart: bool,
    /// A response that failed has a finish reason of its own, `failed:CODE`.
    failure_is_finish: bool,
}

/// A protocol with what this program has to know of it.
pub(crate) struct Known {
    name: &'static str,
    /// The official host: what its items are replayed to.
    host: &'static str,
    capabilities: Capabilities,
    habits: Habits,
    protocol: Box<dyn AnyProtocol>,
}

impl Known {
    fn new<P: Protocol + 'static>(protocol: P, host: &'static str, capabilities: Capabilities, habits: Habits) -> Self
    where
        P::Context: Default,
    {
        Self { name: P::NAME, host, capabilities, habits, protocol: Box::new(protocol) }
    }

    /// A decoder for the answer to a request without tools.
    pub(crate) fn decoder(&self) -> Box<dyn Decode> {
        self.protocol.decoder(&Target::new(self.host, "model"))
    }

    pub(crate) fn error(&self, status: StatusCode, body: &[u8]) -> Error {
        self.protocol.error(status, body)
    }

    pub(crate) fn encode(&self, mut request: ModelRequest, model: &str, host: Option<&str>) -> Result<Vec<u8>, Error> {
        Lowering::new(self.capabilities.deferral).lower(&mut request)?;
        self.protocol.encode(&request, &Target::new(host.unwrap_or(self.host), model), &self.capabilities)
    }

    /// The input as the provider counts it.
    pub(crate) fn native_input(&self, usage: &Usage) -> Option<u64> {
        let cached = usage.cache_read_tokens.unwrap_or(0).saturating_add(usage.cache_write_tokens.unwrap_or(0));
        usage.input_tokens.map(|input| if self.habits.counts_cache_apart { input.saturating_sub(cached) } else { input })
    }

    /// The output as the provider counts it.
    pub(crate) fn native_output(&self, usage: &Usage) -> Option<u64> {
        if !self.habits.counts_thoughts_apart {
            return usage.output_tokens;
        }
        let written = usage.output_tokens?.saturating_sub(usage.reasoning_tokens.unwrap_or(0));
        Some(written).filter(|written| *written > 0)
    }

    /// The finish reason of a response with HTTP status 2xx that failed.
    pub(crate) fn failed_finish(&self, error: &Error) -> Option<String> {
        let code = error.provider().filter(|_| self.habits.failure_is_finish)?.code.as_deref();
        Some(format!("failed:{}", code.unwrap_or("unknown")))
    }
}

/// A protocol whose types are hidden.
trait AnyProtocol {
    fn decoder(&self, target: &Target) -> Box<dyn Decode>;
    fn error(&self, status: StatusCode, body: &[u8]) -> Error;
    fn encode(&self, request: &ModelRequest, target: &Target, capabilities: &Capabilities) -> Result<Vec<u8>, Error>;
}

impl<P: Protocol> AnyProtocol for P
where
    P::Context: Default,
{
    fn decoder(&self, target: &Target) -> Box<dyn Decode> {
        Box::new(Protocol::decoder(self, P::Context::default(), target, None))
    }

    fn error(&self, status: StatusCode, body: &[u8]) -> Error {
        Protocol::error(self, status, &HeaderMap::new(), body)
    }

    fn encode(&self, request: &ModelRequest, target: &Target, capabilities: &Capabilities) -> Result<Vec<u8>, Error> {
        Protocol::encode(self, request, target, capabilities).map(|encoded| encoded.body.to_vec())
    }
}
