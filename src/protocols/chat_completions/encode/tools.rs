//! The tools of a request.

use std::sync::Arc;

use tower_genai_core::{DeferralMode, Error, ModelRequest, ServerTool, ToolChoice, ToolDefinition};

use crate::protocols::{
    Capabilities, HostedSearch, ServerToolForm,
    body::Body as Fields,
    chat_completions::NAME,
    functions::{Choice, FunctionCache, Functions, check_count},
    object::{List, Object},
    schema,
};

/// The tools as they go out.
pub(super) struct Tools {
    /// Those that the caller runs.
    pub(super) functions: Arc<Functions>,
    /// Whether anything is there that a search of the provider's own can find.
    has_deferred: bool,
}

impl Tools {
    /// Writes the functions, or finds them written, and checks what can be found among them.
    ///
    /// # Errors
    ///
    /// Where the endpoint would refuse them.
    pub(super) fn of(
        cache: &FunctionCache,
        request: &ModelRequest,
        mode: DeferralMode,
        capabilities: &Capabilities,
    ) -> Result<Self, Error> {
        let functions = Functions::of(cache, &request.tools, capabilities, NAME, write_function)?;
        let has_deferred = functions.deferred > 0 || request.server_tools.iter().any(ServerTool::is_deferred);
        let tools = Self { functions, has_deferred };
        tools.check_deferred(request, mode, capabilities)?;
        let sent = request.server_tools.iter().filter(|tool| tools.is_declared(tool, capabilities)).count();
        check_count(tools.functions.len + sent, capabilities)?;
        Ok(tools)
    }

    fn check_deferred(&self, request: &ModelRequest, mode: DeferralMode, capabilities: &Capabilities) -> Result<(), Error> {
        let deferred = self.functions.deferred;
        if let Some(most) = capabilities.max_deferred_tools.filter(|most| deferred > *most) {
            return Err(Error::invalid(format!("{deferred} tools are deferred and the endpoint takes at most {most}; send fewer tools")));
        }
        let hosted = request.server_tools.iter().find(|tool| tool.is_tool_search()).filter(|_| self.has_deferred);
        if let (Some(search), Some(hosted)) = (&self.functions.search, hosted) {
            return Err(Error::invalid(format!(
                "tool `{search}` and server tool `{}` both search deferred tools; declare one of them",
                hosted.tool_type()
            )));
        }
        let Some(tool) = request.tools.iter().find(|tool| tool.deferred) else { return Ok(()) };
        let name = &tool.name;
        match mode {
            DeferralMode::Reference if self.functions.search.is_some() => Ok(()),
            DeferralMode::Hosted if hosted.is_some() => Ok(()),
            DeferralMode::Reference | DeferralMode::Hosted => Err(Error::invalid(format!(
                "tool `{name}` is deferred and nothing in the request can search for it; add a tool search, or do not defer it"
            ))),
            _ => Err(Error::invalid(format!(
                "tool `{name}` is deferred and the request was not lowered; lower it for the mode Append before it is encoded"
            ))),
        }
    }

    /// Whether a tool of the provider goes out among the tools: a search of its own does so where there is something to find, and where it is a tool.
    fn is_declared(&self, tool: &ServerTool, capabilities: &Capabilities) -> bool {
        !tool.is_tool_search() || (self.has_deferred && capabilities.hosted_search == HostedSearch::Tool)
    }

    /// Writes the list of tools, those of the provider first, so that the list only grows at its end, and what the model is told about calling them.
    ///
    /// # Errors
    ///
    /// For a choice that the request or the endpoint cannot make true.
    pub(super) fn write(&self, request: &ModelRequest, capabilities: &Capabilities, fields: &mut Fields<'_>) -> Result<(), Error> {
        let mut list = String::new();
        let mut entries = List::new(&mut list);
        for tool in request.server_tools.iter().filter(|tool| self.is_declared(tool, capabilities)) {
            write_server_tool(tool, capabilities.server_tools, entries.entry());
        }
        if !self.functions.text.is_empty() {
            entries.entry().push_str(&self.functions.text);
        }
        let any = !entries.is_empty();
        entries.end();
        if any {
            fields.raw("tools", &list);
        }
        match self.functions.choice(request, capabilities)? {
            None if any && request.tool_choice == ToolChoice::None => fields.raw("tool_choice", "\"none\""),
            None => {}
            Some(Choice::None) => fields.raw("tool_choice", "\"none\""),
            Some(Choice::Required) => fields.raw("tool_choice", "\"required\""),
            Some(Choice::Function(name)) => fields.member("tool_choice", |out| {
                let mut object = Object::typed(out, "function");
                let mut function = Object::new(object.key("function"));
                function.string("name", &name);
                function.end();
                object.end();
            }),
        }
        if let Some(parallel) = request.parallel_tool_calls.filter(|_| any && capabilities.parallel_tool_calls) {
            fields.bool("parallel_tool_calls", parallel);
        }
        self.hosted_search_field(request, capabilities, fields);
        Ok(())
    }

    /// The field that makes the provider search, where its search is no tool.
    fn hosted_search_field(&self, request: &ModelRequest, capabilities: &Capabilities, fields: &mut Fields<'_>) {
        let search = request.server_tools.iter().find(|tool| tool.is_tool_search());
        let Some(search) = search.filter(|_| self.has_deferred && capabilities.hosted_search == HostedSearch::Field) else { return };
        fields.member("deferred_tools", |out| {
            let mut object = Object::new(out);
            object.string("protocol", "v1");
            object.string("profile", "portable");
            object.string("validation", "runtime");
            let mut settings = Object::typed(object.key("search"), "bm25");
            settings.members(search.configuration().as_str());
            settings.end();
            object.end();
        });
    }
}

/// Writes one function.
fn write_function(tool: &ToolDefinition, wire: &str, out: &mut String) {
    let mut object = Object::typed(out, "function");
    let mut function = Object::new(object.key("function"));
    function.string("name", wire);
    if !tool.description.is_empty() {
        function.string("description", &tool.description);
    }
    let parameters = schema::with_object_root(tool.parameters.as_str());
    function.raw("parameters", &parameters);
    if let Some(strict) = tool.strict {
        // The endpoint refuses the whole request where a schema does not allow what is asked for.
        function.bool("strict", strict && schema::allows_strict(&parameters));
    }
    function.end();
    if tool.deferred {
        object.bool("defer_loading", true);
    }
    object.end();
}

fn write_server_tool(tool: &ServerTool, form: ServerToolForm, out: &mut String) {
    let configuration = tool.configuration().as_str();
    match form {
        ServerToolForm::Keyed => {
            let mut object = Object::new(out);
            object.raw(tool.tool_type(), configuration);
            object.end();
        }
        ServerToolForm::Parameters => {
            let mut object = Object::typed(out, tool.tool_type());
            if configuration != "{}" {
                object.raw("parameters", configuration);
            }
            object.end();
        }
        // Unsupported was refused before.
        ServerToolForm::Flat | ServerToolForm::Unsupported => {
            let mut object = Object::typed(out, tool.tool_type());
            object.members(configuration);
            object.end();
        }
    }
}
