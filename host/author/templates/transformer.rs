//! A transformer: sees a request and proposes edits.

use leafgate_plugin::transform::*;

/// `config` of the rule file.
#[leafgate_plugin::config]
#[serde(default)]
struct Config {
    /// Spaces that a tab becomes.
    width: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config { width: 4 }
    }
}

/// Writes tabs in tool results as spaces.
#[leafgate_plugin::transformer]
fn rewrite(config: &Config, request: &Request) -> Vec<Edit> {
    let spaces = " ".repeat(config.width);
    let results = request.leaves.iter().filter(|leaf| leaf.kind == LeafKind::ToolResult);
    let tabbed = results.filter(|leaf| leaf.text.contains('\t'));
    tabbed.map(|leaf| leaf.set(leaf.text.replace('\t', &spaces))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_of_results_become_spaces() {
        let request = Request::default()
            .with_section(SectionKind::ToolResult, Role::Tool)
            .with_leaf(LeafKind::ToolResult, "a\tb")
            .with_leaf(LeafKind::ToolResult, "a b");
        let edits = rewrite(&Config { width: 2 }, &request);
        assert_eq!(edits, [request.leaves[0].set("a  b")]);
    }
}
