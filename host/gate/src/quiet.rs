//! Rules that matched before the policy was loaded anew, and do not since.
//!
//! A rule that nothing fits any more looks like one that has nothing to do. The numbers of its own past
//! tell the two apart: where a rule should have matched several times by now and never did, somebody
//! should look.

use std::collections::BTreeMap;

/// Requests since a load before anything is said, and the number of matches that would be expected in
/// them: at five, chance leaves a rule without any once in a hundred and fifty times.
const REQUESTS: u64 = 20;
const EXPECTED: u64 = 5;

/// Most rules that are followed.
const MOST_RULES: usize = 10_000;

/// In how many requests each rule matched, before and since the last load.
#[derive(Debug, Default)]
pub(crate) struct RuleMatches {
    requests: u64,
    by_rule: BTreeMap<String, u64>,
    /// Of the rules that the last load kept: in how many of how many requests.
    before: BTreeMap<String, (u64, u64)>,
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
                *self.by_rule.entry(rule.clone()).or_default() += 1;
            }
        }
    }

    /// A policy with these rules serves from now on. What few requests say is added to what was known.
    pub(crate) fn loaded<'r>(&mut self, rules: impl Iterator<Item = &'r str>) {
        let (requests, since) = (std::mem::take(&mut self.requests), std::mem::take(&mut self.by_rule));
        let known = |rule: &str| {
            let matched = since.get(rule).copied().unwrap_or_default();
            let (before, of) = match self.before.get(rule) {
                Some(before) if requests < REQUESTS || matched == 0 => *before,
                _ => (0, 0),
            };
            (before + matched, of + requests)
        };
        let before =
            rules.map(|rule| (rule.to_owned(), known(rule))).filter(|(_, (matched, _))| *matched > 0);
        self.before = before.take(MOST_RULES).collect();
    }

    /// Returns a line for each rule that should have matched by now.
    pub(crate) fn quiet(&self) -> Vec<String> {
        let is_quiet = |&(rule, &(matched, of)): &(&String, &(u64, u64))| {
            !self.by_rule.contains_key(rule)
                && self.requests >= REQUESTS
                && u128::from(self.requests) * u128::from(matched) >= u128::from(EXPECTED) * u128::from(of)
        };
        let line = |(rule, (matched, of)): (&String, &(u64, u64))| {
            format!(
                "rule `{rule}` matched in {matched} of {of} requests before the policy was loaded last, and in none of {} \
                 since: `leafgate explain REQUEST` says what does not fit",
                self.requests
            )
        };
        self.before.iter().filter(is_quiet).map(line).collect()
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
