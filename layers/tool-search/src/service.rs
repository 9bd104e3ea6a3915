use std::{
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use tower_genai_core::{
    AssistantPart, Deferral, DeferralMode, Error, Lowering, Message, ModelEvent, ModelRequest, ServerTool, ToolName,
    rounds::{BoxFuture, RoundsFuture, RoundsStream},
};
use tower_service::Service;
use xxhash_rust::xxh3::xxh3_128;

use crate::{
    RecordKey,
    layer::{Config, Shared},
    searching::{Active, Searching},
};

/// The response future of a [`ToolSearch`].
pub type ToolSearchFuture<S, Req> = RoundsFuture<S, Req, Searching<Req>>;

/// The stream of a [`ToolSearch`]: the events of all rounds as one.
pub type ToolSearchStream<S, Req> = RoundsStream<S, Req, Searching<Req>>;

/// The service of a [`ToolSearchLayer`](crate::ToolSearchLayer).
#[derive(Clone, Debug)]
pub struct ToolSearch<S> {
    inner: S,
    config: Arc<Config>,
    shared: Arc<Shared>,
    lowering: Lowering,
}

impl<S> ToolSearch<S> {
    pub(crate) fn new(inner: S, config: Arc<Config>, shared: Arc<Shared>) -> Self {
        // The mode is that of the request: only wanted deferral is lowered here.
        Self { inner, config, shared, lowering: Lowering::new(DeferralMode::Append) }
    }

    tower_genai_core::inner_service_accessors!();

    /// Adds the search tool and the catalogue. Gives the request back where there is nothing for this layer to do.
    fn activate<Req: AsMut<ModelRequest> + Clone>(&self, mut request: Req) -> Result<Activated<Req>, Error> {
        let model = request.as_mut();
        let searched_elsewhere = model.layer_search
            || matches!(model.deferral, Deferral::Lowered(_))
            || model.server_tools.iter().any(ServerTool::is_tool_search);
        let is_deferring = model.tools.deferred_len() > 0 && !searched_elsewhere;
        if !is_deferring && (searched_elsewhere || model.messages.loads().is_empty()) {
            return Ok(Activated::Idle(request));
        }
        let (mut prepared, mut unused) = (None, false);
        if is_deferring {
            let set = self.shared.prepare(&model.tools, &self.config)?;
            model.tools = set.tools.clone();
            if let Some(text) = &set.system
                && !model.system.contains(text)
            {
                model.system.push(text.clone());
            }
            model.layer_search = true;
            let messages = &model.messages;
            unused = messages.user_messages() == 3 && messages.searches() == 0 && messages.all_loads().is_empty() && ends_with_user(model);
            prepared = Some(set);
        }
        let record = self.record_key(model);
        // Boxed, so that futures and streams stay small: they are moved several times, the state is not.
        let mut active = Box::new(Active {
            request,
            prepared,
            config: self.config.clone(),
            shared: self.shared.clone(),
            lowering: self.lowering.clone(),
            record,
            warnings: Vec::new(),
            unused,
            rounds: 0,
            fruitless: 0,
        });
        if !self.config.resend_after_compaction {
            let messages = active.request.as_mut().messages.clone();
            let before = messages.all_loads().len() - messages.loads().len();
            let names: Vec<ToolName> = messages.all_loads().iter().take(before).map(|load| load.definition.name.clone()).collect();
            active.declare(&names);
        }
        Ok(Activated::Active(active))
    }

    fn record_key(&self, request: &ModelRequest) -> Option<RecordKey> {
        self.config.record.as_ref()?;
        let session = request.session.clone()?;
        let last = request.messages.compaction().filter(|_| self.config.resend_after_compaction);
        let compaction = last.and_then(|index| request.messages.get(index)).map(|message| fingerprint(message));
        Some(RecordKey::new(session, compaction))
    }

    /// What has to be read before the first call: the record, when the user has spoken or nothing of this turn is known here.
    fn recorded<Req: AsMut<ModelRequest> + Clone>(&self, active: &mut Active<Req>) -> Option<Reading> {
        active.prepared.as_ref()?;
        let key = active.record.clone()?;
        let record = self.config.record.as_ref()?;
        let model = active.request.as_mut();
        match self.shared.sessions.get(&key) {
            Some(names) if !ends_with_user(model) => Some(Reading::Known(names)),
            _ => Some(Reading::Load(record.load(&key))),
        }
    }
}

enum Activated<Req> {
    Idle(Req),
    Active(Box<Active<Req>>),
}

enum Reading {
    Known(Arc<[ToolName]>),
    Load(BoxFuture<Vec<ToolName>>),
}

fn ends_with_user(request: &ModelRequest) -> bool {
    matches!(request.messages.last().map(|message| &**message), Some(Message::User(_)))
}

/// Tells one compaction item from another.
fn fingerprint(message: &Message) -> Arc<str> {
    let mut bytes = Vec::new();
    if let Message::Assistant(assistant) = message {
        for part in &assistant.parts {
            if let AssistantPart::Compaction { summary: Some(summary) } = part {
                bytes.extend(summary.as_bytes());
            }
        }
        for item in assistant.replay.iter().flat_map(|replay| &replay.items) {
            bytes.extend(item.as_str().as_bytes());
        }
    }
    format!("{:032x}", xxh3_128(&bytes)).into()
}

impl<S, Req> Service<Req> for ToolSearch<S>
where
    S: Service<Req> + Clone,
    S::Response: Stream<Item = Result<ModelEvent, Error>>,
    S::Error: From<Error>,
    Error: From<S::Error>,
    Req: AsMut<ModelRequest> + Clone,
{
    type Response = ToolSearchStream<S, Req>;
    type Error = S::Error;
    type Future = ToolSearchFuture<S, Req>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let activated = match self.activate(request) {
            Ok(activated) => activated,
            Err(error) => return RoundsFuture::refused(error.into()),
        };
        // The instance that is ready is the one that is called.
        let clone = self.inner.clone();
        let service = std::mem::replace(&mut self.inner, clone);
        let mut active = match activated {
            Activated::Active(active) => active,
            Activated::Idle(request) => return RoundsFuture::calling(service, request, Searching::new(None)),
        };
        match self.recorded(&mut active) {
            Some(Reading::Load(load)) => return RoundsFuture::preparing(service, load, Searching::new(Some(active))),
            Some(Reading::Known(names)) => active.declare(&names),
            None => {}
        }
        match active.next_request() {
            Ok(request) => RoundsFuture::calling(service, request, Searching::new(Some(active))),
            Err(error) => RoundsFuture::refused(error.into()),
        }
    }
}
