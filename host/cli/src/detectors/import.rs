//! `detectors import`: the rules of a gitleaks or betterleaks file, written once as detectors of a policy.
//!
//! A detector has a pattern, keywords and a group. What a rule asks beyond that (entropy, allow-lists, another rule beside it) makes it find
//! less; without it the detector finds more, so nothing that the rule guards is lost, and each such loss is named. A rule that would guard
//! something else, or nothing, is left out and named.

use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use regex::Regex;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::go_regex;
use crate::print::{Exit, Printer};

/// What these keys say is for people, or asks services about what was found.
const FOR_PEOPLE: &str =
    "title description tags minversion betterleaksminversion validate specificity severity references";

/// Shorter keywords are none of a policy's.
const LEAST_KEYWORD: usize = 3;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    rules: Vec<ImportedRule>,
    #[serde(flatten)]
    rest: Table,
}

#[derive(Deserialize)]
struct ImportedRule {
    id: String,
    #[serde(default)]
    description: String,
    regex: Option<String>,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default, rename = "secretgroup")]
    group: usize,
    path: Option<Value>,
    #[serde(default, rename = "skipreport")]
    is_silent: bool,
    #[serde(flatten)]
    rest: Table,
}

#[derive(Serialize)]
struct WrittenDetector {
    detector: [Detector; 1],
}

/// A `[[detector]]`.
#[derive(Serialize)]
struct Detector {
    id: String,
    label: &'static str,
    confidence: &'static str,
    regex: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    keywords: Vec<String>,
    examples: [String; 1],
}

pub(super) fn run(path: &Path, printer: &mut Printer) -> anyhow::Result<Exit> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    // What is wrong is told without the text that it is wrong in.
    let table: Table = toml::from_str(&text).map_err(|error| {
        let before = text.get(..error.span().map_or(0, |at| at.start)).unwrap_or_default();
        anyhow!("{} is no TOML: line {}", path.display(), before.matches('\n').count() + 1)
    })?;
    let is_none =
        "is no rule file of gitleaks or betterleaks: each of its `[[rules]]` has an `id` and a `regex`";
    let Ok(file) = lowered(Value::Table(table)).try_into::<File>() else {
        bail!("{} {is_none}", path.display())
    };
    if file.rules.is_empty() {
        bail!("{} holds no rule: gitleaks writes `[[rules]]` above each", path.display());
    }
    for key in lost(&file.rest) {
        printer.error_line(&format!("the whole file: `{key}` is not taken over"));
    }
    let (all, mut taken) = (file.rules.len(), 0);
    for rule in file.rules {
        let id = rule.id.clone();
        let lost: Vec<_> = lost(&rule.rest).map(|key| format!("`{key}`")).collect();
        match rule.detector() {
            Ok((description, detector)) => {
                taken += 1;
                if !description.is_empty() {
                    printer.line(&format!("# {}", description.replace(['\n', '\r'], " ")))?;
                }
                printer.line(&toml::to_string_pretty(&WrittenDetector { detector: [detector] })?)?;
                if !lost.is_empty() {
                    printer.error_line(&format!(
                        "{id}: finds more than the rule, which also has {}",
                        lost.join(", ")
                    ));
                }
            }
            Err(why) => printer.error_line(&format!("{id}: left out, {why}")),
        }
    }
    printer.error_line(&format!(
        "{taken} of {all} rules are detectors now: `detect = [\"own\"]` in a rule uses them all"
    ));
    Ok(Exit::Done)
}

/// Keys in small letters, as these scanners read them.
fn lowered(value: Value) -> Value {
    match value {
        Value::Table(table) => Value::Table(
            table.into_iter().map(|(key, value)| (key.to_ascii_lowercase(), lowered(value))).collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(lowered).collect()),
        value => value,
    }
}

fn lost(rest: &Table) -> impl Iterator<Item = &str> {
    rest.keys().map(String::as_str).filter(|key| !FOR_PEOPLE.split(' ').any(|known| known == *key))
}

impl ImportedRule {
    /// Returns its description and what it becomes, or why it becomes nothing.
    fn detector(self) -> Result<(String, Detector), &'static str> {
        if self.path.is_some() {
            return Err("since it is for certain paths, and a text in a request has none");
        }
        if self.is_silent {
            return Err("since it finds nothing by itself");
        }
        let source = self.regex.ok_or("since it has no `regex`")?;
        let regex = go_regex::translated(&source, self.group.max(1));
        let compiled = Regex::new(&regex).map_err(|_| "since its pattern cannot be read")?;
        if self.group > 0 && !compiled.capture_names().flatten().any(|name| name == go_regex::VALUE) {
            return Err("since its pattern has no such group");
        }
        let keywords: Vec<String> =
            self.keywords.into_iter().filter(|word| word.len() >= LEAST_KEYWORD).collect();
        let example = example(&regex, &compiled, &keywords).ok_or("since no example of it can be made")?;
        let id = self.id.to_ascii_lowercase().replace(['_', '.', ' ', '/'], "-");
        let detector =
            Detector { id, label: "SECRET", confidence: "medium", regex, keywords, examples: [example] };
        Ok((self.description, detector))
    }
}

/// Returns a text that a pattern finds something in, with a keyword where there are any.
fn example(regex: &str, compiled: &Regex, keywords: &[String]) -> Option<String> {
    let mut text = String::new();
    spell(&regex_syntax::parse(regex).ok()?, &mut text)?;
    let keyword = keywords.first().map_or("", String::as_str);
    let has_keyword = |text: &str| {
        let text = text.to_ascii_lowercase();
        keywords.is_empty() || keywords.iter().any(|word| text.contains(&word.to_ascii_lowercase()))
    };
    let tries = [
        text.clone(),
        format!("{keyword} {text}"),
        format!("{text} {keyword}"),
        format!("{keyword} {text} ;"),
    ];
    tries.into_iter().find(|text| has_keyword(text) && compiled.is_match(text))
}

/// Writes the shortest text that a pattern says, its first way where it has several; `None` where it has none.
fn spell(pattern: &Hir, text: &mut String) -> Option<()> {
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(Class::Unicode(class)) => {
            text.push(readable(class.iter().map(|range| (range.start(), range.end())).collect())?)
        }
        HirKind::Class(Class::Bytes(class)) => {
            text.push(readable(
                class.iter().map(|range| (range.start().into(), range.end().into())).collect(),
            )?);
        }
        HirKind::Repetition(repeated) => (0..repeated.min).try_for_each(|_| spell(&repeated.sub, text))?,
        HirKind::Capture(group) => spell(&group.sub, text)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| spell(part, text))?,
        HirKind::Alternation(ways) => spell(ways.first()?, text)?,
    }
    Some(())
}

/// Returns a small letter of a class, else another sign that can be seen, else any.
fn readable(ranges: Vec<(char, char)>) -> Option<char> {
    let within = |low: char, high: char| {
        ranges.iter().find_map(|(start, end)| (*start <= high && low <= *end).then(|| low.max(*start)))
    };
    within('a', 'z').or_else(|| within('!', '~')).or_else(|| ranges.first().map(|(start, _)| *start))
}
