//! What a provider is made of, and how a request is made with it.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method,
    header::{ACCEPT, CONTENT_TYPE, USER_AGENT},
};
use tower_genai_core::{Deferral, Error, Json, Lowering, ModelRequest};

use super::{
    Auth,
    auth::{Redactor, Secret},
    endpoint::Endpoint,
};
use crate::{
    protocols::{Capabilities, Encoded, Protocol, Target},
    transport::{DEFAULT_MAX_EVENT_BYTES, RetryPolicy, Waits},
};

/// Everything but the HTTP service.
#[derive(Clone, Debug)]
pub(super) struct Settings<P> {
    pub(super) protocol: P,
    /// The name of the provider in spans.
    pub(super) name: Arc<str>,
    pub(super) endpoint: Endpoint,
    pub(super) target: Target,
    pub(super) auth: Auth,
    pub(super) key: Secret,
    pub(super) redactor: Redactor,
    pub(super) headers: HeaderMap,
    pub(super) query: String,
    pub(super) extra_body: BTreeMap<Arc<str>, Json>,
    pub(super) capabilities: Capabilities,
    pub(super) lowering: Lowering,
    pub(super) waits: Waits,
    pub(super) resume_retry: RetryPolicy,
    pub(super) max_event_bytes: usize,
}

impl<P: Protocol> Settings<P> {
    pub(super) fn new(protocol: P, endpoint: Endpoint, auth: Auth, key: &str, model: Arc<str>, capabilities: Capabilities) -> Self {
        let key = Secret::new(key);
        let mut redactor = Redactor::default();
        redactor.add(key.clone());
        Self {
            protocol,
            name: P::NAME.into(),
            target: Target::new(endpoint.authority.clone(), model),
            endpoint,
            auth,
            key,
            redactor,
            headers: HeaderMap::new(),
            query: String::new(),
            extra_body: BTreeMap::new(),
            lowering: Lowering::new(capabilities.deferral),
            capabilities,
            waits: Waits::default(),
            resume_retry: RetryPolicy::new(),
            max_event_bytes: DEFAULT_MAX_EVENT_BYTES,
        }
    }

    /// Makes a request what is encoded, once.
    pub(super) fn prepare(&self, request: &mut ModelRequest) -> Result<(), Error> {
        request.validate_server_tools()?;
        if request.deferral == Deferral::Unset {
            request.deferral = Deferral::Wanted(self.capabilities.deferral);
        }
        self.lowering.lower(request)?;
        request.deferral.lowered_to(self.protocol.deferral_modes())?;
        for (field, value) in &self.extra_body {
            request.extra_body.entry(field.clone()).or_insert_with(|| value.clone());
        }
        Ok(())
    }

    /// Writes a prepared request.
    pub(super) fn encode(&self, request: &ModelRequest) -> Result<(http::Request<Bytes>, P::Context, Target), Error> {
        let target = match &request.model {
            Some(model) => Target::new(self.target.host.clone(), model.clone()),
            None => self.target.clone(),
        };
        if target.model.trim().is_empty() {
            return Err(Error::invalid("the name of the model is empty"));
        }
        let Encoded { body, headers, path, context } = self.protocol.encode(request, &target, &self.capabilities)?;
        let mut out = http::Request::new(body);
        *out.method_mut() = Method::POST;
        *out.uri_mut() = self.endpoint.uri(path.as_deref().unwrap_or(&self.protocol.path(&target)), &self.query)?;
        *out.headers_mut() = self.headers(&headers)?;
        Ok((out, context, target))
    }

    /// The protocol's headers, those of this request, the key, and the caller's, which win. A header that this request needs is extended by
    /// the caller's, because it is a list (beta flags).
    fn headers(&self, request: &HeaderMap) -> Result<HeaderMap, Error> {
        let mut headers = self.protocol.headers();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("tower-genai/", env!("CARGO_PKG_VERSION"))));
        for name in request.keys() {
            headers.remove(name);
        }
        headers.extend(request.iter().map(|(name, value)| (name.clone(), value.clone())));
        self.auth.apply(&self.key, &mut headers)?;
        for (name, value) in &self.headers {
            let both = request.get(name).and_then(|needed| {
                let list = [needed.as_bytes(), b",", value.as_bytes()].concat();
                HeaderValue::from_bytes(&list).ok()
            });
            headers.insert(name.clone(), both.unwrap_or_else(|| value.clone()));
        }
        Ok(headers)
    }
}
