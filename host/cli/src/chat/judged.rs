//! A chat export under a policy: judged like a request, then redacted wherever it repeats itself.
//!
//! Encoded texts come first. Redactions in them are encoded again before the policy sees the export
//! itself, because there it could only hold the file for them. Values over the seams of pieces come
//! next, because no piece shows them. Copies come last, when all values are known.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use leafgate_chat::redact::copies::{Copies, Known};
use leafgate_chat::redact::encoded::{ShadowError, encoded, encoded_keys, shadows};
use leafgate_chat::redact::seams;
use leafgate_gate::session_key;
use leafgate_policy::{Context, Evaluation, Policy, Verdict};
use leafgate_tree::{Document, Draft, Format, Limits, NodeId};
use leafgate_vault::Vault;

use crate::args::PolicyArg;
use crate::redact::redact_seams;
use crate::{home, policy, request};

/// An export and its evaluation.
pub(super) struct JudgedExport {
    /// The export with the redactions of its encoded texts, as edits of the file.
    pub(super) opened: Draft,
    /// That result, with the redactions over the seams of pieces.
    pub(super) seams: Draft,
    /// First pieces of texts, in the same document, in which a value over a seam could not be
    /// redacted.
    pub(super) unclear: Vec<NodeId>,
    /// The evaluation of that result, and after it the redaction of copies.
    pub(super) evaluation: Evaluation,
    /// The redactions of copies.
    pub(super) copies: Copies,
    /// The number of leaves with redactions that could not be traced to their values.
    pub(super) untraced: usize,
    /// The verdict about texts that stand encoded in keys.
    pub(super) keys: Verdict,
    /// The verdict about the joined texts of pieces, if it differs from that about the pieces.
    pub(super) joined: Verdict,
}

/// Reads an export and applies the policy.
pub(super) fn judge(policy: &PolicyArg, file: Option<&Path>) -> anyhow::Result<JudgedExport> {
    let policy = policy::load(&policy.source)?;
    let document = Arc::new(request::read_as(file, Format::VscodeChat)?);
    ensure!(
        leafgate_chat::is_export(&document),
        "not a chat export: `requests`, an array, is missing; `leafgate apply` and `leafgate tree` take other requests"
    );
    let keys = home::token_keys()?;
    let session = session_key(&keys, &document);
    let judge = Judge { policy: &policy, session: &session, vault: Vault::new(keys) };
    let mut known = Known::default();
    let opened = judge.redact_encoded(&document, &mut known)?;
    let document = redacted(&opened)?;
    let joined = |joined| Ok(judge.evaluate(Arc::new(parse(joined)?)));
    let (seams, unclear, joined) = redact_seams(&document, &seams::runs(&document), &mut known, joined)?;
    let document = redacted(&seams)?;
    let keys = match encoded_keys(&document) {
        Some(keys) => judge.evaluate(Arc::new(parse(keys.into())?)).verdict,
        None => Verdict::Forward,
    };
    let mut evaluation = judge.evaluate(Arc::clone(&document));
    known.learn(&evaluation.draft);
    let copies = known.redact(&mut evaluation.draft, &encoded(&document));
    let joined = if evaluation.verdict == Verdict::Forward { joined } else { Verdict::Forward };
    Ok(JudgedExport { opened, seams, unclear, evaluation, copies, untraced: known.untraced(), keys, joined })
}

/// Returns the document that a draft renders, or its own.
fn redacted(draft: &Draft) -> anyhow::Result<Arc<Document>> {
    if draft.is_dirty() { Ok(Arc::new(parse(draft.render())?)) } else { Ok(Arc::clone(draft.document())) }
}

/// The context of all evaluations of one export.
struct Judge<'p> {
    policy: &'p Policy,
    session: &'p str,
    vault: Vault,
}

impl Judge<'_> {
    fn evaluate(&self, document: Arc<Document>) -> Evaluation {
        let context = Context { session: self.session, ..Context::default() };
        self.policy.evaluate(document, &context, &self.vault)
    }

    /// Redacts encoded texts. If that fails, the policy finds the text in its encoding, and holds
    /// the file.
    fn redact_encoded(&self, document: &Arc<Document>, known: &mut Known) -> anyhow::Result<Draft> {
        let mut opened = Draft::new(Arc::clone(document));
        let hidden = encoded(document);
        let shadows = match shadows(document, &hidden) {
            Ok(shadows) => shadows,
            Err(ShadowError::TooMany { .. }) => return Ok(opened),
            Err(error) => return Err(error).context("cannot look into the encoded texts"),
        };
        for shadow in shadows {
            let shadow = shadow.context("cannot look into the encoded texts")?;
            let seen = self.evaluate(Arc::new(parse(shadow.bytes.clone())?)).draft;
            for found in shadow.redacted(&seen)? {
                let _ = found.write(&mut opened);
            }
            known.learn(&seen);
        }
        Ok(opened)
    }
}

/// Parses a rendered export. It is JSON, but it may have outgrown a limit.
fn parse(bytes: bytes::Bytes) -> anyhow::Result<Document> {
    Document::parse(bytes, Format::VscodeChat, &Limits::default())
        .context("the export outgrows a limit when it is redacted")
}
