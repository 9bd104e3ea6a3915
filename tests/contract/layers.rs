//! The matrix: each layer by each promise.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use futures_util::StreamExt;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn, util::BoxCloneSyncService};
use tower_genai::{
    DeferralMode, Error, ErrorKind, EventStream, ModelRequest, ModelServiceExt,
    deferred_tools::DeferredToolsLayer,
    limits::{StreamConcurrencyLimitLayer, StreamTimeoutLayer},
    server_tools::ServerToolsLayer,
    stacks::Recommended,
    testing::{EventRecorder, ReadinessProbe, ScriptedModel},
    tool_guidelines::{Placement, ToolGuidelinesLayer},
    tool_loop::{RoutedTools, ToolRouter, hooks::InstallHooks},
    tool_search::{MemoryRecord, ToolSearchLayer},
};
use tower_test::mock;

use crate::doubles::{Alive, Hanging, Refusing, answer, assert_stream, request};

type ToolLoopLayer = tower_genai::tool_loop::ToolLoopLayer<RoutedTools>;
type RunHooksLayer = tower_genai::tool_loop::hooks::RunHooksLayer<()>;
type ModelHooksLayer = tower_genai::tool_loop::hooks::ModelHooksLayer<()>;

fn assert_auto_traits<S>(service: &S)
where
    S: Service<ModelRequest> + Clone + Send + Sync + std::fmt::Debug + 'static,
    S::Future: Send,
    S::Response: Send,
{
    assert!(!format!("{service:?}").contains("Be brief."), "a debug form holds no prompt");
}

macro_rules! contract {
    ($($name:ident: $layer:ty = $value:expr;)*) => {
        /// The types in the matrix.
        const LAYERS: &[&str] = &[$(stringify!($layer)),*];

        $(mod $name {
            use super::*;

            fn layer() -> $layer {
                $value
            }

            #[tokio::test]
            async fn readiness_is_the_inner_services() {
                let (mut service, mut handle) = mock::spawn_layer::<ModelRequest, EventStream, _>(layer());
                handle.allow(0);
                assert!(service.poll_ready().is_pending());
                handle.allow(1);
                assert_ready(service.poll_ready());
                let call = tokio::spawn(service.call(request()));
                let (_, reply) = handle.next_request().await.unwrap();
                reply.send_response(answer("ok"));
                let events: Vec<_> = call.await.unwrap().unwrap().collect().await;
                assert!(events.into_iter().all(|event| event.is_ok()));
            }

            #[tokio::test]
            async fn the_instance_that_was_ready_is_called_and_each_call_needs_readiness() {
                let probe = ReadinessProbe::new(ScriptedModel::answering("ok")).delayed(1);
                let mut service = layer().layer(probe.clone());
                for _ in 0..3 {
                    let events: Vec<_> = service.ready().await.unwrap().call(request()).await.unwrap().collect().await;
                    assert!(!events.is_empty());
                }
                assert_eq!((probe.calls(), probe.unready_polls()), (3, 3));
            }

            #[tokio::test]
            async fn a_clone_is_polled_for_itself() {
                let probe = ReadinessProbe::new(ScriptedModel::answering("ok"));
                let mut service = layer().layer(probe.clone());
                service.ready().await.unwrap();
                drop(service.call(request()).await.unwrap());
                let clone = service.clone();
                assert_eq!(clone.complete(request()).await.unwrap().text(), "ok");
                assert_eq!(probe.calls(), 2);
            }

            #[tokio::test]
            async fn dropping_cancels_everything_below() {
                let alive = Alive::default();
                let mut service = layer().layer(Hanging { alive: alive.clone(), answers: false });
                let mut call = Box::pin(service.ready().await.unwrap().call(request()));
                assert!(futures_util::poll!(&mut call).is_pending());
                assert_eq!(alive.now(), (1, 0));
                drop(call);
                assert_eq!(alive.now(), (0, 0));

                let mut service = layer().layer(Hanging { alive: alive.clone(), answers: true });
                let mut events = Box::pin(service.ready().await.unwrap().call(request()).await.unwrap());
                events.next().await.unwrap().unwrap();
                assert_eq!(alive.now(), (0, 1));
                drop(events);
                assert_eq!(alive.now(), (0, 0));
            }

            #[tokio::test]
            async fn errors_pass_as_they_are() {
                for in_stream in [false, true] {
                    let error = layer().layer(Refusing { in_stream }).complete(request()).await.unwrap_err();
                    assert_eq!((error.kind(), error.status()), (ErrorKind::Permission, Some(403)));
                }
                let mut events = Box::pin(layer().layer(Refusing { in_stream: true }).oneshot(request()).await.unwrap());
                assert!(events.next().await.unwrap().is_err());
                assert!(events.next().await.is_none(), "a stream ends after its error");
            }

            #[tokio::test]
            async fn fits_between_other_layers() {
                let model = || ReadinessProbe::new(ScriptedModel::answering("ok"));
                let buffered = ServiceBuilder::new().layer(layer()).buffer(2).concurrency_limit(1).timeout(Duration::from_secs(5));
                assert_eq!(buffered.service(model()).complete(request()).await.unwrap().text(), "ok");
                let inside = ServiceBuilder::new().buffer(2).concurrency_limit(1).timeout(Duration::from_secs(5)).layer(layer());
                assert_eq!(inside.service(model()).complete(request()).await.unwrap().text(), "ok");
                let boxed: BoxCloneSyncService<ModelRequest, EventStream, Error> = model().boxed_model();
                assert_eq!(layer().layer(boxed).boxed_model().complete(request()).await.unwrap().text(), "ok");
                let function = service_fn(|_: ModelRequest| async { Ok::<_, Error>(answer("ok")) });
                assert_eq!(layer().layer(function).complete(request()).await.unwrap().text(), "ok");
            }

            #[tokio::test]
            async fn auto_traits() {
                let service = layer().layer(ScriptedModel::answering("ok"));
                assert_auto_traits(&service);
                assert_auto_traits(&layer().layer(ScriptedModel::answering("ok").boxed_model()));
                assert_stream(&service.oneshot(request()).await.unwrap());
            }
        })*
    };
}

fn assert_ready<E: std::fmt::Debug>(poll: std::task::Poll<Result<(), E>>) {
    assert!(matches!(poll, std::task::Poll::Ready(Ok(()))), "{poll:?}");
}

contract! {
    server_tools: ServerToolsLayer = ServerToolsLayer::anthropic();
    tool_search: ToolSearchLayer = ToolSearchLayer::new();
    tool_search_with_record: ToolSearchLayer = ToolSearchLayer::new().record(MemoryRecord::new(4));
    tool_guidelines: ToolGuidelinesLayer = ToolGuidelinesLayer::new();
    tool_guidelines_described: ToolGuidelinesLayer = ToolGuidelinesLayer::new().placement(Placement::Description);
    deferred_tools: DeferredToolsLayer = DeferredToolsLayer::new(DeferralMode::Reference);
    deferred_tools_innermost: DeferredToolsLayer = DeferredToolsLayer::innermost(DeferralMode::Append);
    concurrency: StreamConcurrencyLimitLayer = StreamConcurrencyLimitLayer::new(1);
    timeout: StreamTimeoutLayer = StreamTimeoutLayer::new(Duration::from_secs(60));
    recorder: EventRecorder = EventRecorder::new();
    tool_loop: ToolLoopLayer = ToolLoopLayer::new(ToolRouter::new().into_parts().unwrap().1);
    run_hooks: RunHooksLayer = InstallHooks::new(()).run();
    model_hooks: ModelHooksLayer = InstallHooks::new(()).model();
    recommended: Recommended = Recommended::new(DeferralMode::Reference);
}

/// Every `impl Layer<S> for X` of the crates is in the matrix.
#[test]
fn no_layer_is_missing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    for folder in ["src", "layers"] {
        visit(&root.join(folder), &mut found);
    }
    let listed: BTreeSet<String> = LAYERS.iter().map(|layer| (*layer).to_owned()).collect();
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(missing.is_empty(), "not in the matrix: {missing:?}");
    assert!(found.len() >= 8, "the search found only {found:?}");
}

fn visit(path: &Path, found: &mut BTreeSet<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            visit(&entry.unwrap().path(), found);
        }
        return;
    }
    if path.extension().is_none_or(|extension| extension != "rs") || path.components().any(|part| part.as_os_str() == "tests") {
        return;
    }
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    for line in code.lines().filter(|line| line.starts_with("impl")) {
        if let Some((_, after)) = line.split_once("Layer<S> for ") {
            found.insert(after.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned());
        }
    }
}
