//! A transformer that writes home directories as `~`: who works on which machine is nobody's
//! business upstream.
//!
//! Only the home directory itself is replaced, the rest of the path stays. Where a path is not
//! certainly one (`/srv/home/x`, a URL), it is left alone.

mod paths;

use leafgate_plugin::transform::*;

use paths::{SystemKind, SystemKinds};

/// `config` of the rule file.
#[leafgate_plugin::config]
#[serde(default)]
struct Config {
    /// Which home directories are rewritten; all by default.
    kinds: Vec<SystemKind>,
}

impl Default for Config {
    fn default() -> Self {
        Config { kinds: vec![SystemKind::Linux, SystemKind::Macos, SystemKind::Windows, SystemKind::Root] }
    }
}

/// Writes home directories as ~ in texts, tool arguments and tool results.
#[leafgate_plugin::transformer(prepare = prepare)]
fn rewrite_home_paths(kinds: &SystemKinds, request: &Request) -> Vec<Edit> {
    let leaves = request.leaves.iter().filter(|leaf| is_prose(leaf));
    leaves.filter_map(|leaf| kinds.rewrite(&leaf.text).map(|text| leaf.set(text))).collect()
}

fn prepare(config: Config) -> Result<SystemKinds, &'static str> {
    if config.kinds.is_empty() {
        return Err("`kinds` is empty, so nothing would ever be rewritten");
    }
    Ok(SystemKinds(config.kinds))
}

/// Reasoning is left out because it may be signed, metadata because it is ids and names.
fn is_prose(leaf: &Leaf) -> bool {
    leaf.value == ValueType::Text
        && matches!(leaf.kind, LeafKind::Text | LeafKind::ToolArguments | LeafKind::ToolResult)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_edit_for_each_leaf_that_holds_a_home_directory() {
        let request = Request::default()
            .with_section(SectionKind::User, Role::User)
            .with_leaf(LeafKind::Text, "look into /home/ada/src")
            .with_leaf(LeafKind::Text, "nothing here")
            .with_leaf(LeafKind::ToolArguments, "/Users/ada/notes.md")
            .with_leaf(LeafKind::ToolResult, "C:\\Users\\ada: denied");
        let edits = rewrite_home_paths(&prepare(Config::default()).unwrap(), &request);
        let leaf = |place: usize| &request.leaves[place];
        assert_eq!(
            edits,
            [leaf(0).set("look into ~/src"), leaf(2).set("~/notes.md"), leaf(3).set("~: denied")]
        );
    }

    #[test]
    fn ids_reasoning_and_numbers_are_left_alone() {
        let mut request = Request::default()
            .with_section(SectionKind::Assistant, Role::Assistant)
            .with_leaf(LeafKind::Metadata, "/home/ada")
            .with_leaf(LeafKind::Reasoning, "/home/ada")
            .with_leaf(LeafKind::Text, "/home/ada");
        request.leaves[2].value = ValueType::Number;
        assert_eq!(rewrite_home_paths(&prepare(Config::default()).unwrap(), &request), []);
    }

    #[test]
    fn no_kinds_are_a_mistake() {
        assert!(prepare(Config { kinds: vec![] }).is_err());
    }
}
