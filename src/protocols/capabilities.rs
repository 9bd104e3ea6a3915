//! What an endpoint and a model accept.

use tower_genai_core::{DeferralMode, NameRules};

/// How a model is asked to think (Anthropic Messages).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ThinkingStyle {
    /// `adaptive` with an effort: 4.6 and later.
    Adaptive,
    /// `enabled` with a budget of tokens: 4.5 and earlier.
    Budget,
    /// `adaptive`, and `between_tools` instead of `disabled` (Sonnet 5.5).
    BetweenTools,
    /// `adaptive`, and thinking cannot be switched off: nothing is sent instead of `disabled`.
    Always,
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

/// What an endpoint and a model accept, as a plain value: encoders ask it, never the name of a host or a model.
///
/// Start from the protocol's own ([`anthropic`](Self::anthropic), [`openai_responses`](Self::openai_responses)) and change what your model
/// or gateway does differently.
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
    /// What a function may be called.
    pub names: NameRules,
    /// The longest id of a call in bytes.
    pub max_call_id: usize,
    /// The most tools in a request.
    pub max_tools: Option<usize>,
    /// The most deferred tools in a request.
    pub max_deferred_tools: Option<usize>,
    /// The longest description of a tool, in characters.
    pub max_description: Option<usize>,
    /// The largest body, in bytes.
    pub max_body_bytes: Option<usize>,
    /// The default of `max_output_tokens` where the endpoint asks for one.
    pub max_output_tokens: u32,
    /// Whether a call can be forced (`any`, `required`, a named tool).
    pub forced_tool_choice: bool,
    /// Whether `temperature` and its relatives are accepted.
    pub sampling: bool,
    /// Whether prompts are marked for the provider's cache.
    pub prompt_cache: bool,
    /// How long a marked prefix is kept; `None` is the provider's default.
    pub cache_lifetime: Option<CacheLifetime>,
    /// How the model is asked to think.
    pub thinking: ThinkingStyle,
    /// Whether the endpoint binds replayed thinking to the prompt that produced it, and refuses it elsewhere.
    pub bound_thinking: bool,
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
    /// How often a paused response is resumed within one call.
    pub max_resumes: u32,
}

impl Capabilities {
    /// The Anthropic Messages API with a model of the 4.6 generation or later.
    #[must_use]
    pub const fn anthropic() -> Self {
        Self {
            deferral: DeferralMode::Reference,
            names: NameRules::PORTABLE,
            max_call_id: 64,
            max_tools: None,
            max_deferred_tools: Some(10_000),
            max_description: None,
            max_body_bytes: Some(32 * 1024 * 1024),
            max_output_tokens: 16_384,
            forced_tool_choice: true,
            sampling: true,
            prompt_cache: true,
            cache_lifetime: None,
            thinking: ThinkingStyle::Adaptive,
            bound_thinking: true,
            prefill: false,
            system_messages: false,
            encrypted_reasoning: true,
            additional_tools: false,
            images: true,
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
            bound_thinking: false,
            system_messages: true,
            additional_tools: true,
            max_resumes: 0,
            ..Self::anthropic()
        }
    }
}
