//! The one way to search a text, whatever it is: a leaf, a key, the border of two parts, a message
//! that was put in, a header, the words of a plugin.
//!
//! Each distinct set of built-in detectors runs at most once on a text and on each text beneath it.
//! Each detector plugin is called at most once per search, with every text that any rule wants it
//! to see and that it has not answered for before. Nothing is changed here: the outcome says what
//! was found where.
//!
//! What a text lets detectors do is its [`Access`]: in open texts all look, in protected and frozen
//! ones those with a prefix or with check digits, in media nothing but what proves to be text
//! beneath it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use leafgate_detect::{Confidence, Finding, Input, Label};
use leafgate_tree::{Access, Leaf, LeafKind, Role, ValueType};

use super::Run;
use super::beneath::{Beneath, Lies, Under, beneath};
use super::hits::{Hit, exempt};
use super::scanner::Scanner;
use super::site::Site;
use crate::condition::ConditionError;
use crate::index::{PluginIndex, RuleIndex};
use crate::memo::{Answer, Digest, Memo, Spelling};
use crate::plugin::{DetectLeaf, Fault};
use crate::rule::{Action, Published, Redact};
use crate::work;

/// How many findings one request may have. Redaction costs time and memory for each; a real request
/// has a few dozen.
pub(super) const MAX_FINDINGS: usize = 100_000;

/// Redact rules with their indices.
pub(super) type Rules<'p> = Vec<(RuleIndex, &'p Redact)>;

/// What one search found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) hits: Vec<(Site, Hit)>,
    /// Hits in texts beneath those that were searched, where nothing can be replaced.
    pub(super) hidden: Vec<Hidden>,
    /// Rules whose `when` failed, each once.
    pub(super) failed: Vec<(RuleIndex, ConditionError)>,
    /// Rules whose plugin gave no answer.
    pub(super) faults: Vec<(RuleIndex, Arc<str>, Fault)>,
    /// Published examples that are left alone, by rule.
    pub(super) published: Vec<(RuleIndex, Label)>,
    /// What an exception allows, by rule.
    pub(super) excepted: Vec<(RuleIndex, Label)>,
    /// Whether there was more than [`MAX_FINDINGS`]; then the rest was not looked for.
    pub(super) too_much: bool,
    /// Where any detector found anything, whatever becomes of it: tokens of ours and examples too.
    pub(super) noisy: Vec<Site>,
}

/// A hit beneath a text. No `Debug`: it holds what was found.
pub(super) struct Hidden {
    pub(super) site: Site,
    pub(super) hit: Hit,
    /// The words found there.
    pub(super) words: String,
    pub(super) under: Under,
    /// Which of the texts beneath it is.
    pub(super) view: usize,
}

/// One text to search, and what detectors may know about it.
pub(super) struct Subject<'s> {
    pub(super) site: Site,
    /// The text, once somebody asked: see [`Subject::text`].
    pub(super) decoded: OnceCell<Cow<'s, str>>,
    /// What the memo knows the text by, once it was asked.
    pub(super) digest: OnceCell<Option<Digest>>,
    /// The leaf whose text it is, as long as that is spelled as it came.
    pub(super) leaf: Option<Leaf<'s>>,
    pub(super) key: Cow<'s, str>,
    pub(super) kind: LeafKind,
    pub(super) value: ValueType,
    pub(super) role: Role,
    pub(super) tool: Option<&'s str>,
    pub(super) access: Access,
    /// Whether the text may spell a document whose inner leaves nobody has walked.
    pub(super) unwalked: bool,
    /// The texts beneath this one, once somebody asked: see [`Subject::beneath`].
    pub(super) beneath: Option<Vec<Arc<Beneath>>>,
}

impl<'s> Subject<'s> {
    /// Returns a text of which nothing else is known.
    pub(super) fn new(site: Site, text: impl Into<Cow<'s, str>>) -> Self {
        Subject { decoded: OnceCell::from(text.into()), ..Subject::unread(site) }
    }

    fn unread(site: Site) -> Self {
        Subject {
            site,
            decoded: OnceCell::new(),
            digest: OnceCell::new(),
            leaf: None,
            key: Cow::Borrowed(""),
            kind: LeafKind::Other,
            value: ValueType::Text,
            role: Role::Other,
            tool: None,
            access: Access::Open,
            unwalked: false,
            beneath: None,
        }
    }

    /// Returns the present text of a leaf.
    pub(super) fn of_leaf(run: &'s Run<'_>, leaf: Leaf<'s>) -> Self {
        let unwalked = run.draft.is_unwalked(leaf.id());
        match run.draft.is_as_received(leaf.id()) {
            true => Subject::received(leaf, unwalked),
            false => Subject {
                leaf: None,
                decoded: OnceCell::from(run.draft.text(leaf.id()).into_cow()),
                ..Subject::received(leaf, unwalked)
            },
        }
    }

    /// Returns the text of a leaf as it was received.
    pub(super) fn received(leaf: Leaf<'s>, unwalked: bool) -> Self {
        Subject {
            leaf: Some(leaf),
            key: leaf.key(),
            kind: leaf.kind(),
            value: leaf.value_type(),
            role: leaf.role(),
            tool: leaf.tool(),
            access: leaf.access(),
            unwalked,
            ..Subject::unread(Site::Leaf(leaf.id()))
        }
    }

    /// Returns the text. That of a leaf is decoded when it is first asked for.
    pub(super) fn text(&self) -> &str {
        self.decoded.get_or_init(|| {
            let text = self.leaf.map(|leaf| leaf.text().into_cow()).unwrap_or_default();
            work::decoded(text.len());
            text
        })
    }

    /// Returns what the memo knows the text by; `None` where it is not worth remembering. It goes by
    /// the spelling: nothing is decoded for it.
    pub(super) fn digest(&self, memo: &Memo) -> Option<Digest> {
        *self.digest.get_or_init(|| match self.leaf.map(|leaf| leaf.spelling()) {
            Some((text, escaped)) => memo.digest(Spelling { text, escaped }),
            None => memo.digest(Spelling::plain(self.text())),
        })
    }

    /// Returns the texts beneath this one. They are looked for when they are first asked for.
    pub(super) fn beneath(&mut self) -> &[Arc<Beneath>] {
        if self.beneath.is_none() {
            let all = beneath(self.access, self.value, self.text(), self.unwalked);
            self.beneath = Some(all.into_iter().map(Arc::new).collect());
        }
        self.beneath.as_deref().unwrap_or_default()
    }

    /// Records that nothing is beneath the text.
    pub(super) fn is_plain(&mut self) {
        self.beneath = Some(Vec::new());
    }

    /// Returns true if and only if all that can be beneath the text is what is encoded in it.
    pub(super) fn is_walked_text(&self) -> bool {
        let decoded = matches!(self.access, Access::Open | Access::Protected);
        decoded && !self.unwalked && self.value == ValueType::Text
    }

    /// Returns true if and only if nothing but what proves to be text beneath it is searched.
    pub(super) fn is_media(&self) -> bool {
        self.access == Access::Opaque
    }

    /// Returns true if and only if plugins are shown the text itself. They have no notion of a
    /// prefix: of what cannot be changed, they see names alone.
    fn is_for_plugins(&self) -> bool {
        match self.access {
            Access::Open => true,
            Access::Protected => matches!(self.kind, LeafKind::Metadata | LeafKind::ToolSchema),
            Access::Frozen | Access::Opaque => false,
        }
    }

    fn is_decoded_for_plugins(&self) -> bool {
        self.access == Access::Opaque || self.is_for_plugins()
    }

    /// Whether something can stand in the place of a part of it.
    fn is_replaceable(&self, run: &Run<'_>) -> bool {
        let place = matches!(self.site, Site::Leaf(_) | Site::Seam(_) | Site::Inserted(_));
        place && self.access == Access::Open && self.value == ValueType::Text && !run.document.is_raw()
    }

    fn stands(&self, run: &Run<'_>) -> Stands {
        Stands { site: self.site, replaceable: self.is_replaceable(run) }
    }

    /// Returns true if and only if a plugin must be sure: a guess about what cannot be replaced
    /// would hold the request.
    fn wants_certainty(&self) -> bool {
        self.access != Access::Open || matches!(self.site, Site::Key(_))
    }
}

/// Where a text stands, and whether something can stand in the place of a part of it.
#[derive(Clone, Copy)]
struct Stands {
    site: Site,
    replaceable: bool,
}

/// One text that a detector plugin is to see on behalf of a rule: a subject's own, or one of those
/// beneath it.
struct Candidate<'s> {
    subject: Rc<Subject<'s>>,
    rule: RuleIndex,
    view: Option<usize>,
}

impl Candidate<'_> {
    fn place(&self) -> (Site, Option<usize>) {
        (self.subject.site, self.view)
    }

    fn beneath(&self) -> Option<&Beneath> {
        self.view.and_then(|view| Some(&**self.subject.beneath.as_ref()?.get(view)?))
    }

    fn text(&self) -> &str {
        self.beneath().map_or_else(|| self.subject.text(), Beneath::text)
    }

    fn as_leaf(&self) -> DetectLeaf<'_> {
        let Subject { kind, value, role, tool, .. } = *self.subject;
        DetectLeaf { kind, value, role, tool, key: &self.subject.key, text: self.text() }
    }
}

/// A search under way.
pub(super) struct Search<'s, 'p> {
    pub(super) run: &'s Run<'p>,
    scanner: Scanner,
    /// By index of the plugin.
    candidates: Vec<Vec<Candidate<'s>>>,
    found: Found,
}

impl<'s, 'p> Search<'s, 'p> {
    pub(super) fn new(run: &'s Run<'p>) -> Self {
        let candidates = run.policy.plugins.iter().map(|_| Vec::new()).collect();
        Search { run, scanner: Scanner::default(), candidates, found: Found::default() }
    }

    /// Searches the present text of a leaf on behalf of the rules that apply to it.
    pub(super) fn leaf(&mut self, rules: &Rules<'p>, leaf: Leaf<'s>) {
        // `true` and `null` have no room for a value.
        if matches!(leaf.value_type(), ValueType::Boolean | ValueType::Null) || self.found.too_much {
            return;
        }
        super::hits::work::step();
        let subject = Subject::of_leaf(self.run, leaf);
        let mut applying = Rules::with_capacity(rules.len());
        for &(rule, redact) in rules {
            if self.applies_to(rule, &leaf, &subject) {
                applying.push((rule, redact));
            }
        }
        self.text(&applying, subject);
    }

    /// Searches a text on behalf of all the rules that are given.
    pub(super) fn text(&mut self, rules: &[(RuleIndex, &'p Redact)], mut subject: Subject<'s>) {
        if rules.is_empty() || self.found.too_much {
            return;
        }
        let is_media = subject.is_media();
        if is_media && subject.beneath().is_empty() {
            return;
        }
        self.scanner.begin();
        let mut wanted: Vec<(PluginIndex, RuleIndex)> = Vec::new();
        for &(rule, redact) in rules {
            if let Some(engine) = redact.engine {
                let first = self.found.hits.len();
                let mut quiet = false;
                if !is_media {
                    let (findings, nothing_beneath) =
                        self.scanner.scan(self.run.policy, engine, &mut subject);
                    quiet = nothing_beneath;
                    self.found.push(self.run, &subject, findings, rule);
                }
                let plain = first..self.found.hits.len();
                if let Some(checked) = redact.checked.filter(|_| !is_media && subject.access != Access::Open)
                {
                    let findings = self.scanner.scan_checked(self.run.policy, checked, &subject);
                    self.found.push(self.run, &subject, findings, rule);
                }
                let views = if quiet { 0 } else { subject.beneath().len() };
                for view in 0..views {
                    let findings = self.scanner.scan_beneath(self.run.policy, engine, &mut subject, view);
                    let stands = subject.stands(self.run);
                    let beneath = (view, &*subject.beneath()[view]);
                    self.found.push_beneath(self.run, stands, beneath, findings, rule, &plain);
                }
            }
            if self.asks_plugins(rule, subject.site) {
                wanted.extend(redact.plugins.iter().map(|&plugin| (plugin, rule)));
            }
        }
        if wanted.is_empty() || !subject.is_decoded_for_plugins() {
            return;
        }
        subject.beneath();
        self.show(subject, &wanted);
    }

    /// Returns true if and only if a rule shows a text at this site to its plugins. What stands
    /// outside the body is no leaf: only rules that look at everything ask a plugin about it.
    fn asks_plugins(&self, rule: RuleIndex, site: Site) -> bool {
        match site {
            Site::Outside(_) | Site::OutsideName(_) => {
                self.run.policy.rules[rule].selector.is_everything_in_a_request()
            }
            Site::Leaf(_)
            | Site::Key(_)
            | Site::Seam(_)
            | Site::Inserted(_)
            | Site::Option(_)
            | Site::Elsewhere => true,
        }
    }

    /// Keeps a text for the plugins that are to see it.
    fn show(&mut self, subject: Subject<'s>, wanted: &[(PluginIndex, RuleIndex)]) {
        let own = subject.is_for_plugins().then_some(None);
        let views: Vec<Option<usize>> =
            own.into_iter().chain((0..subject.beneath.as_ref().map_or(0, Vec::len)).map(Some)).collect();
        let subject = Rc::new(subject);
        for &(plugin, rule) in wanted {
            let candidate = |&view: &Option<usize>| Candidate { subject: Rc::clone(&subject), rule, view };
            self.candidates[plugin.get()].extend(views.iter().map(candidate));
        }
    }

    /// Whether a rule applies to a leaf. Its text is read only where the rule's condition is about that.
    fn applies_to(&mut self, rule: RuleIndex, leaf: &Leaf<'_>, subject: &Subject<'_>) -> bool {
        match self.run.steady_selection(rule) {
            Some(selection) => selection.selects(leaf),
            None => self.applies(rule, leaf, subject.text()),
        }
    }

    pub(super) fn applies(&mut self, rule: RuleIndex, leaf: &Leaf<'_>, text: &str) -> bool {
        match self.run.applies(rule, leaf, text) {
            Ok(applies) => applies,
            Err(error) => {
                if !self.found.failed.iter().any(|(failed, _)| *failed == rule) {
                    self.found.failed.push((rule, error));
                }
                false
            }
        }
    }

    /// Asks the plugins, and returns everything that was found.
    pub(super) fn finish(mut self) -> Found {
        for (index, mut candidates) in std::mem::take(&mut self.candidates).into_iter().enumerate() {
            if !candidates.is_empty() && !self.found.too_much {
                // Two rules may want the same text seen: then they stand side by side.
                candidates.sort_by_key(Candidate::place);
                self.ask(PluginIndex::new(index), &candidates);
            }
        }
        self.found
    }

    /// Asks one plugin about all its texts at once. A fault drops the whole answer, for every rule
    /// that asked.
    fn ask(&mut self, plugin: PluginIndex, candidates: &[Candidate<'s>]) {
        let groups: Vec<&[Candidate<'_>]> = candidates.chunk_by(|a, b| a.place() == b.place()).collect();
        let shown: Vec<DetectLeaf<'_>> = groups.iter().map(|group| group[0].as_leaf()).collect();
        match self.answers(plugin, &shown) {
            Ok(answers) => {
                let mut plain: BTreeMap<(Site, RuleIndex), Range<usize>> = BTreeMap::new();
                for (group, answer) in groups.iter().zip(&answers) {
                    for candidate in *group {
                        // A text itself comes before those beneath it.
                        let (first, of) = (self.found.hits.len(), (candidate.subject.site, candidate.rule));
                        let known = plain.get(&of).cloned().unwrap_or_default();
                        self.take(candidate, answer.findings(), &known);
                        if candidate.view.is_none() {
                            plain.insert(of, first..self.found.hits.len());
                        }
                    }
                }
            }
            Err(fault) => {
                let name = &self.run.policy.plugins[plugin].name;
                let mut rules: Vec<RuleIndex> = candidates.iter().map(|candidate| candidate.rule).collect();
                rules.sort_unstable();
                rules.dedup();
                let fault_of = |rule| (rule, Arc::clone(name), fault.clone());
                self.found.faults.extend(rules.into_iter().map(fault_of));
            }
        }
    }

    /// Keeps what a plugin found in a text. `plain` is where its hits in the text itself stand.
    fn take(&mut self, candidate: &Candidate<'_>, findings: &[Finding], plain: &Range<usize>) {
        let sure: Vec<Finding>;
        let findings = match candidate.subject.wants_certainty() {
            false => findings,
            true => {
                let is_sure = |finding: &&Finding| finding.confidence == Confidence::High;
                sure = findings.iter().filter(is_sure).cloned().collect();
                &sure
            }
        };
        match (candidate.view, candidate.beneath()) {
            (Some(view), Some(beneath)) => {
                let stands = candidate.subject.stands(self.run);
                self.found.push_beneath(self.run, stands, (view, beneath), findings, candidate.rule, plain);
            }
            _ => self.found.push(self.run, &candidate.subject, findings, candidate.rule),
        }
    }

    /// Returns what a plugin finds in each text: what it said before, and for the rest what it says
    /// now.
    fn answers(&self, plugin: PluginIndex, shown: &[DetectLeaf<'_>]) -> Result<Vec<Answer>, Fault> {
        let policy = self.run.policy;
        let questions: Vec<_> = shown.iter().map(|leaf| policy.memo.plugin(plugin, leaf)).collect();
        let mut answers: Vec<Option<Answer>> =
            questions.iter().map(|&question| policy.memo.recall(question)).collect();
        let open: Vec<usize> = (0..shown.len()).filter(|&at| answers[at].is_none()).collect();
        if !open.is_empty() {
            let asked: Vec<DetectLeaf<'_>> = open.iter().map(|&at| shown[at]).collect();
            for (at, findings) in open.into_iter().zip(self.run.call_detector(plugin, &asked)?) {
                let answer = Answer::new(&findings, false, false);
                policy.memo.keep(questions[at], answer.clone());
                answers[at] = Some(answer);
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }
}

impl Found {
    /// Keeps what was found in a text itself. Where nothing is ever replaced, tokens of ours are
    /// taken out at once.
    fn push(&mut self, run: &Run<'_>, subject: &Subject<'_>, findings: &[Finding], rule: RuleIndex) {
        if findings.is_empty() || !self.has_room(findings.len()) {
            return;
        }
        let site = subject.site;
        self.noisy.push(site);
        let replaceable = subject.is_replaceable(run);
        let findings = self.without_excepted(run, site, || subject.text(), findings, rule);
        let findings = self.without_kept(run, &findings, rule, replaceable);
        let hits = findings.iter().map(|finding| Hit::new(finding, rule));
        match site {
            Site::Key(_) | Site::Option(_) | Site::Outside(_) | Site::OutsideName(_) | Site::Elsewhere => {
                let text = subject.text();
                let hits = exempt(hits.collect(), &run.vault.keys().find(text), text);
                self.hits.extend(hits.into_iter().map(|hit| (site, hit)));
            }
            Site::Leaf(_) | Site::Seam(_) | Site::Inserted(_) => {
                self.hits.extend(hits.map(|hit| (site, hit)));
            }
        }
    }

    /// Keeps what was found beneath a text, but for tokens of ours: as a hit of the text itself
    /// where that spells it and nothing else. `plain` is where the hits in the text itself stand,
    /// in order: what one of them covers was found already.
    fn push_beneath(
        &mut self,
        run: &Run<'_>,
        Stands { site, replaceable }: Stands,
        (view, beneath): (usize, &Beneath),
        findings: &[Finding],
        rule: RuleIndex,
        plain: &Range<usize>,
    ) {
        if findings.is_empty() || !self.has_room(findings.len()) {
            return;
        }
        self.noisy.push(site);
        let text = beneath.text();
        let findings = self.without_excepted(run, site, || text, findings, rule);
        let findings = self.without_kept(run, &findings, rule, replaceable && beneath.is_exact());
        let hits = findings.iter().map(|finding| Hit::new(finding, rule)).collect();
        for hit in exempt(hits, &run.vault.keys().find(text), text) {
            match beneath.lies(hit.range.clone()) {
                Lies::At(range) => {
                    let known = &self.hits[plain.clone()];
                    let next = known.partition_point(|(_, known)| known.range.end < range.end);
                    if known.get(next).is_none_or(|(_, known)| range.start < known.range.start) {
                        self.hits.push((site, Hit { range, ..hit }));
                    }
                }
                Lies::Under(under) => {
                    let words = text[hit.range.clone()].to_owned();
                    self.hidden.push(Hidden { site, hit, words, under, view });
                }
            }
        }
    }

    /// Takes out what an exception allows, and keeps count of it.
    fn without_excepted<'f, 't>(
        &mut self,
        run: &Run<'_>,
        site: Site,
        text: impl FnOnce() -> &'t str,
        findings: &'f [Finding],
        rule: RuleIndex,
    ) -> Cow<'f, [Finding]> {
        if run.policy.exceptions.is_empty() {
            return Cow::Borrowed(findings);
        }
        let text = text();
        let excepts = |found: &Finding| run.excepts(site, rule, &found.label, &text[found.range.clone()]);
        if !findings.iter().any(excepts) {
            return Cow::Borrowed(findings);
        }
        let (allowed, rest): (Vec<Finding>, Vec<Finding>) = findings.iter().cloned().partition(excepts);
        self.excepted.extend(allowed.into_iter().map(|finding| (rule, finding.label)));
        Cow::Owned(rest)
    }

    /// Takes out published examples that nothing replaces, by the rule's will or because nothing
    /// can, and keeps count of them: they hold no request.
    fn without_kept<'f>(
        &mut self,
        run: &Run<'_>,
        findings: &'f [Finding],
        rule: RuleIndex,
        replaceable: bool,
    ) -> Cow<'f, [Finding]> {
        let keeps = match &run.policy.rules[rule].action {
            Action::Redact(redact) => !replaceable || redact.published == Published::Keep,
            Action::Classify(_) | Action::Pin(_) | Action::Edit(_) | Action::Decide(_) => false,
        };
        if !keeps || findings.iter().all(|finding| !finding.published) {
            return Cow::Borrowed(findings);
        }
        let (kept, rest): (Vec<Finding>, Vec<Finding>) =
            findings.iter().cloned().partition(|found| found.published);
        self.published.extend(kept.into_iter().map(|finding| (rule, finding.label)));
        Cow::Owned(rest)
    }

    fn has_room(&mut self, more: usize) -> bool {
        self.too_much |= self.hits.len() + self.hidden.len() + more > MAX_FINDINGS;
        !self.too_much
    }
}

impl Run<'_> {
    /// Calls a detector plugin, and returns what it finds in each text.
    fn call_detector(
        &self,
        plugin: PluginIndex,
        asked: &[DetectLeaf<'_>],
    ) -> Result<Vec<Vec<Finding>>, Fault> {
        let loaded = &self.policy.plugins[plugin];
        let findings = loaded.plugin.detect(asked, &self.spent[plugin])?;
        let mut by_leaf = vec![Vec::new(); asked.len()];
        for finding in findings.into_vec() {
            by_leaf[finding.leaf].push(Finding {
                range: finding.at,
                label: loaded.labels[finding.label].clone(),
                detector: loaded.detectors[finding.label].clone(),
                confidence: finding.confidence,
                published: false,
            });
        }
        Ok(by_leaf)
    }
}

/// Returns what an engine is asked about a text.
pub(super) fn input_of<'i>(access: Access, text: &'i str, key: &'i str) -> Input<'i> {
    let input = Input::new(text).with_key(key);
    if access == Access::Open { input } else { input.prefix_only() }
}
