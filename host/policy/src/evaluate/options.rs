//! What rules do to a request as a whole: options, the model. Its tools are next door.
//!
//! Like a message that is put in, such a change is made once for the request, where the rule applies
//! to any leaf of it. The model is another matter: which rules apply may depend on it, so it is
//! chosen before any of them is asked ([`Run::choose_model`]), and the edit follows in its phase.

use leafgate_tree::Document;
use serde_json::Value;

use super::edit::Change;
use super::search::{Rules, Search};
use super::site::Site;
use super::subject::Subject;
use super::{Run, author};
use crate::Policy;
use crate::condition::RequestFacts;
use crate::index::RuleIndex;
use crate::rule::{Action, Edit, Phase, Rule};
use crate::selector::Places;

/// Returns the rule that chooses the model of a request, and the model: the first in file order that
/// applies.
pub(super) fn chosen_model<'p>(
    policy: &'p Policy,
    document: &Document,
    request: &RequestFacts<'_>,
) -> Option<(RuleIndex, &'p str)> {
    // Where nobody names a model there is nothing to change.
    if request.context.model.is_none() {
        document.model_leaf()?;
    }
    let rules = policy.lookup.of_phase(Phase::Rewrite).iter();
    let asked = |index: &&RuleIndex| {
        let rule = &policy.rules[**index];
        request.context.asks(rule) && !rule.monitors()
    };
    rules.filter(asked).find_map(|&index| {
        let rule = &policy.rules[index];
        let Action::Edit(Edit::Model(model)) = &rule.action else { return None };
        let applies = rule.selector.request.applies(rule.selector.reach, document.format(), request)
            && rule.when.as_ref().is_none_or(|when| when.of_request(request) == Ok(true));
        applies.then_some((index, model.as_str()))
    })
}

impl<'p> Run<'p> {
    /// Records which rule chose the model. That rule was asked about the model before.
    pub(super) fn choose_model(&mut self, index: RuleIndex, before: String) {
        self.chosen_model = Some((index, before != self.request.model));
        let rule = &self.policy.rules[index];
        let request = RequestFacts { model: before, ..self.request.clone() };
        let mut places = Places::of(self.document, &self.policy.lookup.paths);
        self.active[index.get()] = super::activate(index, rule, self.document, &request, &mut places);
    }

    /// Gives the body the options of a rule.
    pub(super) fn put_options(&mut self, index: RuleIndex, rule: &Rule, options: &[(String, Value)]) {
        self.edit_request(index, |run| {
            let author = author(rule);
            let put =
                |(key, value): &(String, Value)| run.change(index, &author, None, Change::Option(key, value));
            options.iter().map(put).sum()
        });
    }

    /// Names the model that was chosen.
    pub(super) fn set_model(&mut self, index: RuleIndex, rule: &Rule, model: &str) {
        let chosen = self.chosen_model.filter(|(chosen, _)| *chosen == index);
        if chosen.is_none() && !rule.monitors() {
            // It does not apply, or an earlier rule has chosen; or nobody can tell.
            if let Err(error) = self.first_match(index) {
                self.rule_failed(index, error.to_string());
            }
            return;
        }
        if self.request.context.model.is_some() {
            let differs = chosen.is_some_and(|(_, differs)| differs);
            return self.ask_in_path(index, rule, model, differs);
        }
        // Any refusal is given back: all rules were asked about a model that the request would not go to.
        self.edit_request(index, |run| {
            run.draft.set_model(model, &author(rule)).map(|done| usize::from(done.is_some()))
        });
    }

    /// Counts a model that was chosen where the path names it. Whoever sends the request writes the
    /// path ([`Policy::model_for`]); a body that repeats the model must not say another one.
    fn ask_in_path(&mut self, index: RuleIndex, rule: &Rule, model: &str, differs: bool) {
        self.edit_request(index, |run| {
            run.would_have(index, None, || format!("ask the model `{model}`"));
            let repeats = run.document.model().filter(|_| !rule.monitors());
            if let Some(repeated) = repeats {
                // `models/…`, as the API calls it.
                let resource = repeated.rfind('/').map_or("", |end| &repeated[..=end]);
                run.draft.set_model(&format!("{resource}{model}"), &author(rule))?;
            }
            Ok(usize::from(rule.monitors() || differs))
        });
    }
}

impl<'p> Search<'_, 'p> {
    /// Searches every member that was put into the body and stands.
    pub(super) fn options(&mut self, rules: &Rules<'p>) {
        for (number, option) in self.run.draft.options().enumerate() {
            let json = option.json().into_cow().into_owned();
            let subject = Subject {
                key: option.member().to_owned().into(),
                unwalked: true,
                ..Subject::new(Site::Option(number), json)
            };
            self.text(rules, subject);
        }
    }
}
