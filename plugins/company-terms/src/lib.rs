//! A detector of a company's own terms: names of customers, projects, sites, products. The list may
//! have a hundred thousand of them.
//!
//! A term is a few words. It is found whatever stands between them (`Blue-Sky`, `blue sky`,
//! `Blue  Sky`), and in the middle of a text only where its words begin and end.

mod terms;
mod words;

use leafgate_plugin::detect::*;

use terms::TermList;

/// `config` of the rule file.
#[leafgate_plugin::config]
#[derive(Default)]
#[serde(default)]
struct Config {
    /// The terms.
    terms: Vec<String>,
    /// More of them, one on each line; empty lines and what follows a `#` at the beginning of a
    /// line are left out.
    list: String,
    /// Whether upper and lower case must be the list's.
    case: bool,
}

/// Finds the terms of a list, however they are written.
#[leafgate_plugin::detector(labels = ["TERM"], prepare = prepare)]
fn company_terms(terms: &TermList, leaf: &Leaf) -> Vec<Finding> {
    // An id or a number that reads like a term is none.
    if leaf.value != ValueType::Text {
        return vec![];
    }
    terms.find(&leaf.text).into_iter().map(|at| leaf.finding(at)).collect()
}

fn prepare(config: Config) -> Result<TermList, String> {
    let lines = config.list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    TermList::new(config.terms.iter().map(String::as_str).chain(lines), config.case)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(config: Config, text: &str) -> Vec<&str> {
        let terms = prepare(config).unwrap();
        let findings = company_terms(&terms, &Leaf::with_text(text));
        findings.iter().map(|finding| &text[finding.at.start as usize..finding.at.end as usize]).collect()
    }

    fn listed(list: &str) -> Config {
        Config { list: list.to_owned(), ..Config::default() }
    }

    #[test]
    fn a_list_and_single_terms_are_one_list() {
        let config =
            || Config { terms: vec!["Zeppelin".to_owned()], ..listed("# ours\n\n  Blue Sky \nACME\n") };
        let text = "ACME's blue-sky and zeppelin, not # ours";
        assert_eq!(found(config(), text), ["ACME", "blue-sky", "zeppelin"]);
        assert_eq!(found(Config { case: true, ..config() }, text), ["ACME"]);
    }

    #[test]
    fn a_number_is_no_text() {
        let terms = prepare(listed("4711")).unwrap();
        let leaf = Leaf { value: ValueType::Number, ..Leaf::with_text("4711") };
        assert_eq!(company_terms(&terms, &leaf), []);
        assert_eq!(company_terms(&terms, &Leaf::with_text("4711")).len(), 1);
    }

    #[test]
    fn a_list_without_terms_or_with_one_that_is_none_is_a_mistake() {
        for (list, told) in [
            ("", "no terms"),
            ("# nothing", "no terms"),
            ("a\n--\n", "`--` has no word"),
            ("x x x x x x x x x", "more than 8 words"),
        ] {
            assert!(prepare(listed(list)).err().unwrap().contains(told), "{list}");
        }
    }
}
