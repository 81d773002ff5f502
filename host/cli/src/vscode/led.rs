//! A file of settings that leads to a gate, and as it was before.
//!
//! Two addresses of Copilot are set in `settings.json`: they count signed out as well, when VS Code
//! still asks Copilot for titles. In `chatLanguageModels.json` it is the URL of each model of the
//! user's own. What takes no URL is named, so that nobody takes it for led.

use jsonc_parser::ast::Value;
use serde::{Deserialize, Serialize};

use super::editors::EditorFile;
use super::jsonc::{Jsonc, ValueBefore, quoted, span, spliced};
use super::models::{self, Names};

const ADVANCED: &str = "github.copilot.advanced";

/// The settings with Copilot's addresses, and where on the gate each leads.
const ADDRESSES: [(&[&str], &str); 6] = [
    (&[ADVANCED, "debug.overrideProxyUrl"], "/u/copilot-proxy"),
    (&[ADVANCED, "debug.overrideCapiUrl"], "/u/copilot"),
    // Other spellings of the same, which win where they are there.
    (&["github.copilot.advanced.debug.overrideCapiUrl"], "/u/copilot"),
    (&["github.copilot.advanced.debug.overrideProxyUrl"], "/u/copilot-proxy"),
    (&["github.copilot.internal.capiUrl"], "/u/copilot"),
    (&["github.copilot.internal.completionsUrl"], "/u/copilot-proxy"),
];

/// A spelling that nobody uses, and that would hide the others.
const HIDING: [&str; 2] = ["github", "github.copilot"];

/// What was changed in a file, so that it can be given back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SettingChanges {
    /// What the file was, if it held no JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blank: Option<Blank>,
    /// Members that were set, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    members: Vec<Member>,
    /// URLs that were replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    urls: Vec<ReplacedUrl>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Blank {
    /// It was not there.
    Absent,
    /// White space, comments, or nothing at all.
    Text(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Member {
    path: Vec<String>,
    /// What was written.
    ours: String,
    before: ValueBefore,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ReplacedUrl {
    /// The model's id: several may lead to the same place.
    model: String,
    ours: String,
    /// The JSON string that stood there, as it was spelled.
    spelled: String,
}

impl SettingChanges {
    /// Returns whether nothing was changed.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.urls.is_empty()
    }
}

/// Returns a file that leads to the gate of this URL, models to the upstreams of these names there, and what
/// that changed. `None` is a file that is not there.
///
/// # Errors
/// When it cannot be read as VS Code reads it.
pub(super) fn lead(
    text: Option<&str>,
    kind: EditorFile,
    gate: &str,
    names: &Names,
) -> anyhow::Result<(String, SettingChanges)> {
    match kind {
        EditorFile::Settings => settings(text, gate),
        EditorFile::Models => models(text.unwrap_or_default(), gate, names),
    }
}

fn settings(text: Option<&str>, gate: &str) -> anyhow::Result<(String, SettingChanges)> {
    let mut changes = SettingChanges::default();
    let mut led = text.unwrap_or_default().to_owned();
    let jsonc = Jsonc::parse(&led)?;
    if jsonc.root.is_none() {
        changes.blank = Some(text.map_or(Blank::Absent, |text| Blank::Text(text.to_owned())));
    }
    if let Some(hiding) = HIDING.iter().find(|name| jsonc.get(&[name]).is_some()) {
        anyhow::bail!("`{hiding}` would hide what is written here: spell its members out in the names");
    }
    for (path, place) in addresses(&jsonc) {
        let ours = format!("{gate}{place}");
        let set = Jsonc::parse(&led)?.set(path, &quoted(&ours));
        let (text, before) =
            set.map_err(|error| error.context(format!("`{}` cannot be set", path.join("` → `"))))?;
        led = text;
        let path = path.iter().map(|&name| name.to_owned()).collect();
        changes.members.push(Member { path, ours, before });
    }
    Ok((led, changes))
}

fn models(text: &str, gate: &str, names: &Names) -> anyhow::Result<(String, SettingChanges)> {
    let jsonc = Jsonc::parse(text)?;
    let mut changes = SettingChanges::default();
    let mut led = text.to_owned();
    let models = models::models(&jsonc)?;
    // From the last on, so that places before it stay.
    for model in models.iter().rev() {
        let Some((name, rest)) = model.split().and_then(|(target, rest)| Some((names.of(&target)?, rest)))
        else {
            continue;
        };
        let ours = format!("{gate}/u/{name}{rest}");
        led = spliced(&led, span(model.url), &quoted(&ours));
        let spelled = jsonc.spelled(model.url).to_owned();
        changes.urls.push(ReplacedUrl { model: model.id.to_owned(), ours, spelled });
    }
    Ok((led, changes))
}

/// A file as it was before it led to a gate.
pub(super) struct GivenBack {
    /// `None` where there was no file.
    pub(super) text: Option<String>,
    /// What somebody has changed meanwhile, and which therefore stays, by its path.
    pub(super) left: Vec<String>,
}

/// Returns a file as it was, but for what was edited meanwhile.
pub(super) fn give_back(text: &str, changes: &SettingChanges) -> anyhow::Result<GivenBack> {
    let mut left = Vec::new();
    let mut now = text.to_owned();
    for Member { path, ours, before } in changes.members.iter().rev() {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match Jsonc::parse(&now)?.unset(&path, ours, before) {
            Some(without) => now = without,
            None => left.push(path.join(" → ")),
        }
    }
    now = with_urls(now, &changes.urls)?;
    let text = match &changes.blank {
        Some(Blank::Absent) if now.trim().is_empty() => None,
        Some(Blank::Text(blank)) if now.trim() == blank.trim() => Some(blank.clone()),
        _ => Some(now),
    };
    Ok(GivenBack { text, left })
}

fn with_urls(text: String, urls: &[ReplacedUrl]) -> anyhow::Result<String> {
    if urls.is_empty() {
        return Ok(text);
    }
    let jsonc = Jsonc::parse(&text)?;
    let mut now = text.clone();
    for model in models::models(&jsonc)?.iter().rev() {
        let same = urls.iter().filter(|replaced| model.address() == replaced.ours);
        let replaced = same.clone().find(|replaced| model.id == replaced.model).or(same.clone().next());
        if let Some(replaced) = replaced {
            now = spliced(&now, span(model.url), &replaced.spelled);
        }
    }
    Ok(now)
}

/// Returns the settings that must lead to the gate, and where on it: other spellings count where they
/// are there.
fn addresses(jsonc: &Jsonc<'_>) -> Vec<(&'static [&'static str], &'static str)> {
    let counts = |(path, _): &(&[&str], _)| path[0] == ADVANCED || jsonc.get(path).is_some();
    ADDRESSES.into_iter().filter(counts).collect()
}

/// Returns the addresses of Copilot that do not lead to the gate, by their names.
pub(super) fn past(text: &str, gate: &str) -> anyhow::Result<Vec<String>> {
    let jsonc = Jsonc::parse(text)?;
    let leads = |path: &[&str], place: &str| {
        let url = jsonc.get(path).and_then(Value::as_string_lit);
        url.is_some_and(|url| url.value == format!("{gate}{place}"))
    };
    let past = addresses(&jsonc).into_iter().filter(|(path, place)| !leads(path, place));
    let hiding = HIDING.iter().filter(|name| jsonc.get(&[name]).is_some());
    let past = past.map(|(path, _)| path.join(" → "));
    Ok(past.chain(hiding.map(|name| (*name).to_owned())).collect())
}
