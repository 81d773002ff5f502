//! A chat export under a policy: judged like a request, and then followed to wherever it repeats itself.
//!
//! Encoded texts come first. What the policy redacts in them is encoded again before the policy sees the export itself, since there it
//! could only hold the file for them. Copies come last, when all values are known.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use leafgate_chat::redact::copies::{Copies, Known};
use leafgate_chat::redact::encoded::{encoded, encoded_keys, shadows};
use leafgate_gate::session_key;
use leafgate_policy::{Context, Evaluation, Policy, Verdict};
use leafgate_tree::{Document, Draft, Format, Limits};
use leafgate_vault::Vault;

use crate::args::PolicyArg;
use crate::{home, policy, request};

/// An export and what the policy made of it.
pub(super) struct Policed {
    /// The export with what was redacted in its encoded texts, as edits of the file.
    pub(super) opened: Draft,
    /// What the policy did to that, and after it the redaction of copies.
    pub(super) evaluation: Evaluation,
    /// What became of copies.
    pub(super) copies: Copies,
    /// How many leaves had redactions that could not be traced to their values.
    pub(super) untraced: usize,
    /// What the policy says of texts that stand encoded in keys.
    pub(super) keys: Verdict,
}

/// Reads an export and applies the policy.
pub(super) fn police(policy: &PolicyArg, file: Option<&Path>) -> anyhow::Result<Policed> {
    let policy = policy::load(&policy.source)?;
    let document = Arc::new(request::read_as(file, Format::VscodeChat)?);
    let keys = home::token_keys()?;
    let session = session_key(&keys, &document);
    let judge = Judge { policy: &policy, session: &session, vault: Vault::new(keys) };
    let mut known = Known::default();
    let opened = judge.open(&document, &mut known)?;
    let document = if opened.is_dirty() { Arc::new(parse(opened.render())?) } else { document };
    let keys = match encoded_keys(&document) {
        Some(keys) => judge.evaluate(Arc::new(parse(keys.into())?)).verdict,
        None => Verdict::Forward,
    };
    let mut evaluation = judge.evaluate(Arc::clone(&document));
    known.learn(&evaluation.draft);
    let copies = known.redact(&mut evaluation.draft, &encoded(&document));
    Ok(Policed { opened, evaluation, copies, untraced: known.untraced(), keys })
}

/// What every look at the export has in common.
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

    /// Redacts encoded texts. Where that fails, the policy finds the text in its encoding, and holds the file.
    fn open(&self, document: &Arc<Document>, known: &mut Known) -> anyhow::Result<Draft> {
        let mut opened = Draft::new(Arc::clone(document));
        let hidden = encoded(document);
        for shadow in shadows(document, &hidden).context("cannot look into the encoded texts")? {
            let seen = self.evaluate(Arc::new(parse(shadow.bytes.clone())?)).draft;
            for found in shadow.redacted(&seen)? {
                let _ = found.write(&mut opened);
            }
            known.learn(&seen);
        }
        Ok(opened)
    }
}

/// What we rendered is JSON; it may still have outgrown a limit.
fn parse(bytes: bytes::Bytes) -> anyhow::Result<Document> {
    Document::parse(bytes, Format::VscodeChat, &Limits::default())
        .context("the export outgrows a limit when it is redacted")
}
