//! Which names say nothing of where a client's requests go.
//!
//! A variable in a client's settings is listed as harmless or refused. In the environment, which is
//! the person's own, and in a `.env`, which programs of all kinds read, a name counts that has
//! both the name of a model's SDK and a word for an address. Of other settings those with a word
//! for an address are refused, so that a new one is.

use super::read::Setting;
use crate::client::known::{CLAUDE, CODEX, KnownClient};

/// Variables that may stand in the settings of Claude Code. `*` stands for any letters; a name with
/// a word for an address is never meant by one.
const HARMLESS_VARIABLES: &str = "
    ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_*MODEL* API_TIMEOUT_MS AWS_DEFAULT_REGION
    AWS_PROFILE AWS_REGION BASH_*_MS BASH_MAX_OUTPUT_LENGTH CLAUDE_AUTOCOMPACT_*
    CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR CLAUDE_CODE_*_MS CLAUDE_CODE_*_TOKENS
    CLAUDE_CODE_AUTO_* CLAUDE_CODE_DISABLE_* CLAUDE_CODE_EFFORT_LEVEL CLAUDE_CODE_ENABLE_*
    CLAUDE_CODE_EXPERIMENTAL_* CLAUDE_CODE_IDE_SKIP_AUTO_INSTALL CLAUDE_CODE_MAX_*
    CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_SUBAGENT_MODEL CLAUDE_CODE_USE_POWERSHELL_TOOL COLORTERM
    DISABLE_* ENABLE_* FORCE_AUTOUPDATE_PLUGINS FORCE_COLOR FORCE_PROMPT_CACHING_5M LANG LC_*
    MAX_MCP_OUTPUT_TOKENS MAX_THINKING_TOKENS MCP_*TIMEOUT* NO_COLOR
    SLASH_COMMAND_TOOL_CHAR_BUDGET TERM TZ USE_BUILTIN_RIPGREP";

/// What names of addresses, or of what takes requests elsewhere, have in them.
const ADDRESSES: &str = "endpoint proxy proxies socket gateway apibase baseurl relay";

/// What a word of such a name may end with: other words have these letters in them, as `security`.
const ENDS: &str = "url urls uri uris host hosts hostname";

/// What names have in them of what takes copies of prompts elsewhere.
const COPIES: &str = "otel telemetry";

/// The clouds that a client can be told to use by a variable of its own.
const CLOUDS: &[(&str, &str)] = &[
    ("bedrock", "it asks Amazon Bedrock"),
    ("mantle", "it asks Amazon Bedrock"),
    ("anthropicaws", "it asks Amazon Web Services"),
    ("vertex", "it asks Vertex AI"),
    ("foundry", "it asks Microsoft Foundry"),
    ("gateway", "it asks another gate"),
];

/// Names of models' SDKs and of gates before them, as variables begin with them.
const OTHER_FAMILIES: &str = "
    AZURE_OPENAI AZURE_AI AZURE_INFERENCE AWS_ENDPOINT_URL_BEDROCK BEDROCK CEREBRAS COHERE
    CO_API DASHSCOPE DEEPSEEK FIREWORKS GROQ HELICONE HF_INFERENCE HUGGINGFACE LITELLM LLM
    LM_STUDIO LMSTUDIO MISTRAL MOONSHOT NVIDIA_NIM OLLAMA OPENROUTER PERPLEXITY PORTKEY
    REPLICATE TOGETHER VLLM XAI ZHIPU";

/// Variables of these families that lead no request.
const NO_ADDRESS: &str = "CLAUDE_CODE_IDE_HOST_OVERRIDE COPILOT_GH_HOST";

const BASE_URL: &str = "name the address with `--upstream URL`";
const VARIABLE: &str = "not on the list of what leaves requests alone";
const ADDRESS: &str = "";

/// Returns why a setting of a client is refused.
pub(super) fn of_setting(setting: &Setting, client: &KnownClient) -> Option<&'static str> {
    let [first, below @ ..] = &setting.path[..] else { return None };
    if *client == CLAUDE && first == "env" {
        return of_settings_variable(below.first()?, &setting.value);
    }
    if !is_set(&setting.value) {
        return None;
    }
    let leads = setting.path.iter().any(|name| is_address(name) || has(name, COPIES))
        && !lists(client.leads_nowhere, first);
    (client.refuses)(setting).or(leads.then_some(ADDRESS))
}

/// What Claude Code is told by a word.
pub(in crate::client) fn of_claude(setting: &Setting) -> Option<&'static str> {
    match setting.path[0].as_str() {
        "autoUploadSessions" => Some("it copies sessions to claude.ai"),
        "forceLoginMethod" if setting.value == "gateway" => Some("it asks another gate"),
        "policyHelper" => Some("a program that makes settings which nobody has seen"),
        _ => None,
    }
}

/// The provider of Codex, by whatever profile.
pub(in crate::client) fn of_codex(setting: &Setting) -> Option<&'static str> {
    let first = &setting.path[0];
    (first.contains("provider") || first.starts_with("profile")).then_some(ADDRESS)
}

/// The login of Gemini CLI.
pub(in crate::client) fn of_gemini(setting: &Setting) -> Option<&'static str> {
    const KNOWN: &str = "gemini-api-key oauth-personal cloud-shell";
    let is_chosen = setting.path.last().is_some_and(|name| lists("selectedType selectedAuthType", name));
    (is_chosen && !lists(KNOWN, &setting.value)).then_some("it asks Vertex AI, or a gate of its own")
}

/// Returns why a setting of the user's own Codex is refused: its provider is replaced by the gate.
pub(super) fn of_own_setting(setting: &Setting) -> Option<&'static str> {
    const REPLACED: &str =
        "chatgpt_base_url model_provider model_providers openai_base_url oss_provider profile profiles";
    let first = setting.path.first()?;
    if lists(REPLACED, first) { None } else { of_setting(setting, &CODEX) }
}

/// Returns why a variable may not stand in a client's settings.
fn of_settings_variable(name: &str, value: &str) -> Option<&'static str> {
    let is_meant = |pattern: &str| match pattern.contains('*') {
        true => !is_address(name) && !has(name, COPIES) && matches(pattern, name),
        false => pattern == name,
    };
    if HARMLESS_VARIABLES.split_whitespace().any(is_meant) {
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
    if !is_set(value) || lists(NO_ADDRESS, name) || !is_of_family(name, clients) {
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
    let others = OTHER_FAMILIES.split_whitespace().filter(|_| clients.len() > 1);
    let bare = name.trim_start_matches('_');
    own.chain(others)
        .any(|family| bare.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with('_')))
}

/// Returns what is asked if this variable is on.
fn cloud(name: &str) -> Option<&'static str> {
    let name = letters(name);
    let named = CLOUDS.iter().find(|(cloud, _)| name.contains(cloud));
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
    let ends = |word: &str| ENDS.split(' ').any(|end| word.ends_with(end));
    has(name, ADDRESSES) || words.split_whitespace().any(ends)
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

/// Returns whether a name is one that a pattern stands for.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let last = parts.next_back().unwrap_or_default();
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::known::{CLIENTS, COPILOT_CLI, GEMINI_CLI};

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
            assert!(of_variable(name, "x", CLIENTS).is_some(), "{name}");
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
            assert_eq!(of_variable(name, "x", CLIENTS), None, "{name}");
        }
        assert_eq!(of_variable("OLLAMA_HOST", "x", &[CLAUDE]), None, "it does not read this");
        assert_eq!(of_variable("AZURE_OPENAI_ENDPOINT", "", CLIENTS), None);
        assert!(of_dot_env("https_proxy", "x", &[GEMINI_CLI]).is_some());
    }

    #[test]
    fn settings_of_every_day_are_not_refused() {
        let refused = |client, name: &str, value: &str| {
            let path = name.split('.').map(str::to_owned).collect();
            of_setting(&Setting { path, value: value.to_owned(), line: 1 }, &client).is_some()
        };
        for (client, names) in [
            (CLAUDE, "model permissions.allow hooks.Stop.hooks.command statusLine.command apiKeyHelper"),
            (
                CLAUDE,
                "enabledPlugins.proxy@x extraKnownMarketplaces.x.source.url sandbox.network.httpProxyPort",
            ),
            (CODEX, "model approval_policy sandbox_mode mcp_servers.x.url features.network_proxy tui.theme"),
            (CODEX, "model_reasoning_effort projects./x.trust_level shell_environment_policy.set.A_URL"),
            (COPILOT_CLI, "model theme trusted_folders allowedUrls mcpServers.x.url"),
            (
                GEMINI_CLI,
                "security.folderTrust.enabled general.vimMode mcpServers.x.httpUrl ui.theme model.name",
            ),
        ] {
            for name in names.split_whitespace() {
                assert!(!refused(client, name, "true"), "{name}");
            }
        }
        for (client, names) in [
            (CLAUDE, "hooks.Stop.hooks.url proxyAuthHelper autoUploadSessions otelHeadersHelper newBaseUrl"),
            (CODEX, "model_provider model_providers.x.name openai_base_url profiles.x.model otel.exporter"),
            (CODEX, "chatgpt_base_url experimental_realtime_ws_base_url oss_provider"),
            (COPILOT_CLI, "proxy hooks.x.url"),
            (GEMINI_CLI, "telemetry.otlpEndpoint experimental.gemmaModelRouter.classifier.host HTTPHost"),
        ] {
            for name in names.split_whitespace() {
                assert!(refused(client, name, "x"), "{name}");
            }
        }
        assert!(refused(GEMINI_CLI, "security.auth.selectedType", "$TYPE"));
        assert!(!refused(GEMINI_CLI, "security.auth.selectedType", "oauth-personal"));
    }

    #[test]
    fn a_pattern_stands_for_whole_names() {
        assert!(matches("A_*B*", "A_xBy") && matches("A_*B*", "A_B") && matches("A_*_MS", "A_1_MS"));
        assert!(!matches("A_*B*", "A_x") && !matches("A_*_MS", "A_MS") && !matches("A_*", "xA_1"));
    }
}
