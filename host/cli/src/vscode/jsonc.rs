//! Changes of JSON with comments, as VS Code writes its settings: a member is set or taken away by
//! splices, and every other byte stays.
//!
//! A new member stands first in its object, with the white space that the first member had. So taking
//! it away, with the white space before it and the comma behind it, gives back the bytes, whatever
//! comments and trailing commas follow, and whatever was edited elsewhere meanwhile.

use std::ops::Range;

use anyhow::{anyhow, bail};
use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, parse_to_ast};
use leafgate_agents::as_vscode_writes;
use serde::{Deserialize, Serialize};

/// How far a level is indented where nothing shows it.
const UNIT: &str = "    ";

/// A text, read.
pub(super) struct Jsonc<'t> {
    text: &'t str,
    /// `None` in a text that has only white space and comments.
    pub(super) root: Option<Value<'t>>,
    tokens: Vec<TokenAndRange<'t>>,
}

/// What stood in the place of a member that was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ValueBefore {
    /// Another value, as it was spelled.
    Value(String),
    /// Nothing. So many objects around it were made with it.
    Nothing(usize),
}

impl<'t> Jsonc<'t> {
    /// Reads a text.
    ///
    /// # Errors
    /// When it is no JSON, comments and trailing commas apart. The error names the line and quotes
    /// nothing.
    pub(super) fn parse(text: &'t str) -> anyhow::Result<Jsonc<'t>> {
        let collected = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: true };
        let read = parse_to_ast(text, &collected, &as_vscode_writes())
            .map_err(|error| anyhow!("line {} is no JSON", error.line_display()))?;
        Ok(Jsonc { text, root: read.value, tokens: read.tokens.unwrap_or_default() })
    }

    /// Returns the member at a path; of members of one name the last, which counts.
    pub(super) fn get(&self, path: &[&str]) -> Option<&Value<'t>> {
        path.iter().try_fold(self.root.as_ref()?, |value, name| member(value.as_object()?, name))
    }

    /// Returns the last member at a path whose value fits.
    fn find(&self, path: &[&str], fits: &dyn Fn(&Value<'t>) -> bool) -> Option<&ObjectProp<'t>> {
        fn within<'v, 't>(
            object: &'v Object<'t>,
            path: &[&str],
            fits: &dyn Fn(&Value<'t>) -> bool,
        ) -> Option<&'v ObjectProp<'t>> {
            let (name, rest) = path.split_first()?;
            let mut named = object.properties.iter().rev().filter(|prop| prop.name.as_str() == *name);
            named.find_map(|prop| match (rest, &prop.value) {
                ([], value) => fits(value).then_some(prop),
                (_, Value::Object(inner)) => within(inner, rest, fits),
                _ => None,
            })
        }
        within(self.root.as_ref()?.as_object()?, path, fits)
    }

    /// Returns a value as it is spelled.
    pub(super) fn spelled(&self, value: &Value<'t>) -> &'t str {
        &self.text[span(value)]
    }

    /// Returns the text with a member set to a JSON value, and what stood there.
    ///
    /// # Errors
    /// When something on the way is no object.
    pub(super) fn set(&self, path: &[&str], json: &str) -> anyhow::Result<(String, ValueBefore)> {
        if let Some(value) = self.get(path) {
            let before = ValueBefore::Value(self.spelled(value).to_owned());
            return Ok((spliced(self.text, span(value), json), before));
        }
        let newline = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let Some(root) = &self.root else {
            let gap = if matches!(self.text.as_bytes().last(), None | Some(b'\n')) { "" } else { newline };
            let made = nested(path, json, Some(newline), UNIT);
            return Ok((format!("{}{gap}{made}{newline}", self.text), ValueBefore::Nothing(path.len())));
        };
        let mut object = as_object(root)?;
        for (depth, name) in path.iter().enumerate() {
            match member(object, name) {
                Some(value) => object = as_object(value)?,
                None => {
                    let text = self.insert(object, name, &path[depth + 1..], json);
                    return Ok((text, ValueBefore::Nothing(path.len() - 1 - depth)));
                }
            }
        }
        bail!("nothing is set at no path")
    }

    /// Returns the text with a new first member.
    fn insert(&self, object: &Object<'t>, name: &str, within: &[&str], json: &str) -> String {
        let (start, end) = (object.range.start + 1, object.range.end - 1);
        let inside = &self.text[start..end];
        let run = &inside[..inside.len() - inside.trim_start().len()];
        // The line that the first member begins, without empty lines before it.
        let line = run.rfind('\n').map(|at| if run[..at].ends_with('\r') { at - 1 } else { at });
        let mut lead = run[line.unwrap_or(0)..].to_owned();
        if line.is_some() && inside.trim().is_empty() {
            lead.push_str(UNIT);
        }
        let unit = lead.trim_start_matches(['\r', '\n']);
        let unit = if unit.is_empty() { UNIT } else { unit };
        let value = nested(within, json, line.map(|_| lead.as_str()), unit);
        let comma = if object.properties.is_empty() { "" } else { "," };
        spliced(self.text, start..start, &format!("{lead}{}: {value}{comma}", quoted(name)))
    }

    /// Returns the text with what stood in the place of a member; `None` where the member is not, or
    /// has another value by now.
    pub(super) fn unset(&self, path: &[&str], ours: &str, before: &ValueBefore) -> Option<String> {
        let is_ours = |value: &Value<'_>| value.as_string_lit().is_some_and(|text| text.value == ours);
        let prop = self.find(path, &is_ours)?;
        let made = match before {
            ValueBefore::Value(spelled) => return Some(spliced(self.text, span(&prop.value), spelled)),
            ValueBefore::Nothing(made) => *made,
        };
        let mut text = self.without(prop);
        // What was made for the member alone goes with it, unless somebody wrote into it.
        for depth in (0..path.len()).rev().take(made) {
            match Jsonc::parse(&text).ok()?.without_blank(&path[..depth]) {
                Some(without) => text = without,
                None => break,
            }
        }
        Some(text)
    }

    /// Returns the text without the object at a path, if nothing stands in it.
    fn without_blank(&self, path: &[&str]) -> Option<String> {
        let is_blank = |value: &Value<'_>| {
            let inside = value.as_object().map(|object| object.range.start + 1..object.range.end - 1);
            inside.is_some_and(|inside| self.text[inside].trim().is_empty())
        };
        match path {
            [] => self
                .root
                .as_ref()
                .filter(|root| is_blank(root))
                .map(|root| spliced(self.text, span(root), "")),
            path => self.find(path, &is_blank).map(|prop| self.without(prop)),
        }
    }

    /// Returns the text without a member.
    fn without(&self, prop: &ObjectProp<'t>) -> String {
        let is_comma = |token: &&TokenAndRange<'t>| matches!(token.token, Token::Comma);
        let next = self.tokens.iter().find(|token| token.range.start >= prop.range.end).filter(is_comma);
        let last = self.tokens.iter().rfind(|token| token.range.end <= prop.range.start).filter(is_comma);
        let start = self.text[..prop.range.start].trim_end().len();
        let end = next.map_or(prop.range.end, |comma| comma.range.end);
        let text = spliced(self.text, start..end, "");
        match (next, last) {
            // The last member leaves no comma behind.
            (None, Some(comma)) => spliced(&text, comma.range.start..comma.range.end, ""),
            _ => text,
        }
    }
}

/// Returns a member of an object by its name; of several the last.
pub(super) fn member<'v, 't>(object: &'v Object<'t>, name: &str) -> Option<&'v Value<'t>> {
    object.properties.iter().rfind(|prop| prop.name.as_str() == name).map(|prop| &prop.value)
}

fn as_object<'v, 't>(value: &'v Value<'t>) -> anyhow::Result<&'v Object<'t>> {
    value.as_object().ok_or_else(|| anyhow!("what should be an object (`{{ … }}`) is something else"))
}

/// Returns objects around a value: on lines of their own where the line of the outermost is given.
fn nested(path: &[&str], json: &str, line: Option<&str>, unit: &str) -> String {
    let Some((name, rest)) = path.split_first() else { return json.to_owned() };
    let name = quoted(name);
    match line {
        Some(line) => {
            let inner = format!("{line}{unit}");
            format!("{{{inner}{name}: {}{line}}}", nested(rest, json, Some(&inner), unit))
        }
        None => format!("{{ {name}: {} }}", nested(rest, json, None, unit)),
    }
}

/// Returns a text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns where a value stands.
pub(super) fn span(value: &Value<'_>) -> Range<usize> {
    use jsonc_parser::common::Ranged;
    value.start()..value.end()
}

/// Returns a text with one stretch replaced.
pub(super) fn spliced(text: &str, place: Range<usize>, new: &str) -> String {
    [&text[..place.start], new, &text[place.end..]].concat()
}
