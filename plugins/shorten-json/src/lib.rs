//! A transformer that shortens large JSON tool results to their shape with samples: the first items
//! of long lists, the beginnings of long strings, every key.
//!
//! What is left is JSON and depends on the text alone, so the same result is the same bytes on every
//! turn and the provider's prompt cache stays warm. Numbers and strings that are kept, are kept as
//! they were spelled.

mod shorten;

use leafgate_plugin::transform::*;

use shorten::ShortenLengths;

/// `config` of the rule file.
#[leafgate_plugin::config]
#[serde(default)]
struct Config {
    /// Results up to so many bytes stay as they are.
    min_bytes: usize,
    /// Items of a list that are kept.
    items: usize,
    /// Characters of a string that are kept.
    chars: usize,
    /// Nested lists and objects that are kept; deeper ones are told by their size.
    depth: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config { min_bytes: 8 << 10, items: 3, chars: 200, depth: 8 }
    }
}

/// Shortens large JSON tool results to their shape with samples.
#[leafgate_plugin::transformer(prepare = prepare)]
fn shorten_json(config: &Config, request: &Request) -> Vec<Edit> {
    let limits = ShortenLengths { items: config.items, chars: config.chars, depth: config.depth };
    let large = request.results().filter(|leaf| leaf.text.len() > config.min_bytes);
    large.filter_map(|leaf| shorten::shorten(&leaf.text, &limits).map(|text| leaf.set(text))).collect()
}

fn prepare(config: Config) -> Result<Config, &'static str> {
    if config.items == 0 || config.chars == 0 || config.depth == 0 {
        return Err("`items`, `chars` and `depth` must be at least 1: something has to be left");
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_json_results_are_shortened_and_nothing_else_is() {
        let list = format!("[{}]", vec!["1"; 100].join(","));
        let request = Request::default()
            .with_section(SectionKind::User, Role::User)
            .with_leaf(LeafKind::Text, &list)
            .with_section(SectionKind::ToolResult, Role::Tool)
            .with_leaf(LeafKind::ToolResult, &list)
            .with_leaf(LeafKind::ToolResult, format!("{list} and text"))
            .with_leaf(LeafKind::ToolResult, "[1,2,3,4]");
        let config = prepare(Config { min_bytes: 100, ..Config::default() }).unwrap();
        let edits = shorten_json(&config, &request);
        assert_eq!(edits, [request.leaves[1].set(r#"[1,1,1,"… 97 more"]"#)]);
    }

    #[test]
    fn limits_that_leave_nothing_are_refused() {
        assert!(prepare(Config { items: 0, ..Config::default() }).is_err());
        assert!(prepare(Config { chars: 0, ..Config::default() }).is_err());
        assert!(prepare(Config { depth: 0, ..Config::default() }).is_err());
        assert!(prepare(Config::default()).is_ok());
    }
}
