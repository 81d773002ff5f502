//! What a gate counts, as Prometheus reads it (text format 0.0.4).
//!
//! Numbers and names of our own: rules, detectors, verdicts, calls of the admin API. Nothing that a
//! request or an answer says, and no name that a client chooses.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use http::StatusCode;
use leafgate_admin::{Counts, RuleCount, Status, StatusCount, Subagents, TurnMode};
use leafgate_policy::MemoCounts;
use leafgate_record::AnswerOutcome;
use leafgate_tree::RedactionRecord;
use leafgate_vault::TokenCounts;

use crate::lock::lock;
use crate::saved::SavedCounts;
use crate::tally::RuleTally;
use leafgate_http::Code;

/// The media type of the format.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Series of one name. Reloads bring rules and take them away, and their series stay: what is beyond
/// this is counted as [`OTHERS`].
const MOST_SERIES: usize = 2000;

/// The label of what has no series of its own.
pub(crate) const OTHERS: &str = "(others)";

/// Upper ends of the buckets of latencies, in seconds: from a request of 2 KB that is known to a model that thinks for minutes.
const BUCKETS: [f64; 16] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0,
];

/// Counts that are named as what they count.
macro_rules! each {
    ($of:expr; $($field:ident),+) => { [$(([stringify!($field)], $of.$field)),+] };
}

/// What became of the requests so far, and what happens besides. What [`Status`] counts already is not counted twice.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    counted: Mutex<RequestCounts>,
    in_flight: InFlight,
    judging: Histogram,
    upstream: Histogram,
    rule_hits: CounterFamily,
    rule_errors: CounterFamily,
    findings: CounterFamily,
    plugin_micros: CounterFamily,
    calls: CounterFamily,
    modes: CounterFamily,
    /// By how they ended, and where in their client they were asked. Both are words of ours.
    turns_over: Mutex<BTreeMap<[Box<str>; 2], u64>>,
}

#[derive(Debug, Default)]
pub(crate) struct RequestCounts {
    /// Requests by how they ended.
    pub(crate) requests: Counts,
    by_status: BTreeMap<u16, u64>,
}

/// A request in flight, until it is dropped: they are counted by who holds this.
pub(crate) type InFlight = Arc<()>;

/// What others count.
pub(crate) struct Counted<'s> {
    pub(crate) status: &'s Status,
    pub(crate) agents: &'s Subagents,
    pub(crate) tokens: TokenCounts,
    pub(crate) memo: MemoCounts,
    pub(crate) saved: SavedCounts,
    /// How many sections a capture shows first.
    pub(crate) preview_limit: usize,
}

impl Counters {
    /// A request has come.
    pub(crate) fn in_flight(&self) -> InFlight {
        Arc::clone(&self.in_flight)
    }

    /// Returns how many requests have come and are not answered to their end.
    pub(crate) fn count_in_flight(&self) -> usize {
        Arc::strong_count(&self.in_flight) - 1
    }

    /// Returns what all requests share. Nobody keeps it for longer than a count takes.
    pub(crate) fn counted(&self) -> MutexGuard<'_, RequestCounts> {
        lock(&self.counted)
    }

    /// An upstream began to answer, after this time.
    pub(crate) fn answered(&self, status: StatusCode, after: Duration) {
        self.counted().answered(status);
        self.upstream.add(after);
    }

    /// Rules ran on a request, which took so long, or on an answer: they matched, or could not run to their end.
    pub(crate) fn rules_ran(&self, tally: &RuleTally, took: Option<Duration>) {
        let mut counted = self.counted();
        counted.requests.faults += tally.errors.len() as u64;
        counted.requests.files_read += tally.files_read as u64;
        counted.requests.unread += tally.unread as u64;
        drop(counted);
        took.into_iter().for_each(|took| self.judging.add(took));
        self.rule_hits.add(tally.rules.iter().map(|rule| (rule.as_str(), 1)));
        self.rule_errors.add(tally.failed.iter().map(|rule| (rule.as_str(), 1)));
        let findings = tally.findings.iter();
        self.findings.add(findings.map(|(detector, count)| (detector.as_str(), *count as u64)));
        self.plugin_micros.add(tally.plugins.iter().map(|(plugin, micros)| (plugin.as_str(), *micros)));
    }

    /// A person typed what had to be redacted.
    pub(crate) fn typed<'r>(&self, redactions: impl Iterator<Item = &'r RedactionRecord>) {
        self.findings.add(redactions.filter_map(|made| Some((made.detector.as_deref()?, 1))));
    }

    /// A turn is over.
    pub(crate) fn turn_over(&self, ending: &str, location: &str) {
        *lock(&self.turns_over).entry([ending.into(), location.into()]).or_default() += 1;
    }

    /// Somebody chose a mode.
    pub(crate) fn mode_chosen(&self, mode: TurnMode) {
        self.modes.add([(mode.name(), 1)].into_iter());
    }

    /// A call of the admin API was answered.
    pub(crate) fn called(&self, call: &'static str) {
        self.calls.add([(call, 1)].into_iter());
    }

    /// Returns the rules that matched requests, or answers to them.
    pub(crate) fn rules(&self) -> Vec<RuleCount> {
        let hits = lock(&self.rule_hits.0);
        hits.iter().map(|(rule, &requests)| RuleCount { rule: rule.clone(), requests }).collect()
    }

    /// Writes all of it, with what others count.
    pub(crate) fn text(&self, counted: &Counted<'_>) -> String {
        let Counted { status, agents, .. } = counted;
        let mut page = Page::default();
        let build = [([&*status.version, &*status.policy.generation], 1)];
        let help = "Version of the program and generation of the policy.";
        page.family("build_info", help, ["version", "generation"], build);
        page.requests(status);
        let help = "Requests of agents that others started, and those that the monitor has let go.";
        page.family("subagents_total", help, ["event"], each!(agents; seen, trimmed));
        page.policy(status);
        self.write(&mut page);
        page.memories(counted);
        page.store(status);
        page.0
    }

    fn write(&self, page: &mut Page) {
        let plugins = lock(&self.plugin_micros.0).clone();
        let plugins = plugins.iter().map(|(plugin, micros)| ([&**plugin], seconds(*micros)));
        page.family("plugin_seconds_total", "Time that calls of a plugin took.", ["plugin"], plugins);
        self.judging.write(page, "judging_seconds", "Time that the gate takes to judge a request.");
        self.upstream.write(page, "upstream_seconds", "Time until the upstream begins to answer.");
        self.rule_errors.write(page, "rule_errors_total", "Errors of rules.", "rule");
        self.findings.write(page, "findings_total", "Findings, redacted or only counted.", "detector");
        self.calls.write(page, "admin_calls_total", "Calls of the admin API that were answered.", "call");
        self.modes.write(page, "modes_chosen_total", "Modes that somebody chose.", "mode");
        let help = "Requests that waited, by how that ended and where in their client they were asked.";
        let over = lock(&self.turns_over);
        let over = over.iter().map(|([ending, location], count)| ([&**ending, &**location], *count));
        page.family("turns_ended_total", help, ["ending", "location"], over);
    }
}

impl RequestCounts {
    /// Returns the upstreams' answers by their status.
    pub(crate) fn statuses(&self) -> Vec<StatusCount> {
        self.by_status.iter().map(|(&status, &answers)| StatusCount { status, answers }).collect()
    }

    fn answered(&mut self, status: StatusCode) {
        *self.by_status.entry(status.as_u16()).or_default() += 1;
        let answers = &mut self.requests.answers;
        *match status.as_u16() {
            200..300 => &mut answers.succeeded,
            400..500 => &mut answers.client_errors,
            500.. => &mut answers.server_errors,
            _ => &mut answers.redirected,
        } += 1;
    }

    pub(crate) fn refused(&mut self, code: Code) {
        let requests = &mut self.requests;
        *match code {
            // A guard that could not run counts as one that said no.
            Code::Blocked | Code::Internal => &mut requests.blocked,
            Code::Foreign
            | Code::Unsupported
            | Code::Malformed
            | Code::TooLarge
            | Code::Stalled
            | Code::Busy => &mut requests.refused,
            // Counted already: as turns, or as forwarded.
            Code::Cancelled | Code::TimedOut | Code::Replaced | Code::Upstream | Code::Redirect => return,
        } += 1;
    }
}

impl Page {
    fn requests(&mut self, status: &Status) {
        let counts = &status.requests;
        let verdicts = each!(counts; forwarded, blocked, paused, cancelled, refused);
        self.family("requests_total", "Requests by what became of them.", ["verdict"], verdicts);
        let mut ruled = counts.ruled;
        let outcomes =
            AnswerOutcome::ALL.iter().map(|outcome| ([outcome.as_str()], *outcome.count(&mut ruled)));
        let help = "Answers by what rules and people made of them.";
        self.family("answers_ruled_total", help, ["outcome"], outcomes);
        let answers = counts.answers;
        let classes = [
            (["2xx"], answers.succeeded),
            (["3xx"], answers.redirected),
            (["4xx"], answers.client_errors),
            (["5xx"], answers.server_errors),
            (["none"], answers.none),
        ];
        let help = "Answers of the upstream by the class of their status.";
        self.family("answers_total", help, ["class"], classes);
        self.one("read_files_total", "Packed files in requests whose text was read.", counts.files_read);
        let help = "Files in requests that could not be looked into, refused or let through.";
        self.one("unread_files_total", help, counts.unread);
        self.one("in_flight", "Requests that are not answered to their end.", status.in_flight);
        self.one("pending", "Requests that wait for a person.", status.pending);
        self.one("pending_bytes", "Memory that these take.", status.pending_memory.used);
    }

    fn policy(&mut self, status: &Status) {
        self.one("rule_faults_total", "Rules that could not run to their end.", status.requests.faults);
        let hits = status.rules.iter().map(|hit| ([&*hit.rule], hit.requests));
        let help = "Requests, and answers to them, in which a rule matched.";
        self.family("rule_hits_total", help, ["rule"], hits);
        let policy = &status.policy;
        let loads = [(["done"], policy.loads), (["refused"], policy.failed_loads)];
        self.family("policy_loads_total", "Loads of the policy.", ["result"], loads);
        let held = policy.plugins.iter().map(|one| ([&*one.name], u64::from(one.quarantine.is_some())));
        self.family("plugin_quarantined", "1 while a plugin is in quarantine.", ["plugin"], held);
        let faults = policy.plugins.iter().map(|one| ([&*one.name], one.faults));
        let help = "Different texts on which a plugin failed lately; many of them end in quarantine.";
        self.family("plugin_faults", help, ["plugin"], faults);
    }

    /// What detectors, saved edits and sessions remember.
    fn memories(&mut self, counted: &Counted<'_>) {
        let Counted { tokens, memo, saved, preview_limit, .. } = counted;
        let help = "Texts about which the memory of this generation was asked, by whether it knew them.";
        let known = [(["known"], memo.known), (["new"], memo.asked - memo.known)];
        self.family("memo_total", help, ["outcome"], known);
        self.one("memo_entries", "Answers of detectors that are remembered.", memo.entries);
        self.one("memo_bytes", "Bytes that these take.", memo.bytes);
        let help = "Saved edits by their scope and what became of them: captured, cleared, or how they fitted requests.";
        let saved = saved.iter().map(|((scope, event), count)| ([scope.name(), *event], *count));
        self.family("saved_edits_total", help, ["scope", "event"], saved);
        self.one("saved_preview_limit", "Sections that a capture shows first.", *preview_limit);
        let help = "Tokens for redacted values in answers, by what became of them.";
        let tokens = each!(tokens; restored, kept, altered);
        self.family("redaction_tokens_total", help, ["outcome"], tokens);
    }

    fn store(&mut self, status: &Status) {
        let Some(store) = &status.store else { return };
        self.one("store_written_total", "Requests that were logged.", store.written);
        self.one("store_missed_total", "Requests and parts of answers that were not.", store.missed);
        self.one("store_mismatches_total", "Requests sent otherwise than shown.", store.mismatches);
        self.one("store_bytes", "Bytes of the log on disk.", store.bytes);
        let failing = u64::from(store.failing.is_some());
        self.one("store_failing", "1 while the log cannot be written.", failing);
        let help = "Tokens of models, as answers say them.";
        self.family("tokens_total", help, ["kind"], each!(store.tokens; input, cached, output));
    }
}

/// Counters that differ in one label.
#[derive(Debug, Default)]
struct CounterFamily(Mutex<BTreeMap<String, u64>>);

impl CounterFamily {
    fn add<'a>(&self, more: impl Iterator<Item = (&'a str, u64)>) {
        let mut more = more.peekable();
        if more.peek().is_none() {
            return;
        }
        let mut all = lock(&self.0);
        for (label, count) in more {
            match all.get_mut(label) {
                Some(sum) => *sum += count,
                None => {
                    let label = if all.len() < MOST_SERIES { label } else { OTHERS };
                    *all.entry(label.to_owned()).or_default() += count;
                }
            }
        }
    }

    fn write(&self, page: &mut Page, name: &str, help: &str, label: &str) {
        let counts = lock(&self.0);
        page.family(name, help, [label], counts.iter().map(|(value, count)| ([&**value], *count)));
    }
}

/// Times by how long they are.
#[derive(Debug, Default)]
struct Histogram {
    /// One for each of [`BUCKETS`], and one for what is longer.
    buckets: [AtomicU64; BUCKETS.len() + 1],
    micros: AtomicU64,
}

impl Histogram {
    fn add(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.partition_point(|&end| end < took.as_secs_f64());
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.micros.fetch_add(micros, Relaxed);
    }

    fn write(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, "histogram", help);
        let (bucket, mut sum) = (format!("{name}_bucket"), 0);
        for (count, end) in self.buckets.iter().zip(BUCKETS.map(Some).into_iter().chain([None])) {
            sum += count.load(Relaxed);
            let end = end.map_or("+Inf".to_owned(), |end| end.to_string());
            page.sample(&bucket, ["le"], [&*end], sum);
        }
        page.sample(&format!("{name}_sum"), [], [], seconds(self.micros.load(Relaxed)));
        page.sample(&format!("{name}_count"), [], [], sum);
    }
}

/// Returns microseconds as seconds, without the digits that say nothing.
fn seconds(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What every name begins with.
const PREFIX: &str = "leafgate_";

/// What is written.
#[derive(Default)]
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Prometheus refuses a whole page that has a family twice.
        debug_assert!(!self.0.contains(&format!("# TYPE {PREFIX}{name} ")), "{name} is there twice");
        let _ = writeln!(self.0, "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {kind}");
    }

    fn sample<const N: usize>(
        &mut self,
        name: &str,
        labels: [&str; N],
        values: [&str; N],
        number: impl Display,
    ) {
        let pairs = labels.iter().zip(values).map(|(label, value)| format!("{label}=\"{}\"", escaped(value)));
        let pairs = pairs.collect::<Vec<_>>().join(",");
        let labels = if N == 0 { pairs } else { format!("{{{pairs}}}") };
        let _ = writeln!(self.0, "{PREFIX}{name}{labels} {number}");
    }

    /// Numbers of one name, each with the values of its labels. A name with `_total` at its end is a counter's.
    fn family<'v, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        labels: [&str; N],
        samples: impl IntoIterator<Item = ([&'v str; N], impl Display)>,
    ) {
        self.head(name, if name.ends_with("_total") { "counter" } else { "gauge" }, help);
        samples.into_iter().for_each(|(values, number)| self.sample(name, labels, values, number));
    }

    fn one(&mut self, name: &str, help: &str, number: impl Display) {
        self.family(name, help, [], [([], number)]);
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use leafgate_admin::{SavedScope, StoreStatus};
    use serde_json::Value;
    use yaml_rust2::{Yaml, YamlLoader};

    use super::*;

    #[test]
    fn times_are_counted_up_to_their_end_and_written_in_seconds() {
        let histogram = Histogram::default();
        for micros in [100, 101, 2_000, u64::MAX / 4_000] {
            histogram.add(Duration::from_micros(micros));
        }
        let mut page = Page::default();
        histogram.write(&mut page, "x", "X.");
        for line in [
            "leafgate_x_bucket{le=\"0.0001\"} 1",
            "leafgate_x_bucket{le=\"0.00025\"} 2",
            "leafgate_x_bucket{le=\"0.001\"} 2",
            "leafgate_x_bucket{le=\"0.0025\"} 3",
            "leafgate_x_bucket{le=\"300\"} 3",
            "leafgate_x_bucket{le=\"+Inf\"} 4",
            "leafgate_x_count 4",
        ] {
            assert!(page.0.lines().any(|written| written == line), "{line} in {}", page.0);
        }
    }

    #[test]
    fn the_time_of_a_plugin_and_what_became_of_saved_edits_are_written() {
        let metrics = Counters::default();
        let tally = RuleTally { plugins: vec![("names".to_owned(), 1_250_000)], ..RuleTally::default() };
        let took = Some(Duration::from_millis(1));
        metrics.rules_ran(&tally, took);
        let page = metrics.text(&Counted {
            status: &Status::default(),
            agents: &Subagents::default(),
            tokens: TokenCounts::default(),
            memo: MemoCounts { asked: 5, known: 3, entries: 2, bytes: 64 },
            saved: SavedCounts::from([((SavedScope::Workspace, "made"), 4)]),
            preview_limit: 3,
        });
        for line in [
            "leafgate_plugin_seconds_total{plugin=\"names\"} 1.25",
            "leafgate_memo_total{outcome=\"known\"} 3",
            "leafgate_memo_total{outcome=\"new\"} 2",
            "leafgate_memo_entries 2",
            "leafgate_memo_bytes 64",
            "leafgate_saved_edits_total{scope=\"workspace\",event=\"made\"} 4",
        ] {
            assert!(page.lines().any(|written| written == line), "{line} in {page}");
        }
    }

    /// Returns all names that a text of the examples asks for.
    fn names(text: &str) -> impl Iterator<Item = &str> {
        let words = text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
        words.filter(|word| word.starts_with("leafgate_"))
    }

    #[test]
    fn the_dashboard_and_the_alerts_of_the_examples_ask_for_what_there_is() {
        let status = Status { store: Some(StoreStatus::default()), ..Status::default() };
        let page = Counters::default().text(&Counted {
            status: &status,
            agents: &Subagents::default(),
            tokens: TokenCounts::default(),
            memo: MemoCounts::default(),
            saved: SavedCounts::default(),
            preview_limit: 0,
        });
        let dashboard: Value =
            serde_json::from_str(include_str!("../../../examples/grafana/leafgate.json")).unwrap();
        let panels = dashboard["panels"].as_array().unwrap().iter();
        let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
        let panels: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();

        let alerts =
            YamlLoader::load_from_str(include_str!("../../../examples/grafana/alerts.yaml")).unwrap();
        let rules: Vec<&Yaml> = alerts[0]["groups"]
            .as_vec()
            .unwrap()
            .iter()
            .flat_map(|group| group["rules"].as_vec().unwrap())
            .collect();
        for rule in &rules {
            assert!(rule["alert"].as_str().is_some_and(|name| !name.contains(' ')), "{rule:?}");
            assert!(rule["annotations"]["summary"].as_str().is_some(), "{rule:?}");
        }
        let alerts: Vec<&str> = rules.iter().map(|rule| rule["expr"].as_str().unwrap()).collect();
        assert!(panels.len() > 8 && alerts.len() > 8);
        for expression in panels.into_iter().chain(alerts) {
            assert!(names(expression).next().is_some(), "{expression}");
            for name in names(expression) {
                let name = name.strip_suffix("_bucket").unwrap_or(name);
                assert!(page.contains(&format!("# TYPE {name} ")), "{name}");
            }
        }
    }

    #[test]
    fn series_are_bounded_and_their_labels_escaped() {
        let family = CounterFamily::default();
        let names: Vec<String> = (0..MOST_SERIES + 5).map(|n| format!("rule {n}")).collect();
        family.add(names.iter().map(|name| (name.as_str(), 1)));
        family.add([("a\"\\\n", 2)].into_iter());
        let mut page = Page::default();
        family.write(&mut page, "x", "X.", "rule");
        assert!(page.0.contains(&format!("leafgate_x{{rule=\"{OTHERS}\"}} 7")), "others");
        assert_eq!(escaped("a\"\\\n"), "a\\\"\\\\\\n");
    }
}
