//! A file of cases, word for word, and then as it is run.

use leafgate_contract::{LeafKind, Role, SectionKind, ValueType, config_json};
use serde::Deserialize;
use toml::{Spanned, Table};

use super::{
    BadCases, Cases, Expected, ExpectedEdit, ExpectedFinding, GivenLeaf, GivenText, PluginCase, line_of,
};

/// Actions that `edits` may name; texts of leaves stand in `becomes`.
const ACTIONS: [&str; 6] = ["pin", "delete", "insert-before", "note", "pause", "block"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCases {
    #[serde(default)]
    config: Table,
    #[serde(default, rename = "case")]
    cases: Vec<Spanned<RawCase>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCase {
    name: String,
    config: Option<Table>,
    format: Option<String>,
    #[serde(default)]
    model: String,
    #[serde(default)]
    session: String,
    #[serde(default)]
    subagent: bool,
    // The one leaf of a case.
    text: Option<String>,
    kind: Option<LeafKind>,
    value: Option<ValueType>,
    role: Option<Role>,
    section: Option<SectionKind>,
    tool: Option<String>,
    key: Option<String>,
    becomes: Option<String>,
    // Or several.
    leaves: Option<Vec<GivenLeaf>>,
    #[serde(default)]
    unchanged: bool,
    finds: Option<Vec<ExpectedFinding>>,
    edits: Option<Vec<ExpectedEdit>>,
    refuses: Option<String>,
    fails: Option<String>,
}

impl Cases {
    /// Reads a file of cases.
    ///
    /// # Errors
    /// The first line that is no case, with what to do about it.
    pub fn read(text: &str) -> Result<Self, BadCases> {
        let raw: RawCases = toml::from_str(text).map_err(|error| BadCases {
            line: error.span().map_or(1, |span| line_of(text, span.start)),
            message: error.message().to_owned(),
        })?;
        if raw.cases.is_empty() {
            let message = "there is no case: write a `[[case]]` with a `name`, a `text` and what it comes to"
                .to_owned();
            return Err(BadCases { line: 1, message });
        }
        let shared = raw.config;
        let case = |raw: Spanned<RawCase>| {
            let line = line_of(text, raw.span().start);
            raw.into_inner().into_case(line, &shared).map_err(|message| BadCases { line, message })
        };
        Ok(Cases { cases: raw.cases.into_iter().map(case).collect::<Result<_, _>>()? })
    }
}

impl RawCase {
    fn into_case(mut self, line: usize, shared: &Table) -> Result<PluginCase, String> {
        let leaves = self.leaves()?;
        let expected = self.expected(&leaves)?;
        let config = config_json(self.config.as_ref().unwrap_or(shared))
            .ok_or("dates and infinite numbers cannot be handed to a plugin: write them as strings")?;
        let given = GivenText {
            format: self.format.unwrap_or_else(|| "openai-chat".to_owned()),
            model: self.model,
            session: self.session,
            subagent: self.subagent,
            leaves,
        };
        Ok(PluginCase { name: self.name, line, config, given, expected })
    }

    fn leaves(&mut self) -> Result<Vec<GivenLeaf>, String> {
        let (text, leaves) = (self.text.take(), self.leaves.take());
        let alone = [
            ("kind", self.kind.is_some()),
            ("value", self.value.is_some()),
            ("role", self.role.is_some()),
            ("section", self.section.is_some()),
            ("tool", self.tool.is_some()),
            ("key", self.key.is_some()),
            ("becomes", self.becomes.is_some()),
        ];
        let lonely = alone.iter().find(|(_, given)| *given).map(|(name, _)| *name);
        match (text, leaves, lonely) {
            (Some(text), None, _) => Ok(vec![GivenLeaf {
                text,
                kind: self.kind,
                value: self.value,
                role: self.role,
                section: self.section,
                tool: self.tool.take(),
                key: self.key.take(),
                becomes: self.becomes.take(),
            }]),
            (Some(_), Some(_), _) => Err("it has both `text` and `leaves`: leave one out".to_owned()),
            (None, _, Some(name)) => Err(format!("`{name}` is about a leaf: write it beside a `text`")),
            (None, Some(leaves), None) if !leaves.is_empty() => Ok(leaves),
            // A configuration is refused before anything is given.
            (None, None, None) if self.refuses.is_some() => Ok(vec![]),
            (None, _, None) => {
                Err("it gives the plugin nothing: write a `text`, or several `leaves`".to_owned())
            }
        }
    }

    fn expected(&mut self, leaves: &[GivenLeaf]) -> Result<Expected, String> {
        let becomes = leaves.iter().any(|leaf| leaf.becomes.is_some());
        let rewrites = becomes || self.unchanged || self.edits.is_some();
        let said = [self.refuses.is_some(), self.fails.is_some(), self.finds.is_some(), rewrites];
        match said.iter().filter(|said| **said).count() {
            0 => {
                let message = "it expects nothing: write `finds` for a detector, `becomes`, `unchanged = true` or `edits` \
                               for a transformer, or `refuses` or `fails`";
                return Err(message.to_owned());
            }
            1 => {}
            _ => return Err("it expects two things at once: leave one out".to_owned()),
        }
        if becomes && self.unchanged {
            return Err(
                "a text becomes another one, and `unchanged` says otherwise: leave one out".to_owned()
            );
        }
        if let Some(part) = self.refuses.take() {
            return Ok(Expected::Refused(part));
        }
        if let Some(part) = self.fails.take() {
            return Ok(Expected::Fault(part));
        }
        if let Some(finds) = self.finds.take() {
            finds.iter().try_for_each(|finding| finding.check(leaves))?;
            return Ok(Expected::Findings(finds));
        }
        let texts = leaves.iter().map(|leaf| leaf.becomes.as_ref().unwrap_or(&leaf.text).clone()).collect();
        let other = self.edits.take().unwrap_or_default();
        other.iter().try_for_each(|edit| edit.check(leaves.len()))?;
        Ok(Expected::Edits { texts, other })
    }
}

impl ExpectedFinding {
    fn check(&self, leaves: &[GivenLeaf]) -> Result<(), String> {
        let ExpectedFinding { text, at, leaf, .. } = self;
        let Some(given) = leaves.get(*leaf) else { return Err(no_leaf(*leaf, leaves.len())) };
        match at {
            _ if text.is_empty() => Err("`finds` names an empty text: an empty finding is none".to_owned()),
            Some(at) if !given.text.get(*at..).is_some_and(|rest| rest.starts_with(text)) => {
                Err(format!("`{text}` does not stand at byte {at} of leaf {leaf}"))
            }
            None if !given.text.contains(text) => Err(format!("`{text}` does not stand in leaf {leaf}")),
            _ => Ok(()),
        }
    }
}

impl ExpectedEdit {
    fn check(&self, leaves: usize) -> Result<(), String> {
        let ExpectedEdit { action, leaf, section, .. } = self;
        if !ACTIONS.contains(&action.as_str()) {
            let known = ACTIONS.join("`, `");
            return Err(format!(
                "`{action}` is no action of `edits`: known are `{known}`; new texts and redactions stand in `becomes`"
            ));
        }
        match (leaf, section) {
            (Some(_), Some(_)) => Err("an edit is about a leaf or a section: leave one out".to_owned()),
            // Each leaf has a section of its own, so there are as many of them.
            (Some(place), None) | (None, Some(place)) if *place >= leaves => Err(no_leaf(*place, leaves)),
            _ => Ok(()),
        }
    }
}

fn no_leaf(place: usize, count: usize) -> String {
    format!("there is no leaf {place}: the case has {count}, counted from 0")
}
