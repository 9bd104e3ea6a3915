//! One tool: its definition and what runs it.

use std::{fmt, future::Future, sync::Arc};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use tower::{ServiceExt, service_fn, util::BoxCloneSyncService};
use tower_genai_core::{BoxError, Image, Json, ToolCall, ToolDefinition};
use tower_layer::Layer;
use tower_service::Service;

use crate::{ToolOutput, ToolService};

/// A tool: its definition, and the service that runs it.
#[derive(Clone)]
pub struct Tool {
    pub(crate) definition: ToolDefinition,
    pub(crate) service: ToolService,
}

impl Tool {
    /// A tool of a service.
    pub fn new<S>(definition: ToolDefinition, service: S) -> Self
    where
        S: Service<ToolCall, Response = ToolOutput> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
    {
        Self { definition, service: BoxCloneSyncService::new(service.map_err(Into::into)) }
    }

    /// A tool of an async function. Its input says what the parameters are, its doc comments what they mean; arguments that do not fit are told to
    /// the model, and so is an error.
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::{Deserialize, Serialize};
    /// use tower_genai_tool_loop::{JsonOutput, Tool};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Place {
    ///     /// The city, in English
    ///     city: String,
    /// }
    ///
    /// #[derive(Serialize)]
    /// struct Weather {
    ///     degrees: f64,
    /// }
    ///
    /// let weather = Tool::typed("get_weather", "The weather of a city", |place: Place| async move {
    ///     if place.city.is_empty() { Err("name a city") } else { Ok(JsonOutput(Weather { degrees: 21.5 })) }
    /// });
    /// assert!(weather.definition().parameters.as_str().contains("The city, in English"));
    /// ```
    pub fn typed<Input, F, Fut>(name: impl Into<Arc<str>>, description: impl Into<Arc<str>>, handler: F) -> Self
    where
        Input: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(Input) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output: IntoToolOutput> + Send + 'static,
    {
        let definition = ToolDefinition::new(name.into()).description(description).parameters(parameters::<Input>());
        let service = service_fn(move |call: ToolCall| {
            let run = call.arguments.deserialize::<Input>().map(&handler);
            async move {
                Ok::<_, BoxError>(match run {
                    Ok(run) => run.await.into_tool_output(),
                    Err(error) => ToolOutput::error(format!("The arguments do not fit: {error}. Correct them and call again.")),
                })
            }
        });
        Self::new(definition, service)
    }

    /// What the model is told.
    #[must_use]
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// Changes what the model is told: a namespace, a snippet, rules, whether it is deferred or runs alone.
    ///
    /// ```
    /// # use tower_genai_tool_loop::Tool;
    /// # fn example(tool: Tool) -> Tool {
    /// tool.define(|definition| definition.deferred(true).guideline("Ask before you delete."))
    /// # }
    /// ```
    #[must_use]
    pub fn define(mut self, change: impl FnOnce(ToolDefinition) -> ToolDefinition) -> Self {
        self.definition = change(self.definition);
        self
    }

    /// Puts a layer around the service: tower's timeout, limits, retries, or one of yours.
    #[must_use]
    pub fn layer<L>(self, layer: L) -> Self
    where
        L: Layer<ToolService>,
        L::Service: Service<ToolCall, Response = ToolOutput> + Clone + Send + Sync + 'static,
        <L::Service as Service<ToolCall>>::Error: Into<BoxError>,
        <L::Service as Service<ToolCall>>::Future: Send + 'static,
    {
        Self::new(self.definition, layer.layer(self.service))
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.definition.name).finish_non_exhaustive()
    }
}

/// The schema of an input, with everything in its place: some endpoints follow no references.
fn parameters<Input: JsonSchema>() -> Json {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<Input>();
    schema.remove("title");
    Json::from(schema.to_value())
}

/// What a handler may return.
pub trait IntoToolOutput {
    /// What the model reads.
    fn into_tool_output(self) -> ToolOutput;
}

/// Any value, which the model reads as JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JsonOutput<T>(pub T);

impl<T: Serialize> IntoToolOutput for JsonOutput<T> {
    fn into_tool_output(self) -> ToolOutput {
        ToolOutput::json(&self.0).unwrap_or_else(|error| ToolOutput::error(format!("The result has no JSON form: {error}")))
    }
}

impl IntoToolOutput for ToolOutput {
    fn into_tool_output(self) -> ToolOutput {
        self
    }
}

impl IntoToolOutput for String {
    fn into_tool_output(self) -> ToolOutput {
        self.into()
    }
}

impl IntoToolOutput for &str {
    fn into_tool_output(self) -> ToolOutput {
        self.into()
    }
}

impl IntoToolOutput for Image {
    fn into_tool_output(self) -> ToolOutput {
        self.into()
    }
}

impl IntoToolOutput for serde_json::Value {
    fn into_tool_output(self) -> ToolOutput {
        JsonOutput(self).into_tool_output()
    }
}

impl IntoToolOutput for () {
    fn into_tool_output(self) -> ToolOutput {
        "done".into()
    }
}

impl<T: IntoToolOutput, E: fmt::Display> IntoToolOutput for Result<T, E> {
    fn into_tool_output(self) -> ToolOutput {
        match self {
            Ok(output) => output.into_tool_output(),
            Err(error) => ToolOutput::error(error.to_string()),
        }
    }
}
