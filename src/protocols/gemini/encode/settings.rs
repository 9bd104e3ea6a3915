//! What a request asks for beside its prompt: thinking, the form of the answer, its length, and how tokens are drawn.

use tower_genai_core::{Effort, Error, ModelRequest, OutputFormat, Reasoning, Sampling};

use crate::protocols::{
    Capabilities, ThinkingStyle,
    body::Body,
    members::write_string,
    object::{List, Object},
};

/// Writes `generationConfig`, where there is anything to say.
///
/// # Errors
///
/// Names a setting that the endpoint would refuse, or that the protocol has no field for.
pub(super) fn write(request: &ModelRequest, capabilities: &Capabilities, body: &mut Body<'_>) -> Result<(), Error> {
    let mut members: Vec<(&str, String)> = Vec::new();
    if let Some(reasoning) = request.reasoning {
        members.extend(thinking(reasoning, capabilities.thinking)?.map(|config| ("thinkingConfig", config)));
    }
    match &request.output {
        OutputFormat::Json => members.push(("responseMimeType", "\"application/json\"".to_owned())),
        OutputFormat::JsonSchema { schema, .. } if capabilities.output_schema => {
            members.push(("responseMimeType", "\"application/json\"".to_owned()));
            members.push(("responseJsonSchema", schema.as_str().to_owned()));
        }
        OutputFormat::JsonSchema { .. } => {
            return Err(Error::invalid(
                "`output` asks for a JSON Schema, which this model cannot hold its answers to; ask for `OutputFormat::Json` and put the schema \
                 into the prompt, or set Capabilities::output_schema",
            ));
        }
        _ => {}
    }
    members.extend(request.max_output_tokens.map(|most| ("maxOutputTokens", most.to_string())));
    if !request.stop_sequences.is_empty() {
        let mut list = String::new();
        let mut texts = List::new(&mut list);
        request.stop_sequences.iter().for_each(|text| write_string(texts.entry(), text));
        texts.end();
        members.push(("stopSequences", list));
    }
    if capabilities.sampling {
        sampling(request.sampling, &mut members);
    }
    if !members.is_empty() {
        body.member("generationConfig", |out| {
            let mut object = Object::new(out);
            members.iter().for_each(|(key, value)| object.raw(key, value));
            object.end();
        });
    }
    Ok(())
}

fn sampling(sampling: Sampling, members: &mut Vec<(&str, String)>) {
    let numbers = [
        ("temperature", sampling.temperature),
        ("topP", sampling.top_p),
        ("frequencyPenalty", sampling.frequency_penalty),
        ("presencePenalty", sampling.presence_penalty),
    ];
    members.extend(numbers.into_iter().filter_map(|(key, number)| Some((key, serde_json::Number::from_f64(number?)?.to_string()))));
    members.extend(sampling.top_k.map(|tokens| ("topK", tokens.to_string())));
    members.extend(sampling.seed.map(|seed| ("seed", seed.to_string())));
}

/// How the model is to think. The endpoint takes one of a level and a number of tokens.
fn thinking(reasoning: Reasoning, style: ThinkingStyle) -> Result<Option<String>, Error> {
    let mut out = String::new();
    let mut object = Object::new(&mut out);
    match (style, reasoning.effort, reasoning.budget_tokens) {
        (ThinkingStyle::Unsupported, _, _) => return Ok(None),
        (ThinkingStyle::Effort, Some(effort), _) => object.string("thinkingLevel", level(effort)),
        (ThinkingStyle::Budget, Some(Effort::None), _) => object.raw("thinkingBudget", "0"),
        (ThinkingStyle::Effort | ThinkingStyle::Budget, _, Some(tokens)) => object.raw("thinkingBudget", &tokens.to_string()),
        (ThinkingStyle::Budget, Some(effort), None) => object.raw("thinkingBudget", &budget(effort).to_string()),
        (ThinkingStyle::Effort | ThinkingStyle::Budget, None, None) => {}
        (other, _, _) => {
            return Err(Error::invalid(format!(
                "reasoning: Capabilities::thinking is {other:?}, which the Gemini API has no field for; make it Effort, Budget or Unsupported, or \
                 put what your endpoint wants into `extra_body`"
            )));
        }
    }
    if let Some(summary) = reasoning.summary {
        object.bool("includeThoughts", summary);
    }
    object.end();
    Ok(Some(out).filter(|out| out != "{}"))
}

/// Models that take a level cannot be kept from thinking: off is the least that they can.
fn level(effort: Effort) -> &'static str {
    match effort {
        Effort::None | Effort::Minimal => "MINIMAL",
        Effort::Low => "LOW",
        Effort::Medium => "MEDIUM",
        Effort::High => "HIGH",
        // Effort is non-exhaustive: what is added lies above.
        _ => "XHIGH",
    }
}

/// The tokens that Google's own compatibility layer allows for an effort: <https://ai.google.dev/gemini-api/docs/openai>.
fn budget(effort: Effort) -> u32 {
    match effort {
        Effort::None => 0,
        Effort::Minimal | Effort::Low => 1_024,
        Effort::Medium => 8_192,
        // Effort is non-exhaustive: what is added lies above.
        _ => 24_576,
    }
}
