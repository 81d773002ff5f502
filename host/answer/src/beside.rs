//! Texts of an answer that stand beside what the model says: what the provider's own tools were
//! asked and gave, what is quoted, what is spoken.
//!
//! They are found by the names of their members, wherever those stand. What is signed, or has an
//! encrypted copy, comes back as it was and is none of them; nor are the calls that a client runs.

use std::collections::BTreeSet;

use leafgate_tree::{NodeId, ValueType};

use crate::account::Heard;
use crate::reading::StrictReading;
use crate::said::Says;

/// Members that hold a text for people, or texts in a list.
const TEXTS: [&str; 26] = [
    "arguments",
    "cited_text",
    "code",
    "content",
    "error",
    "input",
    "logs",
    "output",
    "queries",
    "query",
    "reasoning",
    "reasoning_text",
    "refusal",
    "snippet",
    "stderr",
    "stdout",
    "summary",
    "text",
    "thinking",
    "thought",
    "title",
    "transcript",
    "uri",
    "url",
    "webSearchQueries",
    "web_search_queries",
];

/// Members beside which all is sealed.
const SEALS: [&str; 5] =
    ["signature", "thoughtSignature", "thought_signature", "encrypted_content", "encrypted_index"];

/// Members that say words once more, or none.
const NO_TEXTS: [&str; 5] = ["function_call", "inlineData", "logprobs", "logprobsResult", "usage"];

/// Returns where they stand in an answer that is there as a whole, or in an event. An event shows texts that are sealed
/// only by another one: they are none of them.
pub(crate) fn leaves(says: &dyn Says, paths: &[&str], heard: &Heard, is_event: bool) -> Vec<NodeId> {
    let reading = StrictReading::new(&heard.document);
    let root = reading.root();
    // A list of answers is one.
    let roots = if reading.is_list(root) { heard.document.children(root).collect() } else { vec![root] };
    let mut found = Vec::new();
    for path in paths {
        for &root in &roots {
            let step = |node: Option<NodeId>, key| node.and_then(|node| reading.member(node, key));
            if let Some(node) = path.split('/').skip(1).fold(Some(root), step) {
                walk(says, &reading, node, false, &mut found);
            }
        }
    }
    let said = heard.said.iter().filter(|said| is_event || said.is_judged()).filter_map(|said| said.text());
    let said: BTreeSet<NodeId> = said.map(|(_, leaf)| leaf).collect();
    found.retain(|leaf| !said.contains(leaf));
    found
}

/// Returns whether a member holds such a text.
pub(crate) fn says(says: &dyn Says, reading: &StrictReading<'_>, key: &str, member: NodeId) -> bool {
    let mut found = Vec::new();
    member_says(says, reading, key, member, &mut found);
    !found.is_empty()
}

fn walk(says: &dyn Says, reading: &StrictReading<'_>, node: NodeId, is_text: bool, found: &mut Vec<NodeId>) {
    let document = reading.document;
    if !reading.is_container(node) {
        let is_said = is_text && document.leaf(node).is_some_and(|leaf| leaf.value_type() == ValueType::Text);
        found.extend((is_said && !reading.is_blank(node)).then_some(node));
    } else if reading.is_list(node) {
        document.children(node).for_each(|element| walk(says, reading, element, is_text, found));
    } else if !SEALS.iter().any(|key| reading.present(node, key).is_some()) && !says.is_call(reading, node) {
        reading.members(node).for_each(|(key, member)| member_says(says, reading, &key, member, found));
    }
}

/// Some clients read keys without regard to case.
fn member_says(
    says: &dyn Says,
    reading: &StrictReading<'_>,
    key: &str,
    member: NodeId,
    found: &mut Vec<NodeId>,
) {
    if !NO_TEXTS.contains(&key) {
        walk(says, reading, member, TEXTS.iter().any(|own| own.eq_ignore_ascii_case(key)), found);
    }
}
