//! Hot reload: loads a policy folder again whenever it changes, and publishes the result to the
//! gate.
//!
//! The first load and all later ones share one plugin loader, so that a plugin whose file did not
//! change is not compiled again. Nothing is missed: a look at the disk comes before the first load,
//! and a change during a load is the next change.
//!
//! The same files mean something else once an exception in them has ended, so that is a reason to
//! load too.
//!
//! Two threads: one looks at the folder, one loads. A load that takes long, because a plugin
//! compiles for long, is given up as soon as newer files are there: a good rule that is saved
//! meanwhile does not wait for a bad plugin.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, SystemTime};

use anyhow::{Context, ensure};
use leafgate_contract::PluginSource;
use leafgate_policy::{LoadError, ManagedPolicy, Policy, PolicySource};
use leafgate_trials::RuleTests;
use leafgate_watch::{Busy, FolderWatch, Snapshot, Timing, WatchError};

use crate::known::{KnownNow, KnownWatch};
use crate::options::{has_rules, policy_place};
use crate::policy::{self, LazyLoader};
use crate::team;

/// The source of a gate's policy, now and later.
pub(crate) struct Reload {
    source: PolicySource,
    loader: LazyLoader,
    /// Whether a policy that does not pass its own tests is refused.
    requires_tests: bool,
    /// The folder before the first load. `None` for a built-in policy, which never changes.
    loaded: Option<Snapshot>,
    /// When the policy that was loaded last ends by itself, because an exception of it does.
    ends_at: Cell<Option<SystemTime>>,
    /// Whether the user's own folder has had rule files.
    begun: Cell<bool>,
    /// The values that are looked for besides.
    known: Option<Arc<KnownNow>>,
    /// The folder of the operator's policy before the first load, where there is one.
    beneath: Option<(PathBuf, Snapshot)>,
    /// What the operator decided, asked for each load.
    managed: Box<dyn Fn() -> Result<Option<ManagedPolicy>, LoadError> + Send>,
    /// The policy has no clock: what time it is comes from here.
    clock: Box<dyn Fn() -> SystemTime + Send>,
}

/// Both threads. Dropping it ends them, a running load included.
pub(crate) struct PolicyWatch {
    /// Those of the policy and of the operator's; none while this is being dropped.
    folders: Vec<FolderWatch>,
    /// `None` where nothing can be known, and while this is being dropped.
    known: Option<KnownWatch>,
    loading: Busy,
    wanted: WantedLoad,
    /// Disconnected once the loading thread has ended.
    ended: Receiver<()>,
}

/// Longest wait for the end of a load. A compiler ends within a few milliseconds, a disk that does
/// not answer may not.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// The number of the load that is wanted. Every change asks for another one: a running load, of the number
/// before, is given up.
type WantedLoad = Arc<AtomicU64>;

impl Reload {
    /// Takes a snapshot of the folder, and with it of its tests where a policy counts only if it passes them.
    /// Must be called before the first load. The values that are known now are looked for too, and others
    /// once they change.
    pub(crate) fn new(
        source: PolicySource,
        requires_tests: bool,
        known: Option<Arc<KnownNow>>,
    ) -> anyhow::Result<Self> {
        ensure!(
            !requires_tests || source.folder().is_some(),
            "a built-in policy has no tests: leave `--require-tests` out, or name a policy folder"
        );
        let take = if requires_tests { Snapshot::take_with_tests } else { Snapshot::take };
        let beneath = crate::managed::policy_folder().filter(|_| source != PolicySource::None);
        Ok(Reload {
            loaded: source.folder().map(take),
            source,
            loader: policy::loader_of_gate(),
            requires_tests,
            ends_at: Cell::default(),
            begun: Cell::default(),
            known,
            beneath: beneath.map(|folder| (folder.clone(), Snapshot::take(&folder))),
            managed: Box::new(policy::managed),
            clock: Box::new(SystemTime::now),
        })
    }

    /// The source as the gate's status names it.
    pub(crate) fn name(&self) -> String {
        policy_place(&self.source)
    }

    /// Returns what is to be loaded. A folder of the user's own that was there once is no longer one that
    /// may be missing: what replaces it by accident does not serve.
    fn source(&self) -> PolicySource {
        let PolicySource::Own(folder) = &self.source else { return self.source.clone() };
        if has_rules(folder) {
            self.begun.set(true);
        }
        if self.begun.get() { PolicySource::Folder(folder.clone()) } else { self.source.clone() }
    }

    /// Returns what is loaded.
    pub(crate) fn loads(&self) -> &PolicySource {
        &self.source
    }

    /// Loads the files on disk.
    pub(crate) fn load(&self) -> Result<Policy, LoadError> {
        self.load_unless(&|| false)
    }

    fn load_unless(&self, abandoned: &dyn Fn() -> bool) -> Result<Policy, LoadError> {
        // Without a policy there is nothing that could end, until the files change.
        self.ends_at.take();
        let now = (self.clock)();
        // An attempt gives up once another one is wanted.
        let plugins = |source: &PluginSource| {
            self.loader.as_ref().map_err(Clone::clone)?.load_unless(source, abandoned)
        };
        let known = self.known.as_ref().and_then(|known| known.values());
        let managed = (self.managed)()?;
        let source = self.source();
        let loaded = Policy::load_knowing(&source, managed.as_ref(), &plugins, now, known)?;
        let loaded = team::known_to(loaded, &source);
        if let (true, Some(folder)) = (self.requires_tests, self.source.folder()) {
            RuleTests::read(&leafgate_folder::tests_of(folder), &loaded)?.require(&loaded)?;
        }
        self.ends_at.set(loaded.ends_at());
        Ok(loaded)
    }

    /// Returns how long the policy that was loaded last means what it does; `None` where nothing
    /// but a change of its files can end it.
    fn ends_in(&self) -> Option<Duration> {
        let end = self.ends_at.get()?;
        Some(end.duration_since((self.clock)()).unwrap_or_default())
    }

    /// Loads after each change of the folder and passes the results on, in order, until the watch
    /// is dropped. Returns `None` if nothing can change.
    ///
    /// # Errors
    /// A system that gives no thread.
    pub(crate) fn watch(
        mut self,
        timing: Timing,
        publish: impl FnMut(Result<Policy, LoadError>) + Send + 'static,
    ) -> anyhow::Result<Option<PolicyWatch>> {
        let loaded = self.loaded.take();
        let own = self.source.folder().map(Path::to_owned).zip(loaded);
        let folders: Vec<_> = own.into_iter().chain(self.beneath.take()).collect();
        let known = self.known.clone().filter(|_| self.source != PolicySource::None);
        if folders.is_empty() && known.is_none() {
            return Ok(None);
        }
        let (wanted, loading) = (WantedLoad::default(), Busy::default());
        let (changed, changes): (Sender<()>, _) = mpsc::channel();
        let (ends, ended) = mpsc::channel();
        let loads = LoadThread {
            reload: self,
            wanted: Arc::clone(&wanted),
            loading: loading.clone(),
            changes,
            _ends: ends,
        };
        std::thread::Builder::new()
            .name("policy-load".to_owned())
            .spawn(move || loads.run(publish))
            .context("cannot start the thread that loads the policy")?;
        let asked = Arc::clone(&wanted);
        let ask = move || {
            asked.fetch_add(1, Ordering::AcqRel);
            // The loading thread ends only after this closure.
            let _ = changed.send(());
        };
        let known = known.map(|known| known.watch(timing.rescan, ask.clone())).transpose()?;
        let watch = |(folder, loaded)| {
            let ask = ask.clone();
            FolderWatch::start(folder, timing, loaded, move |_| ask())
        };
        let folders = folders.into_iter().map(watch).collect::<std::io::Result<_>>();
        let folders = folders.context("cannot start the thread that looks at the policy")?;
        Ok(Some(PolicyWatch { folders, known, loading, wanted, ended }))
    }
}

/// The state of the loading thread.
struct LoadThread {
    reload: Reload,
    wanted: WantedLoad,
    loading: Busy,
    changes: Receiver<()>,
    /// Dropped with the thread.
    _ends: Sender<()>,
}

impl LoadThread {
    /// Waits until the files have changed or an exception has ended. Returns false once nobody can
    /// tell of changes any more.
    fn is_due(&self) -> bool {
        match self.reload.ends_in() {
            None => self.changes.recv().is_ok(),
            Some(left) => !matches!(self.changes.recv_timeout(left), Err(RecvTimeoutError::Disconnected)),
        }
    }

    fn run(self, mut publish: impl FnMut(Result<Policy, LoadError>)) {
        while self.is_due() {
            // One load answers for all changes so far.
            while self.changes.try_recv().is_ok() {}
            let number = self.wanted.load(Ordering::Acquire);
            let abandoned = || self.wanted.load(Ordering::Acquire) != number;
            match self.loading.run(|| self.reload.load_unless(&abandoned)) {
                // The error may be that the load was given up. The next change is there already,
                // and its load reports the present files.
                Err(_) if abandoned() => {}
                loaded => publish(loaded),
            }
        }
    }
}

impl PolicyWatch {
    /// Returns an error if the system reports no changes, so that only the rescan finds them.
    pub(crate) fn events(&self) -> Result<(), WatchError> {
        self.folders.iter().try_for_each(FolderWatch::events)
    }

    /// Returns a function for how long the present look at the folder, or the present load, has
    /// been running.
    pub(crate) fn running(&self) -> impl Fn() -> Option<Duration> + Send + Sync + use<> {
        let running: Vec<Busy> =
            self.folders.iter().map(FolderWatch::looking).chain([self.loading.clone()]).collect();
        move || running.iter().filter_map(Busy::running_for).max()
    }
}

impl Drop for PolicyWatch {
    fn drop(&mut self) {
        self.wanted.fetch_add(1, Ordering::AcqRel);
        // The sender of changes is dropped with the watch, so the other thread has nothing to wait
        // for.
        self.folders.clear();
        self.known = None;
        let _ = self.ended.recv_timeout(LAST_WAIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::Instant;

    /// Far longer than any load takes. A test that waits so long has failed.
    const LONG: Duration = Duration::from_secs(30);

    fn reload_of(source: PolicySource) -> Reload {
        Reload::new(source, false, None).unwrap()
    }

    fn rule(id: &str) -> String {
        format!("[[rule]]\nid = \"{id}\"\nmatch = {{}}\naction = \"pause\"\nreason = \"Look\"\n")
    }

    /// Renamed into place, so that no look reads half a file.
    fn write(folder: &Path, text: &str) {
        fs::create_dir_all(folder).unwrap();
        let draft = folder.join(".draft");
        fs::write(&draft, text).unwrap();
        fs::rename(draft, folder.join("rules.toml")).unwrap();
    }

    struct Watched {
        outcomes: Receiver<Result<Policy, LoadError>>,
        _watch: PolicyWatch,
    }

    impl Watched {
        fn start(reload: Reload) -> Self {
            let (sender, outcomes) = mpsc::channel();
            let timing = Timing {
                quiet: Duration::from_millis(5),
                rescan: Duration::from_millis(50),
                ..Timing::default()
            };
            let watch = reload.watch(timing, move |outcome| sender.send(outcome).unwrap()).unwrap().unwrap();
            Watched { outcomes, _watch: watch }
        }

        /// Returns the ids of the next policy, or why there is none.
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
        let reload = reload_of(PolicySource::Folder(folder.clone()));
        let first = reload.load().unwrap();
        let watched = Watched::start(reload);

        write(&folder, &rule("second"));
        assert_eq!(watched.next().unwrap(), ["second", "default-secrets"]);
        write(&folder, &rule("third").replace("action", "acton"));
        let refused = watched.next().unwrap_err();
        assert!(refused.contains("rules.toml:") && refused.contains("acton"), "{refused}");
        fs::rename(&folder, parent.path().join("gone")).unwrap();
        assert!(watched.next().unwrap_err().contains("cannot be read"));
        // Staged beside and moved into place, as deployments do: one change.
        write(&parent.path().join("staged"), &rule("first"));
        fs::rename(parent.path().join("staged"), &folder).unwrap();
        assert_eq!(watched.next().unwrap(), ["first", "default-secrets"]);
        assert_eq!(first.rules().len(), 2);
    }

    #[test]
    fn a_folder_of_the_users_own_serves_once_it_is_begun_and_is_missed_when_it_goes() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("config/policy");
        let reload = reload_of(PolicySource::Own(folder.clone()));
        let built_in: Vec<_> = reload.load().unwrap().rules().map(ToString::to_string).collect();
        assert_eq!(built_in, ["default-secrets"]);
        let watched = Watched::start(reload);

        write(&folder, &rule("own"));
        assert_eq!(watched.next().unwrap(), ["own", "default-secrets"]);
        fs::rename(&folder, parent.path().join("gone")).unwrap();
        assert!(watched.next().unwrap_err().contains("cannot be read"), "the last one serves on");
        fs::rename(parent.path().join("gone"), &folder).unwrap();
        assert_eq!(watched.next().unwrap(), ["own", "default-secrets"]);
    }

    #[test]
    fn a_change_of_the_operators_policy_is_followed() {
        let parent = tempfile::tempdir().unwrap();
        let (own, operators) = (parent.path().join("own"), parent.path().join("operators"));
        write(&own, &rule("own"));
        write(&operators, &rule("theirs"));
        let mut reload = reload_of(PolicySource::Folder(own));
        reload.beneath = Some((operators.clone(), Snapshot::take(&operators)));
        let managed = ManagedPolicy { folder: Some(operators.clone()), is_enforced: true };
        reload.managed = Box::new(move || Ok(Some(managed.clone())));
        let first: Vec<_> = reload.load().unwrap().rules().map(ToString::to_string).collect();
        assert_eq!(first, ["theirs", "default-secrets", "own"]);
        let watched = Watched::start(reload);
        write(&operators, &rule("theirs-now"));
        assert_eq!(watched.next().unwrap(), ["theirs-now", "default-secrets", "own"]);
    }

    #[test]
    fn what_changed_during_the_first_load_is_not_missed() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &rule("first"));
        let reload = reload_of(PolicySource::Folder(folder.path().to_owned()));
        write(folder.path(), &rule("second"));
        assert_eq!(Watched::start(reload).next().unwrap(), ["second", "default-secrets"]);
    }

    #[test]
    fn a_policy_is_loaded_anew_when_an_exception_ends() {
        let folder = tempfile::tempdir().unwrap();
        let found = "match = {}\ndetect = [\"pii/email\"]\naction = \"redact\"\n";
        let exception = "value = \"a@example.org\"\nreason = \"r\"\nby = \"b\"\nuntil = 2026-03-31\n";
        write(folder.path(), &format!("[[rule]]\nid = \"mail\"\n{found}[[exception]]\n{exception}"));
        // 2026-04-01 begins in a moment, by this clock.
        let (end, began) = (SystemTime::UNIX_EPOCH + Duration::from_secs(1_775_001_600), Instant::now());
        let mut reload = reload_of(PolicySource::Folder(folder.path().to_owned()));
        reload.clock = Box::new(move || end - Duration::from_millis(200) + began.elapsed());
        let first = reload.load().unwrap();
        assert_eq!(first.ends_at(), Some(end));
        let watched = Watched::start(reload);
        let next = watched.outcomes.recv_timeout(LONG).expect("the end of an exception was told").unwrap();
        assert_eq!(next.ends_at(), None);
        assert_ne!(next.digest(), first.digest());
    }

    #[test]
    fn a_policy_that_fails_its_tests_does_not_serve_and_a_mended_test_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &rule("first"));
        let test =
            |verdict: &str| format!("[[test]]\nname = \"asks\"\ntext = \"x\"\nverdict = \"{verdict}\"\n");
        let write_test = |verdict: &str| {
            fs::create_dir_all(folder.path().join("tests")).unwrap();
            fs::write(folder.path().join("tests/.draft"), test(verdict)).unwrap();
            fs::rename(folder.path().join("tests/.draft"), folder.path().join("tests/all.toml")).unwrap();
        };
        let reload = || Reload::new(PolicySource::Folder(folder.path().to_owned()), true, None).unwrap();
        assert!(reload().load().unwrap_err().to_string().contains("the policy has no tests"));
        write_test("pause");
        let first = reload();
        first.load().unwrap();
        let watched = Watched::start(first);
        write(folder.path(), &rule("second").replace("\"pause\"", "\"block\""));
        assert!(watched.next().unwrap_err().contains("a test fails, wrong: verdict"));
        write_test("block");
        assert_eq!(watched.next().unwrap(), ["second", "default-secrets"]);
        assert!(Reload::new(PolicySource::Default, true, None).is_err());
    }

    #[test]
    fn a_built_in_policy_never_changes() {
        for source in [PolicySource::Default, PolicySource::None] {
            let reload = reload_of(source);
            assert!(reload.load().is_ok());
            assert!(reload.watch(Timing::default(), |_| ()).unwrap().is_none());
        }
    }
}
