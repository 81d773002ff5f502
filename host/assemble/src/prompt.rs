//! The one system prompt: agent prompt, prompt, hint about tools.

use crate::assemble::AssemblyRun;
use crate::error::AssembleError;
use crate::files::{FileFault, Files, check};
use crate::profile::ProfilePrompt;
use crate::step::{Did, Step};

const GENERAL: &str = "You are a helpful assistant. Answer from what the conversation and its context say, and say \
                       what you do not know.";
const CONCISE: &str =
    "You are a helpful assistant. Answer briefly: the answer first, details only where they matter.";
const AGENT: &str = "You are an agent. Use the tools you have to finish the task, look before you change anything, and \
                     say at the end what you did.";

/// What stands between two parts.
const BETWEEN: &str = "\n\n";

impl AssemblyRun<'_> {
    /// Returns the system prompt. `own` is what the client sent as such.
    pub(crate) fn system(&mut self, own: &[String], tools: bool) -> Result<String, AssembleError> {
        let (profile, files) = (self.profile, self.files);
        let prefix = match (&profile.agent_prompt, &profile.prompt) {
            (Some(path), prompt) if self.agent && *prompt != Some(ProfilePrompt::Agent) => {
                Some((path, text(files, path)?))
            }
            _ => None,
        };
        let hint = match &profile.tools_hint {
            Some(path) if tools => Some((path, text(files, path)?)),
            _ => None,
        };
        let mut system = match &profile.prompt {
            Some(prompt) => {
                self.steps.extend(Step::count(Did::LeftOutSystem, "client", own.len()));
                self.chosen(prompt)?
            }
            None => without(&own.join(BETWEEN), prefix.as_ref().map(|p| &*p.1), hint.as_ref().map(|h| &*h.1)),
        };
        if system.trim().is_empty() {
            system = self.fallback("");
        }
        if let Some((path, text)) = prefix {
            self.steps.push(Step::put(Did::AgentPrompt, path.clone(), text.as_bytes()));
            system = text + BETWEEN + &system;
        }
        if let Some((path, text)) = hint {
            self.steps.push(Step::put(Did::ToolsHint, path.clone(), text.as_bytes()));
            system = system + BETWEEN + &text;
        }
        self.steps.push(Step::put(Did::System, "", system.as_bytes()));
        Ok(system)
    }

    fn chosen(&mut self, prompt: &ProfilePrompt) -> Result<String, AssembleError> {
        let (source, text) = match prompt {
            ProfilePrompt::General => ("general", Ok(GENERAL.to_owned())),
            ProfilePrompt::Concise => ("concise", Ok(CONCISE.to_owned())),
            ProfilePrompt::Literal(text) => ("literal", Ok(text.clone())),
            ProfilePrompt::File(path) => (path.as_str(), text(self.files, path)),
            ProfilePrompt::Agent => match &self.profile.agent_prompt {
                Some(path) => (path.as_str(), text(self.files, path)),
                None => ("agent", Ok(AGENT.to_owned())),
            },
        };
        match text {
            Ok(text) => {
                self.steps.push(Step::put(Did::Prompt, source, text.as_bytes()));
                Ok(text)
            }
            // A path that leads outside is a mistake of the profile, and no prompt that is not there.
            Err(error @ AssembleError::File { fault: FileFault::Outside | FileFault::Link, .. }) => {
                Err(error)
            }
            Err(_) => Ok(self.fallback(source)),
        }
    }

    fn fallback(&mut self, source: &str) -> String {
        let text = &self.profile.fallback_prompt;
        self.steps.push(Step::put(Did::FallbackPrompt, source, text.as_bytes()));
        text.clone()
    }
}

/// The client's own prompt, without what was put around it when it was assembled before.
fn without(own: &str, prefix: Option<&str>, hint: Option<&str>) -> String {
    let own = prefix.and_then(|prefix| own.strip_prefix(prefix)?.strip_prefix(BETWEEN)).unwrap_or(own);
    let own = hint.and_then(|hint| own.strip_suffix(hint)?.strip_suffix(BETWEEN)).unwrap_or(own);
    own.to_owned()
}

/// A file with a text. Line ends at its end are the editor's.
pub(crate) fn text(files: &dyn Files, path: &str) -> Result<String, AssembleError> {
    let fault = |fault| AssembleError::file(path, fault);
    check(path).map_err(fault)?;
    let bytes = files.read(path).map_err(fault)?;
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    text.map(|text| text.trim_end_matches(['\r', '\n']).to_owned()).ok_or_else(|| fault(FileFault::Binary))
}
