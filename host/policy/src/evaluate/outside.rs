//! A request seen from outside its body: judged where it has none, and its path masked for logs and
//! people.

use std::sync::Arc;

use leafgate_tree::Document;
use leafgate_vault::Vault;
use percent_encoding::percent_decode_str;

use super::search::{Rules, Search};
use super::site::Site;
use super::subject::Subject;
use super::{Evaluation, Run};
use crate::rule::Phase;
use crate::{Context, Policy};

/// What stands for a path of which nobody can tell what it holds.
const WITHHELD: &str = "(withheld)";

impl<'p> Search<'_, 'p> {
    /// Searches path, query and headers, and their names.
    pub(super) fn outside(&mut self, rules: &Rules<'p>) {
        let run = self.run;
        let texts = || {
            run.request
                .context
                .outside
                .iter()
                .flat_map(|outside| [outside.part.name().unwrap_or_default(), &outside.text])
        };
        self.unless_quiet(rules, texts, |search| {
            for (number, outside) in run.request.context.outside.iter().enumerate() {
                let site = |in_name| Site::Outside { in_name, number };
                if let Some(name) = outside.part.name() {
                    search.text(rules, Subject::new(site(true), name));
                }
                let key = outside.part.name().unwrap_or_default();
                search.text(rules, Subject { key: key.into(), ..Subject::new(site(false), &*outside.text) });
            }
        });
    }
}

impl Policy {
    /// Searches what a request says outside its body: its path, query and headers. Only redact rules
    /// act, and without a body none of those that name a model or a format.
    pub fn evaluate_outside(
        &self,
        document: Option<&Arc<Document>>,
        context: &Context<'_>,
        vault: &Vault,
    ) -> Evaluation {
        let document = document.map_or_else(|| Arc::new(Document::raw(bytes::Bytes::new())), Arc::clone);
        let mut run = Run::new(self, &document, context, vault);
        run.phase(Phase::Redact, Run::redact_outside);
        run.finish()
    }

    /// Returns the spelling of a path and its query for logs and people: whatever any detector of
    /// the policy finds in it, encoded or not, is shown as its label.
    pub fn masked_target(&self, target: &str, vault: &Vault) -> String {
        let document = Arc::new(Document::raw(bytes::Bytes::new()));
        let run = Run::new(self, &document, &Context::default(), vault);
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

    /// Masks whatever any redact rule of the policy finds in a text, encoded or not, in whatever
    /// mode the rule is; `None` where a detector failed.
    pub fn masked_text(&self, text: &str, vault: &Vault) -> Option<String> {
        let document = Arc::new(Document::raw(bytes::Bytes::new()));
        Run::new(self, &document, &Context::default(), vault).masked(text)
    }
}

/// A part of a target: as it is where nothing is found in it once its percent escapes are undone,
/// else without them and masked.
fn masked_part(run: &Run<'_>, part: &str) -> Option<String> {
    if !part.contains(['%', '+']) {
        return Some(part.to_owned());
    }
    // Forms write a blank as a plus sign.
    let blanks = part.replace('+', " ");
    let plain = percent_decode_str(&blanks).decode_utf8_lossy().into_owned();
    let masked = run.masked(&plain)?;
    Some(if masked == plain { part.to_owned() } else { masked })
}
