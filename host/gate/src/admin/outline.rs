//! A request as an outline, level by level, within a budget of entries.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use leafgate_admin::{ErrorCode, OutlineNode, OutlineType, OutlineView, ShownText};
use leafgate_tree::{Document, Draft, LeafKind, NodeId, SectionId, Segment, display_mask};
use percent_encoding::percent_decode_str;

use super::answer::CallFailure;

/// What part of a request is asked for, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OutlineQuery {
    pointer: String,
    entries: usize,
}

impl OutlineQuery {
    /// Reads a query: `pointer=/messages/3&entries=200`, either or none.
    pub(super) fn parse(query: Option<&str>) -> Result<Self, CallFailure> {
        let mut parsed = OutlineQuery { pointer: String::new(), entries: OutlineView::ENTRIES };
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8();
            match (name, value) {
                ("pointer", Ok(pointer)) => parsed.pointer = pointer.into_owned(),
                ("entries", Ok(entries)) => parsed.entries = number(&entries)?,
                _ => {
                    return Err(CallFailure::new(
                        ErrorCode::Malformed,
                        "an outline is asked for by `pointer` and `entries`",
                    ));
                }
            }
        }
        Ok(parsed)
    }
}

fn number(entries: &str) -> Result<usize, CallFailure> {
    let most = OutlineView::MOST_ENTRIES;
    entries.parse().ok().filter(|entries| (1..=most).contains(entries)).ok_or_else(|| {
        CallFailure::new(ErrorCode::Malformed, format!("`entries` is a number from 1 to {most}"))
    })
}

/// The outline of a request as it stands.
pub(super) fn outline(draft: &Draft, version: u64, query: &OutlineQuery) -> Result<OutlineView, CallFailure> {
    let document = draft.document();
    let root = draft
        .resolve(&query.pointer)
        .map_err(|error| CallFailure::new(ErrorCode::NotFound, error.to_string()))?;
    let named = within_budget(draft, root, query.entries);
    let sections = sections_by_node(document);
    let changed: BTreeSet<NodeId> = draft.changes(display_mask).leaves.iter().map(|leaf| leaf.node).collect();
    let mut left_out = 0;
    let nodes = named.iter().map(|(&node, &depth)| {
        let children = children(draft, node);
        let missing: Vec<_> = children.iter().filter(|child| !named.contains_key(child)).collect();
        left_out += missing.iter().map(|&&child| document.subtree(child).len()).sum::<usize>();
        let about = OutlineSubject { draft, sections: &sections, changed: &changed };
        about.node(node, depth, children.len(), missing.len())
    });
    let nodes = nodes.collect();
    Ok(OutlineView { nodes, left_out, version })
}

/// The values that are named with their depths: upper levels first, within a level those that come first.
fn within_budget(draft: &Draft, root: NodeId, entries: usize) -> BTreeMap<NodeId, usize> {
    let mut named = BTreeMap::from([(root, 0)]);
    let mut level = VecDeque::from([(root, 0)]);
    while let Some((node, depth)) = level.pop_front() {
        for child in children(draft, node) {
            if named.len() == entries {
                return named;
            }
            named.insert(child, depth + 1);
            level.push_back((child, depth + 1));
        }
    }
    named
}

/// The values inside a value. A string that was set as a whole has none any more.
fn children(draft: &Draft, node: NodeId) -> Vec<NodeId> {
    if draft.is_whole(node) { Vec::new() } else { draft.document().children(node).collect() }
}

fn sections_by_node(document: &Document) -> BTreeMap<NodeId, SectionId> {
    let ids = (0..document.sections().len()).map(SectionId::from_index);
    // Of two sections of one value the outer one comes first.
    let mut sections = BTreeMap::new();
    for id in ids {
        sections.entry(document.section(id).node).or_insert(id);
    }
    sections
}

struct OutlineSubject<'d> {
    draft: &'d Draft,
    sections: &'d BTreeMap<NodeId, SectionId>,
    changed: &'d BTreeSet<NodeId>,
}

impl OutlineSubject<'_> {
    fn node(&self, node: NodeId, depth: usize, entries: usize, left_out: usize) -> OutlineNode {
        let document = self.draft.document();
        let leaf = document.settable(node).filter(|_| entries == 0);
        let own = self.sections.get(&node).copied();
        let text = leaf.map(|leaf| self.draft.text(leaf.id()).into_cow().into_owned());
        let (text, truncated) = text.map_or((None, false), |text| {
            let (text, truncated) = cut(text);
            (Some(ShownText::new(text)), truncated)
        });
        OutlineNode {
            name: match self.draft.segment(node) {
                Some(Segment::Key(key)) => key.into_owned(),
                Some(Segment::Index(index)) => index.to_string(),
                None => String::new(),
            },
            pointer: self.draft.pointer(node),
            raw_path: self.draft.display_path_now(node),
            depth,
            node_type: match (own, leaf) {
                (Some(section), _) => document.section(section).node_type.into(),
                (None, None) => OutlineType::Group,
                (None, Some(leaf)) if leaf.kind() == LeafKind::Metadata => OutlineType::Metadata,
                (None, Some(_)) => OutlineType::Field,
            },
            section: own.or_else(|| document.section_of(node)).map(|id| self.draft.section_key(id)),
            value: leaf.map(|leaf| leaf.value_type()),
            text,
            truncated,
            entries,
            left_out,
            deleted: self.draft.is_deleted(node),
            changed: self.changed.contains(&node),
        }
    }
}

/// The beginning of a text, and whether there is more.
fn cut(text: String) -> (String, bool) {
    match text.char_indices().nth(OutlineView::TEXT) {
        Some((end, _)) => (text[..end].to_owned(), true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use leafgate_tree::{Author, Format, Limits};

    use super::*;

    const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"one"},
{"type":"text","text":"two"}]},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",
"function":{"name":"run","arguments":"{\"deep\":[1,2]}"}}]}]}"#;

    fn draft() -> Draft {
        let document = Document::parse(BODY.into(), Format::OpenaiChat, &Limits::default()).unwrap();
        Draft::new(Arc::new(document))
    }

    fn lines(view: &OutlineView) -> Vec<String> {
        let line = |node: &OutlineNode| {
            let text = node.text.as_ref().map_or(String::new(), |text| format!(" = {}", text.expose()));
            let out = if node.left_out > 0 { format!(" (+{})", node.left_out) } else { String::new() };
            format!("{}{} {:?}{text}{out}", "  ".repeat(node.depth), node.name, node.node_type)
        };
        view.nodes.iter().map(line).collect()
    }

    fn of(draft: &Draft, query: &str) -> OutlineView {
        outline(draft, 0, &OutlineQuery::parse(Some(query)).unwrap()).unwrap()
    }

    // S0-19, S1-15
    #[test]
    fn groups_fields_parts_and_calls_are_told_apart() {
        assert_eq!(
            lines(&of(&draft(), "pointer=/messages")),
            [
                "messages Group",
                "  0 Message",
                "    role Metadata = user",
                "    content Group",
                "      0 ContentPart",
                "        type Metadata = text",
                "        text Field = one",
                "      1 ContentPart",
                "        type Metadata = text",
                "        text Field = two",
                "  1 Message",
                "    role Metadata = assistant",
                "    content Field = null",
                "    tool_calls Group",
                "      0 ToolCall",
                "        id Metadata = c",
                "        type Metadata = function",
                "        function Group",
                "          name Metadata = run",
                "          arguments Group",
                "            deep Group",
                "              0 Field = 1",
                "              1 Field = 2",
            ]
        );
    }

    // S0-104
    #[test]
    fn a_budget_names_upper_levels_first_and_counts_what_it_leaves_out() {
        let draft = draft();
        let all = of(&draft, "").nodes.len();
        let view = of(&draft, "entries=6");
        assert_eq!(
            lines(&view),
            [
                " Group",
                "  model RequestOption = m",
                "  messages Group",
                "    0 Message (+1)",
                "      role Metadata = user",
                "    1 Message (+3)"
            ]
        );
        assert_eq!(view.nodes.len(), 6);
        // The root of an embedded document counts beside its string.
        assert_eq!(view.left_out, all - 6 + 1);
    }

    // S0-104
    #[test]
    fn a_text_is_cut_and_a_string_set_as_a_whole_is_one_field() {
        let mut draft = draft();
        let arguments = draft.document().resolve("/messages/1/tool_calls/0/function/arguments").unwrap();
        draft.set(arguments, &format!("[\"{}\"]", "é".repeat(200)), &Author::Person).unwrap();
        let view = of(&draft, "pointer=/messages/1/tool_calls/0/function");
        let set = view.nodes.iter().find(|node| node.name == "arguments").unwrap();
        assert!(set.truncated && set.changed && set.node_type == OutlineType::Field);
        assert_eq!(set.text.as_ref().unwrap().expose().chars().count(), OutlineView::TEXT);
        assert_eq!(set.section.as_deref(), Some("assistant-1/toolCall/0"));
    }

    #[test]
    fn a_query_says_where_and_how_much() {
        let query = OutlineQuery::parse(Some("pointer=%2Fa%7E1b&entries=7")).unwrap();
        assert_eq!(query, OutlineQuery { pointer: "/a~1b".to_owned(), entries: 7 });
        for wrong in ["entries=0", "entries=x", "entries=10001", "depth=3", "pointer=%ff"] {
            assert!(OutlineQuery::parse(Some(wrong)).is_err(), "{wrong}");
        }
        let gone = OutlineQuery::parse(Some("pointer=/none")).unwrap();
        assert!(outline(&draft(), 0, &gone).is_err());
    }
}
