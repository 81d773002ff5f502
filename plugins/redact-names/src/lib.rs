//! A detector for names that no pattern knows: customers, colleagues, products.
//!
//! The configuration lists names as people write them in full; `index` holds the other ways to
//! write them, and `fold` makes case and accents the same. A name is found between word boundaries
//! only: `Ann` is not in `annual`.

mod begin;
mod fold;
mod index;

use leafgate_plugin::detect::*;

pub use index::NameIndex;

/// `config` of the rule file.
#[leafgate_plugin::config]
struct Config {
    /// Names in full, given name first.
    names: Vec<String>,
}

/// Finds configured names and the ways in which people write them.
#[leafgate_plugin::detector(labels = ["NAME"], prepare = prepare)]
fn redact_names(index: &NameIndex, leaf: &Leaf) -> Vec<Finding> {
    index.find(&leaf.text).map(|at| leaf.finding(at)).collect()
}

fn prepare(config: Config) -> Result<NameIndex, String> {
    if config.names.is_empty() {
        return Err("`names` is empty, so nothing would ever be found".to_owned());
    }
    // The message names the place, not the name: it may be shown where names must not be.
    NameIndex::of(&config.names).map_err(|(place, reason)| format!("`names[{place}]` {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(names: &[&str], text: &'t str) -> Vec<&'t str> {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let index = prepare(Config { names }).unwrap();
        let leaf = Leaf::with_text(text);
        let findings = redact_names(&index, &leaf);
        findings.iter().map(|finding| &text[finding.at.start as usize..finding.at.end as usize]).collect()
    }

    #[test]
    fn a_name_is_found_however_it_is_written() {
        for text in [
            "Ada Lovelace",
            "ADA LOVELACE",
            "ada lovelace",
            "Ada  Lovelace",
            "Ada\nLovelace",
            "Ada\u{a0}Lovelace",
            "Ada-Lovelace",
            "AdaLovelace",
            "ada_lovelace",
            "ada.lovelace",
            "ada+lovelace",
            "ada%20lovelace",
            "Lovelace, Ada",
            "LOVELACE,Ada",
            "A. Lovelace",
            "A.Lovelace",
            "Lovelace, A.",
            "Àda Lövelace",
            "A\u{301}da Lovelace",
        ] {
            assert_eq!(found(&["Ada Lovelace"], text), [text], "{text}");
        }
    }

    #[test]
    fn only_the_name_itself_is_found() {
        assert_eq!(found(&["Ada Lovelace"], "It was Ada Lovelace's idea."), ["Ada Lovelace"]);
        assert_eq!(found(&["Ada Lovelace"], "It was Ada Lovelace’s idea."), ["Ada Lovelace"]);
        assert_eq!(found(&["Ada Lovelace"], "mail ada.lovelace@example.org"), ["ada.lovelace"]);
        assert_eq!(found(&["Ada Lovelace"], "/srv/ada_lovelace/notes"), ["ada_lovelace"]);
    }

    #[test]
    fn parts_of_words_and_other_people_are_not_found() {
        for text in [
            "Ada",
            "Lovelace",
            "Adas Lovelace",
            "Ada Lovelacesque",
            "XAda Lovelace",
            "B. Lovelace",
            "Ada; Lovelace",
            "Ada Byron",
            "Ada Lovelaceé",
        ] {
            assert!(found(&["Ada Lovelace"], text).is_empty(), "{text}");
        }
        assert!(found(&["Ann"], "annual planning").is_empty());
    }

    #[test]
    fn middle_names_may_be_initials_or_missing() {
        for text in [
            "Augusta Ada King",
            "Augusta A. King",
            "A. A. King",
            "A.A. King",
            "Augusta King",
            "King, Augusta Ada",
            "King, A. A.",
        ] {
            assert_eq!(found(&["Augusta Ada King"], text), [text], "{text}");
        }
    }

    #[test]
    fn accents_fold_in_the_configured_name_too() {
        for text in ["Jürgen Groß", "Jurgen Gross", "Juergen Gross", "JÜRGEN GROSS"] {
            assert_eq!(found(&["Jürgen Groß"], text), [text], "{text}");
        }
        assert_eq!(found(&["Łukasz Żółw"], "lukasz zolw"), ["lukasz zolw"]);
        assert_eq!(found(&["Анна Каренина"], "анна КАРЕНИНА"), ["анна КАРЕНИНА"]);
    }

    #[test]
    fn names_are_found_where_words_are_not_spaced() {
        assert_eq!(found(&["山田太郎"], "「山田太郎」"), ["山田太郎"]);
        assert_eq!(found(&["山田太郎"], "昨日山田太郎さんが"), ["山田太郎"]);
        assert_eq!(found(&["김철수"], "김철수는 왔다"), ["김철수"]);
    }

    #[test]
    fn the_longest_name_wins_and_all_places_are_found() {
        assert_eq!(
            found(&["Acme", "Acme Rockets"], "Acme, Acme Rockets and ACME"),
            ["Acme", "Acme Rockets", "ACME"]
        );
    }

    #[test]
    fn names_that_would_match_everything_are_refused_by_place() {
        let message = |names: &[&str]| {
            let names = names.iter().map(|&name| name.to_owned()).collect();
            prepare(Config { names }).err().unwrap()
        };
        assert!(message(&[]).contains("empty"));
        assert!(message(&["Acme", "  "]).starts_with("`names[1]`"));
        assert!(message(&["A"]).contains("two letters"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived_and_findings_are_in_order(text in "\\PC{0,40}( |-|, )?(ada|Lovelace|é|ß)?\\PC{0,40}") {
            let index = prepare(Config { names: vec!["Ada Lovelace".to_owned(), "Éß ß".to_owned()] }).unwrap();
            let mut last = 0;
            for at in index.find(&text) {
                proptest::prop_assert!(last <= at.start && at.start < at.end);
                proptest::prop_assert!(text.is_char_boundary(at.start) && text.is_char_boundary(at.end));
                last = at.end;
            }
        }

        #[test]
        fn a_name_between_other_words_is_always_found(before in "\\PC{0,20}", after in "\\PC{0,20}") {
            let text = format!("{before} Ada Lovelace {after}");
            let index = prepare(Config { names: vec!["Ada Lovelace".to_owned()] }).unwrap();
            let place = before.len() + 1;
            proptest::prop_assert!(index.find(&text).any(|at| at.start <= place && place + 12 <= at.end));
        }
    }
}
