//! What random conversations are made of.

use tower_genai::{
    AssistantMessage, AssistantPart, Conversation, DeferralMode, Json, Message, NameRules, ServerTool, ToolDefinition, ToolSet,
    protocols::{Capabilities, ThinkingStyle},
    server_tools::ServerToolsLayer,
    tool_guidelines::{Placement, ToolGuidelinesLayer},
    tool_search::{CatalogPlacement, MemoryRecord, ToolSearchLayer},
    wire_name,
};

use crate::harness::{Part, Setup, Wire};

/// Numbers that follow from a seed (SplitMix64).
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let at = self.below(items.len());
        &items[at]
    }
}

/// Every tool that there is: plain, odd, long, in namespaces, without a schema.
pub(crate) fn pool() -> Vec<ToolDefinition> {
    let schema = Json::parse(r#"{"type":"object","properties":{"x":{"type":"integer","description":"A number"}}}"#).unwrap();
    let make = |name: &str, text: &str| ToolDefinition::new(name).description(text).parameters(schema.clone());
    let mut tools = vec![
        make("now", "The current time").snippet("now()").guideline("Never guess the time."),
        make("echo", "Says it again"),
        make("get_alpha", "Reads the alpha record").guideline("careful"),
        make("get_beta", "Reads the beta record"),
        make("get_gamma", "Reads the gamma record"),
        make("list", "List the customers").namespace("crm"),
        make("find", "Find a customer").namespace("crm"),
        make("find", "Find a person in hr").namespace("hr"),
        make("weather report", "The weather of a place"),
        make("naïve/検索🙂", "Unicode search of things"),
        make(&"l".repeat(256), "A long name here"),
        make("3d.render", "Renders three dimensions"),
        ToolDefinition::new("bare"),
        ToolDefinition::new("noschema").description("no schema at all").parameters(Json::parse("{}").unwrap()),
        make("functions", "A tool called functions"),
        make("functions.alpha", "A tool called functions alpha dot"),
    ];
    tools.extend((0..6).map(|n| make(&format!("filler_{n}"), &format!("Filler number {n} of the pool"))));
    tools
}

/// Some of them, some deferred; with `pure` their definitions never change.
pub(crate) fn tool_set(rng: &mut Rng, pure: bool) -> ToolSet {
    if rng.one_in(25) {
        return ToolSet::default();
    }
    let density = 2 + rng.below(4);
    let eager = 1 + rng.below(6);
    let all_deferred = rng.one_in(6);
    let none_deferred = rng.one_in(8);
    let mut out = Vec::new();
    for mut tool in pool() {
        if rng.one_in(density) {
            continue;
        }
        if !pure && rng.one_in(8) {
            tool = tool.description(format!("Changed {} {}", rng.below(3), "description record"));
        }
        if !pure && rng.one_in(12) {
            tool = tool.parameters(
                Json::parse(r#"{"type":"object","properties":{"y":{"type":"string"}},"required":["y"],"additionalProperties":false}"#)
                    .unwrap(),
            );
        }
        let deferred = !none_deferred && (all_deferred || !rng.one_in(eager + 1));
        out.push(tool.deferred(deferred));
    }
    if rng.one_in(4) {
        out.reverse();
    }
    ToolSet::new(out).unwrap()
}

/// A line that tells the strict provider what to do.
pub(crate) fn directive(rng: &mut Rng, hosted: &[&str]) -> String {
    let pool = pool();
    let mut wires: Vec<String> = pool.iter().map(|tool| wire_name(&tool.name, NameRules::PORTABLE).into_owned()).collect();
    wires.push("nonexistent".into());
    let arguments = ["{}", r#"{"x":1}"#, r#"{"x":1,"deep":{"a":[1,2,{"b":null}]}}"#, r#"{"t":"naïve 検索 🙂 \u0000 \n"}"#, r#"{"y":"z"}"#];
    let words = [
        "alpha record",
        "beta record",
        "gamma",
        "customers",
        "weather place",
        "unicode search things",
        "long name",
        "filler number pool",
        "zzz",
        "record",
        "find customer person",
    ];
    match rng.below(16) {
        0..=2 => {
            let wire = rng.pick(&wires).clone();
            format!("CALL {wire} {} QUERY {wire}", rng.pick(&arguments))
        }
        3..=6 => format!("CALL {} {} QUERY {}", rng.pick(&wires), rng.pick(&arguments), rng.pick(&words)),
        7..=9 => format!("CALL {} {}", rng.pick(&wires), rng.pick(&arguments)),
        10 => {
            let bad = [
                "{}",
                r#"{"queries":"alpha"}"#,
                r#"{"queries":[1]}"#,
                r#"{"queries":[]}"#,
                r#"{"queries":["alpha","beta"],"score":-1}"#,
                r#"{"queries":["alpha"],"score":1e308}"#,
                r#"{"queries":null}"#,
                r#"{"queries":[""]}"#,
                r#"{"queries":["filler","record","customer","weather","unicode","long"]}"#,
            ];
            format!("CALL tool_search {}", rng.pick(&bad))
        }
        11 if !hosted.is_empty() => format!("SERVER {}", rng.pick(hosted)),
        12 if !hosted.is_empty() => format!("MIXED {}", rng.pick(hosted)),
        13 => ["THINK", "THINK redacted"][rng.below(2)].to_owned(),
        14 => (*rng.pick(&["PAUSE", "REFUSE", "TRUNCATE", "SAY \u{7f}naïve 検索 🙂", "SAY x", "SEE"])).to_owned(),
        _ => format!("CALL {} {}", rng.pick(&["now", "echo"]), rng.pick(&arguments)),
    }
}

/// A history as a careless store gives it back.
pub(crate) fn scramble(rng: &mut Rng, history: &Conversation) -> Conversation {
    let mut messages: Vec<_> = history.iter().cloned().collect();
    if messages.is_empty() {
        return history.clone();
    }
    let at = rng.below(messages.len());
    match rng.below(8) {
        0 => {
            messages.remove(at);
        }
        1 => {
            let copy = messages[at].clone();
            messages.insert(at, copy);
        }
        2 => {
            let other = rng.below(messages.len());
            messages.swap(at, other);
        }
        3 => messages.insert(at, Message::system("a word from the system").into()),
        4 => messages.insert(
            at,
            Message::Assistant(AssistantMessage::new(vec![AssistantPart::Compaction {
                summary: rng.one_in(2).then(|| "they talked".into()),
            }]))
            .into(),
        ),
        5 => messages.insert(at, Message::user("between").into()),
        6 => messages.truncate(at + 1),
        _ => {
            if let Message::Assistant(message) = &*messages[at] {
                let mut message = message.clone();
                message.replay = None;
                messages[at] = Message::Assistant(message).into();
            }
        }
    }
    messages.into_iter().collect()
}

/// How the endpoint is taken to be. Only what it can take: the last two append, where the list of tools grows.
const CHANGES: [fn(&mut Capabilities); 9] = [
    |_| {},
    |_| {},
    |it| it.system_messages = !it.system_messages,
    |it| it.additional_tools = false,
    |it| it.thinking = ThinkingStyle::Budget,
    |it| (it.forced_tool_choice, it.images) = (false, false),
    |it| (it.max_description, it.prompt_cache) = (Some(1024), false),
    |it| it.deferral = DeferralMode::Append,
    |it| (it.deferral, it.system_messages, it.additional_tools) = (DeferralMode::Append, !it.system_messages, false),
];

/// A stack with one of them; the conversation says whether it appends.
pub(crate) fn setup(rng: &mut Rng, wire: Wire, model: &str, conversation: &str, parts: &[Part]) -> Setup {
    let change = rng.below(CHANGES.len());
    let mut setup = Setup::new(wire, model, conversation);
    setup.parts = parts.to_vec();
    setup.change = CHANGES[change];
    if change + 2 >= CHANGES.len() {
        setup.conversation.push_str(APPENDS);
    }
    setup
}

/// What the name of a conversation ends with whose tools grow.
pub(crate) const APPENDS: &str = " appends";

/// A model with an option that a client survives.
pub(crate) fn models(rng: &mut Rng, wire: Wire) -> String {
    let base = *rng.pick(&["fake", "fake", "fake", "other"]);
    let options: &[&str] = match wire {
        Wire::Anthropic => &["", "", "+bound", "+bound", "+json200", "+plain", "+drip"],
        Wire::Responses | Wire::Chat => &["", "", "+dupname", "+dupname", "+json200", "+plain", "+drip"],
        Wire::Gemini | Wire::Ollama => &["", "", "+json200", "+plain", "+drip"],
    };
    format!("{base}{}", rng.pick(options))
}

/// The layers in any order, some missing, some twice.
pub(crate) fn parts(rng: &mut Rng, hosted: &[&'static str], pure: bool) -> Vec<Part> {
    let mut search = ToolSearchLayer::new().catalog(*rng.pick(&[
        CatalogPlacement::None,
        CatalogPlacement::SearchDescription,
        CatalogPlacement::SystemPrompt,
    ]));
    if rng.one_in(3) {
        search = search.resend_after_compaction(false);
    }
    if !pure && rng.one_in(3) {
        search = search.record(MemoryRecord::new(10));
    }
    if rng.one_in(4) {
        search = search.limit(1 + rng.below(3)).unwrap();
    }
    let guidelines = ToolGuidelinesLayer::new().placement(*rng.pick(&[Placement::SystemPrompt, Placement::Description]));
    let mut out = Vec::new();
    if !rng.one_in(8) {
        out.push(Part::Search(search.clone()));
    }
    if !rng.one_in(4) {
        out.push(Part::Guidelines(guidelines.clone()));
    }
    if !rng.one_in(6) {
        out.push(Part::Deferred);
    }
    if rng.one_in(6) {
        out.push(Part::Search(search));
    }
    if rng.one_in(6) {
        out.push(Part::Guidelines(guidelines));
    }
    if rng.one_in(6) {
        out.push(Part::Deferred);
    }
    if !hosted.is_empty() {
        out.push(Part::ServerTools(ServerToolsLayer::with(hosted.iter().map(|kind| ServerTool::plain(*kind).unwrap())).unwrap()));
    }
    for at in (1..out.len()).rev() {
        let other = rng.below(at + 1);
        out.swap(at, other);
    }
    out
}

/// Tools of the provider, now and then its own search.
pub(crate) fn hosted(rng: &mut Rng, wire: Wire) -> Vec<&'static str> {
    let all: &[&'static str] = match wire {
        Wire::Anthropic => &["web_search_20250305", "web_fetch_20250910", "code_execution_20250825"],
        Wire::Responses => &["web_search", "image_generation"],
        Wire::Gemini => &["googleSearch", "urlContext", "codeExecution"],
        Wire::Chat | Wire::Ollama => &[],
    };
    let mut out: Vec<&'static str> = Vec::new();
    for kind in all {
        if rng.one_in(3) {
            out.push(kind);
        }
    }
    let search = match wire {
        Wire::Anthropic => Some("tool_search_tool_bm25_20251119"),
        Wire::Responses => Some("tool_search"),
        Wire::Chat | Wire::Gemini | Wire::Ollama => None,
    };
    if rng.one_in(7) {
        out.extend(search);
    }
    out
}
