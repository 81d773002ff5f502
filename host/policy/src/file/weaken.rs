//! What a rule file may not say above a policy that the operator of a machine enforces.
//!
//! Rules above it may add: redact, hold and block more, and rewrite what its rules have left. What lets
//! pass what they hold, or has them look elsewhere or at something else, is refused.

use std::ops::Range;

use leafgate_diagnostic::Complaints;
use toml::Spanned;

use super::raw::{RawFile, RawRule};
use crate::rule::Sees;

/// Actions that come before a rule of the operator's could act: a section is taken for another one, a leaf
/// is no longer rewritten.
const EARLIER: [&str; 3] = ["classify", "pin", "protect"];

/// Reports each thing that would weaken what stands beneath the file.
pub(crate) fn refuse(raw: &RawFile, complaints: &mut Complaints<'_>) {
    let mut refuse = |span: Range<usize>, what: &str| {
        let message = format!("{what} may weaken the policy that the operator of this machine enforces");
        complaints.error(span, message, "take it out, or ask the operator, who decides about it");
    };
    if let Some(extends) = raw.extends.as_ref().filter(|extends| extends.get_ref() == "none") {
        refuse(extends.span(), "`extends = \"none\"`");
    }
    for row in raw.restore.iter().flatten() {
        refuse(row.span(), "a row of `restore`");
    }
    if let Some(keys) = &raw.require_signed {
        refuse(keys.span(), "a further key of `require_signed`");
    }
    for exception in &raw.exceptions {
        refuse(exception.span(), "an exception");
    }
    for rule in &raw.rules {
        weakens(rule.get_ref(), &mut refuse);
    }
}

fn weakens(rule: &RawRule, refuse: &mut impl FnMut(Range<usize>, &str)) {
    let says = |key: &Option<Spanned<String>>, words: &[&str]| {
        key.as_ref().filter(|key| words.contains(&key.get_ref().as_str())).map(Spanned::span)
    };
    if let Some(span) = says(&rule.action, &EARLIER) {
        refuse(span, "this action");
    }
    if let Some(span) = says(&rule.sees, &[Sees::Raw.name()]) {
        refuse(span, "a plugin that is shown what rules redact");
    }
}
