//! Where the model is.

use std::{env, error::Error};

use tower_genai::{
    BoxModelService, DeferralMode, ModelServiceExt,
    protocols::Protocol,
    provider::{Anthropic, Gemini, Ollama, OpenAi, OpenAiChat, Provider, deepseek, groq, mistral, openrouter, xai},
};

/// A provider whose types are hidden.
pub(crate) struct Connected {
    pub(crate) model: BoxModelService,
    /// How deferred tools reach the model.
    pub(crate) mode: DeferralMode,
    /// How many tools a request may declare.
    pub(crate) max_tools: Option<usize>,
}

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Who is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// A protocol at a base URL.
    Protocol { name: String, base_url: String },
    /// A provider by its name, at another base URL if one is given.
    Provider { name: String, base_url: Option<String> },
}

/// The protocols.
pub(crate) const PROTOCOLS: [&str; 5] = ["anthropic", "openai_responses", "openai_chat", "gemini", "ollama"];

/// The providers, each with the variables that usually hold its key.
const PROVIDERS: [(&str, &[&str]); 15] = [
    ("anthropic", &["ANTHROPIC_API_KEY"]),
    ("openai", &["OPENAI_API_KEY"]),
    ("openai-chat", &["OPENAI_API_KEY"]),
    ("google", &["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
    ("deepseek", &["DEEPSEEK_API_KEY"]),
    ("deepseek-responses", &["DEEPSEEK_API_KEY"]),
    ("deepseek-messages", &["DEEPSEEK_API_KEY"]),
    ("openrouter", &["OPENROUTER_API_KEY"]),
    ("openrouter-responses", &["OPENROUTER_API_KEY"]),
    ("openrouter-messages", &["OPENROUTER_API_KEY"]),
    ("xai", &["XAI_API_KEY"]),
    ("xai-chat", &["XAI_API_KEY"]),
    ("groq", &["GROQ_API_KEY"]),
    ("mistral", &["MISTRAL_API_KEY"]),
    ("ollama", &[]),
];

impl Endpoint {
    /// A protocol at a base URL.
    pub(crate) fn protocol(name: &str, base_url: &str) -> Outcome<Self> {
        if !PROTOCOLS.contains(&name) {
            return Err(format!("unknown protocol {name}: {}", PROTOCOLS.join(", ")).into());
        }
        Ok(Self::Protocol { name: name.into(), base_url: base_url.into() })
    }

    /// A provider by its name.
    pub(crate) fn provider(name: &str, base_url: Option<String>) -> Outcome<Self> {
        let names = PROVIDERS.map(|(name, _)| name);
        if !names.contains(&name) {
            return Err(format!("unknown provider {name}: {}", names.join(", ")).into());
        }
        Ok(Self::Provider { name: name.into(), base_url })
    }

    /// The model as a service.
    pub(crate) fn connect(&self, model: &str) -> Outcome<Connected> {
        match self {
            Self::Protocol { name, base_url } => {
                let key = variable(&["API_KEY"])?;
                let url = Some(base_url.as_str());
                match name.as_str() {
                    "anthropic" => boxed(Anthropic::new(key, model), url),
                    "openai_responses" => boxed(OpenAi::new(key, model), url),
                    "openai_chat" => boxed(OpenAiChat::new(key, model), url),
                    "gemini" => boxed(Gemini::new(key, model), url),
                    _ => boxed(Ollama::new(model), url),
                }
            }
            Self::Provider { name, base_url } => {
                let variables = PROVIDERS.iter().find(|(known, _)| known == name).map_or(&[][..], |(_, variables)| variables);
                let key = if variables.is_empty() { String::new() } else { variable(variables)? };
                let url = base_url.as_deref();
                match name.as_str() {
                    "anthropic" => boxed(Anthropic::new(key, model), url),
                    "openai" => boxed(OpenAi::new(key, model), url),
                    "openai-chat" => boxed(OpenAiChat::new(key, model), url),
                    "google" => boxed(Gemini::new(key, model), url),
                    "deepseek" => boxed(deepseek::chat(key, model), url),
                    "deepseek-responses" => boxed(deepseek::responses(key, model), url),
                    "deepseek-messages" => boxed(deepseek::messages(key, model), url),
                    "openrouter" => boxed(openrouter::chat(key, model), url),
                    "openrouter-responses" => boxed(openrouter::responses(key, model), url),
                    "openrouter-messages" => boxed(openrouter::messages(key, model), url),
                    "xai" => boxed(xai::responses(key, model), url),
                    "xai-chat" => boxed(xai::chat(key, model), url),
                    "groq" => boxed(groq::chat(key, model), url),
                    "mistral" => boxed(mistral::chat(key, model), url),
                    _ => boxed(Ollama::new(model), url),
                }
            }
        }
    }
}

/// The first of these variables that is set.
fn variable(names: &[&str]) -> Outcome<String> {
    let found = names.iter().find_map(|name| env::var(name).ok());
    found.ok_or_else(|| format!("the environment variable {} is not set", names.join(" or ")).into())
}

fn boxed<P>(mut provider: Provider<P>, base_url: Option<&str>) -> Outcome<Connected>
where
    P: Protocol + Clone + Send + Sync + 'static,
{
    if let Some(url) = base_url {
        provider = provider.base_url(url)?;
    }
    let (mode, max_tools) = (provider.deferral(), provider.get_capabilities().max_tools);
    Ok(Connected { model: provider.boxed_model(), mode, max_tools })
}
