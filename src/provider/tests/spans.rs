//! The span around a call.

use super::*;
use std::collections::BTreeMap;
use tower_genai_core::ModelServiceExt;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

/// Keeps the fields of the spans, and whether they ended.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<Kept>>>);

#[derive(Default)]
struct Kept {
    fields: BTreeMap<String, String>,
    references: usize,
    entered: usize,
}

struct Fields<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl Spans {
    fn with<T>(&self, id: &Id, work: impl FnOnce(&mut Kept) -> T) -> T {
        work(&mut self.0.lock().unwrap()[usize::try_from(id.into_u64()).unwrap() - 1])
    }

    fn fields(&self, index: usize) -> BTreeMap<String, String> {
        self.0.lock().unwrap()[index].fields.clone()
    }

    fn is_open(&self, index: usize) -> bool {
        self.0.lock().unwrap()[index].references > 0
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("tower_genai")
    }
    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut kept = Kept { references: 1, ..Kept::default() };
        attributes.record(&mut Fields(&mut kept.fields));
        let mut spans = self.0.lock().unwrap();
        spans.push(kept);
        Id::from_u64(spans.len() as u64)
    }
    fn record(&self, id: &Id, values: &Record<'_>) {
        self.with(id, |kept| values.record(&mut Fields(&mut kept.fields)));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, id: &Id) {
        self.with(id, |kept| kept.entered += 1);
    }
    fn exit(&self, _: &Id) {}
    fn clone_span(&self, id: &Id) -> Id {
        self.with(id, |kept| kept.references += 1);
        id.clone()
    }
    fn try_close(&self, id: Id) -> bool {
        self.with(&id, |kept| {
            kept.references -= 1;
            kept.references == 0
        })
    }
}

#[tokio::test]
async fn a_span_lasts_as_long_as_the_stream() {
    let spans = Spans::default();
    let _default = tracing::subscriber::set_default(spans.clone());
    let ended = Answer::stream([events(&["{\"text\":\"private\"}", "{\"message\":1,\"stop\":\"end\"}"])]);
    let failed = Answer::of(529, &[], [send("private")]);
    let open = Answer::stream([events(&["{\"text\":\"private\"}"]), Step::Hang]);
    let mut provider = provider(Http::new([ended, failed, open])).provider_name("example");

    std::future::poll_fn(|cx| provider.poll_ready(cx)).await.unwrap();
    let mut stream = provider.call(ModelRequest::new().user("private")).await.unwrap();
    assert!(spans.is_open(0));
    while let Some(item) = stream.next().await {
        let is_response = matches!(item.unwrap(), ModelEvent::Response(_));
        assert_eq!(spans.is_open(0), !is_response, "the response ends it");
    }
    let fields = spans.fields(0);
    for (name, value) in [
        ("otel.name", "chat model-1"),
        ("otel.kind", "client"),
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "example"),
        ("gen_ai.request.model", "model-1"),
        ("server.address", "api.example.com"),
        ("server.port", "443"),
        ("gen_ai.response.model", "plain-1"),
        ("gen_ai.response.id", "r-1"),
        ("gen_ai.response.finish_reasons", "[\"end\"]"),
        ("gen_ai.usage.output_tokens", "1"),
    ] {
        assert_eq!(fields.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert!(!fields.contains_key("gen_ai.usage.input_tokens") && !fields.contains_key("error.type"));

    provider.clone().complete(hello()).await.unwrap_err();
    assert_eq!(spans.fields(1).get("error.type").map(String::as_str), Some("overloaded"));
    assert!(!spans.is_open(1));

    std::future::poll_fn(|cx| provider.poll_ready(cx)).await.unwrap();
    let stream = provider.call(hello()).await.unwrap();
    assert!(spans.is_open(2));
    drop(stream);
    assert!(!spans.is_open(2), "dropping ends it");
    let all = format!("{:?}", (0..3).map(|index| spans.fields(index)).collect::<Vec<_>>());
    assert!(!all.contains("private") && !all.contains(KEY), "{all}");
    assert!(spans.0.lock().unwrap().iter().all(|kept| kept.entered > 0));
}

#[tokio::test]
async fn a_refused_request_has_a_span_with_its_error() {
    let spans = Spans::default();
    let _default = tracing::subscriber::set_default(spans.clone());
    provider(Http::new([])).complete(hello().system("unsendable")).await.unwrap_err();
    assert_eq!(spans.fields(0).get("error.type").map(String::as_str), Some("invalid_request"));
    assert!(!spans.is_open(0));
}
