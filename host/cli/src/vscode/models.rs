//! The user's own models, `chatLanguageModels.json`: groups by vendor, each with its models.
//!
//! Sources: `package.json` and `src/extension/byok` of Copilot Chat 0.67.

use std::collections::BTreeMap;

use anyhow::Context;
use jsonc_parser::ast::{Object, Value};
use leafgate_gate::{AskedPath, UpstreamName, UpstreamTarget};
use serde::{Deserialize, Serialize};

use super::jsonc::{Jsonc, member};

/// Vendors whose models have a URL that VS Code asks whatever its host is.
const WITH_URL: [&str; 2] = ["customendpoint", "customoai"];

/// Where Azure's models are, by the host; VS Code logs in by it, so it must stay in the URL.
const AZURE: &str = "openai.azure";

/// Paths that VS Code takes for complete.
const COMPLETE: [&str; 3] = ["/responses", "/chat/completions", "/messages"];

/// The names of upstreams on the gate, by the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Names(BTreeMap<String, String>);

impl Names {
    /// Returns the name of an upstream.
    pub(super) fn of(&self, target: &str) -> Option<&str> {
        self.0.get(target).map(String::as_str)
    }

    /// Returns each URL with its name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(url, name)| (url.as_str(), name.as_str()))
    }

    /// Names an upstream, by its host, unless it has a name.
    pub(crate) fn add(&mut self, target: &str, is_taken: &dyn Fn(&str) -> bool) {
        if self.0.contains_key(target) {
            return;
        }
        let host = target.split_once("://").map_or(target, |(_, rest)| rest);
        let word = host.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let base: String = format!("own-{word}").chars().take(32).collect();
        let base = base.trim_end_matches('-');
        let numbered = (2..).map(|number: u32| format!("{base}-{number}"));
        let is_free = |name: &String| !is_taken(name) && self.0.values().all(|known| known != name);
        let mut names = [base.to_owned()].into_iter().chain(numbered);
        if let Some(name) = names.find(|name| is_free(name) && name.parse::<UpstreamName>().is_ok()) {
            self.0.insert(target.to_owned(), name);
        }
    }
}

/// A model of the user's own.
pub(super) struct OwnModel<'v, 't> {
    vendor: &'v str,
    /// Which API it speaks, as settings name it.
    api: &'v str,
    pub(super) id: &'v str,
    pub(super) url: &'v Value<'t>,
}

/// Returns the models that have a URL.
///
/// # Errors
/// When the file has another shape.
pub(super) fn models<'v, 't>(jsonc: &'v Jsonc<'t>) -> anyhow::Result<Vec<OwnModel<'v, 't>>> {
    let mut models = Vec::new();
    for group in groups(jsonc)? {
        let vendor = text(group, "vendor").unwrap_or_default();
        let listed = member(group, "models").and_then(Value::as_array);
        let objects = listed.into_iter().flat_map(|models| &models.elements).filter_map(Value::as_object);
        models.extend(objects.filter_map(|model| {
            let url = member(model, "url").filter(|url| url.as_string_lit().is_some())?;
            let api = text(model, "apiType").or_else(|| text(group, "apiType")).unwrap_or_default();
            Some(OwnModel { vendor, api, id: text(model, "id").unwrap_or("without an id"), url })
        }));
    }
    Ok(models)
}

fn groups<'v, 't>(jsonc: &'v Jsonc<'t>) -> anyhow::Result<Vec<&'v Object<'t>>> {
    let Some(root) = &jsonc.root else { return Ok(Vec::new()) };
    let list = root.as_array().context("it is no list (`[ … ]`) of vendors")?;
    Ok(list.elements.iter().filter_map(Value::as_object).collect())
}

fn text<'v>(object: &'v Object<'_>, name: &str) -> Option<&'v str> {
    member(object, name)?.as_string_lit().map(|text| &*text.value)
}

impl OwnModel<'_, '_> {
    /// Returns its URL.
    pub(super) fn address(&self) -> &str {
        self.url.as_string_lit().map_or("", |url| &url.value)
    }

    /// Returns its upstream, and the path behind that which VS Code asks for, if it can be led.
    pub(super) fn split(&self) -> Option<(String, String)> {
        let url = self.complete();
        if !WITH_URL.contains(&self.vendor) || url.contains(AZURE) {
            return None;
        }
        let host = url.find("://")? + "://".len();
        let slashes = url.match_indices('/').map(|(at, _)| at).filter(|at| *at >= host);
        // The shortest upstream behind which the gate knows the path.
        let place = { slashes }.find(|at| is_known(&url[*at..]))?;
        let (target, path) = url.split_at(place);
        target.parse::<UpstreamTarget>().ok()?;
        Some((target.to_owned(), path.to_owned()))
    }

    /// Returns the URL that VS Code makes of its own, and takes as it is where somebody writes it.
    fn complete(&self) -> String {
        let url = self.address();
        if COMPLETE.iter().any(|complete| url.contains(complete)) {
            return url.to_owned();
        }
        let base = url.trim_end_matches('/');
        let version = base.rsplit('/').next().and_then(|last| last.strip_prefix('v'));
        let has_version = version.is_some_and(|number| number.parse::<u32>().is_ok());
        let path = match self.api {
            "responses" => "/responses",
            "messages" => "/messages",
            _ => "/chat/completions",
        };
        format!("{base}{}{path}", if has_version { "" } else { "/v1" })
    }

    /// Returns why it cannot be led.
    pub(super) fn why_not(&self) -> &'static str {
        if self.address().contains(AZURE) || !WITH_URL.contains(&self.vendor) {
            "VS Code tells how to log in by the host in the URL"
        } else {
            "its path is none that a gate can read"
        }
    }
}

/// Returns whether a gate reads what is sent to a path.
fn is_known(path: &str) -> bool {
    path.parse::<AskedPath>().is_ok_and(|path| path.is_served() && path.format().is_some())
}

/// Returns the upstreams that the models of a file need.
pub(super) fn targets(text: &str, gate: Option<&str>) -> anyhow::Result<Vec<String>> {
    let jsonc = Jsonc::parse(text)?;
    let targets = models(&jsonc)?.iter().filter_map(|model| Some(model.split()?.0)).collect::<Vec<_>>();
    Ok(targets.into_iter().filter(|target| Some(target.as_str()) != gate).collect())
}

/// Says which vendors go past any gate, and why: most take a key of the user's own, and no URL.
pub(super) fn past_any(jsonc: &Jsonc<'_>) -> anyhow::Result<Vec<String>> {
    let groups = groups(jsonc)?;
    let vendors = groups.iter().filter_map(|group| Some((text(group, "vendor")?, *group)));
    let built_in = vendors.filter(|(vendor, group)| {
        *vendor != "copilot" && !WITH_URL.contains(vendor) && member(group, "models").is_none()
    });
    let said = |(vendor, group): (&str, &Object<'_>)| {
        let named = match text(group, "name") {
            Some(name) if name != vendor => format!("{vendor} ({name})"),
            _ => vendor.to_owned(),
        };
        let why = match member(group, "url") {
            Some(_) => "it asks paths that no gate reads",
            None => "it takes a key of your own and no URL",
        };
        format!("{named} goes past the gate: {why}")
    };
    Ok(built_in.map(said).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_split_where_the_gate_reads_on() {
        let split = |url: &str, vendor: &str, api: &str| {
            let model = serde_json::json!({ "id": "m", "url": url, "apiType": api });
            let text = serde_json::json!([{ "vendor": vendor, "apiType": "other", "models": [model] }]);
            let text = text.to_string();
            let jsonc = Jsonc::parse(&text).unwrap();
            let models = models(&jsonc).unwrap();
            models[0].split().map(|(target, rest)| format!("{target} {rest}"))
        };
        for (url, api, parts) in [
            ("https://a.example/v1", "", Some("https://a.example /v1/chat/completions")),
            ("https://a.example", "messages", Some("https://a.example /v1/messages")),
            ("https://a.example/", "responses", Some("https://a.example /v1/responses")),
            ("http://127.0.0.1:8000/v1/messages", "messages", Some("http://127.0.0.1:8000 /v1/messages")),
            ("https://a.example/api/v1/responses?x=1", "", Some("https://a.example/api /v1/responses?x=1")),
            ("https://a.example/api/v4/", "", Some("https://a.example/api/v4 /chat/completions")),
            ("https://a.example/api/v4", "messages", None),
            ("https://x.openai.azure.com/openai/deployments/d/chat/completions", "", None),
            ("https://user:word@a.example/v1", "", None),
            ("no url", "", None),
        ] {
            assert_eq!(split(url, "customendpoint", api).as_deref(), parts, "{url}");
        }
        assert_eq!(split("https://a.example/v1", "azure", ""), None);
    }

    #[test]
    fn upstreams_have_names_of_their_own() {
        let mut names = Names::default();
        let long = format!("https://{}.example", "a".repeat(60));
        let urls = ["https://api.a.example", "http://api.a.example", "http://127.0.0.1:8000/api", &long];
        for url in urls.iter().chain(&urls) {
            names.add(url, &|name| name == "own-127-0-0-1-8000-api");
        }
        let named: Vec<&str> = urls.iter().filter_map(|url| names.of(url)).collect();
        assert_eq!(named[..3], ["own-api-a-example", "own-api-a-example-2", "own-127-0-0-1-8000-api-2"]);
        assert!(named[3].parse::<UpstreamName>().is_ok(), "{}", named[3]);
    }
}
