//! Findings that an exception allows.

use leafgate_detect::Label;
use leafgate_tree::NodeId;

use super::Run;
use super::site::Site;
use crate::exception::Exception;
use crate::index::RuleIndex;
use crate::selector::{Places, Selection};

impl<'p> Run<'p> {
    /// Returns true if and only if an exception allows what a rule found.
    pub(super) fn excepts(&self, site: Site, rule: RuleIndex, label: &Label, value: &str) -> bool {
        let exceptions = &self.policy.exceptions;
        exceptions.allowing(label, value, self.vault.keys()).any(|at| {
            let exception = exceptions.get(at);
            exception.is_about(rule)
                && self.exception_places()[at]
                    .as_ref()
                    .is_some_and(|place| self.is_in(exception, place, site))
        })
    }

    /// What each exception selects in this request; `None` where it does not apply to it. Most
    /// requests never ask.
    fn exception_places(&self) -> &[Option<Selection<'p>>] {
        self.excepted.get_or_init(|| {
            let exceptions = &self.policy.exceptions;
            let mut places = Places::of(self.document, &exceptions.paths);
            let selection = |(at, exception): (usize, &'p Exception)| {
                let rule = RuleIndex::new(at);
                exception.selector.for_request(rule, self.document.format(), &self.request, &mut places)
            };
            exceptions.iter().enumerate().map(selection).collect()
        })
    }

    /// Whether a text stands where an exception holds. One that names a place holds for what stands
    /// in the body alone.
    fn is_in(&self, exception: &Exception, place: &Selection<'_>, site: Site) -> bool {
        if exception.selector.is_everything_in_a_request() {
            return true;
        }
        let selects = |node: NodeId| self.document.settable(node).is_some_and(|leaf| place.selects(&leaf));
        match site {
            Site::Leaf(node) | Site::Key(node) => selects(node),
            Site::Inserted(number) => {
                let inserted = self.draft.inserted_at(number);
                inserted.is_some_and(|inserted| place.selects_inserted(self.document, inserted))
            }
            Site::File(number) => selects(self.request.context.files[number].node),
            Site::Seam(_) | Site::Option(_) | Site::Outside { .. } | Site::Elsewhere => false,
        }
    }
}
