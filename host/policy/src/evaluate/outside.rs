//! A request seen from outside its body: judged where it has none, and its path masked for logs and
//! people.

use std::sync::Arc;

use leafgate_tree::Document;
use leafgate_vault::Vault;

use super::{Evaluation, Run};
use crate::rule::Phase;
use crate::verdict::Verdict;
use crate::{Context, Policy};

/// What stands for a path of which nobody can tell what it holds.
const WITHHELD: &str = "(withheld)";

/// Searches what a request without a body says.
pub(crate) fn evaluate_outside(policy: &Policy, context: &Context<'_>, vault: &Vault) -> Evaluation {
    let document = Arc::new(Document::raw(bytes::Bytes::new()));
    search_outside(policy, &document, context, vault)
}

/// Returns true if and only if nothing holds a request because of what it says outside its body.
pub(crate) fn is_clean_outside(
    policy: &Policy,
    document: &Arc<Document>,
    context: &Context<'_>,
    vault: &Vault,
) -> bool {
    matches!(search_outside(policy, document, context, vault).verdict, Verdict::Forward)
}

fn search_outside(
    policy: &Policy,
    document: &Arc<Document>,
    context: &Context<'_>,
    vault: &Vault,
) -> Evaluation {
    let mut run = Run::new(policy, document, context, vault);
    run.phase(Phase::Redact, Run::redact_outside);
    run.finish()
}

/// Returns the spelling of a path and its query with masks for what is found in it.
pub(crate) fn masked_target(policy: &Policy, target: &str, vault: &Vault) -> String {
    let document = Arc::new(Document::raw(bytes::Bytes::new()));
    let run = Run::new(policy, &document, &Context::default(), vault);
    let Some(whole) = run.masked(target) else { return WITHHELD.to_owned() };
    let (path, query) = match whole.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (&*whole, None),
    };
    let Some(path) = masked_part(&run, path) else { return WITHHELD.to_owned() };
    let Some(query) = query else { return path };
    let pairs = query.split('&').map(|pair| {
        let parts =
            pair.split('=').map(|part| masked_part(&run, part).unwrap_or_else(|| WITHHELD.to_owned()));
        parts.collect::<Vec<_>>().join("=")
    });
    format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"))
}

/// A part of a target: as it is where nothing is found in it once its percent escapes are undone,
/// else without them and masked.
fn masked_part(run: &Run<'_>, part: &str) -> Option<String> {
    if !part.contains(['%', '+']) {
        return Some(part.to_owned());
    }
    let plain = percent_decoded(part);
    let masked = run.masked(&plain)?;
    Some(if masked == plain { part.to_owned() } else { masked })
}

/// Undoes percent escapes (RFC 3986, 2.1), and the plus sign of forms.
fn percent_decoded(text: &str) -> String {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let bytes = text.as_bytes();
    let (mut plain, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let escaped =
            (byte == b'%').then(|| Some(digit(bytes.get(at + 1))? * 16 + digit(bytes.get(at + 2))?));
        match escaped.flatten().and_then(|byte| u8::try_from(byte).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(if byte == b'+' { b' ' } else { byte });
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}
