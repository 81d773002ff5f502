//! What the user said last in a request, as it would leave.
//!
//! Clients put what they know into the user's message beside his own words: in parts of their own
//! that are tags (Claude Code), in tags before the words (Copilot CLI), or in tags around one that
//! holds the words (VS Code).

use std::ops::Range;
use std::sync::Arc;

use leafgate_admin::ShownText;
use leafgate_tree::{Draft, Leaf, LeafKind, NodeId, NodeType, Role, Section, SectionKind};

/// Characters of a question that a list shows: half a line.
const WORDS_SHOWN: usize = 48;

/// Bytes of a text, as it came, in which words are looked for: nobody types more, and each request is asked.
const LONGEST: usize = 1 << 20;

/// Bytes that hold as many characters as are shown.
const START: usize = 4 * WORDS_SHOWN;

/// The tag in which VS Code puts what the user typed.
const QUERY: (&str, &str) = ("<userRequest>", "</userRequest>");

/// Returns how the latest message of the user begins, as it would leave, on one line.
pub fn first_words_of(draft: &Draft) -> Option<ShownText> {
    let mut last = None;
    for leaf in said_last(draft)? {
        if let Some((words, is_own)) = begins(draft, leaf.id())
            && (last.is_none() || is_own)
        {
            last = Some(words);
        }
    }
    last.map(ShownText::new)
}

/// Returns what the user said last, as it would leave.
pub(crate) fn own_words(draft: &Draft) -> Option<Arc<str>> {
    let mut last = None;
    for leaf in said_last(draft)? {
        let text = draft.text(leaf.id());
        let (at, is_own) = own(text.expose());
        if !at.is_empty() && (last.is_none() || is_own) {
            last = Some((text, at));
        }
    }
    last.map(|(text, at)| text.expose()[at].into())
}

/// The texts of the user's latest message.
fn said_last(draft: &Draft) -> Option<impl Iterator<Item = Leaf<'_>>> {
    let document = draft.document();
    let is_asked = |section: &&Section| {
        let by_user = section.role == Role::User && section.kind == SectionKind::User;
        by_user && section.node_type == NodeType::Message && !draft.is_deleted(section.node)
    };
    let message = document.sections().iter().rev().find(is_asked)?;
    let is_said =
        |leaf: &Leaf<'_>| leaf.kind() == LeafKind::Text && document.body_span(leaf.id()).len() <= LONGEST;
    Some(document.lasting_leaves(message.node).filter(is_said))
}

/// How the user's words in a leaf begin, and whether they are his own. Each request of a conversation
/// is asked, so a text that begins with them is read no further.
fn begins(draft: &Draft, leaf: NodeId) -> Option<(String, bool)> {
    let start = draft.text_start(leaf, START);
    let words = first_words(start.expose());
    if words.ends_with('…') && !words.starts_with('<') {
        return Some((words, true));
    }
    let text = draft.text(leaf);
    let (at, is_own) = own(text.expose());
    (!at.is_empty()).then(|| (first_words(&text.expose()[at]), is_own))
}

/// Where in a text the user's words stand, and whether these are his own and no client's.
fn own(text: &str) -> (Range<usize>, bool) {
    let all = trimmed(text, 0..text.len());
    if !text[all.clone()].starts_with('<') {
        return (all, true);
    }
    let (open, close) = QUERY;
    let start = text.rfind(open).map(|start| start + open.len());
    if let Some(query) = start.and_then(|start| Some(start..start + text[start..].rfind(close)?)) {
        return (trimmed(text, query), true);
    }
    let mut rest = all.clone();
    while let Some(end) = tag_end(&text[rest.clone()]) {
        rest = trimmed(text, rest.start + end..rest.end);
    }
    if rest.is_empty() { (all, false) } else { (rest.clone(), !text[rest].starts_with('<')) }
}

/// Where the tag ends that a text begins with; `None` where it begins with none that is closed.
fn tag_end(text: &str) -> Option<usize> {
    let name: &str = text.strip_prefix('<')?;
    let name = &name[..name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))?];
    let close = format!("</{name}>");
    (!name.is_empty()).then(|| text.find(&close).map(|at| at + close.len())).flatten()
}

fn trimmed(text: &str, at: Range<usize>) -> Range<usize> {
    let start = at.end - text[at.clone()].trim_start().len();
    start..start + text[start..at.end].trim_end().len()
}

fn first_words(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(WORDS_SHOWN));
        if line.chars().count() > WORDS_SHOWN {
            return line.chars().take(WORDS_SHOWN - 1).chain(['…']).collect();
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use leafgate_tree::{Document, Format, Limits, Redaction};

    use super::*;

    fn asks(content: &str) -> Draft {
        let body = format!(
            r#"{{"messages": [{{"role": "user", "content": "First"}}, {{"role": "assistant", "content": "Yes?"}},
                {{"role": "user", "content": {content}}}, {{"role": "assistant", "content": "Well"}}]}}"#
        );
        Draft::new(Arc::new(Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap()))
    }

    // S0-87, S0-129
    #[test]
    fn a_turn_is_called_by_the_first_words_that_the_user_wrote_last() {
        let long = format!("\"{}\"", "long ".repeat(20));
        let longer = format!("\"\\n{}\"", "long\\t ".repeat(20_000));
        for (content, words) in [
            (r#""Look  at\n\tthis""#, "Look at this"),
            (
                r#"[{"type": "text", "text": "<env>Linux</env>"}, {"type": "text", "text": "Why?"}, {"type": "text", "text": "<hint>"}]"#,
                "Why?",
            ),
            (r#"[{"type": "text", "text": "<env>Linux</env>"}]"#, "<env>Linux</env>"),
            (
                r#""<context>\nToday\n</context>\n<userRequest>\nWhy </userRequest>?\n</userRequest>\n""#,
                "Why </userRequest>?",
            ),
            (
                r#"[{"type": "text", "text": "<userRequest>\nWhy?\n</userRequest>\n"}, {"type": "text", "text": "<hint>"}]"#,
                "Why?",
            ),
            (r#""<now>Noon</now>\n\n<at>Here</at>\nWhy <b>?""#, "Why <b>?"),
            (r#""<userRequest>Why?""#, "<userRequest>Why?"),
            (r#""What does <userRequest>a</userRequest> do?""#, "What does <userRequest>a</userRequest> do?"),
            (&longer, "long long long long long long long long long lo…"),
            (&long, "long long long long long long long long long lo…"),
        ] {
            assert_eq!(first_words_of(&asks(content)).unwrap().expose(), words, "{content}");
        }
        assert_eq!(first_words_of(&asks(r#""  ""#)), None);
        assert_eq!(first_words_of(&asks(r#""<userRequest> </userRequest>""#)), None);
    }

    #[test]
    fn invariant_6_the_first_words_are_those_that_would_leave_and_debug_hides_them() {
        let mut draft = asks(r#""Write to jane""#);
        let node = draft.document().resolve("/messages/2/content").unwrap();
        let redaction = Redaction::new(9..13, "NAME", "NAME_x");
        draft.redact(node, &[redaction], &leafgate_tree::Author::rule("names")).unwrap();
        let words = first_words_of(&draft).unwrap();
        assert_eq!(words.expose(), "Write to NAME_x");
        assert_eq!(format!("{words:?}"), "15 bytes of text");
    }
}
