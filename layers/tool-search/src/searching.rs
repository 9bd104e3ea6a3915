//! The rounds of one call: what the model asked for is searched, and the model goes on.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use tower_genai_core::{
    AssistantPart, Deferral, Error, Lowering, Message, ModelEvent, ModelRequest, Response, SearchReport, Stop, StopReason, ToolCall,
    ToolChoice, ToolDefinition, ToolName, ToolResult, Usage, Warning,
    rounds::{BoxFuture, Next, Rounds, Step},
};

use crate::{
    RecordKey, TOOL_SEARCH,
    answer::{Answered, Now, answer},
    layer::{Config, Shared},
    prepared::Prepared,
};

/// The state of one call of the service.
#[derive(Debug)]
pub struct Searching<Req> {
    /// `None` where the layer only passes events on.
    active: Option<Box<Active<Req>>>,
    messages: Vec<Arc<Message>>,
    usage: Usage,
}

/// What is needed to answer searches.
#[derive(Debug)]
pub(crate) struct Active<Req> {
    /// The request of the next round, its deferral not lowered.
    pub(crate) request: Req,
    /// The tool set, where something in it is deferred.
    pub(crate) prepared: Option<Arc<Prepared>>,
    pub(crate) config: Arc<Config>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) lowering: Lowering,
    pub(crate) record: Option<RecordKey>,
    pub(crate) warnings: Vec<Warning>,
    /// Whether deferred tools have been offered for three turns without a search.
    pub(crate) unused: bool,
    pub(crate) rounds: u32,
    pub(crate) fruitless: u32,
}

/// A call that this layer answers.
enum Answer {
    Search(Answered),
    Tool(ToolResult),
}

impl Answer {
    fn loaded(&self) -> &[Arc<ToolDefinition>] {
        match self {
            Self::Search(answered) => &answered.result.loaded,
            Self::Tool(result) => &result.loaded,
        }
    }
}

impl<Req> Searching<Req> {
    pub(crate) fn new(active: Option<Box<Active<Req>>>) -> Self {
        Self { active, messages: Vec::new(), usage: Usage::default() }
    }
}

impl<Req: AsMut<ModelRequest> + Clone> Active<Req> {
    /// Declares what the record knows and the dialogue does not.
    pub(crate) fn declare(&mut self, recorded: &[ToolName]) {
        let Some(prepared) = &self.prepared else { return };
        let request = self.request.as_mut();
        for name in recorded {
            let deferred = prepared.tools.get(name).is_some_and(|tool| tool.deferred);
            if deferred && request.messages.loaded(name).is_none() && !request.eager_tools.contains(name) {
                request.eager_tools.push(name.clone());
            }
        }
    }

    /// The request of the next round as it goes in: a wanted mode is lowered now that there is a search.
    pub(crate) fn next_request(&self) -> Result<Req, Error> {
        let mut request = self.request.clone();
        let model = request.as_mut();
        if matches!(model.deferral, Deferral::Wanted(_)) {
            self.lowering.lower(model)?;
        }
        Ok(request)
    }

    /// Answers the calls of a response that are this layer's, in call order. Says whether calls are left for the caller.
    fn answers(&mut self, messages: &[Arc<Message>]) -> (Vec<Answer>, bool) {
        let answered: HashSet<&str> = messages.iter().filter_map(|message| message.answers()).collect();
        let parts = messages.iter().filter_map(|message| match &**message {
            Message::Assistant(assistant) => Some(assistant.parts.iter()),
            _ => None,
        });
        let parts: Vec<&AssistantPart> = parts.flatten().collect();
        // Where the provider searched by itself, it alone knows what is loaded.
        let searched_inside = |part: &&AssistantPart| matches!(part, AssistantPart::Hosted(call) if call.is_tool_search());
        let gate = self.request.as_mut().messages.hosted_searches() == 0 && !parts.iter().any(searched_inside);
        let (mut answers, mut open, mut loaded) = (Vec::new(), false, Vec::new());
        for part in parts {
            let answer = match part {
                AssistantPart::Search(call) if !answered.contains(&*call.id) => self.search(call, &loaded),
                AssistantPart::ToolCall(call) if !answered.contains(&*call.id) => self.correct(call, &loaded).filter(|_| gate),
                _ => continue,
            };
            match answer {
                Some(answer) => {
                    // What one search loads is loaded for the next one of the same turn.
                    loaded.extend(answer.loaded().iter().cloned());
                    answers.push(answer);
                }
                None => open = true,
            }
        }
        (answers, open)
    }

    fn search(&mut self, call: &ToolCall, loaded: &[Arc<ToolDefinition>]) -> Option<Answer> {
        let prepared = self.prepared.clone()?;
        let index = || self.shared.index(&prepared, &self.config);
        let now = Now { request: self.request.as_mut(), loaded };
        Some(Answer::Search(answer(call, &now, &prepared, &self.config, index)))
    }

    /// The answer to a call of a tool that cannot be called: one that was never loaded, or has left the set.
    fn correct(&mut self, call: &ToolCall, loaded: &[Arc<ToolDefinition>]) -> Option<Answer> {
        let request = self.request.as_mut();
        if let Some(tool) = self.prepared.as_ref().and_then(|prepared| prepared.deferred(&call.name)) {
            // What the same turn loads does not count: the model called before it saw the definition.
            if (Now { request, loaded: &[] }).is_callable(tool) {
                return None;
            }
            if (Now { request, loaded }).room(&self.config) == Some(0) {
                let text = "This call was not run, because the tool is not loaded, and no more tools can be. Go on with those you have.";
                return Some(Answer::Tool(ToolResult::error(call, text)));
            }
            let text = "This call was not run, because the tool was not loaded yet. Its definition is loaded now: check your arguments against it \
                        and call it again.";
            return Some(Answer::Tool(ToolResult::error(call, text).loading([tool.clone()])));
        }
        let vanished = request.tools.get(&call.name).is_none() && request.messages.loaded(&call.name).is_some();
        vanished.then(|| {
            Answer::Tool(ToolResult::error(call, "This tool is no longer available. Go on without it, or search for another one."))
        })
    }

    /// Counts a round of searching, and tells a model that finds nothing to go on without.
    fn count(&mut self, answers: &mut [Answer]) {
        self.rounds += 1;
        if answers.iter().any(|answer| !answer.loaded().is_empty()) {
            self.fruitless = 0;
            return;
        }
        self.fruitless += 1;
        if self.fruitless < 2 {
            return;
        }
        for answer in answers {
            if let Answer::Search(Answered { result, .. }) = answer {
                let hint = "Several searches in a row loaded nothing new: use the tools you have, or say what is missing.";
                let note = if result.note.is_empty() { hint.to_owned() } else { format!("{} {hint}", result.note) };
                result.note = note.into();
            }
        }
    }

    fn is_over(&self) -> bool {
        self.rounds >= self.config.max_rounds || self.fruitless >= self.config.max_fruitless
    }

    /// Writes what was loaded into the record, once the caller has seen it.
    fn settle(&self, answers: &[Answer]) -> Option<BoxFuture<()>> {
        let record = self.config.record.clone()?;
        let key = self.record.clone()?;
        let names: Vec<ToolName> = answers.iter().flat_map(Answer::loaded).map(|tool| tool.name.clone()).collect();
        (!names.is_empty()).then(|| -> BoxFuture<()> {
            Box::pin(async move {
                if let Err(error) = record.add(&key, names).await {
                    tracing::warn!(error = %error.kind(), "the record of a session could not be written");
                }
                Ok(())
            })
        })
    }
}

fn log(report: &SearchReport) {
    let scores: Vec<f32> = report.hits.iter().map(|hit| hit.score).collect();
    tracing::debug!(
        queries = report.queries.len(),
        candidates = report.candidates,
        hits = report.hits.len(),
        ?scores,
        loaded = report.loaded.len(),
        bytes_kept_out = report.bytes_kept_out,
        "tool search"
    );
}

impl<Req: AsMut<ModelRequest> + Clone> Rounds<Req> for Searching<Req> {
    type Prepared = Vec<ToolName>;

    fn prepared(&mut self, recorded: Result<Vec<ToolName>, Error>) -> Result<Req, Error> {
        let Some(active) = &mut self.active else {
            return Err(Error::invalid("a record was read for a request without deferred tools"));
        };
        let recorded: Arc<[ToolName]> = match recorded {
            Ok(names) => names.into(),
            Err(error) => {
                tracing::warn!(error = %error.kind(), "the record of a session could not be read");
                let text = "the record of the session could not be read; tools that only it knows have to be searched again";
                active.warnings.push(Warning::new("record_unavailable", text));
                Arc::from([])
            }
        };
        if let Some(key) = &active.record {
            active.shared.sessions.set(key.clone(), recorded.clone());
        }
        active.declare(&recorded);
        active.next_request()
    }

    fn event(&mut self, event: &mut ModelEvent) -> bool {
        if !self.messages.is_empty() {
            event.shift(u32::try_from(self.messages.len()).unwrap_or(u32::MAX));
        }
        true
    }

    fn response(&mut self, mut response: Response) -> Result<Step<Req>, Error> {
        let Some(active) = &mut self.active else { return Ok(Step::done(response)) };
        self.usage.add(&response.usage);
        let (mut answers, open) = active.answers(&response.messages);
        let asked = !answers.is_empty();
        let (mut events, mut settle) = (VecDeque::new(), None);
        if asked {
            active.count(&mut answers);
            settle = active.settle(&answers);
            active.unused = false;
        }
        // The messages that the caller sees are the ones that the next round sends, so that both dialogues share one store.
        let round = response.messages.len() + answers.len();
        self.messages.append(&mut response.messages);
        for answer in answers {
            let message: Arc<Message> = match answer {
                Answer::Tool(result) => result.into(),
                Answer::Search(Answered { result, report }) => {
                    if let Some(report) = report {
                        log(&report);
                        events.push_back(ModelEvent::Search(Arc::new(report)));
                    }
                    result.into()
                }
            };
            events.push_back(ModelEvent::Message(message.clone()));
            self.messages.push(message);
        }
        let over = active.is_over();
        if asked && !open && !over {
            let start = self.messages.len().saturating_sub(round);
            let model = active.request.as_mut();
            model.messages.extend(self.messages.iter().skip(start).cloned());
            // A forced search has been made; forcing it again would never end.
            if matches!(&model.tool_choice, ToolChoice::Tool(name) if *name == ToolName::new(TOOL_SEARCH)) {
                model.tool_choice = ToolChoice::Auto;
            }
            return Ok(Step { events, settle, next: Next::Call(active.next_request()?) });
        }
        if asked && !open {
            response.stop = Stop::new(StopReason::SearchLimit);
        }
        if active.unused {
            let text = "deferred tools were offered for three turns and the model never searched; show it the tools it needs, or do not defer for this model";
            active.warnings.push(Warning::new("search_never_used", text));
        }
        events.extend(active.warnings.drain(..).map(ModelEvent::Warning));
        response.messages = std::mem::take(&mut self.messages);
        response.usage = self.usage;
        Ok(Step { events, settle, next: Next::Done(Box::new(response)) })
    }
}
