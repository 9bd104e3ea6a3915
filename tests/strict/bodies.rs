//! The bodies of requests as they went out.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use serde_json::Value;
use tower::{ServiceBuilder, util::MapRequestLayer};
use tower_genai::transport::Reqwest;
use tower_service::Service;

/// The bodies of each conversation.
#[derive(Clone, Default)]
pub(crate) struct Bodies(Arc<Mutex<HashMap<String, Vec<Value>>>>);

impl Bodies {
    /// An HTTP service that keeps what it sends.
    pub(crate) fn record(
        &self,
        conversation: &str,
        http: Reqwest,
    ) -> impl Service<
        http::Request<Bytes>,
        Response = <Reqwest as Service<http::Request<Bytes>>>::Response,
        Error = <Reqwest as Service<http::Request<Bytes>>>::Error,
        Future = impl Send + 'static,
    > + Clone
    + Send
    + Sync
    + 'static {
        let (bodies, conversation) = (self.0.clone(), conversation.to_owned());
        let keep = move |request: http::Request<Bytes>| {
            let body = serde_json::from_slice(request.body()).expect("a JSON body");
            bodies.lock().unwrap().entry(conversation.clone()).or_default().push(body);
            request
        };
        ServiceBuilder::new().layer(MapRequestLayer::new(keep)).service(http)
    }

    /// What of a conversation did not only grow at its end: the list of tools, the messages. Neither may the system prompt change.
    pub(crate) fn broken(&self, conversation: &str) -> Option<String> {
        let bodies = self.0.lock().unwrap();
        let bodies = &bodies[conversation];
        bodies.windows(2).find_map(|pair| {
            let [(tools, messages, system), (more_tools, more_messages, same)] = [&pair[0], &pair[1]].map(split);
            let grew = |short: &[Value], long: &[Value], what: &str| {
                let differing = short.iter().enumerate().find(|(at, entry)| long.get(*at) != Some(entry));
                differing.map(|(at, entry)| format!("{what}[{at}]: {entry} became {}", long.get(at).unwrap_or(&Value::Null)))
            };
            let system = (system != same).then(|| format!("system: {system} became {same}"));
            system.or_else(|| grew(&tools, &more_tools, "tools")).or_else(|| grew(&messages, &more_messages, "messages"))
        })
    }
}

/// The tools, the messages, and what stands beside them of the prompt.
fn split(body: &Value) -> (Vec<Value>, Vec<Value>, &Value) {
    let list = |key: &str| body[key].as_array().cloned().unwrap_or_default();
    let functions = list("tools").into_iter().flat_map(|tool| match &tool["functionDeclarations"] {
        Value::Array(functions) => functions.clone(),
        _ => vec![tool],
    });
    (functions.collect(), [list("messages"), list("contents")].concat(), &body["systemInstruction"])
}
