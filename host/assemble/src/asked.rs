//! What a request says about its assembly: the member `leafgate`, which never leaves.

use leafgate_api::PICKED;
use serde::Deserialize;

use crate::error::AssembleError;
use crate::json::Object;
use crate::profile::{AgentMode, Profile, ProfilePlugin};

/// The plugin that `webSearch` is about.
const WEB_SEARCH: &str = "web-search";

/// What a request picks.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct PickedParts {
    agent_mode: Option<bool>,
    /// Paths; `None` for all that the profile names.
    pub(crate) context: Option<Vec<String>>,
    /// Names of documents; `None` for all that the profile names.
    pub(crate) documents: Option<Vec<String>>,
    web_search: Option<WebSearch>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum WebSearch {
    Wanted(bool),
    #[serde(rename_all = "snake_case")]
    Results {
        max_results: u64,
    },
}

impl PickedParts {
    /// Takes the member out of a body.
    pub(crate) fn take(body: &mut Object) -> Result<PickedParts, AssembleError> {
        let Some(member) = body.remove(PICKED) else { return Ok(PickedParts::default()) };
        let expected = "an object with `agentMode`, `context`, `documents`, `webSearch`";
        serde_json::from_str(member.get()).map_err(|_| AssembleError::shape("/leafgate", expected))
    }

    /// Whether the model works as an agent.
    pub(crate) fn is_agent(&self, profile: &Profile) -> Result<bool, AssembleError> {
        match (profile.agent_mode, self.agent_mode) {
            (AgentMode::On, Some(false)) | (AgentMode::Off, Some(true)) => {
                Err(AssembleError::NotAllowed { member: "agentMode", pick: None })
            }
            (AgentMode::On, _) => Ok(true),
            (AgentMode::Off, _) => Ok(false),
            (AgentMode::Client, asked) => Ok(asked.unwrap_or(false)),
        }
    }

    /// The plugins of the profile, as far as the request wants them.
    pub(crate) fn plugins(&self, profile: &Profile) -> Result<Vec<ProfilePlugin>, AssembleError> {
        let has_search = profile.plugins.iter().any(|plugin| plugin.id == WEB_SEARCH);
        let wants = !matches!(self.web_search, None | Some(WebSearch::Wanted(false)));
        if wants && !has_search {
            return Err(AssembleError::NotAllowed { member: "webSearch", pick: None });
        }
        let mut plugins = profile.plugins.clone();
        match self.web_search {
            Some(WebSearch::Wanted(false)) => plugins.retain(|plugin| plugin.id != WEB_SEARCH),
            Some(WebSearch::Results { max_results }) => {
                for plugin in plugins.iter_mut().filter(|plugin| plugin.id == WEB_SEARCH) {
                    let most = plugin.max_results.unwrap_or(max_results);
                    plugin.max_results = Some(max_results.min(most));
                }
            }
            None | Some(WebSearch::Wanted(true)) => {}
        }
        Ok(plugins)
    }
}
