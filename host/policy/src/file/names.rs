//! The ways in which people are written, from their names.

/// What stands before a last name.
const TITLES: [&str; 6] = ["Mr", "Mrs", "Ms", "Miss", "Dr", "Prof"];

/// Returns a name as it is, and in the other ways in which it is written. A first or a last name alone is
/// none of them: too many people, places and things are called so.
pub(super) fn variants(name: &str) -> Vec<String> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let mut all = vec![words.join(" ")];
    // `van Beethoven` is a last name of two words.
    let is_particle = |word: &&str| word.chars().all(char::is_lowercase);
    let last =
        words.iter().position(is_particle).filter(|at| *at > 0).unwrap_or(words.len().saturating_sub(1));
    let (given, last) = words.split_at(last);
    let Some(first) = given.first() else { return all };
    let last = last.join(" ");
    let initial = |word: &str| word.chars().next().map(|letter| letter.to_uppercase().to_string());
    all.push(format!("{first} {last}"));
    all.push(format!("{last}, {first}"));
    all.push(format!("{last}, {}", given.join(" ")));
    if let Some(letter) = initial(first) {
        // Without the dot, `a miller` would be one.
        all.extend([format!("{letter}. {last}"), format!("{last}, {letter}.")]);
    }
    all.extend(TITLES.iter().flat_map(|title| [format!("{title} {last}"), format!("{title}. {last}")]));
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_written_in_many_ways() {
        let of = |name: &str| variants(name);
        for way in ["Ann Miller", "Miller, Ann", "A. Miller", "Ms Miller", "Dr. Miller", "Miller, A."] {
            assert!(of("Ann  Miller").contains(&way.to_owned()), "{way}");
        }
        assert!(of("Ann Lee Miller").contains(&"Ann Miller".to_owned()));
        assert!(of("Ludwig van Beethoven").contains(&"L. van Beethoven".to_owned()));
        assert_eq!(of("Madonna"), ["Madonna"]);
        assert!(!of("Ann Miller").iter().any(|way| way == "Ann" || way == "Miller"));
    }
}
