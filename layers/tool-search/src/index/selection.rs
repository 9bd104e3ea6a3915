//! How several queries share the places of one answer.

use std::collections::HashSet;

use super::tool_index::Hit;

/// Which tools are returned when several queries find more than are wanted: first those of `named`,
/// in its order, then the best of each ranking in turn, the second best of each, and so on.
pub(super) fn select(named: &[Hit], rankings: &[Vec<Hit>], limit: usize) -> Vec<u32> {
    let longest = rankings.iter().map(Vec::len).max().unwrap_or_default();
    let by_rank = (0..longest).flat_map(|rank| rankings.iter().filter_map(move |ranking| ranking.get(rank)));
    let mut seen = HashSet::new();
    named.iter().chain(by_rank).map(|hit| hit.ordinal).filter(|&ordinal| seen.insert(ordinal)).take(limit).collect()
}
