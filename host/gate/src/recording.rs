//! A request that a recorder is told of: what it is told when the request leaves or never will, and of its answer.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::HeaderMap;
use leafgate_answer::{Answer, AnswerLimits, Api as AnswerApi, Delta, Reader};
use leafgate_record::{
    AnswerOutcome, AnswerPart, RecordId, Recorded, RecordedApproval, RecordedEdit, Recorder, RequestRecord,
};
use leafgate_tree::{Author, Draft};

use leafgate_http::AnswerForm;

/// Returns the changes that stand in a draft.
pub fn recorded_edits(draft: &Draft) -> Vec<RecordedEdit> {
    let document = draft.document();
    let redactions = draft.redactions().map(|made| RecordedEdit {
        kind: "redact".into(),
        path: document.display_path(made.node),
        rule: author(&made.author),
        label: Some(Arc::clone(&made.label)),
        detector: made.detector.as_deref().map(str::to_owned),
        length: Some(made.removed),
    });
    let edits = draft.edits().flat_map(|edit| {
        // A member that is put in has no place in what came.
        let option = draft.option_by(edit).map(|option| option.key().to_owned());
        let made = RecordedEdit {
            kind: edit.kind.name().into(),
            path: option.unwrap_or_else(|| document.display_path(edit.target)),
            rule: author(&edit.author),
            label: None,
            detector: None,
            length: None,
        };
        // A release is told once for each redaction that it took back, with the place of that.
        let released = draft.released_by(edit).map(|taken| RecordedEdit {
            path: document.display_path(taken.node),
            rule: format!("person:{}", author(&taken.author)),
            label: Some(Arc::clone(&taken.label)),
            detector: taken.detector.as_deref().map(str::to_owned),
            length: Some(taken.removed),
            ..made.clone()
        });
        let released: Vec<_> = released.collect();
        if released.is_empty() { vec![made] } else { released }
    });
    redactions.chain(edits).collect()
}

fn author(author: &Author) -> String {
    match author {
        Author::Rule { id } | Author::Plugin { rule: id, .. } => id.to_string(),
        Author::SavedEdit { id } => format!("saved:{id}"),
        Author::Person => "person".to_owned(),
    }
}

/// The verdict of a request whose client is gone.
pub(crate) const ABANDONED: &str = "abandoned";

/// A request that was judged. Dropping it tells that its client is gone, where nothing was told.
#[derive(derive_more::Debug)]
#[debug("Recording {{ record: {record:?}, .. }}")]
pub(crate) struct Recording {
    recorder: Arc<dyn Recorder>,
    /// Until it will not leave any more.
    record: Option<Box<RequestRecord>>,
    /// The number under which it left last.
    id: Option<RecordId>,
    /// Since when it waits for a person.
    waits: Option<Instant>,
}

impl Recording {
    pub(crate) fn new(recorder: Arc<dyn Recorder>, record: Box<RequestRecord>, waits: bool) -> Self {
        Recording { recorder, record: Some(record), id: None, waits: waits.then(Instant::now) }
    }

    /// A person has decided about it, and let go what `edits` made of it.
    pub(crate) fn approved(&mut self, approval: RecordedApproval, edits: impl FnOnce() -> Vec<RecordedEdit>) {
        if let Some(record) = &mut self.record {
            (record.approved, record.edits) = (Some(approval), edits().into());
        }
    }

    /// Tells that it leaves, as these bytes.
    pub(crate) fn sent(
        &mut self,
        id: impl FnOnce() -> RecordId,
        body: &Bytes,
    ) -> Option<(ToldRequest, Recorded)> {
        let record = self.record.as_ref()?;
        let id = *self.id.insert(id());
        let waiting = self.waits.map(|since| since.elapsed());
        let record = RequestRecord { id, sent: Some(body.clone()), waiting, ..(**record).clone() };
        let api = record.answers;
        let recorded = self.recorder.request(Box::new(record));
        let over = matches!(recorded, Recorded::Missed);
        Some((ToldRequest { recorder: Arc::clone(&self.recorder), id, api, over }, recorded))
    }

    /// It leaves no more: tells why, where it never did.
    pub(crate) fn refused(&mut self, verdict: &'static str) {
        let record = self.record.take().filter(|_| self.id.is_none());
        if let Some(mut record) = record {
            (record.verdict, record.waiting) = (verdict, self.waits.map(|since| since.elapsed()));
            // What never leaves is not waited for.
            let _ = self.recorder.request(record);
        }
    }

    /// Tells what rules and people made of its answer.
    pub(crate) fn ruled(&self, outcome: AnswerOutcome, rules: &[String]) {
        if let Some(id) = self.id {
            self.recorder.answer(id, AnswerPart::Ruled { outcome, rules: rules.to_vec() });
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.refused(ABANDONED);
    }
}

/// A request that was told: its answer follows. Dropping it tells that there is none, or none that
/// goes on: its client may leave at any moment.
pub(crate) struct ToldRequest {
    recorder: Arc<dyn Recorder>,
    id: RecordId,
    /// The API of the answer; `None` where it is no conversation.
    api: Option<AnswerApi>,
    over: bool,
}

impl ToldRequest {
    /// Hands it on, where its end was not told yet.
    pub(crate) fn take(&mut self) -> Option<ToldRequest> {
        let over = std::mem::replace(&mut self.over, true);
        let recorder = Arc::clone(&self.recorder);
        (!over).then(|| ToldRequest { recorder, id: self.id, api: self.api, over: false })
    }

    /// Tells what was heard.
    pub(crate) fn said(&self, deltas: &[Delta]) {
        if !deltas.is_empty() {
            self.tell(AnswerPart::Said(deltas.into()));
        }
    }

    /// Tells the end.
    pub(crate) fn end(&mut self, complete: bool, answer: Option<&Answer>) {
        if !std::mem::replace(&mut self.over, true) {
            let answer = answer.map(|answer| Arc::new(answer.summary()));
            self.recorder.answer(self.id, AnswerPart::End { complete, answer });
        }
    }

    pub(crate) fn tell(&self, part: AnswerPart) {
        if !self.over {
            self.recorder.answer(self.id, part);
        }
    }

    /// What reads an answer for the recorder alone.
    pub(crate) fn reader(&self, headers: &HeaderMap) -> Option<Reader> {
        let (api, limits) = (self.api?, AnswerLimits::default());
        match AnswerForm::of(headers)? {
            AnswerForm::Events => Some(Reader::stream(api, limits)),
            AnswerForm::Whole => Some(Reader::whole(api, limits)),
        }
    }
}

impl Drop for ToldRequest {
    fn drop(&mut self) {
        self.end(false, None);
    }
}
