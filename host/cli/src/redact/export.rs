//! A chat export under a policy: judged like a request, then redacted wherever it repeats itself.
//!
//! Encoded texts come first. Redactions in them are encoded again before the policy sees the export
//! itself, because there it could only hold the file for them. Values over the seams of pieces come
//! next, because no piece shows them. Copies come last, when all values are known.

use std::sync::Arc;

use anyhow::ensure;
use leafgate_chat::redact::copies::{Copies, KnownCopies};
use leafgate_chat::redact::encoded::{self, encoded, encoded_keys};
use leafgate_chat::redact::ranges::{self, AUTHOR};
use leafgate_chat::redact::seams;
use leafgate_gate::session_key;
use leafgate_policy::{Evaluation, Policy, Verdict};
use leafgate_tree::{Author, Document, Draft, Format, NodeId};
use leafgate_vault::Vault;

use super::{EDITS, FindingPlace, RedactJudge, Redacted, findings};
use crate::{apply, home, masking};

/// An export and its evaluation.
pub(crate) struct JudgedExport {
    /// The export with the redactions of its encoded texts, as edits of the file.
    pub(crate) opened: Draft,
    /// That result, with the redactions over the seams of pieces.
    pub(crate) seams: Draft,
    /// First pieces of texts, in the same document, in which a value over a seam could not be
    /// redacted.
    unclear: Vec<NodeId>,
    /// The evaluation of that result, and after it the redaction of copies.
    pub(crate) evaluation: Evaluation,
    /// The redactions of copies.
    copies: Copies,
    /// The number of leaves with redactions that could not be traced to their values.
    untraced: usize,
    /// The verdict about texts that stand encoded in keys.
    keys: Verdict,
    /// The verdict about the joined texts of pieces, if it differs from that about the pieces.
    joined: Verdict,
}

/// Applies a policy to an export.
pub(crate) fn judge(policy: &Policy, document: Document) -> anyhow::Result<JudgedExport> {
    let document = Arc::new(document);
    ensure!(
        leafgate_chat::is_export(&document),
        "not a chat export: `requests`, an array, is missing; `leafgate apply` and `leafgate tree` take other requests"
    );
    let keys = home::token_keys()?;
    let session = session_key(&keys, &document);
    let (vault, known) = (Vault::new(keys), KnownCopies::default());
    let mut judge = RedactJudge { policy, session: &session, vault, format: Format::VscodeChat, known };
    let opened = encoded::redact(&document, |shadow| {
        let seen = judge.evaluate(judge.parse(shadow)?).draft;
        judge.known.learn(&seen);
        anyhow::Ok(seen)
    })?;
    let document = judge.redacted(&opened)?;
    let (seams, unclear, joined) = judge.seams(&document, &seams::runs(&document))?;
    let document = judge.redacted(&seams)?;
    let keys = match encoded_keys(&document) {
        Some(keys) => judge.evaluate(judge.parse(keys.into())?).verdict,
        None => Verdict::Forward,
    };
    let mut evaluation = judge.evaluate(Arc::clone(&document));
    let mut known = judge.known;
    known.learn(&evaluation.draft);
    let copies = known.redact(&mut evaluation.draft, &encoded(&document));
    let joined = if evaluation.verdict == Verdict::Forward { joined } else { Verdict::Forward };
    Ok(JudgedExport { opened, seams, unclear, evaluation, copies, untraced: known.untraced(), keys, joined })
}

/// Applies a policy to an export, and moves the ranges whose texts it changed.
pub(super) fn redact(policy: &Policy, document: Document) -> anyhow::Result<Redacted> {
    let mut export = judge(policy, document)?;
    let ranges = ranges::follow(&mut export.evaluation.draft)?;
    let JudgedExport { opened, seams, unclear, evaluation, copies, untraced, keys, joined } = export;
    let (draft, verdict) = (evaluation.draft, evaluation.verdict);
    let pointer = |pointer: String| FindingPlace::Pointer { pointer: masking::masked(&pointer) };
    let found = |draft: &Draft, rests| findings(draft, rests, |node| pointer(draft.pointer(node)));
    let (encoded, over) = (found(&opened, true), found(&seams, false));
    // The last key may be a copy itself, so the object around it is named.
    let around =
        |&node| draft.document().parent(node).map_or_else(String::new, |it| draft.document().pointer(it));
    let stuck = copies.stuck.iter().map(around);
    let stuck =
        stuck.chain(unclear.iter().map(|&node| seams.document().pointer(node))).map(pointer).collect();
    let edits = draft.edits().filter(|edit| edit.author != Author::rule(AUTHOR)).count();
    let untraced =
        (untraced > 0).then(|| format!("copies were not looked for of values in {untraced} leaves"));
    Ok(Redacted {
        bytes: draft.render().to_vec(),
        edits,
        parts: vec![
            (encoded.len(), "in encoded texts"),
            (over.len(), "over two pieces of a text"),
            (copies.leaves, "leaves with further copies"),
            (edits, EDITS),
            (ranges.edits, "numbers of ranges moved"),
        ],
        findings: [encoded, over, found(&draft, true)].concat(),
        holds: [verdict, keys, joined].into_iter().filter(Verdict::holds).collect(),
        waits: ranges.holds(),
        stuck,
        notes: ranges.stale.iter().map(apply::stale_range).chain(untraced).collect(),
        ..Redacted::default()
    })
}
