//! Hot reload: a policy folder that changes is loaded aside, and the gate hears of what came of it.
//!
//! The first load and all later ones share one plugin loader, so that a plugin whose file did not change is not compiled again. Nothing
//! is missed: what is on disk is looked at before the first load begins, and what changes while a load runs is the next change.

use leafgate_policy::{LoadError, Policy, PolicySource};
use leafgate_watch::{FolderWatch, Snapshot, Timing};

use crate::policy::LazyLoader;

/// Where a gate's policy comes from, now and later.
pub(crate) struct Reload {
    source: PolicySource,
    loader: LazyLoader,
    /// The folder before anything was loaded; `None` for a built-in policy, which never changes.
    loaded: Option<Snapshot>,
}

impl Reload {
    /// Looks at what is on disk. To be called before the first load.
    pub(crate) fn new(source: PolicySource) -> Self {
        let loaded = match &source {
            PolicySource::Folder(folder) => Some(Snapshot::take(folder)),
            PolicySource::Default | PolicySource::None => None,
        };
        Reload { source, loader: LazyLoader::default(), loaded }
    }

    /// The source as the gate's status names it.
    pub(crate) fn name(&self) -> String {
        match &self.source {
            PolicySource::Default => "default".to_owned(),
            PolicySource::None => "none".to_owned(),
            PolicySource::Folder(folder) => folder.display().to_string(),
        }
    }

    /// Loads what is on disk now.
    pub(crate) fn load(&self) -> Result<Policy, LoadError> {
        Policy::load(&self.source, &self.loader)
    }

    /// Loads each change of the folder and tells what came of it, in order, until the watch is dropped. `None` where nothing can change.
    pub(crate) fn watch(
        mut self,
        timing: Timing,
        mut tell: impl FnMut(Result<Policy, LoadError>) + Send + 'static,
    ) -> Option<FolderWatch> {
        let loaded = self.loaded.take()?;
        let PolicySource::Folder(folder) = self.source.clone() else { return None };
        Some(FolderWatch::start(folder, timing, loaded, move |_| tell(self.load())))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::mpsc::{self, Receiver};
    use std::time::Duration;

    use super::*;

    /// Far longer than any load takes; a test that waits so long has failed.
    const LONG: Duration = Duration::from_secs(30);

    fn rule(id: &str) -> String {
        format!("[[rule]]\nid = \"{id}\"\nmatch = {{}}\naction = \"pause\"\nreason = \"Look\"\n")
    }

    /// Renamed into place, so that no look meets half a file.
    fn write(folder: &Path, text: &str) {
        fs::create_dir_all(folder).unwrap();
        let draft = folder.join(".draft");
        fs::write(&draft, text).unwrap();
        fs::rename(draft, folder.join("rules.toml")).unwrap();
    }

    struct Watched {
        outcomes: Receiver<Result<Policy, LoadError>>,
        _watch: FolderWatch,
    }

    impl Watched {
        fn start(reload: Reload) -> Self {
            let (sender, outcomes) = mpsc::channel();
            let timing = Timing {
                quiet: Duration::from_millis(5),
                rescan: Duration::from_millis(50),
                ..Timing::default()
            };
            let watch = reload.watch(timing, move |outcome| sender.send(outcome).unwrap()).unwrap();
            Watched { outcomes, _watch: watch }
        }

        /// The ids of the next policy, or why there is none.
        fn next(&self) -> Result<Vec<String>, String> {
            let outcome = self.outcomes.recv_timeout(LONG).expect("a change was told");
            let ids = |policy: Policy| policy.rules().map(ToString::to_string).collect();
            outcome.map(ids).map_err(|error| error.to_string())
        }
    }

    #[test]
    fn changes_are_loaded_or_refused_in_order() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("policy");
        write(&folder, &rule("first"));
        let reload = Reload::new(PolicySource::Folder(folder.clone()));
        let first = reload.load().unwrap();
        let watched = Watched::start(reload);

        write(&folder, &rule("second"));
        assert_eq!(watched.next().unwrap(), ["second"]);
        write(&folder, &rule("third").replace("action", "acton"));
        let refused = watched.next().unwrap_err();
        assert!(refused.contains("rules.toml:") && refused.contains("acton"), "{refused}");
        fs::rename(&folder, parent.path().join("gone")).unwrap();
        assert!(watched.next().unwrap_err().contains("cannot be read"));
        // Staged beside and moved into place, as deployments do: one change.
        write(&parent.path().join("staged"), &rule("first"));
        fs::rename(parent.path().join("staged"), &folder).unwrap();
        assert_eq!(watched.next().unwrap(), ["first"]);
        assert_eq!(first.rules().len(), 1);
    }

    #[test]
    fn what_changed_during_the_first_load_is_not_missed() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &rule("first"));
        let reload = Reload::new(PolicySource::Folder(folder.path().to_owned()));
        write(folder.path(), &rule("second"));
        assert_eq!(Watched::start(reload).next().unwrap(), ["second"]);
    }

    #[test]
    fn a_built_in_policy_never_changes() {
        for source in [PolicySource::Default, PolicySource::None] {
            let reload = Reload::new(source);
            assert!(reload.load().is_ok());
            assert!(reload.watch(Timing::default(), |_| ()).is_none());
        }
    }
}
