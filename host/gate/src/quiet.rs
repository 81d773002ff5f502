//! In how many requests rules matched, and those that matched before the policy was loaded anew, and do not since.
//!
//! A rule that nothing fits any more looks like one that has nothing to do. The numbers of its own past
//! tell the two apart: where a rule should have matched several times by now and never did, somebody
//! should look.

use std::collections::{BTreeMap, BTreeSet};

use leafgate_admin::RuleCount;

/// Requests since a load before anything is said, and the number of matches that would be expected in
/// them: at five, chance leaves a rule without any once in a hundred and fifty times.
const REQUESTS: u64 = 20;
const EXPECTED: u64 = 5;

/// Most rules that are counted. Reloads bring new ones, and old ones are not forgotten.
const MOST_RULES: usize = 10_000;

/// In how many requests each rule matched.
#[derive(Debug, Default)]
pub(crate) struct RuleMatches {
    /// Those since the last load.
    requests: u64,
    by_rule: BTreeMap<String, RuleHits>,
}

#[derive(Debug, Default)]
struct RuleHits {
    /// Since the gate began.
    all: u64,
    /// Since the last load.
    since: u64,
    /// Before it, where that load kept the rule: in how many of how many requests.
    before: Option<(u64, u64)>,
}

impl RuleMatches {
    /// A request was judged.
    pub(crate) fn judged(&mut self) {
        self.requests += 1;
    }

    /// These rules matched a request that was counted, or its answer.
    pub(crate) fn matched(&mut self, rules: &[String]) {
        for rule in rules {
            if self.by_rule.len() < MOST_RULES || self.by_rule.contains_key(rule) {
                let hits = self.by_rule.entry(rule.clone()).or_default();
                (hits.all, hits.since) = (hits.all + 1, hits.since + 1);
            }
        }
    }

    /// Returns all of them since the gate began.
    pub(crate) fn counts(&self) -> Vec<RuleCount> {
        let count = |(rule, hits): (&String, &RuleHits)| RuleCount { rule: rule.clone(), requests: hits.all };
        self.by_rule.iter().map(count).collect()
    }

    /// A policy with these rules serves from now on. What few requests say is added to what was known.
    pub(crate) fn loaded<'r>(&mut self, rules: impl Iterator<Item = &'r str>) {
        let requests = std::mem::take(&mut self.requests);
        let rules: BTreeSet<&str> = rules.collect();
        for (rule, hits) in &mut self.by_rule {
            let since = std::mem::take(&mut hits.since);
            let before = hits.before.filter(|_| requests < REQUESTS || since == 0);
            let (matched, of) =
                before.map_or((since, requests), |(matched, of)| (matched + since, of + requests));
            hits.before = (matched > 0 && rules.contains(&**rule)).then_some((matched, of));
        }
    }

    /// Returns a line for each rule that should have matched by now.
    pub(crate) fn quiet(&self) -> Vec<String> {
        let is_expected = |matched: u64, of: u64| {
            self.requests >= REQUESTS
                && u128::from(self.requests) * u128::from(matched) >= u128::from(EXPECTED) * u128::from(of)
        };
        let line = |(rule, hits): (&String, &RuleHits)| {
            let (matched, of) =
                hits.before.filter(|(matched, of)| hits.since == 0 && is_expected(*matched, *of))?;
            Some(format!(
                "rule `{rule}` matched in {matched} of {of} requests before the policy was loaded last, and in none of {} \
                 since: `leafgate explain REQUEST` says what does not fit",
                self.requests
            ))
        };
        self.by_rule.iter().filter_map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(matches: &mut RuleMatches, times: usize, rules: &[&str]) {
        let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
        for _ in 0..times {
            matches.judged();
            matches.matched(&rules);
        }
    }

    #[test]
    fn a_rule_that_stopped_is_named_and_one_that_is_seldom_is_not() {
        let mut matches = RuleMatches::default();
        judge(&mut matches, 10, &["often", "stays"]);
        judge(&mut matches, 29, &[]);
        judge(&mut matches, 1, &["seldom", "gone"]);
        assert_eq!(matches.quiet(), [""; 0], "nothing was loaded");
        matches.loaded(["often", "stays", "seldom", "new"].into_iter());
        judge(&mut matches, 19, &["stays"]);
        assert_eq!(matches.quiet(), [""; 0], "too early");
        judge(&mut matches, 1, &["stays"]);
        let quiet = matches.quiet();
        assert_eq!(quiet.len(), 1, "{quiet:?}");
        assert!(quiet[0].starts_with("rule `often` matched in 10 of 40 requests before"), "{quiet:?}");
        assert!(quiet[0].contains("in none of 20 since"), "{quiet:?}");
        judge(&mut matches, 1, &["often"]);
        assert_eq!(matches.quiet(), [""; 0], "it is back");
    }

    #[test]
    fn a_further_load_does_not_forget_what_stopped() {
        let mut matches = RuleMatches::default();
        judge(&mut matches, 20, &["often"]);
        matches.loaded(["often"].into_iter());
        judge(&mut matches, 3, &[]);
        matches.loaded(["often"].into_iter());
        judge(&mut matches, 30, &[]);
        assert!(matches.quiet()[0].contains("in 20 of 23 requests"), "{:?}", matches.quiet());
        matches.loaded(["other"].into_iter());
        judge(&mut matches, 30, &[]);
        assert_eq!(matches.quiet(), [""; 0], "it was taken out");
    }
}
