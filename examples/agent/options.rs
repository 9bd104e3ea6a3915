//! The command line.

use std::{error::Error, iter::Peekable, str::FromStr, sync::Arc};

use serde::Deserialize;
use tower_genai::{
    Effort, Json, Reasoning, ServerTool, ToolDefinition, ToolSet, tool_guidelines::Placement, tool_search::CatalogPlacement,
};

#[path = "../support/lines.rs"]
mod lines;

use lines::{Tool, read_lines};

use crate::endpoint::Endpoint;

pub(crate) const USAGE: &str = "agent (--protocol anthropic|openai_responses|openai_chat|gemini|ollama --base-url U | --provider NAME [--base-url U]) \
    --model M --tools FILE... [--defer all|none|N] [--catalog none|description|system] [--guidelines system|description|none] \
    [--server-tool TYPE]... [--reasoning none|low|medium|high] [--session ID] [--max-rounds N] [--history FILE] [--trace]";

/// How many of the first tools are shown at once; the rest is deferred. `None` leaves it to the file.
type Shown = Option<usize>;

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) endpoint: Endpoint,
    pub(crate) model: String,
    pub(crate) files: Vec<String>,
    pub(crate) shown: Shown,
    pub(crate) catalog: CatalogPlacement,
    pub(crate) guidelines: Option<Placement>,
    pub(crate) server_tools: Vec<ServerTool>,
    pub(crate) reasoning: Option<Reasoning>,
    pub(crate) session: Option<Arc<str>>,
    pub(crate) max_rounds: Option<u32>,
    pub(crate) history: Option<String>,
    pub(crate) trace: bool,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    deferred: bool,
    #[serde(flatten)]
    tool: Tool,
}

type Outcome<T> = Result<T, Box<dyn Error>>;

impl Options {
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut arguments = arguments.peekable();
        let (mut protocol, mut provider, mut base_url, mut model, mut files) = (None, None, None, None, Vec::new());
        let mut options = Self {
            endpoint: Endpoint::Provider { name: String::new(), base_url: None },
            model: String::new(),
            files: Vec::new(),
            shown: None,
            catalog: CatalogPlacement::SearchDescription,
            guidelines: Some(Placement::SystemPrompt),
            server_tools: Vec::new(),
            reasoning: None,
            session: None,
            max_rounds: None,
            history: None,
            trace: false,
        };
        while let Some(option) = arguments.next() {
            let name = option.as_str();
            match name {
                "--protocol" => protocol = Some(value::<String>(name, &mut arguments)?),
                "--provider" => provider = Some(value::<String>(name, &mut arguments)?),
                "--base-url" => base_url = Some(value::<String>(name, &mut arguments)?),
                "--model" => model = Some(value(name, &mut arguments)?),
                "--tools" => {
                    files.push(value(name, &mut arguments)?);
                    while let Some(file) = arguments.next_if(|argument| !argument.starts_with("--")) {
                        files.push(file);
                    }
                }
                "--defer" => options.shown = defer(&value::<String>(name, &mut arguments)?)?,
                "--catalog" => options.catalog = catalog(&value::<String>(name, &mut arguments)?)?,
                "--guidelines" => options.guidelines = guidelines(&value::<String>(name, &mut arguments)?)?,
                "--server-tool" => options.server_tools.push(ServerTool::plain(value::<String>(name, &mut arguments)?)?),
                "--reasoning" => {
                    options.reasoning = Some(Reasoning::effort(effort(&value::<String>(name, &mut arguments)?)?).summary(true))
                }
                "--session" => options.session = Some(value::<String>(name, &mut arguments)?.into()),
                "--max-rounds" => options.max_rounds = Some(value(name, &mut arguments)?),
                "--history" => options.history = Some(value(name, &mut arguments)?),
                "--trace" => options.trace = true,
                unknown => return Err(format!("unknown option {unknown}\n{USAGE}").into()),
            }
        }
        let missing = |option: &str| format!("{option} is missing\n{USAGE}");
        options.endpoint = match (protocol, provider) {
            (Some(protocol), None) => Endpoint::protocol(&protocol, &base_url.ok_or_else(|| missing("--base-url"))?)?,
            (None, Some(provider)) => Endpoint::provider(&provider, base_url)?,
            _ => return Err(missing("one of --protocol and --provider").into()),
        };
        options.model = model.ok_or_else(|| missing("--model"))?;
        options.files = files;
        if options.files.is_empty() {
            return Err(missing("--tools").into());
        }
        Ok(options)
    }

    pub(crate) fn tools(&self) -> Outcome<ToolSet> {
        self.read_tools(&self.files)
    }

    pub(crate) fn read_tools(&self, files: &[String]) -> Outcome<ToolSet> {
        let mut tools: Vec<ToolDefinition> = Vec::new();
        for file in files {
            read_lines(file, |Entry { deferred, tool }: Entry| {
                let deferred = self.shown.map_or(deferred, |shown| tools.len() >= shown);
                tools.push(definition(tool).deferred(deferred));
                Ok(())
            })?;
        }
        Ok(ToolSet::new(tools)?)
    }
}

fn definition(tool: Tool) -> ToolDefinition {
    let mut definition = ToolDefinition::new(tool.name).description(tool.description.unwrap_or_default());
    if let Some(server) = tool.server {
        definition = definition.namespace(server);
    }
    if let Some(parameters) = tool.parameters.filter(Json::is_object) {
        definition = definition.parameters(parameters);
    }
    if let Some(snippet) = tool.snippet {
        definition = definition.snippet(snippet);
    }
    tool.guidelines.into_iter().flatten().fold(definition, ToolDefinition::guideline)
}

fn value<T: FromStr>(option: &str, arguments: &mut Peekable<impl Iterator<Item = String>>) -> Outcome<T>
where
    T::Err: std::fmt::Display,
{
    let text = arguments.next().ok_or_else(|| format!("{option} needs a value\n{USAGE}"))?;
    text.parse().map_err(|error| format!("{option} {text}: {error}").into())
}

fn defer(text: &str) -> Outcome<Shown> {
    match text {
        "all" => Ok(Some(0)),
        "none" => Ok(Some(usize::MAX)),
        number => Ok(Some(number.parse().map_err(|error| format!("--defer {number}: {error}"))?)),
    }
}

fn catalog(text: &str) -> Outcome<CatalogPlacement> {
    match text {
        "none" => Ok(CatalogPlacement::None),
        "description" => Ok(CatalogPlacement::SearchDescription),
        "system" => Ok(CatalogPlacement::SystemPrompt),
        other => Err(format!("--catalog {other}: none, description or system").into()),
    }
}

fn guidelines(text: &str) -> Outcome<Option<Placement>> {
    match text {
        "none" => Ok(None),
        "description" => Ok(Some(Placement::Description)),
        "system" => Ok(Some(Placement::SystemPrompt)),
        other => Err(format!("--guidelines {other}: system, description or none").into()),
    }
}

fn effort(text: &str) -> Outcome<Effort> {
    match text {
        "none" => Ok(Effort::None),
        "low" => Ok(Effort::Low),
        "medium" => Ok(Effort::Medium),
        "high" => Ok(Effort::High),
        other => Err(format!("--reasoning {other}: none, low, medium or high").into()),
    }
}
