//! What the layers cost: a request and an event through each layer alone, and through the stack of four, over a model that does nothing.
//!
//! ```text
//! cargo bench --bench overhead
//! ```
//!
//! `README.md` beside this file says what the figures mean.
#![allow(missing_docs)]

#[path = "support/harness.rs"]
mod harness;
#[path = "support/requests.rs"]
mod requests;

use std::{convert::Infallible, future::ready, hint::black_box, time::Duration};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use futures_util::FutureExt;
use harness::{call, drain, stack};
use requests::{request, tools};
use tower::{Layer, Service, service_fn};
use tower_genai::{
    BoxModelService, DeferralMode, ModelServiceExt, deferred_tools::DeferredToolsLayer, server_tools::ServerToolsLayer, testing::NoopModel,
    tool_guidelines::ToolGuidelinesLayer, tool_search::ToolSearchLayer,
};
use tower_http::set_header::SetRequestHeaderLayer;

/// Tools and messages of a request: one dimension grows at a time.
const SIZES: [(usize, usize); 5] = [(10, 1), (1_000, 1), (10_000, 1), (10, 200), (10, 2_000)];
const EVENTS: usize = 1_000;
/// Few enough calls at a time that their requests and streams stay in the processor's cache, as those of a caller do.
const BATCH: BatchSize = BatchSize::NumIterations(16);

macro_rules! for_each_layer {
    ($run:ident) => {
        $run!("server tools", ServerToolsLayer::anthropic());
        $run!("tool search", ToolSearchLayer::new());
        $run!("tool guidelines", ToolGuidelinesLayer::new());
        $run!("deferred tools", DeferredToolsLayer::new(DeferralMode::Reference));
        $run!("stack of four", stack());
    };
}

fn quick<'a>(criterion: &'a mut Criterion, name: &str) -> criterion::BenchmarkGroup<'a, criterion::measurement::WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(30);
    group
}

/// A request through a layer: the call and its future. The clone that it consumes and the dropping of the stream are not measured.
fn per_request(criterion: &mut Criterion) {
    let mut group = quick(criterion, "request");
    for (tool_count, message_count) in SIZES {
        let request = request(&tools(tool_count), message_count);
        let size = format!("{tool_count} tools, {message_count} messages");
        group.bench_function(BenchmarkId::new("nothing", &size), |bencher| {
            let mut service = NoopModel::new(0);
            bencher.iter_batched(|| request.clone(), |request| call(&mut service, request), BATCH);
        });
        macro_rules! run {
            ($name:literal, $layer:expr) => {
                // Outside of the closure, which runs once a sample: what is made of a tool set is made by the first call.
                let mut service = $layer.layer(NoopModel::new(0));
                group.bench_function(BenchmarkId::new($name, &size), |bencher| {
                    bencher.iter_batched(|| request.clone(), |request| call(&mut service, request), BATCH);
                });
            };
        }
        for_each_layer!(run);
        let mut service: BoxModelService = stack().layer(NoopModel::new(0)).boxed_model();
        group.bench_function(BenchmarkId::new("stack of four, boxed", &size), |bencher| {
            bencher.iter_batched(|| request.clone(), |request| call(&mut service, request), BATCH);
        });
    }
    group.finish();
}

/// What one layer of tower-http costs on a request of its own, as a yardstick.
fn yardstick(criterion: &mut Criterion) {
    let mut group = quick(criterion, "yardstick");
    let layer = SetRequestHeaderLayer::overriding(http::header::USER_AGENT, http::HeaderValue::from_static("bench"));
    let mut service = layer.layer(service_fn(|request: http::Request<()>| {
        drop(request);
        ready(Ok::<_, Infallible>(http::Response::new(())))
    }));
    group.bench_function("tower-http, set a header", |bencher| {
        bencher.iter_batched(|| http::Request::new(()), |request| service.call(request).now_or_never(), BATCH);
    });
    group.finish();
}

/// A stream of events through a layer; the throughput is in events.
fn per_event(criterion: &mut Criterion) {
    let mut group = quick(criterion, "events");
    group.throughput(Throughput::Elements(EVENTS as u64));
    let request = request(&tools(10), 1);
    group.bench_function("nothing", |bencher| {
        let mut service = NoopModel::new(EVENTS);
        bencher.iter_batched(|| call(&mut service, request.clone()), drain, BATCH);
    });
    macro_rules! run {
        ($name:literal, $layer:expr) => {
            let mut service = $layer.layer(NoopModel::new(EVENTS));
            group.bench_function($name, |bencher| {
                bencher.iter_batched(|| call(&mut service, request.clone()), drain, BATCH);
            });
        };
    }
    for_each_layer!(run);
    let mut service: BoxModelService = stack().layer(NoopModel::new(EVENTS)).boxed_model();
    group.bench_function("stack of four, boxed", |bencher| {
        bencher.iter_batched(|| call(&mut service, request.clone()), drain, BATCH);
    });
    group.finish();
}

/// Allocations do not vary: they are counted once and printed.
fn allocations(_: &mut Criterion) {
    let request = request(&tools(1_000), 200);
    let count = |run: Box<dyn FnOnce() + '_>| {
        let mut run = Some(run);
        allocation_counter::measure(|| run.take().into_iter().for_each(|run| run())).count_total
    };
    println!("allocations/clone of the request: {}", count(Box::new(|| drop(black_box(request.clone())))));
    macro_rules! run {
        ($name:literal, $layer:expr) => {
            let mut service = $layer.layer(NoopModel::new(EVENTS));
            drop(call(&mut service, request.clone()));
            let ready_request = request.clone();
            let mut stream = None;
            let per_request = count(Box::new(|| stream = call(&mut service, ready_request)));
            let in_stream = count(Box::new(|| drain(stream)));
            println!("allocations/{}: {per_request} a request, {in_stream} in a stream of {EVENTS} events", $name);
        };
    }
    run!("nothing", tower::layer::util::Identity::new());
    for_each_layer!(run);
}

criterion_group!(benches, per_request, yardstick, per_event, allocations);
criterion_main!(benches);
