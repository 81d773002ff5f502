//! A detector: says where in a leaf something is that must not be sent. The gate puts the
//! placeholder in.

use leafgate_plugin::detect::*;

/// `config` of the rule file.
#[leafgate_plugin::config]
struct Config {
    /// The words to find.
    words: Vec<String>,
}

/// Finds configured words.
#[leafgate_plugin::detector(labels = ["WORD"])]
fn find(config: &Config, leaf: &Leaf) -> Vec<Finding> {
    let words = config.words.iter().filter(|word| !word.is_empty());
    let found = words.flat_map(|word| leaf.text.match_indices(word.as_str()));
    found.map(|(start, word)| leaf.finding(start..start + word.len())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_wherever_it_stands() {
        let config = Config { words: vec!["Zeppelin".to_owned()] };
        let findings = find(&config, &Leaf::with_text("Zeppelin, on Zeppelin"));
        let places: Vec<_> = findings.iter().map(|finding| finding.at).collect();
        assert_eq!(places, [(0..8).into(), (13..21).into()]);
    }
}
