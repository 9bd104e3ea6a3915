//! The team's tools.

use tower_genai::{Error, Json, ToolDefinition, ToolSet};

const THINGS: [&str; 10] = ["payment", "invoice", "order", "parcel", "customer", "ticket", "coupon", "subscription", "article", "supplier"];

const ACTIONS: [&str; 12] =
    ["create", "read", "update", "delete", "list", "archive", "export", "approve", "reject", "assign", "refund", "tag"];

/// One tool that every question needs, and 120 that most do not. Built once: the layers keep what they make of a set.
pub(crate) fn tools() -> Result<ToolSet, Error> {
    let mut tools = vec![ToolDefinition::new("current_time").description("The current date and time")];
    for thing in THINGS {
        for action in ACTIONS {
            let parameters = Json::parse(&format!(
                r#"{{"type":"object","properties":{{"id":{{"type":"string","description":"Identifies the {thing}"}},"reason":{{"type":"string","description":"Why, for the record"}}}},"required":["id"]}}"#
            ))?;
            let tool = ToolDefinition::new(format!("{action}_{thing}")).description(format!("{action} a {thing}")).parameters(parameters);
            tools.push(tool.deferred(true));
        }
    }
    ToolSet::new(tools)
}
