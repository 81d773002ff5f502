//! Rules that are sound and can never act: what they select is protected from rules.
//!
//! The answer comes from the tree itself. For a path pattern a smallest request is put together
//! that holds what it names, and read in each format; which leaves are protected there is what the
//! projection of that format says.

use std::ops::Range;

use leafgate_diagnostic::Complaints;
use leafgate_tree::{Access, Format, NodeId};

use crate::pattern::PathPattern;
use crate::rule::{Action, Edit, Pin, Rule};

/// Warns of a rule that writes and whose paths select protected leaves only.
pub(crate) fn warn(rule: &Rule, paths: Range<usize>, complaints: &mut Complaints<'_>) {
    let writes = matches!(
        rule.action,
        Action::Edit(Edit::Rewrite(_) | Edit::Transform(_)) | Action::Pin(Pin::To { .. } | Pin::FirstSeen(_))
    );
    if !writes || rule.selector.paths.is_empty() {
        return;
    }
    let formats = rule.selector.formats();
    let protected = |&format: &Format| rule.selector.paths.iter().all(|path| is_protected(path, format));
    let idle: Vec<&str> =
        formats.iter().copied().filter(|format| protected(format)).map(Format::name).collect();
    if idle.is_empty() {
        return;
    }
    let message = match idle.len() == formats.len() {
        true => format!("rule `{}` can never act: rules may not change what it selects", rule.id),
        false => format!(
            "rule `{}` does nothing in {}: rules may not change what it selects",
            rule.id,
            idle.join(", ")
        ),
    };
    let hint = "ids, roles, types, names and the model are protected: pause or block on them, or change them in the client";
    complaints.warning(paths, message, hint);
}

/// Returns true where the pattern selects something in a smallest request of this format, and may
/// change none of it.
fn is_protected(path: &PathPattern, format: Format) -> bool {
    let Some((document, selected)) = path.sampled(format) else { return false };
    let nodes = selected.into_iter().flatten();
    let mut access = nodes.filter_map(|at| document.leaf(NodeId::from_index(at))).map(|leaf| leaf.access());
    let some = access.next();
    some.is_some_and(|first| first != Access::Open) && access.all(|other| other != Access::Open)
}
