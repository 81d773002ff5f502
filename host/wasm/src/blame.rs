//! Which text of a call a plugin failed on, found by asking again about fewer of them.
//!
//! Texts on which it is known to fail are left out first: they come back with every turn, and a
//! plugin that fails on them alone has no new fault.

/// How a call about some of the texts went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskOutcome {
    Answered,
    Failed,
    /// It was not asked, or not to its end: the request has no time left for it.
    Unasked,
}

/// What a fault comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Culprit {
    /// The text of this place.
    Text(usize),
    /// Texts that are known already.
    Known,
    /// There was no time to tell.
    Untold,
}

/// Finds the text that made a call about all of `texts` fail. `ask` calls again about the texts of
/// some places.
///
/// A plugin that fails on a whole and on no part of it is blamed for one of the texts all the same:
/// it is its fault whichever it is.
pub(crate) fn find(
    texts: &[&str],
    is_known: impl Fn(&str) -> bool,
    mut ask: impl FnMut(&[usize]) -> AskOutcome,
) -> Culprit {
    let mut places: Vec<usize> = (0..texts.len()).filter(|&place| !is_known(texts[place])).collect();
    if places.is_empty() {
        return Culprit::Known;
    }
    if places.len() < texts.len() {
        match ask(&places) {
            AskOutcome::Answered => return Culprit::Known,
            AskOutcome::Unasked => return Culprit::Untold,
            AskOutcome::Failed => {}
        }
    }
    while places.len() > 1 {
        let second = places.split_off(places.len() / 2);
        match ask(&places) {
            AskOutcome::Failed => {}
            AskOutcome::Answered => places = second,
            AskOutcome::Unasked => {
                // What takes too long is most likely what is long.
                places.extend(second);
                break;
            }
        }
    }
    places.iter().copied().max_by_key(|&place| texts[place].len()).map_or(Culprit::Untold, Culprit::Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds the culprit, and counts the questions.
    fn search(texts: &[&str], known: &[&str], fails: impl Fn(&[&str]) -> bool) -> (Culprit, usize) {
        let mut asked = 0;
        let culprit = find(
            texts,
            |text| known.contains(&text),
            |places| {
                asked += 1;
                let shown: Vec<&str> = places.iter().map(|&place| texts[place]).collect();
                if fails(&shown) { AskOutcome::Failed } else { AskOutcome::Answered }
            },
        );
        (culprit, asked)
    }

    #[test]
    fn the_one_text_is_found_in_few_questions() {
        let texts: Vec<String> = (0..512).map(|n| format!("text {n}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for place in [0, 1, 255, 256, 511] {
            let poison = texts[place];
            let (culprit, asked) = search(&texts, &[], |shown| shown.contains(&poison));
            assert_eq!(culprit, Culprit::Text(place));
            assert!(asked <= 9, "{asked}");
        }
        assert_eq!(search(&["alone"], &[], |_| true), (Culprit::Text(0), 0), "nobody else is there");
    }

    #[test]
    fn what_is_known_is_not_looked_for_again() {
        let poisoned = |shown: &[&str]| shown.contains(&"bad");
        assert_eq!(search(&["a", "bad", "c"], &["bad"], poisoned), (Culprit::Known, 1));
        assert_eq!(search(&["bad"], &["bad"], poisoned), (Culprit::Known, 0));
    }

    #[test]
    fn a_plugin_that_fails_on_everything_has_a_new_culprit_each_time() {
        let texts = ["a", "b", "c", "d"];
        let mut known: Vec<&str> = Vec::new();
        for _ in texts {
            let (Culprit::Text(place), _) = search(&texts, &known, |_| true) else { panic!("{known:?}") };
            known.push(texts[place]);
        }
        known.sort_unstable();
        assert_eq!(known, texts);
    }

    #[test]
    fn without_time_the_longest_is_blamed_and_nothing_is_said_of_what_is_known() {
        let unasked = |_: &[usize]| AskOutcome::Unasked;
        assert_eq!(find(&["a", "long", "bc"], |_| false, unasked), Culprit::Text(1));
        assert_eq!(find(&["a", "long", "bc"], |text| text == "a", unasked), Culprit::Untold);
    }
}
