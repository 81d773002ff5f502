//! A session under a policy: judged in batches of lines, then redacted wherever a value is repeated.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use anyhow::Context as _;
use bytes::Bytes;
use leafgate_chat::redact::copies::KnownCopies;
use leafgate_chat::redact::seams;
use leafgate_chat::session::{LineBatch, NoLines, batches, pieces, unwrapped, wrapped};
use leafgate_policy::{Evaluation, Policy, Verdict};
use leafgate_tree::{Document, Draft, Format, NodeId};
use leafgate_vault::Vault;

use super::{EDITS, FileFinding, FindingPlace, RedactJudge, Redacted, findings};
use crate::home;

/// How lines are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineForm {
    /// As the elements of an array.
    Array,
    /// As one text, in an array of its own: a line that was cut off.
    Text,
    /// As bytes that are no text, in which nothing can be replaced.
    Raw,
}

/// A batch that was judged.
struct JudgedBatch {
    /// The 1-based number of its first line.
    line: usize,
    /// Its lines in the file.
    range: Range<usize>,
    form: LineForm,
    /// The redactions of values that stand in several pieces.
    seams: Draft,
    /// Everything else, on what those left.
    draft: Draft,
    /// First pieces in which a value over a seam could not be redacted.
    unclear: Vec<NodeId>,
}

/// Applies a policy to a session.
pub(super) fn redact(policy: &Policy, file: &[u8]) -> anyhow::Result<Redacted> {
    let (vault, known) = (Vault::new(home::token_keys()?), KnownCopies::default());
    let mut judge = RedactJudge { policy, session: "redact", vault, format: Format::Generic, known };
    let mut holds = Vec::new();
    let mut all = Vec::new();
    for batch in batches(file) {
        let last = batch.line + file[batch.range.clone()].split_inclusive(|&byte| byte == b'\n').count() - 1;
        let judged = judge.batch(&batch, file, &mut holds);
        all.push(judged.with_context(|| format!("lines {} to {last} cannot be judged", batch.line))?);
    }
    // What one line shows may stand in an earlier one, where nothing tells what it is.
    let mut redacted = Redacted { holds, ..Redacted::default() };
    let mut stuck = BTreeSet::new();
    for mut judged in all {
        let copies = judge.known.redact(&mut judged.draft, &[]);
        let line = |document: &Document, node| judged.line_of(document, file, node);
        let draft = &judged.draft;
        stuck.extend(copies.stuck.iter().map(|&node| line(draft.document(), node)));
        stuck.extend(judged.unclear.iter().map(|&node| line(judged.seams.document(), node)));
        redacted.findings.extend(judged.findings(file));
        redacted.edits += draft.edits().count();
        redacted.bytes.extend(judged.lines(file)?);
    }
    redacted.findings.sort();
    redacted.stuck = stuck.into_iter().map(|line| FindingPlace::Line { line }).collect();
    redacted.parts = vec![(redacted.edits, EDITS)];
    Ok(redacted)
}

impl JudgedBatch {
    /// Returns the file's lines as they may be shared.
    fn lines(&self, file: &[u8]) -> anyhow::Result<Vec<u8>> {
        let before = &file[self.range.clone()];
        let rendered = self.draft.render();
        match self.form {
            LineForm::Array => Ok(unwrapped(&rendered, before)?),
            LineForm::Text => {
                let [text]: [String; 1] = serde_json::from_slice(&rendered).map_err(|_| NoLines)?;
                Ok(text.into_bytes())
            }
            LineForm::Raw => Ok(rendered.to_vec()),
        }
    }

    /// Returns the redactions by line. A value in several pieces is one.
    fn findings(&self, file: &[u8]) -> Vec<FileFinding> {
        let of = |draft: &Draft, rests| {
            let line = |node| self.line_of(draft.document(), file, node);
            findings(draft, rests, |node| FindingPlace::Line { line: line(node) })
        };
        [of(&self.seams, false), of(&self.draft, true)].concat()
    }

    /// Returns the line of the file on which a value stands.
    fn line_of(&self, document: &Document, file: &[u8], node: NodeId) -> usize {
        if self.form != LineForm::Array {
            return self.line;
        }
        let pointer = document.pointer(node);
        let element: usize =
            pointer.split('/').nth(1).and_then(|element| element.parse().ok()).unwrap_or_default();
        let lines = file[self.range.clone()].split_inclusive(|&byte| byte == b'\n').enumerate();
        let values = lines.filter(|(_, line)| !line.iter().all(u8::is_ascii_whitespace));
        self.line + values.map(|(at, _)| at).nth(element).unwrap_or_default()
    }
}

impl RedactJudge<'_> {
    fn batch(
        &mut self,
        batch: &LineBatch,
        file: &[u8],
        holds: &mut Vec<Verdict>,
    ) -> anyhow::Result<JudgedBatch> {
        let lines = &file[batch.range.clone()];
        let (form, document) = match std::str::from_utf8(lines) {
            _ if batch.is_json => (LineForm::Array, self.parse(wrapped(lines))?),
            Ok(text) => (LineForm::Text, self.parse(serde_json::to_vec(&[text])?.into())?),
            Err(_) => (LineForm::Raw, Arc::new(Document::raw(Bytes::copy_from_slice(lines)))),
        };
        let runs = match form {
            LineForm::Array => seams::runs_of(&document, &pieces(&document)),
            LineForm::Text | LineForm::Raw => Vec::new(),
        };
        let (seams, unclear, joined) = self.seams(&document, &runs)?;
        let Evaluation { draft, verdict, .. } = self.evaluate(self.redacted(&seams)?);
        holds.extend([joined, verdict].into_iter().filter(Verdict::holds));
        self.known.learn(&draft);
        let (line, range) = (batch.line, batch.range.clone());
        Ok(JudgedBatch { line, range, form, seams, draft, unclear })
    }
}
