//! `POST /v1/compose`: what a profile makes of a body, and what the policy says to it.
//!
//! The answer holds what would leave, after redaction, as every answer of this API: the body of a
//! profile alone holds what its files hold.

use std::sync::Arc;

use leafgate_admin::{Compose, ComposeStep, Composed, ErrorCode};
use leafgate_assemble::Step;
use leafgate_policy::{Context, Policy, Verdict};
use leafgate_tree::{Document, Format, Limits};
use leafgate_vault::{TokenKeys, Vault};

use super::answer::Failure;
use crate::session::session_key;

/// Composes. Reads files, so it is work for the blocking pool.
pub(super) fn compose(policy: &Policy, keys: TokenKeys, command: Compose) -> Result<Composed, Failure> {
    let malformed = |what: String| Failure::new(ErrorCode::Malformed, what);
    let document = read(command.body, command.format.as_deref())?;
    let session = session_key(&keys, &document);
    let context = Context { session: &session, ..Context::default() };
    let assembly = match &command.profile {
        Some(id) => policy.assembly(id),
        None => policy.assembly_for(&document, &context),
    };
    let assembly = assembly.ok_or_else(|| {
        let ids: Vec<&str> = policy.assemblies().iter().map(|assembly| &**assembly.id()).collect();
        let there = if ids.is_empty() { "there are none".to_owned() } else { ids.join(", ") };
        malformed("no profile makes this request".to_owned()).hint(format!("profiles: {there}"))
    })?;
    let assembled =
        assembly.assemble(&document, &assembly.files()).map_err(|why| malformed(why.to_string()))?;
    let made = Document::parse(assembled.body.into(), document.format(), &Limits::default());
    let made = made.map_err(|why| malformed(format!("what the profile makes cannot be read: {why}")))?;
    let evaluation = policy.evaluate(Arc::new(made), &context, &Vault::new(keys));
    let verdict = match evaluation.verdict {
        Verdict::Forward => "forward",
        Verdict::Route(_) => "route",
        Verdict::Pause(_) => "pause",
        // What would not leave is not shown either: it may be blocked for what could not be redacted.
        Verdict::Block(_) => {
            return Err(Failure::new(ErrorCode::Blocked, "a rule blocks what the profile makes"));
        }
    };
    Ok(Composed {
        profile: assembly.id().to_string(),
        body: String::from_utf8_lossy(&evaluation.draft.render()).into_owned(),
        verdict: verdict.to_owned(),
        steps: assembled.steps.iter().map(step).collect(),
        losses: assembled.steps.iter().filter(|step| step.did.is_loss()).map(step).collect(),
    })
}

fn read(body: String, format: Option<&str>) -> Result<Document, Failure> {
    let known = format.map(|name| {
        let format = Format::ALL.iter().copied().find(|format| format.name() == name);
        format.ok_or_else(|| Failure::new(ErrorCode::Malformed, "there is no such format"))
    });
    let limits = Limits::default();
    let document = match known.transpose()? {
        Some(format) => Document::parse(body.into(), format, &limits),
        None => Document::detect(body.into(), &limits),
    };
    document.map_err(|why| Failure::new(ErrorCode::Malformed, format!("the body cannot be read: {why}")))
}

fn step(step: &Step) -> ComposeStep {
    let digest = (!step.digest.is_empty()).then(|| step.digest.clone());
    ComposeStep { did: step.did.name().to_owned(), source: step.source.clone(), amount: step.amount, digest }
}
