mod contents;
mod settings;

use serde_json::{Value, json};

use super::*;
use crate::protocols::{gemini::GenerateContent, samples};

fn body(request: &ModelRequest) -> Value {
    samples::body::<GenerateContent>(request, &Capabilities::gemini())
}

fn body_with(request: &ModelRequest, capabilities: &Capabilities) -> Value {
    samples::body::<GenerateContent>(request, capabilities)
}

fn refusal(request: &ModelRequest, capabilities: &Capabilities) -> String {
    samples::refusal::<GenerateContent>(request, capabilities)
}
