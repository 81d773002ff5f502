//! What a rule says about a request as a whole: options, another model, tools to keep.

use leafgate_glob::Glob;
use toml::Spanned;

use super::compile::Compiler;
use super::raw::RawRule;
use crate::rule::{Edit, FilterTools, Rule};

/// Members of a body that are no options, and what to write instead.
const NO_OPTIONS: &[(&[&str], &str)] = &[
    (&["model"], "write `model = \"…\"` beside `action`"),
    (
        &["tools", "tool_choice", "functions", "function_call", "toolConfig"],
        "`action = \"filter-tools\"` keeps or drops tools",
    ),
    (
        &["messages", "input", "contents", "prompt", "system", "instructions", "systemInstruction"],
        "`insert`, `delete` and the other fields of `rewrite` change what is said",
    ),
    (&["stream"], "the gate answers in the form that the client asked for"),
    (&["previous_response_id", "conversation"], "it names what the server stored"),
];

impl Compiler<'_, '_> {
    /// `options = { … }` of a rewrite rule.
    pub(super) fn options(&mut self, raw: &RawRule) -> Option<Edit> {
        let table = raw.options.as_ref()?;
        let mut options = Vec::new();
        for (key, value) in table.get_ref() {
            if let Err(why) = super::matches::option_name(key) {
                self.complaints.error(value.span(), format!("no member can be called `{key}`"), why);
                continue;
            }
            let outermost = key.split('.').next().unwrap_or_default();
            match NO_OPTIONS.iter().find(|(keys, _)| keys.contains(&outermost)) {
                Some((_, hint)) => {
                    self.complaints.error(value.span(), format!("`{key}` is no option"), *hint);
                }
                None => options.push((key.clone(), value.get_ref().clone())),
            }
        }
        Some(Edit::Options(options))
    }

    /// `model = "…"` of a rewrite rule.
    pub(super) fn model(&mut self, model: &Spanned<String>) -> Option<Edit> {
        let name = model.get_ref();
        if name.is_empty() || name.contains(|c: char| c.is_control() || c.is_whitespace() || c == '*') {
            let hint = "write the name as the upstream knows it: `model = \"gpt-4o-mini\"`";
            self.complaints.error(model.span(), format!("`{name}` is no name of a model"), hint);
            return None;
        }
        Some(Edit::Model(name.clone()))
    }

    /// The model is chosen before anything is read, so no leaf can decide it.
    pub(super) fn model_is_of_request(&mut self, rule: &Rule, raw: &RawRule) {
        let Edit::Model(_) = (match &rule.action {
            crate::rule::Action::Edit(edit) => edit,
            _ => return,
        }) else {
            return;
        };
        if rule.is_of_request() {
            return;
        }
        let span = raw.model.as_ref().map(Spanned::span).unwrap_or_default();
        let hint = "which rules apply may depend on the model: ask for `format`, `agent`, `header`, `option`, `request.tokens` and the like";
        self.complaints.error(span, "no leaf can decide which model a request goes to", hint);
    }

    /// `filter-tools`.
    pub(super) fn filter_tools(&mut self, raw: &RawRule, header: &std::ops::Range<usize>) -> Option<Edit> {
        let mut globs =
            |field, value| -> Vec<Glob> { super::matches::tools(value, field, &mut self.complaints) };
        let (keep, drop) = (globs("keep", &raw.keep), globs("drop", &raw.drop));
        if raw.broken.contains("keep") || raw.broken.contains("drop") {
            return None;
        }
        if raw.keep.is_none() && raw.drop.is_none() {
            let hint = "name the tools that stay or those that go: `keep = [\"Read\", \"mcp__docs__*\"]`";
            self.complaints.error(header.clone(), "`filter-tools` needs `keep` or `drop`", hint);
            return None;
        }
        Some(Edit::FilterTools(FilterTools { keep, drop }))
    }
}
