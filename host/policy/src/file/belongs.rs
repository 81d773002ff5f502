//! Which field of a rule belongs to which action. One that stands in a rule of another action is an
//! error: it would be ignored.

use leafgate_diagnostic::Complaints;
use leafgate_diagnostic::keys::Table;

use super::raw::RawRule;

/// Reports each field that means nothing to the rule's action.
pub(crate) fn check(raw: &RawRule, action: &str, complaints: &mut Complaints<'_>) {
    for key in RawRule::KEYS {
        let (field, actions) = (key.name, key.actions);
        let Some(span) = raw.place(field).filter(|_| !actions.is_empty()) else { continue };
        if !actions.contains(&action) {
            let hint = format!("`{field}` belongs to {}", actions.join(", "));
            complaints.error(span, format!("`{field}` means nothing to `{action}`"), hint);
        }
    }
}
