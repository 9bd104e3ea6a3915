//! The rounds of one call: the model asks, its calls are run, and it goes on.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    task::{Context, Poll, ready},
};

use tower_genai_core::{
    BoxError, Error, Message, ModelEvent, ModelRequest, NameRules, Response, Stop, StopReason, ToolCall, ToolChoice, ToolDefinition,
    ToolName, Usage,
    rounds::{Next, Rounds, Step, Worked},
    wire_name,
};
use tower_service::Service;

use crate::{
    Steering, ToolOutput,
    layer::Config,
    running::{Batch, Outcome, Planned, reason},
};

/// At most so many names are listed where a tool is not known.
const MAX_NAMES: usize = 20;

/// The state of one call of the service.
#[derive(Debug)]
pub struct Looping<Req, T> {
    // Boxed, so that futures and streams stay small.
    state: Box<State<Req, T>>,
}

#[derive(Debug)]
struct State<Req, T> {
    /// The request of the next round.
    request: Req,
    tools: T,
    config: Arc<Config>,
    steering: Option<Steering>,
    rounds: u32,
    /// How many rounds in a row held a call with these arguments.
    repeats: HashMap<(ToolName, Arc<str>), u32>,
    messages: Vec<Arc<Message>>,
    usage: Usage,
    batch: Option<Batch>,
    /// The response whose calls run, without its messages.
    response: Response,
    /// Why the call ends when the batch is done.
    ends: Option<StopReason>,
}

impl<Req: AsMut<ModelRequest> + Clone, T> Looping<Req, T> {
    pub(crate) fn new(mut request: Req, tools: T, config: Arc<Config>) -> Self {
        let steering = request.as_mut().extensions.get::<Steering>().cloned();
        let state = State {
            request,
            tools,
            config,
            steering,
            rounds: 0,
            repeats: HashMap::new(),
            messages: Vec::new(),
            usage: Usage::default(),
            batch: None,
            response: Response::default(),
            ends: None,
        };
        Self { state: Box::new(state) }
    }

    /// The request of the first round.
    pub(crate) fn request(&self) -> Req {
        self.state.request.clone()
    }
}

impl<Req: AsMut<ModelRequest> + Clone, T> State<Req, T> {
    /// Joins the messages of a round to the dialogue.
    fn join(&mut self, messages: Vec<Arc<Message>>) {
        self.request.as_mut().messages.extend(messages.iter().cloned());
        self.messages.extend(messages);
    }

    /// What is to be done with each call.
    fn plan(&mut self, calls: Vec<ToolCall>) -> Vec<Planned> {
        self.ends = self.limit(&calls);
        let mut planned = Vec::with_capacity(calls.len());
        for call in calls {
            planned.push(match self.refuse(&call) {
                Some(refused) => Planned::Answered(call, refused),
                None if self.definition(&call.name).is_some_and(|tool| tool.serial) => Planned::Serial(call),
                None => Planned::Parallel(call),
            });
        }
        planned
    }

    fn definition(&mut self, name: &ToolName) -> Option<Arc<ToolDefinition>> {
        self.request.as_mut().tools.get(name).cloned()
    }

    /// Counts the round and its calls, and says whether one of the limits is reached.
    fn limit(&mut self, calls: &[ToolCall]) -> Option<StopReason> {
        let mut repeats = HashMap::with_capacity(calls.len());
        for call in calls {
            let key = (call.name.clone(), Arc::from(call.invalid_arguments.as_deref().unwrap_or(call.arguments.as_str())));
            let before = self.repeats.get(&key).copied().unwrap_or(0);
            repeats.insert(key, before + 1);
        }
        self.repeats = repeats;
        if self.repeats.values().any(|rounds| *rounds > self.config.max_repeats) {
            return Some(StopReason::RepeatLimit);
        }
        (self.rounds >= self.config.max_rounds).then_some(StopReason::RoundLimit)
    }

    /// The answer to a call that is not run.
    fn refuse(&mut self, call: &ToolCall) -> Option<Outcome> {
        match self.ends {
            Some(StopReason::RepeatLimit) => {
                let text = "This call was not run: it was repeated with the same arguments too often.";
                return Some(Outcome::failed(call, reason::LIMIT, text));
            }
            Some(_) => {
                let text = "This call was not run: the number of rounds that one request may take is reached.";
                return Some(Outcome::failed(call, reason::LIMIT, text));
            }
            None => {}
        }
        if call.invalid_arguments.is_some() {
            let text = "This call was not run: its arguments are not a JSON object. Send them again, complete and well-formed.";
            return Some(Outcome::failed(call, reason::INVALID_ARGUMENTS, text));
        }
        let Some(definition) = self.definition(&call.name) else {
            return Some(Outcome::failed(call, reason::UNKNOWN_TOOL, self.unknown(&call.name)));
        };
        self.misfit(&definition, call)
    }

    #[cfg(feature = "validation")]
    fn misfit(&self, definition: &ToolDefinition, call: &ToolCall) -> Option<Outcome> {
        let schemas = self.config.schemas.as_ref()?;
        let faults = schemas.faults(definition, &call.arguments)?;
        let text = format!("This call was not run: its arguments do not fit the schema of the tool.{faults}\nCorrect them and call again.");
        Some(Outcome::failed(call, reason::INVALID_ARGUMENTS, text))
    }

    #[cfg(not(feature = "validation"))]
    fn misfit(&self, _: &ToolDefinition, _: &ToolCall) -> Option<Outcome> {
        None
    }

    /// What the model is told where there is no such tool.
    fn unknown(&mut self, name: &ToolName) -> String {
        let request = self.request.as_mut();
        let wire = wire_name(name, NameRules::PORTABLE);
        if request.messages.loaded(name).is_some() {
            return format!("The tool `{wire}` is no longer available. Go on without it.");
        }
        let shown: Vec<_> = request.tools.iter().filter(|tool| !tool.deferred).collect();
        if shown.is_empty() {
            return format!("There is no tool `{wire}`, and no other one. Answer without tools.");
        }
        let names: Vec<_> = shown.iter().take(MAX_NAMES).map(|tool| wire_name(&tool.name, NameRules::PORTABLE)).collect();
        let more = shown.len().saturating_sub(MAX_NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let search = if request.tools.deferred_len() > 0 { " Others can be searched for." } else { "" };
        format!("There is no tool `{wire}`. You can call: {}{more}.{search}", names.join(", "))
    }

    /// What the user said in the meantime, as messages that open the next round.
    fn steered(&mut self) -> Vec<Arc<Message>> {
        let taken = self.steering.as_ref().map(Steering::take).unwrap_or_default();
        taken.into_iter().map(|message| Arc::new(Message::User(message))).collect()
    }

    /// The next round, with what the user said in the meantime.
    fn go_on(&mut self, steered: Vec<Arc<Message>>) -> Step<Req> {
        let events = steered.iter().cloned().map(ModelEvent::Message).collect();
        self.join(steered);
        let request = self.request.as_mut();
        // A forced call has been made; forcing it again would never end.
        if matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Tool(_) | ToolChoice::ServerTool(_)) {
            request.tool_choice = ToolChoice::Auto;
        }
        Step { events, settle: None, next: Next::Call(self.request.clone()) }
    }

    /// The end, with all messages of all rounds.
    fn end(&mut self, mut response: Response) -> Step<Req> {
        response.messages = std::mem::take(&mut self.messages);
        response.usage = self.usage;
        Step::done(response)
    }
}

/// Whether a turn holds a search that nobody inside answered.
fn has_open_search(messages: &[Arc<Message>]) -> bool {
    let answered = |id: &str| messages.iter().any(|message| message.answers() == Some(id));
    messages.iter().any(|message| match &**message {
        Message::Assistant(message) => message.searches().any(|call| !answered(&call.id)),
        _ => false,
    })
}

/// Whether a response may be gone on from where it holds calls.
fn is_to_be_continued(stop: &Stop) -> bool {
    !matches!(stop.reason, StopReason::SearchLimit | StopReason::ContentFilter | StopReason::Refusal | StopReason::ContextWindow)
}

impl<Req, T> Rounds<Req> for Looping<Req, T>
where
    Req: AsMut<ModelRequest> + Clone,
    T: Service<ToolCall, Response = ToolOutput> + Clone + Send + 'static,
    T::Error: Into<BoxError>,
    T::Future: Send,
{
    type Prepared = ();

    fn prepared(&mut self, prepared: Result<(), Error>) -> Result<Req, Error> {
        prepared.map(|()| self.request())
    }

    fn event(&mut self, event: &mut ModelEvent) -> bool {
        if !self.state.messages.is_empty() {
            event.shift(u32::try_from(self.state.messages.len()).unwrap_or(u32::MAX));
        }
        true
    }

    fn response(&mut self, mut response: Response) -> Result<Step<Req>, Error> {
        let state = &mut *self.state;
        state.rounds += 1;
        state.usage.add(&response.usage);
        let calls: Vec<ToolCall> = response.open_calls().cloned().collect();
        let messages = std::mem::take(&mut response.messages);
        let is_callers = has_open_search(&messages) || !is_to_be_continued(&response.stop);
        state.join(messages);
        if is_callers {
            return Ok(state.end(response));
        }
        if calls.is_empty() {
            let may_go_on = response.stop.reason == StopReason::EndTurn && state.rounds < state.config.max_rounds;
            let steered = if may_go_on { state.steered() } else { Vec::new() };
            return Ok(if steered.is_empty() { state.end(response) } else { state.go_on(steered) });
        }
        let planned = state.plan(calls);
        state.batch = Some(Batch::new(planned, state.config.concurrency, state.config.timeout, state.steering.clone()));
        state.response = response;
        Ok(Step { events: VecDeque::new(), settle: None, next: Next::Work })
    }

    fn poll_work(&mut self, cx: &mut Context<'_>) -> Poll<Result<Worked<Req>, Error>> {
        let state = &mut *self.state;
        if let Some(batch) = &mut state.batch
            && let Some(event) = ready!(batch.poll_event(&state.tools, cx))
        {
            return Poll::Ready(Ok(Worked::Event(event)));
        }
        if let Some(batch) = state.batch.take() {
            let (results, ended) = batch.into_results();
            state.join(results.collect());
            if let Some(error) = ended {
                return Poll::Ready(Err(error));
            }
        }
        let mut response = std::mem::take(&mut state.response);
        if let Some(reason) = state.ends.take() {
            response.stop = Stop::new(reason);
            return Poll::Ready(Ok(Worked::Step(state.end(response))));
        }
        let steered = state.steered();
        Poll::Ready(Ok(Worked::Step(state.go_on(steered))))
    }
}
