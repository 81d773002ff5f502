//! A request that a recorder is told of: what it is told when the request leaves or never will, and of its answer.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::HeaderMap;
use leafgate_answer::{Answer, AnswerLimits, Api as AnswerApi, Delta, Reader};
use leafgate_record::{
    AnswerPart, RecordId, Recorded, RecordedApproval, RecordedEdit, Recorder, RequestRecord,
};
use leafgate_tree::{Author, Draft};

use leafgate_http::media::AnswerForm;

/// Returns the changes that stand in a draft.
pub(crate) fn recorded_edits(draft: &Draft) -> Vec<RecordedEdit> {
    let document = draft.document();
    let redactions = draft.redactions().map(|made| RecordedEdit {
        kind: "redact",
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
            kind: edit.kind.name(),
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

/// A request that was judged and not yet told. Dropping it tells that its client is gone.
#[derive(derive_more::Debug)]
#[debug("Recording {{ record: {record:?}, .. }}")]
pub(crate) struct Recording {
    recorder: Arc<dyn Recorder>,
    record: Box<RequestRecord>,
    told: bool,
    /// Since when it waits for a person.
    waits: Option<Instant>,
}

impl Recording {
    pub(crate) fn new(recorder: Arc<dyn Recorder>, record: Box<RequestRecord>, waits: bool) -> Self {
        Recording { recorder, record, told: false, waits: waits.then(Instant::now) }
    }

    /// A person has decided about it, and let go what `edits` made of it.
    pub(crate) fn approved(&mut self, approval: RecordedApproval, edits: Vec<RecordedEdit>) {
        self.record.approved = Some(approval);
        self.record.edits = edits.into();
    }

    /// Tells that it leaves, as these bytes.
    pub(crate) fn sent(&mut self, id: RecordId, body: Bytes) -> (ToldRequest, Recorded) {
        self.told = true;
        let waiting = self.waits.map(|since| since.elapsed());
        let record = RequestRecord { id, sent: Some(body), waiting, ..(*self.record).clone() };
        let api = record.answers;
        let recorded = self.recorder.request(Box::new(record));
        let over = matches!(recorded, Recorded::Missed);
        (ToldRequest::new(&self.recorder, id, api, over), recorded)
    }

    /// Tells that it never leaves, and why.
    pub(crate) fn refused(mut self, verdict: &'static str) {
        self.tell_refused(verdict);
    }

    fn tell_refused(&mut self, verdict: &'static str) {
        if std::mem::replace(&mut self.told, true) {
            return;
        }
        let waiting = self.waits.map(|since| since.elapsed());
        let record = RequestRecord { verdict, waiting, ..(*self.record).clone() };
        // What never leaves is not waited for.
        let _ = self.recorder.request(Box::new(record));
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.tell_refused("abandoned");
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
    fn new(recorder: &Arc<dyn Recorder>, id: RecordId, api: Option<AnswerApi>, over: bool) -> Self {
        ToldRequest { recorder: Arc::clone(recorder), id, api, over }
    }

    /// Returns who was told, and under which number.
    pub(crate) fn whom(&self) -> (Arc<dyn Recorder>, RecordId) {
        (Arc::clone(&self.recorder), self.id)
    }

    /// Hands it on, where its end was not told yet.
    pub(crate) fn take(&mut self) -> Option<ToldRequest> {
        let over = std::mem::replace(&mut self.over, true);
        (!over).then(|| ToldRequest::new(&self.recorder, self.id, self.api, false))
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
