//! What a mistyped name may have meant.

use strsim::{jaro_winkler, osa_distance};

/// The known names nearest to a mistyped one, at most so many are shown.
const NEAREST: usize = 3;
/// A list of names that is shown whole.
const SHORT_LIST: usize = 30;

/// Returns the known name that a mistyped one most likely means: one that a slip or two leads to,
/// or that it abbreviates.
pub fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let slips = (typed.chars().count() / 3).max(1);
    let likely = |name: &&str| osa_distance(typed, name) <= slips || abbreviates(typed, name);
    known.into_iter().filter(likely).min_by_key(|name| osa_distance(typed, name))
}

/// A beginning of three letters or more: `req` for `request`.
fn abbreviates(typed: &str, name: &str) -> bool {
    typed.len() >= 3 && name.starts_with(typed)
}

/// Returns a hint for a mistyped name: the likely one, or all of a short list, or the nearest of a
/// long one.
pub fn hint_for(typed: &str, known: &[&str]) -> String {
    if let Some(name) = did_you_mean(typed, known.iter().copied()) {
        return format!("did you mean `{name}`?");
    }
    if known.len() <= SHORT_LIST {
        return format!("known here: {}", known.join(", "));
    }
    let mut nearest = known.to_vec();
    nearest.sort_by(|a, b| jaro_winkler(typed, b).total_cmp(&jaro_winkler(typed, a)));
    nearest.truncate(NEAREST);
    format!("the nearest of {} names: {}", known.len(), nearest.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_is_made_for_a_slip_and_for_an_abbreviation_alone() {
        let known = ["path", "pause", "text", "request", "assistant"];
        for (typed, meant) in
            [("txt", "text"), ("req", "request"), ("assistent", "assistant"), ("pasue", "pause")]
        {
            assert_eq!(did_you_mean(typed, known), Some(meant), "{typed}");
        }
        for typed in ["pattern", "pass", "x", ""] {
            assert_eq!(did_you_mean(typed, known), None, "{typed}");
        }
    }

    #[test]
    fn of_a_long_list_the_nearest_are_named() {
        let known: Vec<String> = (0..200).map(|n| format!("name-{n}")).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let hint = hint_for("quite-another", &known);
        assert!(hint.starts_with("the nearest of 200 names: ") && hint.len() < 80, "{hint}");
    }
}
