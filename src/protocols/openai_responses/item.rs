//! The items of this protocol and who answers them.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::protocols::lenient::{Text, read};

/// An item of an answer or of the input; only what is looked at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Item<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) call_id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) namespace: Text<'a>,
    #[serde(borrow)]
    pub(super) role: Text<'a>,
    #[serde(borrow)]
    pub(super) server_label: Text<'a>,
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    #[serde(borrow)]
    pub(super) execution: Text<'a>,
    #[serde(borrow)]
    pub(super) encrypted_content: Text<'a>,
    /// Free text of a custom call.
    #[serde(borrow)]
    pub(super) input: Text<'a>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) summary: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) caller: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) action: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) actions: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) operation: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) environment: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) queries: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) code: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// What an item is, for a reader who has to answer it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// What the model says.
    Message,
    /// What it thinks.
    Reasoning,
    /// A call that the caller answers.
    Call(Call),
    /// A call that the provider runs.
    Hosted,
    /// A summary of everything before.
    Compaction,
    /// Anything else: kept, and looked at by nobody.
    #[default]
    Other,
}

/// A call that the caller answers, by the kind of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Function,
    Custom,
    Search,
    Computer,
    Shell,
    LocalShell,
    ApplyPatch,
    /// A question whether the provider may call a tool of an MCP server.
    Approval,
}

impl Call {
    /// The type of the item that answers it.
    pub(super) const fn answer_type(self) -> &'static str {
        match self {
            Self::Function => "function_call_output",
            Self::Custom => "custom_tool_call_output",
            Self::Search => "tool_search_output",
            Self::Computer => "computer_call_output",
            Self::Shell => "shell_call_output",
            Self::LocalShell => "local_shell_call_output",
            Self::ApplyPatch => "apply_patch_call_output",
            Self::Approval => "mcp_approval_response",
        }
    }
}

impl<'a> Item<'a> {
    /// Reads an item; what has no form that is known here is an [`Role::Other`].
    pub(super) fn read(json: &'a str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// What the item is. The kinds that the caller runs are listed; the end of a type's name says nothing about that.
    pub(super) fn role(&self) -> Role {
        Role::Call(match &*self.kind {
            "function_call" => Call::Function,
            // xAI reports searches of its own in the form of a custom call.
            "custom_tool_call" if self.call_id.starts_with("xs_call") => return Role::Hosted,
            "custom_tool_call" => Call::Custom,
            "tool_search_call" if self.is_client_search() => Call::Search,
            "computer_call" => Call::Computer,
            "shell_call" if self.runs_in_a_container() => return Role::Hosted,
            "shell_call" => Call::Shell,
            "local_shell_call" => Call::LocalShell,
            "apply_patch_call" => Call::ApplyPatch,
            "mcp_approval_request" => Call::Approval,
            "message" => return Role::Message,
            "" if !self.role.is_empty() => return Role::Message,
            "reasoning" => return Role::Reasoning,
            "compaction" => return Role::Compaction,
            "mcp_list_tools" | "program" => return Role::Hosted,
            kind if kind.ends_with("_call") => return Role::Hosted,
            _ => return Role::Other,
        })
    }

    fn is_client_search(&self) -> bool {
        match &*self.execution {
            "client" => true,
            "" => !self.call_id.is_empty(),
            _ => false,
        }
    }

    fn runs_in_a_container(&self) -> bool {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Environment<'a> {
            #[serde(borrow, rename = "type")]
            kind: Text<'a>,
        }
        let environment: Environment<'_> = read(self.environment);
        !matches!(&*environment.kind, "" | "local")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_client_runs_is_listed_and_everything_else_is_hosted() {
        let call = Role::Call;
        for (json, role) in [
            (r#"{"type":"function_call"}"#, call(Call::Function)),
            (r#"{"type":"custom_tool_call","call_id":"call_1"}"#, call(Call::Custom)),
            (r#"{"type":"custom_tool_call","call_id":"xs_call_1"}"#, Role::Hosted),
            (r#"{"type":"tool_search_call","execution":"client","call_id":null}"#, call(Call::Search)),
            (r#"{"type":"tool_search_call","execution":"server","call_id":null}"#, Role::Hosted),
            (r#"{"type":"tool_search_call","call_id":"c"}"#, call(Call::Search)),
            (r#"{"type":"tool_search_call"}"#, Role::Hosted),
            (r#"{"type":"computer_call"}"#, call(Call::Computer)),
            (r#"{"type":"shell_call"}"#, call(Call::Shell)),
            (r#"{"type":"shell_call","environment":{"type":"local"}}"#, call(Call::Shell)),
            (r#"{"type":"shell_call","environment":null}"#, call(Call::Shell)),
            (r#"{"type":"shell_call","environment":{"type":"container_reference"}}"#, Role::Hosted),
            (r#"{"type":"local_shell_call"}"#, call(Call::LocalShell)),
            (r#"{"type":"apply_patch_call"}"#, call(Call::ApplyPatch)),
            (r#"{"type":"mcp_approval_request"}"#, call(Call::Approval)),
            (r#"{"type":"mcp_call"}"#, Role::Hosted),
            (r#"{"type":"mcp_list_tools"}"#, Role::Hosted),
            (r#"{"type":"x_search_call"}"#, Role::Hosted),
            (r#"{"type":"program"}"#, Role::Hosted),
            (r#"{"type":"program_output"}"#, Role::Other),
            (r#"{"type":"shell_call_output"}"#, Role::Other),
            (r#"{"role":"assistant","content":"x"}"#, Role::Message),
            (r#"{"type":"compaction"}"#, Role::Compaction),
            (r#"{"type":"brand_new"}"#, Role::Other),
            ("[]", Role::Other),
        ] {
            assert_eq!(Item::read(json).role(), role, "{json}");
        }
    }
}
