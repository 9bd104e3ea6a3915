//! The dialogue as a list of items.

use std::borrow::Cow;

use tower_genai_core::{AssistantPart, Content, Error, Json, ToolCall, ToolName, UserMessage};

use super::{
    output::{self, Output, Scene},
    plan::{Plan, Step, TurnPlan},
    replay::{Edits, Replayed, program},
};
use crate::protocols::{
    functions::check_description,
    history::{Answer, Answered, IMAGE_MADE, summary_text},
    members::write_string,
    object::{List, Object},
    openai_responses::item::{Call, Role},
};

/// Writes the items. Says whether there are any.
pub(super) fn write(plan: &Plan<'_>, search: Option<&ToolName>, scene: Scene<'_>, out: &mut String) -> Result<bool, Error> {
    let mut items = List::new(out);
    for step in &plan.steps {
        match step {
            Step::User(message) => user(message, scene, &mut items),
            Step::System(message) => instruction(&message.content, scene, &mut items),
            Step::Summary(summary) => {
                let mut object = Object::new(items.entry());
                object.string("role", "user");
                object.string("content", &summary_text(summary));
                object.end();
            }
            Step::Turn(turn) => Writer { plan, turn, search, scene }.write(&mut items)?,
        }
    }
    let any = !items.is_empty();
    items.end();
    Ok(any)
}

fn user(message: &UserMessage, scene: Scene<'_>, items: &mut List<'_>) {
    let sent: Vec<&Content> = message.content.iter().filter(|content| output::is_sent(content)).collect();
    if sent.is_empty() {
        return;
    }
    let mut object = Object::new(items.entry());
    object.string("role", "user");
    match sent.as_slice() {
        [Content::Text { text }] => object.string("content", text),
        _ => output::list(&sent, scene.capabilities, object.key("content")),
    }
    object.end();
}

/// An instruction in the middle of the dialogue.
fn instruction(text: &str, scene: Scene<'_>, items: &mut List<'_>) {
    let mut object = Object::new(items.entry());
    object.string("role", if scene.capabilities.system_messages { "developer" } else { "user" });
    object.string("content", text);
    object.end();
}

/// Writes one turn: what the model said and asked for, all answers, and what the model is to know beside them.
struct Writer<'a, 'b> {
    plan: &'b Plan<'a>,
    turn: &'b TurnPlan<'a>,
    search: Option<&'b ToolName>,
    scene: Scene<'b>,
}

impl<'a, 'b> Writer<'a, 'b> {
    fn write(&self, items: &mut List<'_>) -> Result<(), Error> {
        match &self.turn.items {
            Some(replayed) => self.replayed(replayed, items),
            None => self.parts(items),
        }
        let mut notes: Vec<String> = Vec::new();
        for output in self.outputs() {
            output.write(self.scene, items.entry())?;
            notes.extend(output.note());
        }
        if !notes.is_empty() {
            instruction(&notes.join("\n\n"), self.scene, items);
        }
        if !self.turn.additional.is_empty() {
            let mut object = Object::typed(items.entry(), "additional_tools");
            object.string("role", "developer");
            let mut tools = List::new(object.key("tools"));
            for tool in &self.turn.additional {
                check_description(tool, self.scene.capabilities)?;
                super::tools::function(tool, self.scene.names, false, tools.entry());
            }
            tools.end();
            object.end();
        }
        Ok(())
    }

    /// The answers in the order of their calls.
    fn outputs(&self) -> Vec<Output<'a, 'b>> {
        let answers = &self.turn.turn.answers;
        let answered = |at: usize, program: Option<&'b str>| {
            let answer = answers.get(at)?;
            let call = self.turn.calls.get(at).copied().flatten()?;
            let id = if call == Call::Approval { &*answer.call.id } else { &*answer.id };
            let loaded = self.turn.loaded.get(at).map(Vec::as_slice).unwrap_or_default();
            Some(Output { call, id, result: &answer.result, loaded, program })
        };
        let Some(items) = &self.turn.items else { return (0..answers.len()).filter_map(|at| answered(at, None)).collect() };
        let outputs = items.iter().filter(|item| item.is_kept()).filter_map(|replayed| {
            let Role::Call(call) = replayed.role else { return None };
            match replayed.answer {
                Some(at) => answered(at, program(&replayed.item)),
                None => {
                    let id = if call == Call::Approval { &replayed.item.id } else { &replayed.item.call_id };
                    let call = if call == Call::Search && self.search_function().is_some() { Call::Function } else { call };
                    Some(Output { call, id, result: &Answered::Missing, loaded: &[], program: program(&replayed.item) })
                }
            }
        });
        outputs.collect()
    }

    /// The function that stands for the search, where the endpoint knows no other form of it.
    fn search_function(&self) -> Option<Cow<'b, str>> {
        let is_function = self.plan.form == super::tools::SearchForm::Function;
        is_function.then(|| self.search.map_or(Cow::Borrowed("tool_search"), |name| self.scene.names.wire(name)))
    }

    fn replayed(&self, replayed: &'b [Replayed<'a>], items: &mut List<'_>) {
        for replayed in replayed.iter().filter(|replayed| replayed.is_kept()) {
            let answer = replayed.answer.and_then(|at| self.turn.turn.answers.get(at));
            let mut edits = Edits::default();
            let function = self.search_function().filter(|_| replayed.role == Role::Call(Call::Search));
            if let Role::Call(call) = replayed.role {
                edits.function = function.as_deref();
                edits.call_id = answer.map(|answer| &*answer.id).filter(|id| call != Call::Approval && *id != &*replayed.item.call_id);
                edits.arguments = replayed.repaired_arguments(answer.map(|answer| answer.call));
                if matches!(call, Call::Function | Call::Custom) {
                    edits.namespace = self.namespace(replayed, answer);
                }
            }
            replayed.write(&edits, items.entry());
        }
    }

    /// What to change about the namespace of a call: a tool that was loaded by a search since needs one, a tool that was added after it had
    /// been called has none.
    fn namespace(&self, replayed: &'b Replayed<'a>, answer: Option<&'b Answer<'a>>) -> Option<&'b str> {
        let name = &*replayed.item.name;
        if replayed.item.namespace.is_empty() {
            return self.plan.needs_namespace(name, self.scene.names).then_some(name);
        }
        let was_guessed = matches!(answer.map(|answer| &answer.result), Some(Answered::Tool(result)) if !result.loaded.is_empty());
        (was_guessed && *replayed.item.namespace == *name && self.plan.is_added(name)).then_some("")
    }

    /// A message that was written elsewhere, or changed since, from its parts.
    fn parts(&self, items: &mut List<'_>) {
        let mut said = String::new();
        for (part, answer) in self.turn.turn.parts() {
            match part {
                AssistantPart::Text { text } | AssistantPart::Refusal { text } => said.push_str(text),
                AssistantPart::Image(_) => said.push_str(IMAGE_MADE),
                AssistantPart::ToolCall(call) | AssistantPart::Search(call) => {
                    flush(&mut said, items);
                    if let Some(at) = answer {
                        self.call(call, at, items);
                    }
                }
                // What a provider thought, ran and summed up is of use to that provider only.
                _ => {}
            }
        }
        flush(&mut said, items);
    }

    fn call(&self, call: &ToolCall, at: usize, items: &mut List<'_>) {
        let (Some(answer), Some(kind)) = (self.turn.turn.answers.get(at), self.turn.calls.get(at).copied().flatten()) else { return };
        let arguments = object_arguments(call);
        let mut object = match kind {
            Call::Search => Object::typed(items.entry(), "tool_search_call"),
            Call::Custom => Object::typed(items.entry(), "custom_tool_call"),
            _ => Object::typed(items.entry(), "function_call"),
        };
        object.string("call_id", &answer.id);
        if kind == Call::Search {
            object.string("execution", "client");
            object.raw("arguments", &arguments);
            object.string("status", "completed");
            object.end();
            return;
        }
        let wire = match self.search_function() {
            Some(function) if answer.is_search => function,
            _ => self.scene.names.wire(&call.name),
        };
        let written = self.turn.written.get(at).and_then(Option::as_ref).filter(|_| self.plan.is_unknown(&wire, self.scene.names));
        match written {
            // Nothing but the call itself tells what the tool was.
            Some(written) => {
                object.string("name", &written.name);
                object.string("namespace", &written.namespace);
            }
            None => {
                object.string("name", &wire);
                if self.plan.needs_namespace(&wire, self.scene.names) {
                    object.string("namespace", &wire);
                }
            }
        }
        if kind == Call::Custom {
            object.string("input", &free_text(call));
        } else {
            write_string(object.key("arguments"), &arguments);
        }
        object.end();
    }
}

fn flush(said: &mut String, items: &mut List<'_>) {
    if said.is_empty() {
        return;
    }
    let mut object = Object::new(items.entry());
    object.string("role", "assistant");
    object.string("content", said);
    object.end();
    said.clear();
}

/// The arguments as an object, whatever they are.
fn object_arguments(call: &ToolCall) -> Cow<'_, str> {
    let arguments = call.arguments.as_str();
    match arguments {
        object if call.arguments.is_object() => Cow::Borrowed(object),
        "null" => Cow::Borrowed("{}"),
        other => Cow::Owned(format!("{{\"input\":{other}}}")),
    }
}

/// The text of a custom call, which its neutral form keeps as a member.
fn free_text(call: &ToolCall) -> String {
    #[derive(serde::Deserialize)]
    struct Free {
        input: String,
    }
    let text = call.arguments.deserialize::<Free>().map(|free| free.input);
    text.unwrap_or_else(|_| Json::as_str(&call.arguments).to_owned())
}
