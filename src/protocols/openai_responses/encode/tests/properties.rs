use super::*;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

const NAMES: [&str; 5] = ["a", "b", "c", "gone", "read"];

/// One step of a dialogue: a message and everything that answers it.
#[derive(Clone, Debug)]
enum StepOf {
    User,
    System,
    Turn { own: bool, reasons: bool, calls: Vec<CallOf>, unanswered: bool, repeated_ids: bool },
}

#[derive(Clone, Debug)]
enum CallOf {
    Call { name: usize, guessed: bool },
    Search { names: Vec<usize>, note: bool, version: u8 },
}

fn steps(tidy: bool) -> impl Strategy<Value = Vec<StepOf>> {
    let call = prop_oneof![
        (0..NAMES.len(), any::<bool>()).prop_map(|(name, guessed)| CallOf::Call { name, guessed }),
        (prop::collection::vec(0..NAMES.len(), 0..3), any::<bool>(), if tidy { 0..1u8 } else { 0..2u8 })
            .prop_map(|(names, note, version)| CallOf::Search { names, note, version }),
    ];
    let flag = move || any::<bool>().prop_map(move |flag| flag && !tidy);
    let turn = (any::<bool>(), any::<bool>(), prop::collection::vec(call, 0..4), flag(), flag());
    let turn =
        turn.prop_map(|(own, reasons, calls, unanswered, repeated_ids)| StepOf::Turn { own, reasons, calls, unanswered, repeated_ids });
    prop::collection::vec(prop_oneof![1 => Just(StepOf::User), 1 => Just(StepOf::System), 4 => turn], 1..8)
}

fn definition(name: usize, version: u8) -> Arc<ToolDefinition> {
    let text = if version == 0 { format!("Does {}.", NAMES[name]) } else { format!("Does {} {version}.", NAMES[name]) };
    Arc::new(deferred(NAMES[name]).description(text))
}

fn messages(step: &StepOf, at: usize) -> Vec<Arc<Message>> {
    let StepOf::Turn { own: is_own, reasons, calls, unanswered, repeated_ids } = step else {
        return vec![if matches!(step, StepOf::User) { user(&format!("message {at}")) } else { Arc::new(Message::system("note")) }];
    };
    let (mut parts, mut items, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for (number, made) in calls.iter().enumerate() {
        let id = if *repeated_ids { format!("call_{number}") } else { format!("call_{at}_{number}") };
        if *reasons {
            items.push(reasoning_item(&format!("rs_{at}_{number}")));
        }
        match made {
            CallOf::Call { name, guessed } => {
                let made = call(&id, NAMES[*name]);
                items.push(call_item(&id, NAMES[*name]));
                parts.push(AssistantPart::ToolCall(made.clone()));
                let result = ToolResult::text(&made, "x");
                answers.push(Message::Tool(if *guessed { result.loading([definition(*name, 0)]) } else { result }));
            }
            CallOf::Search { names, note, version } => {
                items.push(search_item(&id));
                parts.push(AssistantPart::Search(search(&id)));
                let loaded = names.iter().map(|name| definition(*name, *version)).collect();
                answers.push(Message::Search(SearchResult::new(&search(&id), loaded, if *note { "A note." } else { "" })));
            }
        }
    }
    if *unanswered {
        answers.pop();
    }
    let turn = if *is_own { own(parts, &items) } else { foreign(parts) };
    [turn].into_iter().chain(answers.into_iter().map(Arc::new)).collect()
}

fn tools() -> ToolSet {
    set([tool("read"), deferred("a"), deferred("b"), deferred("c"), search_tool()])
}

/// What the endpoint checks in a dialogue.
fn check(body: &Value) -> Result<(), TestCaseError> {
    let items = body["input"].as_array().unwrap();
    let (mut calls, mut ids) = (HashMap::new(), HashSet::new());
    let (mut default, mut loaded) = (HashSet::new(), HashSet::new());
    let mut declare = |tool: &Value, place: &str| -> Result<(), TestCaseError> {
        let Some(name) = tool["name"].as_str() else { return Ok(()) };
        prop_assert!(!default.contains(name) && !loaded.contains(name), "{name} is declared twice");
        if place == "tool_search_output" {
            loaded.insert(name.to_owned())
        } else {
            default.insert(name.to_owned())
        };
        Ok(())
    };
    for tool in body["tools"].as_array().unwrap() {
        declare(tool, "tools")?;
    }
    for item in items {
        for tool in item["tools"].as_array().into_iter().flatten() {
            declare(tool, item["type"].as_str().unwrap())?;
        }
    }
    for (at, item) in items.iter().enumerate() {
        let kind = item["type"].as_str().unwrap_or("message");
        if let Some(id) = item["id"].as_str() {
            prop_assert!(ids.insert(id.to_owned()), "{id} occurs twice");
        }
        let call_id = item["call_id"].as_str().unwrap_or_default().to_owned();
        match kind {
            "function_call" | "tool_search_call" => {
                prop_assert!((1..=64).contains(&call_id.len()));
                prop_assert!(calls.insert(call_id, (kind, false)).is_none());
            }
            "function_call_output" | "tool_search_output" => {
                let wanted = if kind == "function_call_output" { "function_call" } else { "tool_search_call" };
                prop_assert_eq!(calls.insert(call_id, (wanted, true)), Some((wanted, false)));
            }
            "reasoning" => {
                let next = items.get(at + 1).and_then(|item| item["type"].as_str());
                prop_assert!(matches!(next, Some("function_call" | "tool_search_call" | "reasoning")), "{next:?}");
            }
            _ => {}
        }
        if kind == "function_call" {
            let name = item["name"].as_str().unwrap();
            let needs = loaded.contains(name) && !default.contains(name);
            prop_assert_eq!(item["namespace"].as_str(), needs.then_some(name), "{}", item);
            prop_assert!(serde_json::from_str::<Value>(item["arguments"].as_str().unwrap()).unwrap().is_object());
        }
        if kind == "tool_search_call" {
            prop_assert!(item["arguments"].is_object());
        }
    }
    prop_assert!(calls.values().all(|(_, answered)| *answered));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// However a dialogue came about, the endpoint takes it, in either form of the search and after any loss.
    #[test]
    fn any_dialogue_is_accepted(steps in steps(false), lost in prop::collection::vec(any::<bool>(), 40), additional in any::<bool>(), append in any::<bool>()) {
        let all = [user("go")].into_iter().chain((0..).zip(&steps).flat_map(|(at, step)| messages(step, at)));
        let kept = all.zip(lost.iter().chain(std::iter::repeat(&false))).filter(|(_, lost)| !**lost).map(|(message, _)| message);
        let request = ModelRequest::new().user("first").tools(tools());
        let mut request = kept.fold(request, ModelRequest::message);
        request.session = None;
        let mut capabilities = if append { append_mode() } else { Capabilities::openai_responses() };
        capabilities.additional_tools = additional;
        let text = try_encode(&request, &capabilities).unwrap();
        prop_assert_eq!(&text, &try_encode(&request, &capabilities).unwrap());
        let stored: Conversation = serde_json::from_value(serde_json::to_value(&request.messages).unwrap()).unwrap();
        prop_assert_eq!(&text, &try_encode(&request.clone().messages(stored), &capabilities).unwrap());
        check(&serde_json::from_str(&text).unwrap())?;
    }

    /// A longer dialogue begins like the shorter one, to the byte.
    #[test]
    fn a_longer_dialogue_begins_like_the_shorter_one(steps in steps(true)) {
        let mut request = ModelRequest::new().system("s").user("first").tools(tools());
        let mut before = text(&request);
        let mut known = HashSet::new();
        for (at, step) in steps.iter().enumerate() {
            // A call of a tool that nothing loads makes a layer declare it, which is another set of tools.
            if let StepOf::Turn { calls, .. } = step {
                let unknown = |call: &CallOf| matches!(call, CallOf::Call { name, guessed: false } if NAMES[*name] != "read" && !known.contains(name));
                if calls.iter().any(unknown) {
                    continue;
                }
                known.extend(calls.iter().flat_map(|call| match call {
                    CallOf::Search { names, .. } => names.clone(),
                    CallOf::Call { name, guessed: true } => vec![*name],
                    CallOf::Call { .. } => Vec::new(),
                }));
            }
            request = messages(step, at).into_iter().fold(request, ModelRequest::message);
            let after = text(&request);
            let prefix = before.strip_suffix("]}").unwrap();
            prop_assert!(after.starts_with(prefix), "{}\n{}", before, after);
            before = after;
        }
    }
}
