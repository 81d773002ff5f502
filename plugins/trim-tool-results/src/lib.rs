//! A transformer that keeps head and tail of long tool results, with one line between them that
//! says how much was cut.
//!
//! The line depends on the text alone, so the same result is trimmed to the same bytes on every
//! turn and the provider's prompt cache stays warm.

mod trim;

use leafgate_plugin::transform::*;

use trim::TrimBudget;

/// `config` of the rule file.
#[leafgate_plugin::config]
#[serde(default)]
struct Config {
    /// Lines that a result may have after trimming, the line that tells of the cut included.
    max_lines: usize,
    /// Bytes that a result may have after trimming.
    max_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config { max_lines: 400, max_bytes: 32 * 1024 }
    }
}

/// Keeps head and tail of long tool results.
#[leafgate_plugin::transformer(prepare = prepare)]
fn trim_tool_results(budget: &TrimBudget, request: &Request) -> Vec<Edit> {
    request.results().filter_map(|leaf| budget.trim(&leaf.text).map(|text| leaf.set(text))).collect()
}

fn prepare(config: Config) -> Result<TrimBudget, String> {
    TrimBudget::new(config.max_lines, config.max_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget() -> TrimBudget {
        prepare(Config { max_lines: 3, max_bytes: 1000 }).unwrap()
    }

    #[test]
    fn long_results_are_trimmed_and_short_ones_and_other_texts_are_not() {
        let request = Request::default()
            .with_section(SectionKind::User, Role::User)
            .with_leaf(LeafKind::Text, "1\n2\n3\n4\n5\n")
            .with_section(SectionKind::ToolResult, Role::Tool)
            .with_leaf(LeafKind::ToolResult, "1\n2\n3\n4\n5\n")
            .with_leaf(LeafKind::Text, "1\n2\n3\n4\n5\n")
            .with_leaf(LeafKind::ToolResult, "1\n2\n3\n")
            .with_leaf(LeafKind::Metadata, "1\n2\n3\n4\n5\n");
        let edits = trim_tool_results(&budget(), &request);
        let targets: Vec<_> = edits.iter().map(|edit| edit.target).collect();
        assert_eq!(targets, [Target::Leaf(1), Target::Leaf(2)]);
    }

    #[test]
    fn limits_that_leave_no_room_are_refused() {
        assert!(prepare(Config { max_lines: 2, ..Config::default() }).is_err());
        assert!(prepare(Config { max_bytes: 10, ..Config::default() }).is_err());
        assert!(prepare(Config::default()).is_ok());
    }
}
