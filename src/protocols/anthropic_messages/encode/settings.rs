//! What a request asks for beside its prompt: thinking, the choice of a tool, sampling, the form of the answer.

use crate::protocols::members::write_string;
use tower_genai_core::{Effort, Error, ModelRequest, OutputFormat, Reasoning, Sampling, ToolChoice, wire_name};

use super::{server_tools::WireServerTools, tools::WireTools};
use crate::protocols::{Capabilities, ThinkingStyle};

/// The least budget that the endpoint takes.
const MIN_BUDGET: u32 = 1024;

/// How the model is asked to think.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Thinking {
    /// The value of `thinking`.
    pub(super) form: Option<ThinkingForm>,
    /// The value of `output_config.effort`.
    pub(super) effort: Option<&'static str>,
    /// The value of `max_tokens`.
    pub(super) max_tokens: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ThinkingForm {
    Disabled,
    BetweenTools,
    Adaptive { display: Option<bool> },
    Enabled { budget: u32 },
}

impl Thinking {
    /// Works out how to ask for what a request wants.
    ///
    /// A budget is at least 1,024 and stays below `max_tokens`: where the request says how much may be written, the budget is cut to fit; else the
    /// room for the answer grows by the budget. Efforts without a form of their own take the next one: `minimal` is `low`.
    ///
    /// # Errors
    ///
    /// When the request leaves no room for the least budget.
    pub(super) fn of(request: &ModelRequest, capabilities: &Capabilities, without: bool) -> Result<Self, Error> {
        let max_tokens = request.max_output_tokens.unwrap_or(capabilities.max_output_tokens);
        let plain = Self { form: None, effort: None, max_tokens };
        let Some(reasoning) = request.reasoning.filter(|_| capabilities.thinking != ThinkingStyle::Unsupported) else { return Ok(plain) };
        if reasoning.is_off() {
            let form = match capabilities.thinking {
                // The words of other protocols mean here what this one means by default.
                ThinkingStyle::Adaptive | ThinkingStyle::Budget | ThinkingStyle::Effort | ThinkingStyle::Object | ThinkingStyle::Switch => {
                    Some(ThinkingForm::Disabled)
                }
                ThinkingStyle::BetweenTools => Some(ThinkingForm::BetweenTools),
                ThinkingStyle::Always | ThinkingStyle::Unsupported => None,
            };
            return Ok(Self { form: form.filter(|_| !without), ..plain });
        }
        if capabilities.thinking == ThinkingStyle::Budget {
            if without {
                return Ok(plain);
            }
            let (budget, max_tokens) = budget(&reasoning, request.max_output_tokens, capabilities.max_output_tokens)?;
            return Ok(Self { form: Some(ThinkingForm::Enabled { budget }), effort: None, max_tokens });
        }
        let form = ThinkingForm::Adaptive { display: reasoning.summary };
        Ok(Self { form: Some(form).filter(|_| !without), effort: reasoning.effort.and_then(effort), max_tokens })
    }

    pub(super) fn write(&self, out: &mut String) {
        match self.form {
            None => {}
            Some(ThinkingForm::Disabled) => out.push_str("{\"type\":\"disabled\"}"),
            Some(ThinkingForm::BetweenTools) => out.push_str("{\"type\":\"between_tools\"}"),
            Some(ThinkingForm::Adaptive { display }) => {
                out.push_str("{\"type\":\"adaptive\"");
                out.push_str(match display {
                    None => "",
                    Some(true) => ",\"display\":\"summarized\"",
                    Some(false) => ",\"display\":\"omitted\"",
                });
                out.push('}');
            }
            Some(ThinkingForm::Enabled { budget }) => out.push_str(&format!("{{\"type\":\"enabled\",\"budget_tokens\":{budget}}}")),
        }
    }
}

fn effort(effort: Effort) -> Option<&'static str> {
    match effort {
        Effort::None => None,
        Effort::Minimal => Some("low"),
        other => Some(other.as_str()),
    }
}

/// The budget, and the value of `max_tokens` that leaves room for it.
fn budget(reasoning: &Reasoning, asked: Option<u32>, default: u32) -> Result<(u32, u32), Error> {
    let wanted = reasoning.budget_tokens.unwrap_or(match reasoning.effort {
        Some(Effort::None | Effort::Minimal) => MIN_BUDGET,
        Some(Effort::Low) => 4096,
        Some(Effort::Medium) | None => 8192,
        Some(Effort::High) => 16_384,
        Some(_) => 32_768,
    });
    let wanted = wanted.max(MIN_BUDGET);
    match asked {
        None => Ok((wanted, default.saturating_add(wanted))),
        Some(max_tokens) if max_tokens > MIN_BUDGET => Ok((wanted.min(max_tokens - 1), max_tokens)),
        Some(max_tokens) => Err(Error::invalid(format!(
            "max_output_tokens is {max_tokens}, and a model that thinks with a budget needs more than {MIN_BUDGET}; raise it or switch \
             reasoning off"
        ))),
    }
}

/// The value of `tool_choice`; `None` where there is nothing to say.
///
/// # Errors
///
/// When the endpoint does not force calls, or the tool is not declared.
pub(super) fn tool_choice(
    request: &ModelRequest,
    capabilities: &Capabilities,
    tools: &WireTools,
    server_tools: &WireServerTools,
    thinking: &Thinking,
) -> Result<Option<String>, Error> {
    if tools.len() == 0 && server_tools.tools.is_empty() {
        return Ok(None);
    }
    let is_forced = matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Tool(_) | ToolChoice::ServerTool(_));
    if is_forced && !capabilities.forced_tool_choice {
        return Err(Error::invalid(
            "tool_choice forces a call, which this model refuses; use ToolChoice::Auto and ask for the call in the instructions",
        ));
    }
    if is_forced && matches!(thinking.form, Some(ThinkingForm::Enabled { .. })) {
        return Err(Error::invalid(
            "tool_choice forces a call, which is refused while the model thinks with a budget; use ToolChoice::Auto, or switch reasoning off",
        ));
    }
    let one_at_a_time = request.parallel_tool_calls == Some(false);
    let named = |name: &str| {
        let mut out = String::from("{\"type\":\"tool\",\"name\":");
        write_string(&mut out, name);
        out
    };
    let mut out = match &request.tool_choice {
        ToolChoice::None => return Ok(Some("{\"type\":\"none\"}".to_owned())),
        ToolChoice::Auto if !one_at_a_time => return Ok(None),
        ToolChoice::Required => "{\"type\":\"any\"".to_owned(),
        ToolChoice::Tool(name) => {
            let wire = wire_name(name, capabilities.names);
            if tools.position(&wire).is_none() {
                return Err(Error::invalid(format!("tool_choice names the tool `{name}`, which is not among the tools of the request")));
            }
            named(&wire)
        }
        ToolChoice::ServerTool(tool_type) => {
            let name = server_tools.name_of(tool_type).ok_or_else(|| not_forceable(tool_type, server_tools))?;
            named(name)
        }
        _ => "{\"type\":\"auto\"".to_owned(),
    };
    out.push_str(if one_at_a_time { ",\"disable_parallel_tool_use\":true}" } else { "}" });
    Ok(Some(out))
}

fn not_forceable(tool_type: &str, server_tools: &WireServerTools) -> Error {
    Error::invalid(if server_tools.declares(tool_type) {
        format!("tool_choice names the server tool `{tool_type}`, which has no name on this endpoint and cannot be forced")
    } else {
        format!("tool_choice names the server tool `{tool_type}`, which is not among the server tools of the request")
    })
}

/// The value of `output_config`; `None` where there is nothing to say.
///
/// # Errors
///
/// For JSON without a schema, which the endpoint does not know.
pub(super) fn output_config(request: &ModelRequest, thinking: &Thinking) -> Result<Option<String>, Error> {
    let mut out = String::new();
    if let Some(effort) = thinking.effort {
        out.push_str(&format!(",\"effort\":\"{effort}\""));
    }
    match &request.output {
        OutputFormat::JsonSchema { schema, .. } => {
            out.push_str(&format!(",\"format\":{{\"type\":\"json_schema\",\"schema\":{schema}}}"));
        }
        OutputFormat::Json => {
            return Err(Error::invalid("`output` asks for JSON without a schema, which this endpoint does not know; give it a schema"));
        }
        _ => {}
    }
    Ok(out.strip_prefix(',').map(|members| format!("{{{members}}}")))
}

/// The numbers that decide how tokens are drawn, by their fields. The endpoint knows no others.
///
/// # Errors
///
/// Names a number that JSON cannot hold.
pub(super) fn sampling(sampling: &Sampling) -> Result<Vec<(&'static str, String)>, Error> {
    let mut out = Vec::new();
    for (name, value) in [("temperature", sampling.temperature), ("top_p", sampling.top_p)] {
        let Some(value) = value else { continue };
        let number =
            serde_json::Number::from_f64(value).ok_or_else(|| Error::invalid(format!("{name} is {value}; give a finite number")))?;
        out.push((name, number.to_string()));
    }
    out.extend(sampling.top_k.map(|top_k| ("top_k", top_k.to_string())));
    Ok(out)
}
