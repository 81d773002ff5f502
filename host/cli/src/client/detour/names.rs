//! Which names say nothing of where a client's requests go.
//!
//! A variable in a client's settings is listed as harmless or refused. In the environment, which is
//! the person's own, and in a `.env`, which programs of all kinds read, a name counts that has
//! both the name of a model's SDK and a word for an address. Of other settings those with a word
//! for an address are refused, so that a new one is.

use leafgate_glob::Glob;
use serde::Deserialize;

use super::read::Setting;
use crate::client::known::{CLAUDE, KnownClient, names};

/// Words that names have in them, as `clients.toml` explains them.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::client) struct NameWords {
    harmless: &'static str,
    addresses: &'static str,
    ends: &'static str,
    copies: &'static str,
    clouds: Vec<(&'static str, &'static str)>,
    other_families: &'static str,
    no_address: &'static str,
}

/// A setting that is refused, and why. What is left out may be anything.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::client) struct RefusedSetting {
    /// The first name on the way to it.
    first: &'static str,
    /// The last one.
    last: &'static str,
    /// What it says.
    value: &'static str,
    /// What it may say.
    unless: &'static str,
    why: &'static str,
}

impl RefusedSetting {
    fn is(&self, Setting { path, value, .. }: &Setting) -> bool {
        let fits = |pattern: &str, text: &str| pattern.is_empty() || Glob::new(pattern).matches(text);
        fits(self.first, path.first().map_or("", String::as_str))
            && fits(self.last, path.last().map_or("", String::as_str))
            && fits(self.value, value)
            && !lists(self.unless, value)
    }
}

const BASE_URL: &str = "name the address with `--upstream URL`";
const VARIABLE: &str = "not on the list of what leaves requests alone";
const ADDRESS: &str = "";

/// Returns why a setting of a client is refused.
pub(super) fn of_setting(setting: &Setting, client: &KnownClient) -> Option<&'static str> {
    let [first, below @ ..] = &setting.path[..] else { return None };
    if client.name == CLAUDE && first == "env" {
        return of_settings_variable(below.first()?, &setting.value);
    }
    if !is_set(&setting.value) {
        return None;
    }
    let leads = setting.path.iter().any(|name| is_address(name) || has(name, names().copies))
        && !lists(client.leads_nowhere, first);
    let refused = client.refuses.iter().find(|refused| refused.is(setting));
    refused.map(|refused| refused.why).or(leads.then_some(ADDRESS))
}

/// Returns why a setting of the user's own Codex is refused: its provider is replaced by the gate.
pub(super) fn of_own_setting(setting: &Setting, client: &KnownClient) -> Option<&'static str> {
    let first = setting.path.first()?;
    if lists(client.replaced, first) { None } else { of_setting(setting, client) }
}

/// Returns why a variable may not stand in a client's settings.
fn of_settings_variable(name: &str, value: &str) -> Option<&'static str> {
    let is_meant = |pattern: &str| match pattern.contains('*') {
        true => !is_address(name) && !has(name, names().copies) && Glob::new(pattern).matches(name),
        false => pattern == name,
    };
    if names().harmless.split_whitespace().any(is_meant) {
        return None;
    }
    let cloud = cloud(name);
    if cloud.is_some() && !is_set(value) {
        return None;
    }
    Some(cloud.unwrap_or(if name.ends_with("BASE_URL") { BASE_URL } else { VARIABLE }))
}

/// Returns why a variable of the environment is refused.
pub(super) fn of_variable(name: &str, value: &str, clients: &[KnownClient]) -> Option<&'static str> {
    if !is_set(value) || lists(names().no_address, name) || !is_of_family(name, clients) {
        return None;
    }
    let leads = is_address(name) || name.ends_with("_RESOURCE");
    cloud(name).or(leads.then_some(if name.ends_with("BASE_URL") { BASE_URL } else { ADDRESS }))
}

/// Returns why a variable may not stand in a `.env`: those of proxies count, too, and an empty one
/// may hide what `exec` excepts from them.
pub(super) fn of_dot_env(name: &str, value: &str, clients: &[KnownClient]) -> Option<&'static str> {
    let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
    of_variable(name, value, clients).or(is_proxy.then_some(ADDRESS))
}

fn is_of_family(name: &str, clients: &[KnownClient]) -> bool {
    let own = clients.iter().flat_map(|client| client.families.split(' '));
    let others = names().other_families.split_whitespace().filter(|_| clients.len() > 1);
    let bare = name.trim_start_matches('_');
    own.chain(others)
        .any(|family| bare.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with('_')))
}

/// Returns what is asked if this variable is on.
fn cloud(name: &str) -> Option<&'static str> {
    let name = letters(name);
    let named = names().clouds.iter().find(|(cloud, _)| name.contains(cloud));
    named.filter(|_| name.contains("use")).map(|(_, asked)| *asked)
}

/// Returns whether a name has a word for an address in it.
fn is_address(name: &str) -> bool {
    let humps: Vec<char> = name.chars().collect();
    let mut words = String::new();
    for (at, &c) in humps.iter().enumerate() {
        let is_hump = c.is_uppercase() && at > 0 && humps[at - 1].is_lowercase();
        words.extend(is_hump.then_some(' '));
        words.push(if c.is_alphanumeric() { c.to_ascii_lowercase() } else { ' ' });
    }
    let ends = |word: &str| names().ends.split(' ').any(|end| word.ends_with(end));
    has(name, names().addresses) || words.split_whitespace().any(ends)
}

fn has(name: &str, words: &str) -> bool {
    let name = letters(name);
    words.split_whitespace().any(|word| name.contains(word))
}

fn lists(words: &str, name: &str) -> bool {
    words.split_whitespace().any(|word| word == name)
}

/// Returns a name as one word: spellings of words in names differ.
fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns whether a value says more than "no".
fn is_set(value: &str) -> bool {
    !matches!(value.trim().to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off" | "null")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::known::{CODEX, client, clients};

    #[test]
    fn a_variable_of_settings_is_refused_unless_it_is_listed() {
        for name in [
            "ANTHROPIC_MODEL",
            "ANTHROPIC_DEFAULT_OPUS_MODEL_NAME",
            "DISABLE_TELEMETRY_X",
            "MCP_TIMEOUT",
            "LC_ALL",
        ] {
            assert_eq!(of_settings_variable(name, "1").is_some(), name.contains("TELEMETRY"), "{name}");
        }
        for name in [
            "http_proxy",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "NO_PROXY",
            "NODE_OPTIONS",
            "NODE_EXTRA_CA_CERTS",
            "LD_PRELOAD",
            "ANTHROPIC_BASE_URL",
            "anthropic_model",
            "ANTHROPIC_UNIX_SOCKET",
            "CLAUDE_CODE_API_BASE_URL",
            "CLAUDE_CODE_ENABLE_PROXY_AUTH_HELPER",
            "CLAUDE_CODE_ENABLE_TELEMETRY",
            "CLAUDE_CODE_SHELL_PREFIX",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "BASH_ENV",
            "PATH",
            "MY_OWN",
            "CLAUDE_CODE_USE_BEDROCK",
            "",
        ] {
            assert!(of_settings_variable(name, "1").is_some(), "{name}");
        }
        assert_eq!(of_settings_variable("CLAUDE_CODE_USE_VERTEX", "true"), Some("it asks Vertex AI"));
        assert_eq!(of_settings_variable("CLAUDE_CODE_USE_BEDROCK", "0"), None, "a cloud that is off");
    }

    #[test]
    fn a_variable_of_the_environment_counts_by_its_family_and_an_address() {
        for name in [
            "AZURE_OPENAI_ENDPOINT",
            "ANTHROPIC_FOUNDRY_RESOURCE",
            "OPENAI_API_BASE",
            "OPENAI_PROXY",
            "GROQ_BASE_URL",
            "ANTHROPIC_UNIX_SOCKET",
            "CLAUDE_CODE_USE_ANTHROPIC_AWS",
            "GOOGLE_GENAI_USE_VERTEXAI",
            "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL",
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        ] {
            assert!(of_variable(name, "x", clients()).is_some(), "{name}");
        }
        for name in [
            "DATABASE_URL",
            "HTTPS_PROXY",
            "KUBERNETES_SERVICE_HOST",
            "OPENAI_API_KEY",
            "HOSTNAME",
            "COPILOT_GH_HOST",
            "GEMINI_TELEMETRY_ENABLED",
        ] {
            assert_eq!(of_variable(name, "x", clients()), None, "{name}");
        }
        assert_eq!(
            of_variable("OLLAMA_HOST", "x", std::slice::from_ref(client(CLAUDE).unwrap())),
            None,
            "it does not read this"
        );
        assert_eq!(of_variable("AZURE_OPENAI_ENDPOINT", "", clients()), None);
        assert!(of_dot_env("https_proxy", "x", std::slice::from_ref(client("gemini").unwrap())).is_some());
    }

    #[test]
    fn settings_of_every_day_are_not_refused() {
        let refused = |of: &str, name: &str, value: &str| {
            let path = name.split('.').map(str::to_owned).collect();
            of_setting(&Setting { path, value: value.to_owned(), line: 1 }, client(of).unwrap()).is_some()
        };
        for (of, names) in [
            (CLAUDE, "model permissions.allow hooks.Stop.hooks.command statusLine.command apiKeyHelper"),
            (
                CLAUDE,
                "enabledPlugins.proxy@x extraKnownMarketplaces.x.source.url sandbox.network.httpProxyPort",
            ),
            (CODEX, "model approval_policy sandbox_mode mcp_servers.x.url features.network_proxy tui.theme"),
            (CODEX, "model_reasoning_effort projects./x.trust_level shell_environment_policy.set.A_URL"),
            ("copilot", "model theme trusted_folders allowedUrls mcpServers.x.url"),
            (
                "gemini",
                "security.folderTrust.enabled general.vimMode mcpServers.x.httpUrl ui.theme model.name",
            ),
        ] {
            for name in names.split_whitespace() {
                assert!(!refused(of, name, "true"), "{name}");
            }
        }
        for (of, names) in [
            (CLAUDE, "hooks.Stop.hooks.url proxyAuthHelper autoUploadSessions otelHeadersHelper newBaseUrl"),
            (CODEX, "model_provider model_providers.x.name openai_base_url profiles.x.model otel.exporter"),
            (CODEX, "chatgpt_base_url experimental_realtime_ws_base_url oss_provider"),
            ("copilot", "proxy hooks.x.url"),
            ("gemini", "telemetry.otlpEndpoint experimental.gemmaModelRouter.classifier.host HTTPHost"),
        ] {
            for name in names.split_whitespace() {
                assert!(refused(of, name, "x"), "{name}");
            }
        }
        assert!(refused("gemini", "security.auth.selectedType", "$TYPE"));
        assert!(!refused("gemini", "security.auth.selectedType", "oauth-personal"));
    }
}
