//! Requests of a size.

use tower_genai::{Conversation, Json, Message, ModelRequest, ToolDefinition, ToolSet};

/// A set of so many tools, nine of ten deferred.
pub(crate) fn tools(count: usize) -> ToolSet {
    let parameters =
        Json::parse(r#"{"type":"object","properties":{"path":{"type":"string","description":"Where it is"}},"required":["path"]}"#);
    let parameters = parameters.unwrap_or_default();
    let tool = |number: usize| {
        ToolDefinition::new(format!("tool_{number}"))
            .description(format!("Does the thing with number {number}"))
            .parameters(parameters.clone())
            .snippet(format!("tool_{number}(path)"))
            .guideline("Say why.")
            .deferred(!number.is_multiple_of(10))
    };
    ToolSet::new((0..count).map(tool)).unwrap_or_default()
}

/// A request with these tools and so many messages.
pub(crate) fn request(tools: &ToolSet, messages: usize) -> ModelRequest {
    let turns = (0..messages).map(|number| match number % 2 {
        0 => Message::user(format!("question {number}")),
        _ => Message::assistant(format!("answer {number}")),
    });
    ModelRequest::new().system("You are a bench.").messages(Conversation::from_iter(turns)).tools(tools.clone())
}
