//! What people say about a rule: its reason, how much it matters, who answers for it.

use leafgate_diagnostic::hint_for;
use toml::Spanned;

use super::compile::Compiler;
use super::raw::RawRule;
use crate::reason::{Fact, Reason};

impl Compiler<'_, '_> {
    /// The rule's own words; each name in braces must be a fact without text.
    pub(super) fn reason(&mut self, raw: &RawRule) -> Option<Reason> {
        let words = raw.reason.as_ref()?;
        match Reason::parse(words.get_ref()) {
            Ok(reason) => Some(reason),
            Err(unknown) => {
                for unknown in unknown {
                    let (message, hint) = match unknown.name.as_str() {
                        "leaf.text" | "leaf.findings" | "leaf.key" | "leaf.path" | "leaf.pointer" => (
                            format!("`{}` may hold what must not be told", unknown.name),
                            format!(
                                "clients and logs read the reason; it can name {}",
                                Fact::NAMES.join(", ")
                            ),
                        ),
                        name => (format!("a reason has no `{name}`"), hint_for(name, Fact::NAMES)),
                    };
                    let at = self.complaints.inside(words.span(), words.get_ref(), unknown.at);
                    self.complaints.error(at, message, hint);
                }
                None
            }
        }
    }

    /// Reads what it is about, which decides nothing.
    pub(super) fn about(&mut self, raw: &RawRule) {
        for (tag, span) in raw.tags.iter().flat_map(|tags| tags.get_ref().words(tags.span())) {
            self.complaints.kebab(&Spanned::new(span, tag.to_owned()), "customer-data");
        }
    }
}
