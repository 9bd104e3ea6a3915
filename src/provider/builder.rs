//! Making providers, and changing what they do.

use std::{sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue};
use tower_genai_core::{Error, Json, Lowering};

use super::{
    Auth, Provider,
    auth::{Secret, is_secret_name},
    endpoint::{Endpoint, push_parameter},
    settings::Settings,
};
use crate::{
    protocols::{Capabilities, Protocol, Target},
    transport::{Reqwest, RetryPolicy, Waits},
};

impl<P: Protocol> Provider<P> {
    /// A protocol of your own, or one of this library at a place that it does not know. The key goes out as a bearer token.
    ///
    /// # Errors
    ///
    /// As [`base_url`](Self::base_url).
    pub fn for_protocol(
        protocol: P,
        capabilities: Capabilities,
        base_url: &str,
        api_key: impl AsRef<str>,
        model: impl Into<Arc<str>>,
    ) -> Result<Self, Error> {
        let model = model.into();
        let path = protocol.path(&Target::new("", model.clone()));
        let endpoint = Endpoint::parse(base_url, &path)?;
        Ok(Self::with(Settings::new(protocol, endpoint, Auth::Bearer, api_key.as_ref(), model, capabilities)))
    }

    /// A model at the public endpoint of a provider, with what is known of the model.
    #[cfg(any(feature = "anthropic", feature = "gemini", feature = "ollama", feature = "openai"))]
    pub(super) fn known(
        name: &'static str,
        endpoint: Endpoint,
        auth: Auth,
        api_key: &str,
        model: Arc<str>,
        capabilities: Capabilities,
    ) -> Self
    where
        P: Default,
    {
        let capabilities = capabilities.for_model(&model);
        Self::with(Settings { name: name.into(), ..Settings::new(P::default(), endpoint, auth, api_key, model, capabilities) })
    }

    pub(super) fn with(settings: Settings<P>) -> Self {
        Self { settings: Arc::new(settings), http: Reqwest::new() }
    }
}

impl<P> Provider<P> {
    /// Sets how long connecting may take (10 s); `None` leaves it to the operating system.
    #[must_use]
    pub fn connect_timeout(mut self, wait: Option<Duration>) -> Self {
        self.http = self.http.connect_timeout(wait);
        self
    }
}

impl<P, H> Provider<P, H> {
    /// Sets the HTTP service to send through.
    #[must_use]
    pub fn http<H2>(self, http: H2) -> Provider<P, H2> {
        Provider { settings: self.settings, http }
    }
}

impl<P: Protocol + Clone, H> Provider<P, H> {
    fn settings(&mut self) -> &mut Settings<P> {
        Arc::make_mut(&mut self.settings)
    }

    /// Sets where the endpoint is: what the provider's own client takes as its base URL, so without `/v1` for Anthropic and with it for OpenAI.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest) for what is not an `http` or `https` URL, has a query, a
    /// fragment or credentials, or ends in what the protocol adds itself. The text does not repeat the URL.
    pub fn base_url(mut self, url: &str) -> Result<Self, Error> {
        let settings = self.settings();
        let endpoint = Endpoint::parse(url, &settings.protocol.path(&settings.target))?;
        settings.target = Target::new(endpoint.authority.clone(), settings.target.model.clone());
        settings.endpoint = endpoint;
        Ok(self)
    }

    /// Sets how requests prove who sends them.
    #[must_use]
    pub fn auth(mut self, auth: Auth) -> Self {
        self.settings().auth = auth;
        self
    }

    /// Sets the key. Where none was sent it goes out as a bearer token; see [`auth`](Self::auth).
    #[must_use]
    pub fn api_key(mut self, key: impl AsRef<str>) -> Self {
        let settings = self.settings();
        settings.key = Secret::new(key.as_ref());
        settings.redactor.add(settings.key.clone());
        if settings.auth == Auth::None {
            settings.auth = Auth::Bearer;
        }
        self
    }

    /// Sets a header of every request. It replaces what this library would send under that name; a list of beta flags that a request
    /// needs is extended.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest) for what cannot be a header. The text does not repeat the
    /// value.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, Error> {
        let header: HeaderName =
            name.parse().map_err(|_| Error::invalid(format!("`{}` cannot be the name of a header", name.escape_debug())))?;
        let mut content: HeaderValue = value.parse().map_err(|_| {
            Error::invalid(format!("the value of the header `{header}` contains a character that cannot stand in a header"))
        })?;
        let settings = self.settings();
        if is_secret_name(header.as_str()) {
            content.set_sensitive(true);
            let secret = value.split_once(' ').map_or(value, |(_, secret)| secret);
            settings.redactor.add(Secret::new(secret));
        }
        settings.headers.insert(header, content);
        Ok(self)
    }

    /// Adds a parameter to the query of every request.
    #[must_use]
    pub fn query(mut self, name: &str, value: &str) -> Self {
        let settings = self.settings();
        if is_secret_name(name) {
            settings.redactor.add(Secret::new(value));
        }
        push_parameter(&mut settings.query, name, value);
        self
    }

    /// Adds a field to the body of every request, or replaces it. A request's own
    /// [`extra_body`](tower_genai_core::ModelRequest::extra_body) wins.
    #[must_use]
    pub fn extra_body(mut self, field: impl Into<Arc<str>>, value: Json) -> Self {
        self.settings().extra_body.insert(field.into(), value);
        self
    }

    /// Sets whether responses are streamed (they are). Where not, the events of a response come all at once.
    #[must_use]
    pub fn streaming(mut self, streaming: bool) -> Self {
        let extra = &mut self.settings().extra_body;
        if streaming {
            extra.remove("stream");
        } else {
            extra.insert("stream".into(), Json::from(serde_json::Value::Bool(false)));
        }
        self
    }

    /// Sets what the endpoint and the model accept.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.settings().capabilities = capabilities;
        self
    }

    /// What the endpoint and the model accept, to change it in place.
    ///
    /// Change it before [`deferral`](Self::deferral) is asked for.
    pub fn capabilities_mut(&mut self) -> &mut Capabilities {
        &mut self.settings().capabilities
    }

    /// Sets how long it waits for what.
    #[must_use]
    pub fn waits(mut self, waits: Waits) -> Self {
        self.settings().waits = waits;
        self
    }

    /// Sets when a request that resumes a paused response is sent again. The caller's own requests are a matter of
    /// [`tower::retry`] around the provider.
    #[must_use]
    pub fn resume_retry(mut self, policy: RetryPolicy) -> Self {
        self.settings().resume_retry = policy;
        self
    }

    /// Sets the largest event of a streamed response, and the largest response in one piece, in bytes (32 MiB).
    #[must_use]
    pub fn max_event_bytes(mut self, bytes: usize) -> Self {
        self.settings().max_event_bytes = bytes;
        self
    }

    /// Sets how many bytes of deferred definitions may go out as ordinary tools when nothing can search them (256 kB).
    #[must_use]
    pub fn max_definition_bytes(mut self, bytes: usize) -> Self {
        let settings = self.settings();
        settings.lowering = Lowering::new(settings.capabilities.deferral).max_definition_bytes(bytes);
        self
    }

    /// Sets the name of the provider in spans (`gen_ai.provider.name`), such as `deepseek`.
    #[must_use]
    pub fn provider_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.settings().name = name.into();
        self
    }
}
