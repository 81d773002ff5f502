//! What a rule file may not say above a policy that the operator of a machine enforces.
//!
//! Rules above it may add: redact, hold and block more, and rewrite what its rules have left. What lets
//! pass what they hold, or has them look elsewhere or at something else, is refused.

use std::ops::Range;

use leafgate_diagnostic::Complaints;

use super::raw::{Extends, RawFile, RawRule, rows};
use crate::rule::{ActionName, Sees};

/// Actions that come before a rule of the operator's could act: a section is taken for another one, a leaf
/// is no longer rewritten.
const EARLIER: [ActionName; 3] = [ActionName::Classify, ActionName::Pin, ActionName::Protect];

/// Reports each thing that would weaken what stands beneath the file.
pub(crate) fn refuse(raw: &RawFile, complaints: &mut Complaints<'_>) {
    let mut refuse = |span: Range<usize>, what: &str| {
        let message = format!("{what} may weaken the policy that the operator of this machine enforces");
        complaints.error(span, message, "take it out, or ask the operator, who decides about it");
    };
    if let Some(extends) = raw.extends.as_ref().filter(|extends| *extends.get_ref() == Extends::None) {
        refuse(extends.span(), "`extends = \"none\"`");
    }
    for row in rows(&raw.restore) {
        refuse(row.span(), "a row of `restore`");
    }
    if let Some(keys) = &raw.require_signed {
        refuse(keys.span(), "a further key of `require_signed`");
    }
    for exception in rows(&raw.exceptions) {
        refuse(exception.span(), "an exception");
    }
    for rule in rows(&raw.rules) {
        weakens(rule.get_ref(), &mut refuse);
    }
}

fn weakens(rule: &RawRule, refuse: &mut impl FnMut(Range<usize>, &str)) {
    if let Some(action) = rule.action.as_ref().filter(|action| EARLIER.contains(action.get_ref())) {
        refuse(action.span(), "this action");
    }
    if let Some(sees) = rule.sees.as_ref().filter(|sees| *sees.get_ref() == Sees::Raw) {
        refuse(sees.span(), "a plugin that is shown what rules redact");
    }
}
