//! Talks to a model with the recommended stack: tool search, guidelines, deferred tools, retries.
//!
//! ```text
//! agent --protocol P --base-url U --model M --tools FILE... [--defer all|none|N] [--catalog none|description|system]
//!       [--guidelines system|description|none] [--server-tool TYPE]... [--reasoning none|low|medium|high] [--session ID] [--max-rounds N] [--history FILE] [--trace]
//! agent --provider NAME [--base-url U] --model M --tools FILE... [as above]
//! ```
//!
//! `--protocol` reads the key from `API_KEY`, `--provider` from the variable that the provider's users have set: `ANTHROPIC_API_KEY`,
//! `OPENAI_API_KEY`, and so on. Each line of standard input is a message of the user, in which a literal `\n` is a line break; a line
//! `:tools FILE` replaces the tools from then on, and `:endpoint P U M` moves the conversation to protocol P, base URL U, model M. Calls of
//! local tools are answered with `{"tool":NAME,"arguments":{...}}`, in at most `--max-rounds` rounds a turn. Each turn prints
//! `answer: TEXT`. `--defer N` defers all but the first N tools. `--history` names a file of messages, one JSON object a line, with which the
//! conversation begins and to which each message is added when it is complete. `--trace` writes one JSON line for each request of the model
//! to standard error.

mod endpoint;
mod history;
mod options;
mod stack;

use std::{
    error::Error,
    io::{self, BufRead, Write},
    process::ExitCode,
};

use endpoint::Endpoint;
use futures_util::StreamExt;
use history::History;
use options::Options;
use tower::ServiceExt;
use tower_genai::{BoxModelService, Message, ModelEvent, ModelRequest, ToolSet};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("error: usage: {error}");
            return ExitCode::from(2);
        }
    };
    match run(options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let kind = error.downcast_ref::<tower_genai::Error>().map_or("input", |error| error.kind().as_str());
            eprintln!("error: {kind}: {}", error.to_string().replace('\n', "\\n"));
            ExitCode::FAILURE
        }
    }
}

async fn run(mut options: Options) -> Result<(), Box<dyn Error>> {
    let mut model = stack::build(&options)?;
    let mut tools = options.tools()?;
    let mut history = History::open(options.history.as_deref())?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        if let Some(file) = line.strip_prefix(":tools ") {
            tools = options.read_tools(&[file.trim().to_owned()])?;
            continue;
        }
        if let Some(place) = line.strip_prefix(":endpoint ") {
            let words: Vec<&str> = place.split_whitespace().collect();
            let [protocol, base_url, name] = words.as_slice() else {
                return Err(":endpoint takes a protocol, a base URL and a model".into());
            };
            options.endpoint = Endpoint::protocol(protocol, base_url)?;
            options.model = (*name).to_owned();
            model = stack::build(&options)?;
            continue;
        }
        if line.trim().is_empty() {
            continue;
        }
        history.push(Message::user(line.replace("\\n", "\n")).into())?;
        let text = turn(&model, &options, &tools, &mut history).await?;
        let mut out = io::stdout().lock();
        writeln!(out, "answer: {}", text.replace('\n', "\\n"))?;
        out.flush()?;
    }
    Ok(())
}

/// Calls the model until it is done. What is complete is kept, whatever comes after it.
async fn turn(model: &BoxModelService, options: &Options, tools: &ToolSet, history: &mut History) -> Result<String, Box<dyn Error>> {
    let mut request = ModelRequest::new().messages(history.messages().clone()).tools(tools.clone());
    request.session = options.session.clone();
    request.reasoning = options.reasoning;
    let mut events = model.clone().oneshot(request).await?;
    let mut text = String::new();
    while let Some(event) = events.next().await {
        match event? {
            ModelEvent::Message(message) => history.push(message)?,
            ModelEvent::Response(response) => text = response.text(),
            _ => {}
        }
    }
    Ok(text)
}
