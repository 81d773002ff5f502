//! `[[test]]` tables to [`RuleTest`]s.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use leafgate_answer::Api;
use leafgate_diagnostic::keys::Table;
use leafgate_diagnostic::{Complaints, OneOrMany, hint_for, said, text, words_of};
use leafgate_policy::{AGENTS, Policy, STRUCTURE};
use leafgate_tree::{Document, Format, Limits};
use serde_json::{Value, json};
use toml::Spanned;

use crate::answer::TestAnswer;
use crate::expectation::{ExpectedBytes, RECEIVED};
use crate::raw::{RawEdit, RawTest};
use crate::{ChangeKind, Expectation, RequestChange, RequestFate, RuleTest, TestMatter, TestPlace};

/// Bytes of a request, and of a file of bytes that are expected.
const MAX_REQUEST: usize = 32 << 20;

pub(super) struct TestCompiler<'c, 'd> {
    pub(super) complaints: Complaints<'d>,
    pub(super) policy: &'c Policy,
    /// The folder of the tests.
    pub(super) folder: &'c Path,
    /// The number of the file, and its name.
    pub(super) file: usize,
    pub(super) name: Arc<str>,
}

impl TestCompiler<'_, '_> {
    /// Compiles one test; `None` where something is wrong with it, which has been reported.
    pub(super) fn test(&mut self, number: usize, raw: Spanned<RawTest>) -> Option<RuleTest> {
        let before = self.complaints.diagnostics.errors();
        let (header, raw) = (raw.span(), raw.into_inner());
        let matter = self.matter(&raw, &header);
        let rules = raw.rules.is_some().then(|| self.rule_ids(&raw.rules));
        self.names(&raw);
        let expected = self.expected(&raw);
        if self.complaints.diagnostics.errors() > before || !raw.broken.is_empty() {
            return None;
        }
        let (name, at) = (raw.name.as_ref()?.get_ref().clone(), raw.name.as_ref()?.span());
        let line = self.complaints.diagnostics.line(self.complaints.file, &header);
        let (numbers, file) = ((self.file, number), Arc::clone(&self.name));
        let place = TestPlace { numbers, file, line, name };
        Some(RuleTest { place, at, matter: matter?, raw, rules, expected })
    }

    fn matter(&mut self, raw: &RawTest, header: &Range<usize>) -> Option<TestMatter> {
        let keys = ["text", "request", "file", "answer", "answer_file"];
        if keys.iter().any(|key| raw.broken.contains(*key)) {
            return None;
        }
        let spans: Vec<Range<usize>> = keys.iter().filter_map(|key| raw.place(key)).collect();
        let [span] = spans.as_slice() else {
            let hint = "give one of `text` (what the user says), `request` (the body) and `file`, or for rules \
                        about answers `answer` or `answer_file`";
            let message = if spans.is_empty() {
                "a test without a request or an answer"
            } else {
                "a test has one request or one answer"
            };
            self.complaints.error(header.clone(), message, hint);
            return None;
        };
        match raw.answer.is_some() || raw.answer_file.is_some() {
            true => self.answer(raw, span).map(|answer| TestMatter::Answer(Box::new(answer))),
            false => self.document(raw, span).map(|document| TestMatter::Request(Arc::new(document))),
        }
    }

    fn answer(&mut self, raw: &RawTest, span: &Range<usize>) -> Option<TestAnswer> {
        if let Some(header) = &raw.header {
            let hint = "rules about answers ask for no header";
            self.complaints.error(header.span(), "`header` means nothing for an answer", hint);
        }
        let api = said(&raw.format).and_then(Format::api);
        if let Some(named) = raw.format.as_ref().filter(|_| api.is_none()) {
            let hint = format!("answers are read of {}", Api::NAMES.join(", "));
            self.complaints.error(named.span(), "answers of this format are not read", hint);
            return None;
        }
        let body = match (&raw.answer, &raw.answer_file) {
            (Some(answer), _) => json_or_text(answer.get_ref()),
            (_, file) => self.file(file.as_ref()?, "answer_file")?,
        };
        match TestAnswer::read(body, api, said(&raw.stream)) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.complaints.error(span.clone(), format!("this is no answer: {error}"), error.hint());
                None
            }
        }
    }

    fn document(&mut self, raw: &RawTest, span: &Range<usize>) -> Option<Document> {
        let body = self.body(raw)?;
        let limits = Limits::default();
        let read = match said(&raw.format) {
            Some(format) => Document::parse(body.into(), format, &limits),
            None => Document::detect(body.into(), &limits),
        };
        match read {
            Ok(document) => Some(document),
            Err(error) => {
                let hint = "a gate would refuse it: mend the request";
                self.complaints.error(span.clone(), format!("this is no request: {error}"), hint);
                None
            }
        }
    }

    fn body(&mut self, raw: &RawTest) -> Option<Vec<u8>> {
        if let Some(text) = &raw.text {
            let messages = json!([{ "role": "user", "content": text.get_ref() }]);
            return Some(json!({ "model": "model", "messages": messages }).to_string().into_bytes());
        }
        if let Some(request) = &raw.request {
            return Some(json_or_text(request.get_ref()));
        }
        self.file(raw.file.as_ref()?, "file")
    }

    /// The body in a file beside the tests.
    fn file(&mut self, file: &Spanned<String>, key: &str) -> Option<Vec<u8>> {
        let bytes = self.beside(file, key)?;
        if bytes.is_none() {
            let message = format!("`{}` is not there", file.get_ref());
            self.complaints.error(file.span(), message, "name a file in the folder of the tests");
        }
        bytes
    }

    /// Reads a file beside the tests; the inner `None` where there is none.
    fn beside(&mut self, file: &Spanned<String>, key: &str) -> Option<Option<Vec<u8>>> {
        let name = Path::new(file.get_ref());
        if !leafgate_folder::is_inside(name) {
            let hint = format!("name a file in the folder of the tests: `{key} = \"requests/chat.json\"`");
            let message = format!("`{}` does not lie among the tests", file.get_ref());
            self.complaints.error(file.span(), message, hint);
            return None;
        }
        let path = self.folder.join(name);
        if !path.try_exists().unwrap_or(true) {
            return Some(None);
        }
        match leafgate_folder::read(&path, MAX_REQUEST) {
            Ok(bytes) => Some(Some(bytes)),
            Err(error) => {
                let message = format!("`{}` cannot be read: {error}", file.get_ref());
                self.complaints.error(file.span(), message, "put a file in its place");
                None
            }
        }
    }

    /// Ids of rules; reports those that the policy has not.
    fn rule_ids(&mut self, raw: &Option<Spanned<OneOrMany>>) -> BTreeSet<String> {
        let profiles = self.policy.assemblies().iter().map(|profile| &*profile.id);
        let known: Vec<&str> = self.policy.rules().map(|id| &**id).chain(profiles).collect();
        let mut ids = BTreeSet::new();
        for (id, span) in words_of(raw) {
            if !known.contains(&id) && id != STRUCTURE {
                self.complaints.error(span, format!("the policy has no rule `{id}`"), hint_for(id, &known));
            }
            ids.insert(id.to_owned());
        }
        ids
    }

    /// Checks the client and the profile that a test names.
    fn names(&mut self, raw: &RawTest) {
        if let Some(agent) = raw.agent.as_ref().filter(|agent| !AGENTS.contains(&agent.get_ref().as_str())) {
            let message = format!("no client is called `{}`", agent.get_ref());
            self.complaints.error(agent.span(), message, hint_for(agent.get_ref(), AGENTS));
        }
        let Some(profile) = &raw.profile else { return };
        if self.policy.assembly(profile.get_ref()).is_none() {
            let known: Vec<&str> = self.policy.assemblies().iter().map(|it| &*it.id).collect();
            let message = format!("the policy has no profile `{}`", profile.get_ref());
            self.complaints.error(profile.span(), message, hint_for(profile.get_ref(), &known));
        }
        if raw.answer.is_some() || raw.answer_file.is_some() {
            let hint = "a profile makes requests: give `text`, `request` or `file`";
            self.complaints.error(profile.span(), "`profile` means nothing for an answer", hint);
        }
    }

    fn expected(&mut self, raw: &RawTest) -> Expectation {
        let held_by = raw.held_by.is_some().then(|| self.rule_ids(&raw.held_by));
        let edits = raw.edits.as_ref().map(|edits| self.edits(edits.get_ref()));
        let bytes = raw.bytes.as_ref().and_then(|bytes| self.bytes(bytes));
        // What leaves is expected to leave.
        let sends = edits.is_some() || bytes.is_some();
        Expectation {
            verdict: said(&raw.verdict).or((sends && held_by.is_none()).then_some(RequestFate::Forward)),
            held_by,
            edits,
            bytes,
        }
    }

    fn edits(&mut self, raw: &[Spanned<RawEdit>]) -> Vec<RequestChange> {
        let mut edits = Vec::new();
        for edit in raw {
            let RawEdit { at, by, text: written, inserted, deleted, .. } = edit.get_ref();
            let Some(at) = text(at).map(str::to_owned) else { continue };
            let does = match (written, inserted, said(deleted)) {
                (Some(written), None, None) => ChangeKind::Text(written.get_ref().clone()),
                (None, Some(text), None) => ChangeKind::Inserted(text.get_ref().clone()),
                (None, None, Some(true)) => ChangeKind::Deleted(true),
                _ => {
                    let hint = "give one of `text`, `inserted` and `deleted = true`";
                    self.complaints.error(edit.span(), "an edit does one thing", hint);
                    continue;
                }
            };
            self.rule_ids(by);
            let by = words_of(by).into_iter().map(|(id, _)| id.to_owned()).collect();
            edits.push(RequestChange { at, by, does });
        }
        edits
    }

    fn bytes(&mut self, bytes: &Spanned<String>) -> Option<ExpectedBytes> {
        match bytes.get_ref().as_str() {
            RECEIVED => Some(ExpectedBytes::Received),
            name => self.beside(bytes, "bytes").map(|content| ExpectedBytes::File(name.to_owned(), content)),
        }
    }
}

/// Returns a body that is written as a table, or as a text.
fn json_or_text(body: &Value) -> Vec<u8> {
    body.as_str().map_or_else(|| body.to_string(), str::to_owned).into_bytes()
}
