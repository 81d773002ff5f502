//! A transformer that writes points in time as their date. A system prompt that says when it was
//! made is another text on each request, and no provider's prompt cache knows it again; the day is
//! what a model needs of it.
//!
//! A rule's `match` says where: in the system prompt, where clients put the time, and not in logs
//! that somebody asks about.

mod stamp;

use leafgate_plugin::transform::*;

use stamp::Keep;

/// `config` of the rule file.
#[leafgate_plugin::config]
#[serde(default)]
struct Config {
    /// What is left of a point in time.
    keep: Keep,
}

impl Default for Config {
    fn default() -> Self {
        Config { keep: Keep::Date }
    }
}

/// Writes points in time as their date, so that prompts stay the same.
#[leafgate_plugin::transformer]
fn normalise_timestamps(config: &Config, request: &Request) -> Vec<Edit> {
    let texts = request.leaves.iter().filter(|leaf| is_text(leaf));
    texts.filter_map(|leaf| stamp::normalise(&leaf.text, config.keep).map(|text| leaf.set(text))).collect()
}

/// Reasoning is left out because it may be signed, metadata and options because they are data.
fn is_text(leaf: &Leaf) -> bool {
    leaf.value == ValueType::Text && matches!(leaf.kind, LeafKind::Text | LeafKind::ToolResult)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_normalised_and_data_is_not() {
        let now = "It is 2026-11-22T18:23:08Z.";
        let request = Request::default()
            .with_section(SectionKind::System, Role::System)
            .with_leaf(LeafKind::Text, now)
            .with_leaf(LeafKind::Metadata, now)
            .with_leaf(LeafKind::Text, "no time at all");
        let edits = normalise_timestamps(&Config::default(), &request);
        assert_eq!(edits, [request.leaves[0].set("It is 2026-11-22.")]);
    }
}
