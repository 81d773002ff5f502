//! A rule's own words, into which facts about the request can be filled: `${leaf.tool}`.
//!
//! The facts are a closed list of kinds, names and counts. None of them is the text of a leaf, since
//! clients, logs and people read the words. Names come from the request all the same: what
//! detectors find in one is masked, and what no name has is left out ([`plain_name`]).

use std::ops::Range;

use leafgate_diagnostic::{TextFault, hint_for};

/// The words of a rule.
#[derive(Clone, Debug)]
pub(crate) struct Reason {
    parts: Vec<ReasonPart>,
}

#[derive(Clone, Debug)]
enum ReasonPart {
    Words(String),
    Fact(Fact),
}

leafgate_words::words! {
    /// A fact that the words of a rule can name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Fact {
        Rule = "rule.id",
        LeafKind = "leaf.kind",
        LeafRole = "leaf.role",
        LeafSection = "leaf.section",
        LeafTool = "leaf.tool",
        RequestFormat = "request.format",
        RequestModel = "request.model",
        RequestAgent = "request.agent",
        RequestBytes = "request.bytes",
        RequestTokens = "request.tokens",
        RequestMessages = "request.messages",
        RequestTools = "request.tools",
    }
    pub(crate) fn name = 0;
}

impl Reason {
    /// Reads the words of a rule. `$${` stands for `${`.
    pub(crate) fn parse(source: &str) -> Result<Reason, Vec<TextFault>> {
        let (mut parts, mut unknown) = (Vec::new(), Vec::new());
        let mut words = String::new();
        let mut at = 0;
        while let Some(found) = source[at..].find("${") {
            let start = at + found;
            if source[at..start].ends_with('$') {
                words.push_str(&source[at..start - 1]);
                words.push_str("${");
                at = start + 2;
                continue;
            }
            words.push_str(&source[at..start]);
            let end = source[start..].find('}').map_or(source.len(), |end| start + end + 1);
            let name = source[start + 2..end].trim_end_matches('}').trim();
            match Fact::from_name(name) {
                Some(fact) => {
                    parts.push(ReasonPart::Words(std::mem::take(&mut words)));
                    parts.push(ReasonPart::Fact(fact));
                }
                None => unknown.push(no_fact(name, start..end)),
            }
            at = end;
        }
        words.push_str(&source[at..]);
        parts.push(ReasonPart::Words(words));
        match unknown.is_empty() {
            true => Ok(Reason { parts }),
            false => Err(unknown),
        }
    }

    /// Whether it asks for the estimate of tokens.
    pub(crate) fn asks_for_tokens(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, ReasonPart::Fact(Fact::RequestTokens)))
    }

    /// Returns the words with each fact as `tell` says it.
    pub(crate) fn told(&self, tell: impl Fn(Fact) -> String) -> String {
        let part = |part: &ReasonPart| match part {
            ReasonPart::Words(words) => words.clone(),
            ReasonPart::Fact(fact) => tell(*fact),
        };
        self.parts.iter().map(part).collect()
    }
}

/// Returns what is wrong with a name in braces that is no fact.
fn no_fact(name: &str, at: Range<usize>) -> TextFault {
    match name {
        "leaf.text" | "leaf.findings" | "leaf.key" | "leaf.path" | "leaf.pointer" => TextFault::new(
            at,
            format!("`{name}` may hold what must not be told"),
            format!("clients and logs read the reason; it can name {}", Fact::NAMES.join(", ")),
        ),
        name => TextFault::new(at, format!("a reason has no `{name}`"), hint_for(name, Fact::NAMES)),
    }
}

/// Longest name that words show, in bytes.
const MAX_NAME: usize = 64;

/// Returns a name without what no name of a tool or model has: it is the sender's to choose.
pub(crate) fn plain_name(name: &str) -> String {
    let plain = |c: &char| c.is_alphanumeric() || "_-.:/@+‹›".contains(*c);
    let kept: String = name.chars().filter(plain).collect();
    kept[..kept.floor_char_boundary(MAX_NAME)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(source: &str) -> String {
        Reason::parse(source).unwrap().told(|fact| format!("<{fact:?}>"))
    }

    #[test]
    fn facts_are_filled_in_and_doubled_signs_are_not() {
        assert_eq!(told("${leaf.tool} of ${ rule.id }!"), "<LeafTool> of <Rule>!");
        assert_eq!(told("costs $5, or $${leaf.tool}"), "costs $5, or ${leaf.tool}");
        assert_eq!(told(""), "");
    }

    #[test]
    fn what_is_no_fact_is_named_with_its_place() {
        let unknown = Reason::parse("a ${leaf.text} b ${leaf.tool").unwrap_err();
        assert_eq!((unknown.len(), &unknown[0].at), (1, &(2..14)));
        assert!(unknown[0].message.contains("`leaf.text`"), "{unknown:?}");
        assert_eq!(Reason::parse("${x").unwrap_err()[0].at, 0..3);
    }

    #[test]
    fn a_name_keeps_nothing_that_could_be_more_than_a_name() {
        assert_eq!(plain_name("run_sql\n\u{1b}[31m<b>"), "run_sql31mb");
        assert_eq!(plain_name(&"é".repeat(100)).len(), MAX_NAME);
    }
}
