//! The span around a model call, with the attributes of OpenTelemetry's conventions for generative AI.
//!
//! No text of a prompt, of a query or of the model is in it.

use tower_genai_core::{Error, Response};
use tracing::{Span, field::Empty};

/// What a span knows at its beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallInfo<'a> {
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
    pub(crate) host: &'a str,
    pub(crate) port: u16,
}

/// The span of one model call, from the request to the end of the stream. Dropping it ends it.
#[derive(Clone, Debug)]
pub(crate) struct CallSpan(Span);

impl CallSpan {
    /// Begins a span. Costs a look at a flag where nobody listens.
    pub(crate) fn start(info: CallInfo<'_>) -> Self {
        Self(tracing::info_span!(
            "chat",
            otel.name = format_args!("chat {}", info.model),
            otel.kind = "client",
            otel.status_code = Empty,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = info.provider,
            gen_ai.request.model = info.model,
            server.address = info.host,
            server.port = info.port,
            gen_ai.response.model = Empty,
            gen_ai.response.id = Empty,
            gen_ai.response.finish_reasons = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            gen_ai.usage.cache_creation.input_tokens = Empty,
            error.type = Empty,
        ))
    }

    /// Everything that `work` does belongs to the span.
    pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.in_scope(work)
    }

    /// Ends the span with a response.
    pub(crate) fn succeed(&mut self, response: &Response) {
        let span = std::mem::replace(&mut self.0, Span::none());
        if span.is_disabled() {
            return;
        }
        let reason = response.stop.native.as_deref().unwrap_or(response.stop.reason.as_str());
        span.record("gen_ai.response.finish_reasons", tracing::field::debug([reason]));
        for (field, value) in [("gen_ai.response.model", &response.model), ("gen_ai.response.id", &response.id)] {
            if let Some(value) = value {
                span.record(field, &**value);
            }
        }
        for (field, tokens) in [
            ("gen_ai.usage.input_tokens", response.usage.input_tokens),
            ("gen_ai.usage.output_tokens", response.usage.output_tokens),
            ("gen_ai.usage.cache_read.input_tokens", response.usage.cache_read_tokens),
            ("gen_ai.usage.cache_creation.input_tokens", response.usage.cache_write_tokens),
        ] {
            if let Some(tokens) = tokens {
                span.record(field, tokens);
            }
        }
    }

    /// Ends the span with an error.
    pub(crate) fn fail(&mut self, error: &Error) {
        let span = std::mem::replace(&mut self.0, Span::none());
        span.record("error.type", error.kind().as_str());
        span.record("otel.status_code", "ERROR");
    }
}
