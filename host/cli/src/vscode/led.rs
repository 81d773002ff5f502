//! A file of settings that leads to a gate, and as it was before.
//!
//! Two addresses of Copilot are set in `settings.json`: they count signed out as well, when VS Code
//! still asks Copilot for titles. In `chatLanguageModels.json` it is the URL of each model of the
//! user's own. What takes no URL is named, so that nobody takes it for led.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::editors::EditorFile;
use super::jsonc::{Jsonc, replaced, spelling, string};
use super::models::{self, Names};

const ADVANCED: &str = "github.copilot.advanced";

/// The settings with Copilot's addresses, and where on the gate each leads.
const ADDRESSES: [(&str, &str); 2] =
    [("debug.overrideProxyUrl", "/u/copilot-proxy"), ("debug.overrideCapiUrl", "/u/copilot")];

/// Other spellings of the same, which win where they are there.
const SPELLINGS: [(&str, &str); 4] = [
    ("github.copilot.advanced.debug.overrideCapiUrl", "/u/copilot"),
    ("github.copilot.advanced.debug.overrideProxyUrl", "/u/copilot-proxy"),
    ("github.copilot.internal.capiUrl", "/u/copilot"),
    ("github.copilot.internal.completionsUrl", "/u/copilot-proxy"),
];

/// A spelling that nobody uses, and that would hide the others.
const HIDING: [&str; 2] = ["github", "github.copilot"];

/// Where a file leads: the gate, and its names of other upstreams.
#[derive(Clone, Copy)]
pub(super) struct EditorLead<'l> {
    /// The gate's URL.
    pub(super) gate: &'l str,
    pub(super) names: &'l Names,
}

/// What was changed in a file, so that it can be given back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SettingChanges {
    /// What settings were before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<TextBefore>,
    /// Whether the object of Copilot's settings was made for them.
    #[serde(default)]
    made: bool,
    /// Members that were set, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    members: Vec<Member>,
    /// URLs that were replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    urls: Vec<ReplacedUrl>,
}

/// A text before it was changed. Of what may be secret in it no more is kept than has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TextBefore {
    /// The digest of the text after it.
    after: String,
    /// How many bytes both begin with, and end with.
    begin: usize,
    end: usize,
    /// What stood between; `None` where there was no file.
    between: Option<String>,
}

impl TextBefore {
    fn new(before: Option<&str>, after: &str) -> TextBefore {
        let text = before.unwrap_or_default();
        let same = |(one, other): &(char, char)| one == other;
        let begin = text.chars().zip(after.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        let (rest, rest_after) = (&text[begin..], &after[begin..]);
        let ends = rest.chars().rev().zip(rest_after.chars().rev()).take_while(same);
        let end = ends.map(|(c, _)| c.len_utf8()).sum();
        let between = before.map(|_| rest[..rest.len() - end].to_owned());
        TextBefore { after: digest(after), begin, end, between }
    }

    /// Puts it in the place of the text after it; returns whether that was there.
    fn put_back(&self, now: &str) -> Option<Option<String>> {
        let (begin, end) = (now.get(..self.begin)?, now.get(now.len().checked_sub(self.end)?..)?);
        let before = self.between.as_ref().map(|between| [begin, between, end].concat());
        (digest(now) == self.after).then_some(before)
    }
}

fn digest(text: &str) -> String {
    base16ct::lower::encode_string(&Sha256::digest(text))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Member {
    path: Vec<String>,
    /// What was written.
    ours: String,
    /// What stood there, as it was spelled.
    before: Option<String>,
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

/// Returns a file that leads to the gate, and what that changed. `None` is a file that is not there.
///
/// # Errors
/// When it cannot be read as VS Code reads it.
pub(super) fn lead(
    text: Option<&str>,
    kind: EditorFile,
    lead: EditorLead<'_>,
) -> anyhow::Result<(String, SettingChanges)> {
    let jsonc = Jsonc::parse(text.unwrap_or_default())?;
    let mut changes = SettingChanges::default();
    match kind {
        EditorFile::Settings => {
            changes.made = jsonc.get(&[ADVANCED]).is_none();
            changes.members = settings(&jsonc, lead)?;
            changes.before = Some(TextBefore::new(text, &jsonc.text()));
        }
        EditorFile::Models => changes.urls = models(&jsonc, lead)?,
    }
    Ok((jsonc.text(), changes))
}

fn settings(jsonc: &Jsonc, lead: EditorLead<'_>) -> anyhow::Result<Vec<Member>> {
    if let Some(hiding) = HIDING.iter().find(|name| jsonc.get(&[name]).is_some()) {
        anyhow::bail!("`{hiding}` would hide what is written here: spell its members out in the names");
    }
    let mut members = Vec::new();
    for (path, place) in addresses(jsonc) {
        let ours = format!("{}{place}", lead.gate);
        let before = jsonc.set(&path, &ours);
        let before =
            before.map_err(|error| error.context(format!("`{}` cannot be set", path.join("` → `"))))?;
        let path = path.into_iter().map(str::to_owned).collect();
        members.push(Member { path, ours, before });
    }
    Ok(members)
}

fn models(jsonc: &Jsonc, lead: EditorLead<'_>) -> anyhow::Result<Vec<ReplacedUrl>> {
    let mut urls = Vec::new();
    for model in models::models(jsonc)? {
        let Some((target, rest)) = model.split() else { continue };
        let Some(name) = lead.names.of(&target) else { continue };
        let ours = format!("{}/u/{name}{rest}", lead.gate);
        let spelled = replaced(&model.url, ours.as_str().into());
        urls.push(ReplacedUrl { model: model.id, ours, spelled });
    }
    Ok(urls)
}

/// A file as it was before it led to a gate.
pub(super) struct GivenBack {
    /// `None` where there was no file.
    pub(super) text: Option<String>,
    /// What somebody has changed meanwhile, and which therefore stays, by its path.
    pub(super) left: Vec<String>,
}

/// Returns a file as it was. What was edited meanwhile stays.
pub(super) fn give_back(text: &str, changes: &SettingChanges) -> anyhow::Result<GivenBack> {
    if let Some(text) = changes.before.as_ref().and_then(|before| before.put_back(text)) {
        return Ok(GivenBack { text, left: Vec::new() });
    }
    let now = Jsonc::parse(text)?;
    let mut left = Vec::new();
    for Member { path, ours, before: spelled } in changes.members.iter().rev() {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        if !now.unset(&path, ours, spelled.as_deref()) {
            left.push(path.join(" → "));
        }
    }
    if changes.made {
        now.remove_blank(&[ADVANCED]);
    }
    if !changes.urls.is_empty() {
        for model in models::models(&now)? {
            let same = changes.urls.iter().filter(|replaced| model.address() == replaced.ours);
            let named = same.clone().find(|replaced| model.id == replaced.model);
            if let Some(url) = named.or(same.clone().next()) {
                replaced(&model.url, spelling(&url.spelled));
            }
        }
    }
    Ok(GivenBack { text: Some(now.text()), left })
}

/// Returns the settings that must lead to the gate, and where on it: other spellings count where they
/// are there.
fn addresses(jsonc: &Jsonc) -> Vec<(Vec<&'static str>, &'static str)> {
    let spelled = SPELLINGS.into_iter().filter(|(name, _)| jsonc.get(&[name]).is_some());
    let own = ADDRESSES.into_iter().map(|(name, place)| (vec![ADVANCED, name], place));
    own.chain(spelled.map(|(name, place)| (vec![name], place))).collect()
}

/// Returns the addresses of Copilot that do not lead to the gate, by their names.
pub(super) fn past(text: &str, gate: &str) -> anyhow::Result<Vec<String>> {
    let jsonc = Jsonc::parse(text)?;
    let leads = |path: &[&str], place: &str| {
        jsonc.get(path).and_then(|url| string(&url)).is_some_and(|url| url == format!("{gate}{place}"))
    };
    let past = addresses(&jsonc).into_iter().filter(|(path, place)| !leads(path, place));
    let hiding = HIDING.iter().filter(|name| jsonc.get(&[name]).is_some());
    let past = past.map(|(path, _)| path.join(" → "));
    Ok(past.chain(hiding.map(|name| (*name).to_owned())).collect())
}
