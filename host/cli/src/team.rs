//! The file of a gate's team, read again whenever it has changed.
//!
//! A team is asked for at the start of each run, and a look at the file's time and size costs
//! microseconds: so the next run has the newest file, without a watch. A file that cannot serve
//! leaves the last good one in force; at the start, one agent of ours.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use leafgate_agents::Team;
use leafgate_folder::Stamp;
use leafgate_gate::{ServingTeam, TeamSource};
use leafgate_policy::{Policy, PolicySource};

/// The file of a policy folder's team.
const IN_POLICY: &str = "agents.json";

/// Largest file of a team. Twenty agents with prompts of 5000 characters have 100 KB.
const MAX_FILE: usize = 1 << 20;

/// A team's file.
pub(crate) struct TeamFile {
    path: PathBuf,
    state: Mutex<TeamState>,
}

#[derive(Default)]
struct TeamState {
    /// What was read last.
    seen: Option<Stamp>,
    /// The last good team; `None` as long as no file was there.
    serving: Option<ServingTeam>,
}

impl TeamFile {
    /// The file that was named, or else that of the policy folder, which need not be there yet.
    pub(crate) fn find(named: Option<&Path>, policy: &PolicySource) -> Option<TeamFile> {
        let path = match (named, policy) {
            (Some(named), _) if named.is_dir() => named.join(IN_POLICY),
            (Some(named), _) => named.to_owned(),
            (None, policy) => policy.folder()?.join(IN_POLICY),
        };
        Some(TeamFile { path, state: Mutex::default() })
    }
}

impl TeamSource for TeamFile {
    fn team(&self) -> Option<ServingTeam> {
        // A state is replaced as a whole.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Stamp::at(&self.path);
        if now.is_none() && state.serving.is_none() {
            return None;
        }
        if now != state.seen || state.serving.is_none() {
            let serving = read(&self.path, state.serving.as_ref());
            for warning in serving.warnings.iter() {
                tracing::warn!(target: "leafgate::agents", "{warning}");
            }
            *state = TeamState { seen: now, serving: Some(serving) };
        }
        state.serving.clone()
    }
}

/// Reads the team that serves from now on.
fn read(path: &Path, last: Option<&ServingTeam>) -> ServingTeam {
    let shown = path.display();
    match load(path) {
        Ok((team, warnings)) => {
            let warnings = warnings.into_iter().map(|warning| format!("{shown}, {warning}"));
            ServingTeam { team: Arc::new(team), warnings: warnings.collect() }
        }
        Err(problems) => {
            let (team, serves) = match last {
                Some(last) => (Arc::clone(&last.team), "the last good team serves"),
                None => (Arc::new(Team::fallback()), "one agent serves in its place"),
            };
            let first = format!("{shown} cannot be used: {serves}");
            let problems = problems.into_iter().map(|problem| format!("{shown}, {problem}"));
            ServingTeam { team, warnings: std::iter::once(first).chain(problems).collect() }
        }
    }
}

/// Has a policy know the prompts of its folder's team, where they are sent as a user's words: what is judged without a run is
/// judged as in one.
pub(crate) fn known_to(policy: Policy, source: &PolicySource) -> Policy {
    match source.folder().and_then(|folder| load(&folder.join(IN_POLICY)).ok()) {
        Some((team, _)) => policy.knowing_prompts(team.prompts_by_user()),
        None => policy,
    }
}

/// The team's file that a person means by a file or a folder; the error says what was looked for.
pub(crate) fn find(named: &Path) -> Result<PathBuf, String> {
    let shown = named.display();
    let in_folder = named.join(IN_POLICY);
    match std::fs::metadata(named) {
        Ok(metadata) if !metadata.is_dir() => Ok(named.to_owned()),
        Ok(_) if in_folder.exists() => Ok(in_folder),
        Ok(_) => Err(format!(
            "{shown} has no team: a folder has one in `{IN_POLICY}`, which is not there; write it, or name the \
             team's file"
        )),
        Err(error) => Err(format!(
            "{shown} cannot be read ({error}): name a team's file, or a policy folder with `{IN_POLICY}` in it"
        )),
    }
}

/// Reads a team's file; the error has a line for each problem.
pub(crate) fn load(path: &Path) -> Result<(Team, Vec<String>), Vec<String>> {
    let text = leafgate_folder::read_text(path, MAX_FILE).map_err(|error| vec![error.to_string()])?;
    match Team::read(&text) {
        Ok((team, warnings)) => Ok((team, warnings.iter().map(ToString::to_string).collect())),
        Err(error) => Err(error.problems.iter().map(ToString::to_string).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> String {
        format!(
            r#"{{"entryAgent":"{name}","agents":[{{"name":"{name}","systemPrompt":"x","description":"x","useFor":"x",
            "delegationPermissions":{{"type":"all"}},"toolPermissions":{{"type":"all"}}}}]}}"#
        )
    }

    fn entry(serving: &ServingTeam) -> String {
        serving.team.entry().unwrap().name.to_string()
    }

    #[test]
    fn the_newest_good_file_serves() {
        let folder = tempfile::tempdir().unwrap();
        let policy = PolicySource::Folder(folder.path().to_owned());
        let source = TeamFile::find(None, &policy).unwrap();
        assert!(source.team().is_none(), "there is no file yet");
        let path = folder.path().join(IN_POLICY);
        std::fs::write(&path, file("lead")).unwrap();
        assert_eq!(entry(&source.team().unwrap()), "lead");
        std::fs::write(&path, file("another")).unwrap();
        assert_eq!(entry(&source.team().unwrap()), "another");
        std::fs::write(&path, "{").unwrap();
        let serving = source.team().unwrap();
        assert_eq!(entry(&serving), "another");
        assert!(serving.warnings[0].contains("the last good team serves"), "{:?}", serving.warnings);
        std::fs::remove_file(&path).unwrap();
        let gone = source.team().unwrap();
        assert_eq!((entry(&gone), gone.warnings.len()), ("another".to_owned(), 2));
    }

    #[test]
    fn a_gate_that_starts_with_a_bad_file_has_one_agent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("team.json");
        std::fs::write(&path, "[]").unwrap();
        let serving = TeamFile::find(Some(&path), &PolicySource::None).unwrap().team().unwrap();
        assert_eq!(entry(&serving), "assistant");
        assert!(serving.warnings[0].contains("one agent serves in its place"), "{:?}", serving.warnings);
    }
}
