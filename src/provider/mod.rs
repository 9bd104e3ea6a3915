//! The one HTTP flow of all providers.
//!
//! A [`Provider`] is a [`Protocol`] at a place: it lowers and encodes a request, sends it through an HTTP service, and decodes the
//! response while it arrives.
//!
//! - Everything that can be wrong with a request is an error before any I/O.
//! - The response future resolves with the first [`ModelEvent`](tower_genai_core::ModelEvent). An error before that, also one inside of a
//!   response with status 200, is an error of the future, so that [`tower::retry`] sees it ([`RetryPolicy`]). After that
//!   nothing is retried, and an error is an item of the stream, behind everything that was complete.
//! - A response that the provider paused is resumed inside, [`Capabilities::max_resumes`] times: the caller sees one message.
//! - Dropping the future or the stream cancels everything. Nothing is spawned.
//! - A `tracing` span `chat` at info level lasts from the request to the end of the stream, with OpenTelemetry's `gen_ai.*` attributes:
//!   models, ids, the reason of the end, tokens; no text.
//!
//! The HTTP service below is any `Service<http::Request<Bytes>>`, so layers of tower-http fit between:
//!
//! ```
//! use bytes::Bytes;
//! use http_body_util::Full;
//! use tower_genai::{Error, ErrorKind, ModelRequest, ModelServiceExt};
//!
//! # #[cfg(not(feature = "anthropic"))] fn main() {}
//! # #[cfg(feature = "anthropic")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! use tower_genai::provider::Anthropic;
//!
//! let http = tower::service_fn(|request: http::Request<Bytes>| async move {
//!     assert_eq!(request.uri(), "https://api.anthropic.com/v1/messages");
//!     http::Response::builder().status(529).header("retry-after", "2").body(Full::new(Bytes::new()))
//! });
//! let error = Anthropic::new("key", "a-model").http(http).complete(ModelRequest::new().user("hi")).await.unwrap_err();
//! assert_eq!((error.kind(), error.retry_after().unwrap().as_secs()), (ErrorKind::Overloaded, 2));
//! # Ok(())
//! # }
//! ```
//!
//! [`Capabilities::max_resumes`]: crate::protocols::Capabilities::max_resumes
//! [`RetryPolicy`]: crate::transport::RetryPolicy

#[cfg(feature = "anthropic")]
mod anthropic;
mod auth;
mod builder;
mod call;
mod endpoint;
mod failure;
#[cfg(feature = "gemini")]
mod google;
#[cfg(feature = "openai")]
mod hosts;
#[cfg(feature = "ollama")]
mod ollama;
#[cfg(feature = "openai")]
mod openai;
mod reading;
mod settings;

use std::{
    fmt, mem,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use tower_genai_core::{BoxError, DeferralMode, Error, ModelRequest};
use tower_service::Service;

#[cfg(feature = "anthropic")]
pub use anthropic::Anthropic;
pub use auth::Auth;
pub use call::{ProviderFuture, ProviderStream};
#[cfg(feature = "gemini")]
pub use google::Gemini;
#[cfg(feature = "openai")]
pub use hosts::{deepseek, groq, mistral, openrouter, xai};
#[cfg(feature = "ollama")]
pub use ollama::Ollama;
#[cfg(feature = "openai")]
pub use openai::{OpenAi, OpenAiChat};

use crate::{
    protocols::{Capabilities, Protocol},
    telemetry::{CallInfo, CallSpan},
    transport::Reqwest,
};
use settings::Settings;

/// A model behind a wire protocol: a service that takes a [`ModelRequest`] and answers with a stream of events.
///
/// Clones are cheap and share everything. See the [module](self) for what it does. It needs tokio's timers, unless its
/// [`Waits`](crate::transport::Waits) are unlimited.
pub struct Provider<P, H = Reqwest> {
    settings: Arc<Settings<P>>,
    http: H,
}

impl<P, H> Provider<P, H> {
    /// How deferred tools reach the model here, for a `DeferredToolsLayer` around this provider.
    #[must_use]
    pub fn deferral(&self) -> DeferralMode {
        self.settings.capabilities.deferral
    }

    /// What this endpoint and its model are taken to accept.
    #[must_use]
    pub fn get_capabilities(&self) -> &Capabilities {
        &self.settings.capabilities
    }

    /// The model that is asked when a request names none.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.settings.target.model
    }

    /// The HTTP service below.
    #[must_use]
    pub fn get_http(&self) -> &H {
        &self.http
    }
}

impl<P, H: Clone> Clone for Provider<P, H> {
    fn clone(&self) -> Self {
        Self { settings: self.settings.clone(), http: self.http.clone() }
    }
}

impl<P: Protocol, H> fmt::Debug for Provider<P, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = &self.settings.target;
        f.debug_struct("Provider")
            .field("protocol", &P::NAME)
            .field("host", &target.host)
            .field("model", &target.model)
            .finish_non_exhaustive()
    }
}

impl<P, H, B> Service<ModelRequest> for Provider<P, H>
where
    P: Protocol,
    H: Service<http::Request<Bytes>, Response = http::Response<B>> + Clone,
    H::Error: Into<BoxError>,
    B: http_body::Body,
    B::Error: Into<BoxError>,
{
    type Response = ProviderStream<P, H, B>;
    type Error = Error;
    type Future = ProviderFuture<P, H, B>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.http.poll_ready(cx).map_err(|error| self.settings.redactor.error(Error::from(error.into())))
    }

    fn call(&mut self, mut request: ModelRequest) -> Self::Future {
        let settings = &self.settings;
        let mut span = CallSpan::start(CallInfo {
            provider: &settings.name,
            model: request.model.as_deref().unwrap_or(&settings.target.model),
            host: &settings.endpoint.host,
            port: settings.endpoint.port,
        });
        let encoded = settings.prepare(&mut request).and_then(|()| settings.encode(&request));
        let (request_out, decoder) = match encoded {
            Ok((request_out, context, target)) => (request_out, settings.protocol.decoder(context, &target, None)),
            Err(error) => {
                span.fail(&error);
                return ProviderFuture::refused(error);
            }
        };
        // The instance that was ready is the one that is called.
        let fresh = self.http.clone();
        let http = mem::replace(&mut self.http, fresh);
        ProviderFuture::calling(self.settings.clone(), http, request, request_out, decoder, span)
    }
}

#[cfg(test)]
mod tests;
