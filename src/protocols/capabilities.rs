//! What an endpoint and a model accept.

use tower_genai_core::{DeferralMode, NameRules};
use tower_genai_core::{Error, ModelRequest};

/// How a model is asked to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ThinkingStyle {
    /// Anthropic Messages: `adaptive` with an effort, 4.6 and later.
    Adaptive,
    /// A budget of tokens. Anthropic Messages: `enabled`, 4.5 and earlier. Gemini: `thinkingBudget`, 2.5.
    Budget,
    /// Anthropic Messages: `adaptive`, and `between_tools` instead of `disabled` (Sonnet 5.5).
    BetweenTools,
    /// Anthropic Messages: `adaptive`, and thinking cannot be switched off: nothing is sent instead of `disabled`.
    Always,
    /// A word. Responses: `reasoning.effort`. Chat Completions: `reasoning_effort`. Gemini: `thinkingLevel`, 3 and later. Ollama: `think`
    /// with a level.
    Effort,
    /// Chat Completions: an object `reasoning` with an effort or a number of tokens (OpenRouter).
    Object,
    /// On or off. Chat Completions: `thinking` with the type `enabled` or `disabled`, and `reasoning_effort` (DeepSeek and others). Ollama:
    /// `think` as a boolean.
    Switch,
    /// The model does not think: nothing is sent.
    Unsupported,
}

/// How long a provider keeps a cached prefix (Anthropic Messages).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CacheLifetime {
    /// Five minutes.
    FiveMinutes,
    /// One hour.
    OneHour,
}

/// What the id of a call may look like. Ids that do not fit are mapped, and mapped alike in every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallIds {
    /// At most so many letters, digits, `_` and `-`.
    UpTo(usize),
    /// Exactly so many letters and digits (Mistral: 9).
    Exactly(usize),
}

/// How an endpoint is told of tools that it runs itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerToolForm {
    /// `{"type": TYPE, ..configuration}`.
    Flat,
    /// `{"type": TYPE, "parameters": configuration}` (OpenRouter).
    Parameters,
    /// `{TYPE: configuration}` (Gemini).
    Keyed,
    /// It has none: a server tool is an error.
    Unsupported,
}

/// Whether tools that the provider runs and functions of the caller may stand in one request (Gemini).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MixedTools {
    /// They may.
    Allowed,
    /// They may, where the request asks for it with `includeServerSideToolInvocations` (Gemini 3 and later).
    Flagged,
    /// They may not (Gemini 2.x, Vertex).
    Refused,
}

/// A search for deferred tools that the endpoint runs itself (Chat Completions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostedSearch {
    /// It has none.
    Unsupported,
    /// A server tool that searches what is marked with `defer_loading` (orq.ai).
    Tool,
    /// The request field `deferred_tools` (OpenRouter).
    Field,
}

/// What an endpoint and a model accept, as a plain value: encoders ask it, never the name of a host or a model.
///
/// Start from the protocol's own ([`anthropic`](Self::anthropic), [`openai_responses`](Self::openai_responses),
/// [`openai_chat`](Self::openai_chat), [`gemini`](Self::gemini), [`ollama`](Self::ollama)) and change what your model or gateway does
/// differently.
///
/// ```
/// use tower_genai::protocols::{Capabilities, ThinkingStyle};
///
/// let mut capabilities = Capabilities::anthropic();
/// capabilities.thinking = ThinkingStyle::Budget;
/// capabilities.forced_tool_choice = true;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// How deferred tools reach the model.
    pub deferral: DeferralMode,
    /// A search for deferred tools that a Chat Completions endpoint runs itself, where the request asks for it with a server tool.
    pub hosted_search: HostedSearch,
    /// What a function may be called.
    pub names: NameRules,
    /// What the id of a call may look like.
    pub call_ids: CallIds,
    /// The most tools in a request.
    pub max_tools: Option<usize>,
    /// The most deferred tools in a request.
    pub max_deferred_tools: Option<usize>,
    /// The longest description of a tool, in characters. What Chat Completions, Gemini and Ollama do not take there goes out beside it: in the answer
    /// that loaded the tool, or else in the system prompt. The others refuse it.
    pub max_description: Option<usize>,
    /// The largest body, in bytes.
    pub max_body_bytes: Option<usize>,
    /// The default of `max_output_tokens` where the endpoint asks for one.
    pub max_output_tokens: u32,
    /// What Chat Completions call the limit of the output: `max_completion_tokens` or `max_tokens`.
    pub output_limit_field: &'static str,
    /// Whether functions are accepted at all.
    pub functions: bool,
    /// Whether a call can be forced (`any`, `required`, a named tool).
    pub forced_tool_choice: bool,
    /// Whether `parallel_tool_calls` is accepted.
    pub parallel_tool_calls: bool,
    /// Whether the dialogue may hold calls to tools that the request does not declare; elsewhere they become text.
    pub undeclared_calls: bool,
    /// How tools that the provider runs are declared.
    pub server_tools: ServerToolForm,
    /// Whether those may stand beside functions.
    pub mixed_tools: MixedTools,
    /// Whether `temperature` and its relatives are accepted.
    pub sampling: bool,
    /// Whether output can be held to a JSON Schema.
    pub output_schema: bool,
    /// Whether `metadata` is accepted.
    pub metadata: bool,
    /// Whether prompts are marked for the provider's cache, or carry a key for it.
    pub prompt_cache: bool,
    /// How long a marked prefix is kept; `None` is the provider's default.
    pub cache_lifetime: Option<CacheLifetime>,
    /// How the model is asked to think.
    pub thinking: ThinkingStyle,
    /// Whether the endpoint binds replayed thinking to the prompt that produced it, and refuses it elsewhere.
    pub bound_thinking: bool,
    /// Whether what the model thought has to come back beside its calls, as `reasoning_content` (Chat Completions: DeepSeek).
    pub reasoning_content: bool,
    /// Whether calls have to carry the signature of the model that made them, or a placeholder (Gemini 3 and later).
    pub call_signatures: bool,
    /// Whether a request may end with a message of the model, for it to go on from there.
    pub prefill: bool,
    /// Whether an instruction may stand in the middle of the dialogue; elsewhere it becomes a user text.
    pub system_messages: bool,
    /// Whether encrypted reasoning is asked for, so that it can be replayed.
    pub encrypted_reasoning: bool,
    /// Whether `additional_tools` items are understood.
    pub additional_tools: bool,
    /// Whether images are accepted.
    pub images: bool,
    /// Whether images may stand in the answer to a call; elsewhere they follow in a message of the user.
    pub tool_images: bool,
    /// Whether a stream is asked to report the tokens (`stream_options`, Chat Completions).
    pub stream_usage: bool,
    /// How often a paused response is resumed within one call.
    pub max_resumes: u32,
}

impl Capabilities {
    /// The Anthropic Messages API with a model of the 4.6 generation or later.
    #[must_use]
    pub const fn anthropic() -> Self {
        Self {
            deferral: DeferralMode::Reference,
            hosted_search: HostedSearch::Unsupported,
            names: NameRules::PORTABLE,
            call_ids: CallIds::UpTo(64),
            max_tools: None,
            max_deferred_tools: Some(10_000),
            max_description: None,
            max_body_bytes: Some(32 * 1024 * 1024),
            max_output_tokens: 16_384,
            output_limit_field: "max_tokens",
            functions: true,
            forced_tool_choice: true,
            parallel_tool_calls: true,
            undeclared_calls: true,
            server_tools: ServerToolForm::Flat,
            mixed_tools: MixedTools::Allowed,
            sampling: true,
            output_schema: true,
            metadata: true,
            prompt_cache: true,
            cache_lifetime: None,
            thinking: ThinkingStyle::Adaptive,
            bound_thinking: true,
            reasoning_content: false,
            call_signatures: false,
            prefill: false,
            system_messages: false,
            encrypted_reasoning: true,
            additional_tools: false,
            images: true,
            tool_images: true,
            stream_usage: false,
            max_resumes: 10,
        }
    }

    /// The OpenAI Responses API with gpt-5.4 or later.
    #[must_use]
    pub const fn openai_responses() -> Self {
        Self {
            deferral: DeferralMode::SearchOutput,
            max_deferred_tools: None,
            max_body_bytes: None,
            thinking: ThinkingStyle::Effort,
            bound_thinking: false,
            system_messages: true,
            additional_tools: true,
            max_resumes: 0,
            ..Self::anthropic()
        }
    }

    /// The Chat Completions API of OpenAI. Other hosts take less; [`compatible_chat`](Self::compatible_chat) is what nearly all of them take.
    #[must_use]
    pub const fn openai_chat() -> Self {
        Self {
            deferral: DeferralMode::Append,
            max_tools: Some(128),
            max_description: Some(1_024),
            output_limit_field: "max_completion_tokens",
            server_tools: ServerToolForm::Unsupported,
            encrypted_reasoning: false,
            additional_tools: false,
            tool_images: false,
            stream_usage: true,
            ..Self::openai_responses()
        }
    }

    /// Chat Completions as nearly every host speaks it: without the limits of OpenAI and without what only OpenAI knows.
    #[must_use]
    pub const fn compatible_chat() -> Self {
        Self {
            max_tools: None,
            max_description: None,
            output_limit_field: "max_tokens",
            metadata: false,
            prompt_cache: false,
            ..Self::openai_chat()
        }
    }

    /// The Gemini API with a model of the third generation or later.
    #[must_use]
    pub const fn gemini() -> Self {
        Self {
            deferral: DeferralMode::Append,
            max_tools: Some(512),
            server_tools: ServerToolForm::Keyed,
            mixed_tools: MixedTools::Flagged,
            metadata: false,
            prompt_cache: false,
            call_signatures: true,
            system_messages: false,
            encrypted_reasoning: false,
            additional_tools: false,
            ..Self::openai_responses()
        }
    }

    /// The Gemini API with a model of the second generation.
    #[must_use]
    pub const fn gemini_2() -> Self {
        Self {
            mixed_tools: MixedTools::Refused,
            thinking: ThinkingStyle::Budget,
            call_signatures: false,
            tool_images: false,
            ..Self::gemini()
        }
    }

    /// The API of Ollama with a model that can call tools.
    #[must_use]
    pub const fn ollama() -> Self {
        Self {
            max_tools: None,
            server_tools: ServerToolForm::Unsupported,
            mixed_tools: MixedTools::Refused,
            forced_tool_choice: false,
            parallel_tool_calls: false,
            call_signatures: false,
            system_messages: true,
            thinking: ThinkingStyle::Switch,
            tool_images: false,
            ..Self::gemini()
        }
    }

    /// Refuses server tools where the endpoint has none.
    pub(crate) fn check_server_tools(&self, request: &ModelRequest) -> Result<(), Error> {
        request.validate_server_tools()?;
        match request.server_tools.first().filter(|_| self.server_tools == ServerToolForm::Unsupported) {
            None => Ok(()),
            Some(tool) => Err(Error::invalid(format!(
                "server tool `{}` cannot be declared at this endpoint, which runs no tools; use one that does (the Responses API has them \
                 where Chat Completions do not), or set Capabilities::server_tools where your gateway knows it",
                tool.tool_type()
            ))),
        }
    }
}
