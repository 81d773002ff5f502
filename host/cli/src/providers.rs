//! The endpoints of models that programs ask by themselves, and what leads them elsewhere.

/// An API with a variable of the environment that names its base URL.
#[derive(Clone, Copy)]
pub(crate) struct Provider {
    pub(crate) name: &'static str,
    pub(crate) variable: &'static str,
    /// Empty where it is asked only if the variable is set.
    pub(crate) url: &'static str,
}

const fn provider(name: &'static str, variable: &'static str, url: &'static str) -> Provider {
    Provider { name, variable, url }
}

pub(crate) const OPENAI: Provider = provider("openai", "OPENAI_BASE_URL", "https://api.openai.com/v1");

/// Copilot's models for Copilot CLI and the agents of editors. A plan may have another host, which the
/// settings name as the upstream `copilot`.
pub(crate) const COPILOT: Provider = provider("copilot", "COPILOT_API_URL", "https://api.githubcopilot.com");

pub(crate) const PROVIDERS: [Provider; 5] = [
    provider("anthropic", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    OPENAI,
    provider("gemini", "GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
    // Gemini where a person is logged in with Google, in a wrapper of its own.
    provider("code-assist", "CODE_ASSIST_ENDPOINT", "https://cloudcode-pa.googleapis.com"),
    COPILOT,
];

/// Further endpoints, which programs ask only where their variables are set.
pub(crate) const FURTHER: [Provider; 5] = [
    provider("azure-openai", "AZURE_OPENAI_ENDPOINT", ""),
    provider("azure-inference", "AZURE_INFERENCE_ENDPOINT", ""),
    provider("foundry", "ANTHROPIC_FOUNDRY_BASE_URL", ""),
    provider("openai-api-base", "OPENAI_API_BASE", ""),
    // Where Copilot CLI asks with a key of the user's own, in the API that `COPILOT_PROVIDER_TYPE` names.
    provider("copilot-own", "COPILOT_PROVIDER_BASE_URL", ""),
];

/// Returns the one of a name.
pub(crate) fn named(name: &str) -> Option<Provider> {
    PROVIDERS.into_iter().chain(FURTHER).find(|provider| provider.name == name)
}

/// Where the subscriptions of ChatGPT are served, which Codex asks.
pub(crate) const CHATGPT_UPSTREAM: (&str, &str) = ("codex", "https://chatgpt.com");

/// Where a host of GitHub's completes code beside Copilot's models: the same paths as there.
pub(crate) const COPILOT_PROXY: (&str, &str) =
    ("copilot-proxy", "https://copilot-proxy.githubusercontent.com");

/// Returns the upstreams that clients ask by themselves, by their names. The first is good for all
/// that name none.
pub(crate) fn usual_upstreams() -> Vec<(&'static str, &'static str)> {
    let providers = PROVIDERS.iter().map(|provider| (provider.name, provider.target()));
    providers.chain([CHATGPT_UPSTREAM, COPILOT_PROXY]).collect()
}

impl Provider {
    /// Returns the URL of its upstream.
    fn target(&self) -> &'static str {
        self.url.strip_suffix("/v1").unwrap_or(self.url)
    }
}
