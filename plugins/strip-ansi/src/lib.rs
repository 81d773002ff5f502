//! A transformer that takes terminal escapes out of tool results: colours, titles, progress bars
//! that wrote over themselves. A model reads what a person would have seen on the screen.
//!
//! What is left of a text depends on the text alone, so the same result is the same bytes on every
//! turn and the provider's prompt cache stays warm.

mod line;
mod sequence;
mod strip;

use leafgate_plugin::transform::*;

/// `config` of the rule file.
#[leafgate_plugin::config]
#[serde(default)]
struct Config {
    /// Whether a line that was written over, as by a progress bar, is left as it looked last.
    overwritten: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config { overwritten: true }
    }
}

/// Takes terminal escapes out of tool results.
#[leafgate_plugin::transformer]
fn strip_ansi(config: &Config, request: &Request) -> Vec<Edit> {
    let stripped = request.results().map(|leaf| (leaf, strip::strip(&leaf.text, config.overwritten)));
    stripped.filter_map(|(leaf, text)| text.map(|text| leaf.set(text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_stripped_and_other_texts_are_not() {
        let request = Request::default()
            .with_section(SectionKind::User, Role::User)
            .with_leaf(LeafKind::Text, "\x1b[31mred")
            .with_section(SectionKind::ToolResult, Role::Tool)
            .with_leaf(LeafKind::ToolResult, "\x1b[31mred\x1b[0m")
            .with_leaf(LeafKind::Text, "10%\r100%")
            .with_leaf(LeafKind::ToolResult, "plain")
            .with_leaf(LeafKind::Metadata, "\x1b[31mred");
        let edits = strip_ansi(&Config::default(), &request);
        assert_eq!(edits, [request.leaves[1].set("red"), request.leaves[2].set("100%")]);
    }

    #[test]
    fn lines_that_were_written_over_may_stay() {
        let request = Request::default()
            .with_section(SectionKind::ToolResult, Role::Tool)
            .with_leaf(LeafKind::ToolResult, "\x1b[1m10%\r100%");
        let edits = strip_ansi(&Config { overwritten: false }, &request);
        assert_eq!(edits, [request.leaves[0].set("10%\r100%")]);
    }
}
