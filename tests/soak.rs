//! A million events through the tool loop: what it holds does not grow with them.
#![cfg(all(feature = "tool-loop", feature = "tool-search", feature = "tool-guidelines", feature = "deferred-tools"))]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use futures_util::{FutureExt, StreamExt, stream};
use tower::{BoxError, Layer, ServiceExt, service_fn};
use tower_genai::{
    AssistantMessage, AssistantPart, DeferralMode, Delta, Error, Message, ModelEvent, ModelRequest, Response, StopReason, ToolCall,
    ToolDefinition, ToolSet,
    stacks::Recommended,
    testing::NoopModel,
    tool_loop::{ToolLoopLayer, ToolOutput, hooks::InstallHooks},
};

const EVENTS: usize = 1_000_000;
const ROUNDS: usize = 1_000;

/// Reads a stream to its end without keeping anything; gives the number of events.
fn drain(stream: impl futures_util::Stream<Item = Result<ModelEvent, Error>>) -> usize {
    let mut stream = std::pin::pin!(stream);
    let mut count = 0;
    while let Some(Some(event)) = stream.next().now_or_never() {
        drop(event.unwrap());
        count += 1;
    }
    count
}

fn tools() -> ToolSet {
    ToolSet::new([ToolDefinition::new("step"), ToolDefinition::new("hidden").deferred(true)]).unwrap()
}

#[test]
fn a_million_events_of_one_answer() {
    let hooks = InstallHooks::new(());
    let tools_service = service_fn(|_: ToolCall| async { Ok::<_, BoxError>(ToolOutput::from("done")) });
    let stack = Recommended::new(DeferralMode::Append).layer(NoopModel::new(EVENTS));
    let model = hooks.run().layer(ToolLoopLayer::new(hooks.tools(tools_service)).layer(hooks.model().layer(stack)));
    let request = ModelRequest::new().user("hi").tools(tools());
    let stream = model.oneshot(request).now_or_never().unwrap().unwrap();
    let mut count = 0;
    let measured = allocation_counter::measure(|| count = drain(stream));
    assert_eq!(count, EVENTS + 1);
    assert!(measured.count_total < 100 && measured.bytes_max < 64 * 1024, "{measured:?}");
}

/// A model that says a thousand words and calls a tool, a thousand times.
#[test]
fn a_million_events_of_a_thousand_rounds() {
    let model = service_fn(|request: ModelRequest| async move {
        let round = request.messages.len() / 2;
        let words = (0..EVENTS / ROUNDS).map(|_| Ok(ModelEvent::Text(Delta::new(0, ""))));
        let is_last = round + 1 >= ROUNDS;
        let call = ToolCall::from_text(format!("c{round}"), "step", &format!("{{\"round\":{round}}}"));
        let parts = if is_last { Vec::new() } else { vec![AssistantPart::ToolCall(call)] };
        let message: Arc<Message> = AssistantMessage::new(parts).into();
        let response = Response::of(message.clone(), if is_last { StopReason::EndTurn } else { StopReason::ToolUse });
        let end = [Ok(ModelEvent::Message(message)), Ok(ModelEvent::Response(Box::new(response)))];
        Ok::<_, Error>(stream::iter(words.chain(end)))
    });
    let tools_service = service_fn(|_: ToolCall| async { Ok::<_, BoxError>(ToolOutput::from("done")) });
    let layer = ToolLoopLayer::new(tools_service).max_rounds(u32::MAX).unwrap();
    let stream = layer.layer(model).oneshot(ModelRequest::new().user("hi").tools(tools())).now_or_never().unwrap().unwrap();
    let mut count = 0;
    let measured = allocation_counter::measure(|| count = drain(stream));
    assert!(count > EVENTS, "{count}");
    // What grows is the dialogue: two messages a round.
    assert!(measured.bytes_max < (ROUNDS * 4 * 1024) as u64, "{measured:?}");
}
