//! Reasoning that is bound to the prompt that produced it.

use std::collections::HashSet;

use xxhash_rust::xxh3::Xxh3;

use super::{
    dialogue::{BlockKind, Dialogue, Role},
    tools::WireTools,
};

/// What becomes of the reasoning in a dialogue.
#[derive(Debug)]
pub(super) struct Settled {
    /// Blocks that are left out.
    pub(super) left_out: HashSet<usize>,
    /// Whether the request has to go without thinking.
    pub(super) without_thinking: bool,
    /// The hash of this prompt.
    pub(super) prefix: String,
}

/// Decides about each block of reasoning, and hashes the prompt: `head` is what stands before the dialogue.
///
/// A block of an earlier turn whose prompt differs now is left out. Within the current turn (behind the last user message that answers no call)
/// nothing is left out while the model thinks: where `binds` and its prompt differs, the request goes without those blocks and without thinking.
/// Reasoning itself is not part of the hash, as it may be left out before others.
pub(super) fn settle(dialogue: &Dialogue, tools: &WireTools, head: &[&str], binds: bool) -> Settled {
    let mut hasher = Xxh3::new();
    let feed = |hasher: &mut Xxh3, text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    for text in head {
        feed(&mut hasher, text);
    }
    let current = current_turn(dialogue);
    let (mut turns, mut references) = (dialogue.turns.iter().peekable(), dialogue.references.iter().peekable());
    let (mut left_out, mut of_current) = (HashSet::new(), Vec::new());
    let (mut differs, mut current_differs) = (false, false);
    for (at, block) in dialogue.blocks.iter().enumerate() {
        while let Some(turn) = turns.next_if(|turn| turn.block <= at) {
            differs = turn.prefix.as_deref().is_some_and(|prefix| prefix != digest(&hasher));
        }
        if let BlockKind::Thinking { is_altered } = block.kind {
            let is_stale = differs || is_altered;
            if at > current {
                of_current.push(at);
                current_differs |= is_stale;
            } else if is_stale {
                left_out.insert(at);
            }
            continue;
        }
        feed(&mut hasher, block.role.as_str());
        feed(&mut hasher, dialogue.json(block));
        while let Some((_, tool)) = references.next_if(|(block, _)| *block <= at) {
            feed(&mut hasher, tools.definition(*tool));
        }
    }
    let without_thinking = binds && current_differs;
    if without_thinking {
        left_out.extend(of_current);
    }
    Settled { left_out, without_thinking, prefix: digest(&hasher) }
}

fn digest(hasher: &Xxh3) -> String {
    format!("{:032x}", hasher.digest128())
}

/// The last block of the last user message that answers no call: the current turn is what follows.
fn current_turn(dialogue: &Dialogue) -> usize {
    let (mut current, mut answers, mut last_role) = (0, false, None);
    for (at, block) in dialogue.blocks.iter().enumerate() {
        if last_role != Some(block.role) {
            answers = false;
        }
        answers |= block.kind == BlockKind::Result;
        last_role = Some(block.role);
        if block.role == Role::User && !answers {
            current = at;
        }
    }
    current
}
