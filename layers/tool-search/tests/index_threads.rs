//! Building and searching an index starts no thread. Alone in its process, so that the count is its
//! own.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::fs;

use tower_genai_tool_search::index::{ToolDocument, ToolIndex};

#[test]
fn no_thread_is_started() {
    let threads = || fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    let tools = (0..2_000).map(|_| {
        assert_eq!(threads(), before, "while it is built");
        ToolDocument { name: "ping_host", description: "Sends a packet to a host.", ..ToolDocument::default() }
    });
    let index = ToolIndex::build(tools).unwrap();
    assert_eq!(threads(), before, "once it is built");
    assert_eq!(index.search(&["packet"], 5, 0.0).unwrap().len(), 5);
    assert_eq!(threads(), before, "after a search");
}
