//! The provider's own tools on the wire.

use crate::protocols::members::{Members, write_string};
use std::borrow::Cow;

use tower_genai_core::{Error, ModelRequest, ServerTool};

use super::tools::WireTools;

/// The server tools of a request as they go out.
#[derive(Debug, Default)]
pub(super) struct WireServerTools {
    /// The tools as JSON.
    pub(super) tools: Vec<String>,
    /// What they are called, where they have a name.
    names: Vec<Option<String>>,
    types: Vec<String>,
    /// Names of MCP servers.
    mcp_servers: Vec<String>,
    /// The values of `anthropic-beta` that they need.
    pub(super) betas: Vec<&'static str>,
    /// Whether the last one may carry a cache breakpoint.
    pub(super) last_is_markable: bool,
}

impl WireServerTools {
    /// # Errors
    ///
    /// Names a tool that is declared twice, or that takes the name of a server tool.
    pub(super) fn of(request: &ModelRequest, tools: &WireTools) -> Result<Self, Error> {
        request.validate_server_tools()?;
        let mut wire = Self::default();
        for tool in &request.server_tools {
            wire.push(tool, tools)?;
        }
        if request.extra_body.contains_key("mcp_servers") {
            wire.need("mcp-client-2025-11-20");
        }
        Ok(wire)
    }

    fn push(&mut self, tool: &ServerTool, tools: &WireTools) -> Result<(), Error> {
        let tool_type = tool.tool_type();
        let members = Members::of(tool.configuration().as_str()).unwrap_or(Members(Vec::new()));
        let configured = members.text("name").map(Cow::into_owned);
        let fixed = ServerTool::fixed_name(tool_type).filter(|_| configured.is_none());
        let name = configured.or_else(|| fixed.map(str::to_owned));
        if let Some(name) = &name {
            self.check_name(name, tool_type, tools)?;
        }
        let mut text = String::from("{\"type\":");
        write_string(&mut text, tool_type);
        if let Some(fixed) = fixed {
            text.push_str(",\"name\":");
            write_string(&mut text, fixed);
        }
        if !members.0.is_empty() {
            text.push(',');
        }
        let configuration = tool.configuration().as_str();
        text.push_str(configuration.strip_prefix('{').unwrap_or(configuration));
        if tool_type.starts_with("advisor_") {
            self.need("advisor-tool-2026-03-01");
        }
        if tool_type == "mcp_toolset" {
            self.need("mcp-client-2025-11-20");
            self.mcp_servers.extend(tool.key().1.map(str::to_owned));
        }
        let is_marked = members.get("cache_control").is_some() || members.get("defer_loading").is_some();
        self.last_is_markable = ServerTool::fixed_name(tool_type).is_some() && !is_marked;
        self.tools.push(text);
        self.names.push(name);
        self.types.push(tool_type.to_owned());
        Ok(())
    }

    fn check_name(&self, name: &str, tool_type: &str, tools: &WireTools) -> Result<(), Error> {
        if let Some(taken) = tools.position(name).and_then(|position| tools.name(position)) {
            return Err(Error::invalid(format!(
                "tool `{taken}` is called `{name}` on the wire, which is the name of the server tool `{tool_type}`; rename it"
            )));
        }
        if let Some(position) = self.names.iter().position(|other| other.as_deref() == Some(name)) {
            let other = self.types.get(position).map(String::as_str).unwrap_or_default();
            return Err(Error::invalid(format!("server tools `{other}` and `{tool_type}` are both called `{name}`; keep one of them")));
        }
        Ok(())
    }

    fn need(&mut self, beta: &'static str) {
        if !self.betas.contains(&beta) {
            self.betas.push(beta);
        }
    }

    /// The name of a server tool that is declared.
    pub(super) fn name_of(&self, tool_type: &str) -> Option<&str> {
        let position = self.types.iter().position(|declared| declared == tool_type)?;
        self.names.get(position)?.as_deref()
    }

    pub(super) fn declares(&self, tool_type: &str) -> bool {
        self.types.iter().any(|declared| declared == tool_type)
    }

    /// Whether calls by a name can still be run: the endpoint refuses an unresolved call whose tool is gone.
    pub(super) fn can_run(&self, name: &str, is_mcp: bool) -> bool {
        if is_mcp {
            return !self.mcp_servers.is_empty();
        }
        // Code execution has several tools in one, and the newer web tools bring it along.
        let is_code = name.ends_with("code_execution");
        let runs_code = |tool_type: &String| tool_type.starts_with("code_execution") || tool_type.starts_with("web_");
        self.names.iter().flatten().any(|declared| declared == name) || is_code && self.types.iter().any(runs_code)
    }

    /// Whether a container of code execution has a use in this request.
    pub(super) fn uses_container(&self) -> bool {
        self.can_run("code_execution", false)
    }
}
