//! `cargo xtask invariants`: the tests of each invariant, found by their names.
//!
//! `host/ARCHITECTURE.md` says what each of them promises. A test shows one if its name begins with `invariant_` and its number.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};

use crate::sources::Test;

/// How many invariants there are.
pub(crate) const COUNT: usize = 12;

/// Returns the tests of each invariant. Fails where one has none.
pub(crate) fn of(tests: &[Test]) -> Result<BTreeMap<usize, Vec<String>>> {
    let mut found = BTreeMap::<usize, Vec<String>>::new();
    for Test { file, name, .. } in tests {
        if let Some(rest) = name.strip_prefix("invariant_") {
            let number = rest.split('_').next().and_then(|number| number.parse().ok());
            let number = number.with_context(|| format!("{file}: {name} bears no number"))?;
            found.entry(number).or_default().push(format!("{file}::{name}"));
        }
    }
    let missing: Vec<String> =
        (1..=COUNT).filter(|number| !found.contains_key(number)).map(|number| number.to_string()).collect();
    ensure!(missing.is_empty(), "no test is named after invariant {}", missing.join(", "));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_invariant_has_a_test_with_its_number() {
        assert_eq!(of(&crate::sources::tests().unwrap()).unwrap().len(), COUNT);
    }
}
