//! Random conversations: no request is refused by the service, earlier requests are prefixes of later ones, and what is asked for by its name is called.
//!
//! Each case follows from its number. `TOWER_GENAI_FUZZ=FIRST,COUNT` runs other cases than the few of every test run; what failed is printed
//! with its script.

use tower_genai::{
    BoxModelService, Content, Conversation, Effort, Image, Json, Message, ModelRequest, ModelServiceExt, NameRules, OutputFormat,
    Reasoning, StopReason, ToolChoice, ToolName, ToolResult, UserMessage, wire_name,
};

use crate::{
    draw::{self, APPENDS, Rng, directive, hosted, models, parts, scramble, tool_set},
    harness::{Part, Strict, WIRES, Wire},
};

struct Run {
    rng: Rng,
    wire: Wire,
    model: String,
    hosted: Vec<&'static str>,
    parts: Vec<Part>,
    epoch: usize,
    name: String,
    service: BoxModelService,
    conversations: Vec<String>,
}

impl Run {
    fn rebuild(&mut self, strict: &Strict) {
        self.epoch += 1;
        let name = format!("{} epoch {}", self.name, self.epoch);
        let setup = draw::setup(&mut self.rng, self.wire, &self.model, &name, &self.parts);
        self.conversations.push(setup.conversation.clone());
        self.service = setup.build(strict);
    }
}

fn image() -> Content {
    Content::Image(Image::Base64 { media_type: "image/png".into(), data: "iVBORw0KGgo=".into() })
}

/// Holds the conversation of a number and says what went wrong. Half of them are `pure`: nothing in them may break a prefix.
async fn case(strict: &Strict, seed: u64) -> Vec<String> {
    let mut rng = Rng(seed);
    let wire = *rng.pick(&WIRES);
    let hosts = hosted(&mut rng, wire);
    let model = models(&mut rng, wire);
    let pure = rng.one_in(2);
    let layers = parts(&mut rng, &hosts, pure);
    let scrambles = !pure && rng.one_in(2);
    let switches = rng.one_in(2);
    let changes = !rng.one_in(4);
    let setup = draw::setup(&mut rng, wire, &model, &format!("{seed} start"), &layers);
    let service = setup.build(strict);
    let mut run = Run {
        rng,
        wire,
        model,
        hosted: hosts,
        parts: layers,
        epoch: 0,
        name: seed.to_string(),
        service,
        conversations: vec![setup.conversation.clone()],
    };
    let mut tools = tool_set(&mut run.rng, pure);
    let mut history = Conversation::new();
    let mut reasoning: Option<Reasoning> = None;
    let mut problems: Vec<String> = Vec::new();
    let mut script: Vec<String> = vec![format!(
        "{wire:?} {} {:?}",
        run.model,
        run.parts.iter().map(|part| format!("{part:?}").chars().take(40).collect::<String>()).collect::<Vec<_>>()
    )];
    for turn in 0..(3 + run.rng.below(5)) {
        if run.rng.one_in(3) {
            reasoning = *run.rng.pick(&[
                None,
                Some(Reasoning::effort(Effort::Low)),
                Some(Reasoning::effort(Effort::None)),
                Some(Reasoning::effort(Effort::High)),
            ]);
            script.push(format!("reasoning {reasoning:?}"));
        }
        let mut rebuilt = false;
        if changes && turn > 0 && run.rng.one_in(3) {
            tools = tool_set(&mut run.rng, pure);
            script.push(format!(
                "tools {:?}",
                tools
                    .iter()
                    .map(|tool| format!(
                        "{}{}",
                        tool.name.to_string().chars().take(16).collect::<String>(),
                        if tool.deferred { "?" } else { "" }
                    ))
                    .collect::<Vec<_>>()
            ));
            rebuilt = true;
        }
        if switches && turn > 0 && run.rng.one_in(4) {
            if run.rng.one_in(2) {
                let others: Vec<Wire> = WIRES.into_iter().filter(|wire| *wire != run.wire).collect();
                run.wire = *run.rng.pick(&others);
                run.hosted = hosted(&mut run.rng, run.wire);
                run.parts = parts(&mut run.rng, &run.hosted, pure);
            }
            run.model = models(&mut run.rng, run.wire);
            script.push(format!("switch {:?} {} {:?}", run.wire, run.model, run.hosted));
            rebuilt = true;
        }
        if scrambles && turn > 0 && run.rng.one_in(2) {
            history = scramble(&mut run.rng, &history);
            script.push("scramble".into());
            rebuilt = true;
        }
        if rebuilt {
            run.rebuild(strict);
        }
        if run.rng.one_in(10) {
            history.push(Message::system(if run.rng.one_in(3) { "" } else { "mid system" }));
            script.push("mid system".into());
        }
        let mut lines: Vec<String> = (0..1 + run.rng.below(4)).map(|_| directive(&mut run.rng, &run.hosted)).collect();
        if reasoning.is_some() && run.rng.one_in(2) {
            lines.insert(0, "THINK".into());
        }
        let text = match run.rng.below(20) {
            0 => " \n ".to_owned(),
            1 => "plain question".to_owned(),
            _ => lines.join("\n"),
        };
        script.push(format!("user {text:?}"));
        let asked = text.clone();
        if run.rng.one_in(12) {
            history.push(Message::User(UserMessage { content: vec![Content::text(text), image(), Content::text("")] }));
        } else {
            history.push(Message::user(text));
        }
        let mut choice = match if pure { 13 } else { run.rng.below(14) } {
            0 => ToolChoice::Required,
            1 => ToolChoice::None,
            2 => {
                let names: Vec<ToolName> = tools.iter().map(|tool| tool.name.clone()).collect();
                if names.is_empty() { ToolChoice::Auto } else { ToolChoice::Tool(run.rng.pick(&names).clone()) }
            }
            3 if !run.rng.one_in(3) => ToolChoice::Tool("tool_search".into()),
            _ => ToolChoice::Auto,
        };
        let structured = run.rng.one_in(15);
        let parallel = if run.rng.one_in(8) { Some(false) } else { None };
        let mut failed = 0;
        for _ in 0..14 {
            let mut request =
                ModelRequest::new().system("You are a test.").messages(history.clone()).tools(tools.clone()).session(run.name.clone());
            request.reasoning = reasoning;
            request.tool_choice = choice.clone();
            request.parallel_tool_calls = parallel;
            if structured {
                request.output = OutputFormat::JsonSchema {
                    name: "an answer!".into(),
                    schema: Json::parse(
                        r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}"#,
                    )
                    .unwrap(),
                    strict: true,
                };
            }
            let response = match run.service.clone().complete(request).await {
                Ok(response) => response,
                Err(error) => {
                    script.push(format!("error {:?} {error}", error.kind()));
                    if error.status().is_some() {
                        problems.push(format!("HTTP {error}"));
                    }
                    if choice != ToolChoice::Auto && failed == 0 {
                        choice = ToolChoice::Auto;
                        failed += 1;
                        continue;
                    }
                    break;
                }
            };
            choice = ToolChoice::Auto;
            let mut results: Vec<Message> = Vec::new();
            for call in response.open_calls() {
                let result = match run.rng.below(12) {
                    0 => ToolResult::error(call, "it failed"),
                    1 => ToolResult::text(call, ""),
                    2 => ToolResult::text(call, "naïve 検索 🙂\u{0}"),
                    3 => {
                        let mut result = ToolResult::text(call, "with an image");
                        result.content.push(image());
                        result
                    }
                    _ => ToolResult::text(call, format!("ran {}", call.name.to_string().chars().take(20).collect::<String>())),
                };
                results.push(result.into());
            }
            let stop = response.stop.reason;
            script.push(format!("  -> {:?} {:?} {}", stop, results.len(), response.text().chars().take(90).collect::<String>()));
            let said = response.text();
            let is_end = stop == StopReason::EndTurn;
            history.extend(response.messages);
            let done = results.is_empty();
            let searching = run.parts.iter().any(|part| matches!(part, Part::Search(_))) || tools.iter().all(|tool| !tool.deferred);
            let special = ["TRUNCATE", "REFUSE", "SEE", "PAUSE"].iter().any(|word| asked.contains(word))
                || run.hosted.iter().any(|kind| kind.contains("tool_search"));
            if done && pure && searching && !special && is_end {
                for tool in tools.iter() {
                    let wire = wire_name(&tool.name, NameRules::PORTABLE);
                    let line = asked.lines().find(|line| {
                        line.starts_with(&format!("CALL {wire} ")) && (line.ends_with(&format!("QUERY {wire}")) || !tool.deferred)
                    });
                    if let Some(line) = line
                        && !said.contains(&format!("{wire}="))
                    {
                        problems.push(format!("NOT CALLED {line}: {said}"));
                    }
                }
            }
            if scrambles && !results.is_empty() {
                match run.rng.below(8) {
                    0 => results.reverse(),
                    1 => {
                        results.pop();
                    }
                    2 => {
                        let copy = results[0].clone();
                        results.push(copy);
                    }
                    3 => results.insert(0, Message::user("a word before the results")),
                    4 => results.push(Message::user("a word after the results")),
                    _ => {}
                }
            }
            history.extend(results);
            history = serde_json::from_value(serde_json::to_value(&history).unwrap()).unwrap();
            if done {
                break;
            }
        }
    }
    let mut prompts_broken = Vec::new();
    for conversation in &run.conversations {
        let log = strict.log(conversation);
        for line in &log {
            let status = line["status"].as_u64().unwrap_or(0);
            if status != 200 {
                problems.push(format!("{conversation} {status}: {}", line["error"]));
            }
        }
        if pure && !log.is_empty() && !conversation.ends_with(APPENDS) {
            prompts_broken.extend(strict.broken_prefix(conversation, &log).map(|broken| format!("{conversation} PREFIX {broken}")));
        }
    }
    problems.extend(prompts_broken);
    if !problems.is_empty() {
        println!("=== seed {seed}\n{}\n--- {problems:#?}", script.join("\n"));
    }
    problems
}

#[tokio::test]
async fn random_conversations() {
    let range = std::env::var("TOWER_GENAI_FUZZ").unwrap_or_else(|_| "1,20".into());
    let (first, count) = range.split_once(',').expect("FIRST,COUNT");
    let (first, count): (u64, u64) = (first.parse().expect("a number"), count.parse().expect("a number"));
    for options in [&[][..], &["--nv"]] {
        let Some(strict) = Strict::start(options) else { return };
        let mut failed = Vec::new();
        for seed in first..first + count {
            if !case(&strict, seed).await.is_empty() {
                failed.push(seed);
            }
        }
        assert!(failed.is_empty(), "{options:?}: cases {failed:?} failed, see above");
    }
}
