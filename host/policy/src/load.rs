//! A policy folder, or one of the built-in texts, to a [`Policy`].

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use leafgate_contract::PluginLoader;
use leafgate_detect::{Engine, KnownValues};
use leafgate_diagnostic::{Complaints, Diagnostics, LoadError, Severity};
use leafgate_folder::{PassedOver, Reason};
use leafgate_vault::Flow;
use sha2::{Digest, Sha256};
use toml::Spanned;

use crate::Policy;
use crate::assembly::Assembly;
use crate::exception::{Day, Exception, Exceptions};
use crate::file::assemble;
use crate::file::compile::Compiler;
use crate::file::detectors::Engines;
use crate::file::exceptions;
use crate::file::flow;
use crate::file::never::{self, Labels};
use crate::file::own::OwnDetectors;
use crate::file::plugins::Plugins;
use crate::file::raw::{self, RawFile, rows, said, words_of};
use crate::file::requires;
use crate::file::twice::{self, Written};
use crate::file::useless::Shadows;
use crate::file::weaken;
use crate::lookup::Lookup;
use crate::memo::Memo;
use crate::own_index::OwnIndex;
use crate::rule::{Mode, Rule};

/// The source of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PolicySource {
    /// The built-in default policy.
    #[default]
    Default,
    /// No rules at all: everything is forwarded as it came. Never chosen silently.
    None,
    /// A folder of `*.toml` files, read in name order.
    Folder(PathBuf),
    /// The same, which may be without rule files, or not be there yet: what is built in serves alone.
    Own(PathBuf),
}

impl PolicySource {
    /// Returns the folder that is read, whether it is there or not.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            PolicySource::Folder(folder) | PolicySource::Own(folder) => Some(folder),
            PolicySource::Default | PolicySource::None => None,
        }
    }
}

/// What the operator of a machine puts beneath every policy on it, in the place of the built-in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedPolicy {
    /// A folder of rule files. What is built in stands beneath them, unless they say `extends = "none"`;
    /// `None` where it stands there alone.
    pub folder: Option<PathBuf>,
    /// Whether the rules above may only add to it. It comes first then: what its rules find is theirs, and
    /// what would weaken them is an error.
    pub is_enforced: bool,
}

/// The name under which the built-in text appears in diagnostics and explanations.
const DEFAULT_NAME: &str = "built-in default policy";
const DEFAULT_TEXT: &str = include_str!("default.toml");

/// The rule for values that are known, and the detector that finds them.
const KNOWN_NAME: &str = "built-in rule for known values";
const KNOWN_TEXT: &str = include_str!("known.toml");
const KNOWN: &str = "secrets/known";

/// Largest rule file, in bytes. A larger one is not a rule file.
const MAX_FILE: usize = 1 << 20;

/// Files that are not read and are named one by one. A folder with more of them is no policy
/// folder.
const MAX_NAMED: usize = 20;

/// Loads a policy; every error of every file is in the [`LoadError`].
pub(crate) fn load(
    source: &PolicySource,
    managed: Option<&ManagedPolicy>,
    plugins: &dyn PluginLoader,
    now: Option<SystemTime>,
    known: Option<Arc<KnownValues>>,
) -> Result<Policy, LoadError> {
    let mut loading = Loading { today: now.map(Day::of), known, ..Loading::default() };
    let beneath = managed.and_then(|managed| managed.folder.as_deref());
    match (source, source.folder()) {
        (PolicySource::None, _) => {}
        (_, None) => loading.add_beneath(beneath),
        (_, Some(folder)) => {
            let may_be_empty = matches!(source, PolicySource::Own(_));
            if managed.is_some_and(|managed| managed.is_enforced) {
                loading.add_beneath(beneath);
                loading.enforced = loading.files.len();
                loading.add_folder(folder, may_be_empty);
                loading.refuse_weakening();
            } else {
                loading.add_folder(folder, may_be_empty);
                loading.add_beneath_unless_alone(0, |loading| loading.add_beneath(beneath));
            }
        }
    }
    loading.apply_known();
    loading.compile(plugins)
}

#[derive(Default)]
struct Loading {
    diagnostics: Diagnostics,
    files: Vec<Read>,
    /// `None` where nobody says which day it is.
    today: Option<Day>,
    known: Option<Arc<KnownValues>>,
    /// Whether a folder's rules have the default policy not beneath them.
    alone: bool,
    /// How many of the files those after them may only add to.
    enforced: usize,
}

/// One file after the first stage.
struct Read {
    file: usize,
    folder: PathBuf,
    raw: RawFile,
}

impl Loading {
    fn add_default(&mut self) {
        self.add_file(DEFAULT_NAME, DEFAULT_TEXT.to_owned(), Path::new(""));
    }

    fn add_folder(&mut self, folder: &Path, may_be_empty: bool) {
        let listing = match leafgate_folder::list(folder) {
            Ok(listing) => listing,
            Err(error) if may_be_empty && error.kind() == ErrorKind::NotFound => return,
            Err(error) => {
                let hint = "name a folder of rule files, `default` or `none`";
                let message = format!("the policy folder cannot be read: {error}");
                return self.of_folder(folder, message, hint);
            }
        };
        if listing.rules.is_empty() && !may_be_empty {
            let hint = "put a `*.toml` rule file into it, or choose `default` or `none`";
            self.of_folder(folder, "the policy folder holds no rule file", hint);
        }
        for path in listing.rules {
            match read_text(&path) {
                Ok(text) => {
                    let file = self.diagnostics.add_file_of(folder, &path, text);
                    self.read_file(file, folder);
                }
                Err(why) => {
                    self.diagnostics.without_place(Severity::Error, path.display().to_string(), why, None);
                }
            }
        }
        self.name_passed_over(folder, &listing.passed_over);
    }

    /// Adds the operator's policy with the built-in one beneath it, or the latter alone.
    fn add_beneath(&mut self, managed: Option<&Path>) {
        let first = self.files.len();
        if let Some(folder) = managed {
            self.add_folder(folder, false);
        }
        self.add_beneath_unless_alone(first, Loading::add_default);
    }

    fn of_folder(&mut self, folder: &Path, message: impl Into<String>, hint: &str) {
        let folder = folder.display().to_string();
        self.diagnostics.without_place(Severity::Error, folder, message, Some(hint.to_owned()));
    }

    /// Reports the files that look like rule files and are not read: their author may rely on them.
    fn name_passed_over(&mut self, folder: &Path, passed_over: &[PassedOver]) {
        for PassedOver { path, reason } in passed_over.iter().take(MAX_NAMED) {
            let (severity, hint) = match reason {
                // It has the very name of a rule file, so it is one that does not work.
                Reason::NotRegular => (Severity::Error, "remove it, or put a file in its place"),
                Reason::Hidden => (Severity::Warning, "take the dot away, or remove it"),
                Reason::Extension => (Severity::Warning, "write rules in TOML and name the file `….toml`"),
                Reason::Subfolder => (Severity::Warning, "move it up into the policy folder, or remove it"),
            };
            let message = format!("this file is not read: {reason}");
            self.diagnostics.without_place(severity, path.display().to_string(), message, Some(hint.into()));
        }
        if passed_over.len() > MAX_NAMED {
            let message = format!("{} more files are not read", passed_over.len() - MAX_NAMED);
            let hint = "keep rule files and plugins in the policy folder, and nothing else".to_owned();
            let folder = folder.display().to_string();
            self.diagnostics.without_place(Severity::Warning, folder, message, Some(hint));
        }
    }

    fn add_file(&mut self, name: &str, text: String, folder: &Path) {
        let file = self.diagnostics.add_file(name.to_owned(), text);
        self.read_file(file, folder);
    }

    fn read_file(&mut self, file: usize, folder: &Path) {
        let raw = raw::read(file, &mut self.diagnostics);
        let mut complaints = Complaints { file, diagnostics: &mut self.diagnostics };
        requires::check(&raw, &mut complaints);
        self.files.push(Read { file, folder: folder.to_owned(), raw });
    }

    /// Puts a policy beneath the rules of a folder, whose files begin at `first`, so that of equals those
    /// name a finding, unless a file says that it wants none. It acts whatever the `mode` of the files is.
    fn add_beneath_unless_alone(&mut self, first: usize, add: impl FnOnce(&mut Loading)) {
        let mut asked: [Option<(usize, Range<usize>)>; 2] = [None, None];
        for read in &self.files[first..] {
            let Some(extends) = &read.raw.extends else { continue };
            asked[*extends.get_ref() as usize] = Some((read.file, extends.span()));
        }
        match asked {
            [_, None] => add(self),
            [None, Some(_)] => self.alone = true,
            [Some(_), Some((file, place))] => {
                let mut complaints = Complaints { file, diagnostics: &mut self.diagnostics };
                complaints.error(
                    place,
                    "another file says `extends = \"default\"`",
                    "say it in one of them alone",
                );
            }
        }
    }

    /// Refuses what of the files above those that are enforced would weaken them.
    fn refuse_weakening(&mut self) {
        for read in &self.files[self.enforced..] {
            let mut complaints = Complaints { file: read.file, diagnostics: &mut self.diagnostics };
            weaken::refuse(&read.raw, &mut complaints);
        }
    }

    /// Puts the rule for known values last, so that of equals the policy's own rules name a finding.
    /// A policy whose rules name the detector, or leave it out, has said what it wants.
    fn apply_known(&mut self) {
        let says = |read: &Read| {
            let mut words = rows(&read.raw.rules).iter().flat_map(|raw| words_of(&raw.get_ref().detect));
            words.any(|(word, _)| word.trim_start_matches('!') == KNOWN)
        };
        let any = self.known.as_ref().is_some_and(|known| !known.is_empty());
        let deciding = if self.enforced > 0 { &self.files[..self.enforced] } else { &self.files };
        if any && !self.files.is_empty() && !deciding.iter().any(says) {
            self.add_file(KNOWN_NAME, KNOWN_TEXT.to_owned(), Path::new(""));
        }
    }

    fn compile(mut self, loader: &dyn PluginLoader) -> Result<Policy, LoadError> {
        let mut plugins = self.plugins(loader);
        let declared = plugins.loaded.len();
        let mut engines = Engines::knowing(self.known.clone());
        let own = self.own_detectors();
        let rules = self.rules(&plugins, &own, &mut engines);
        let exceptions = self.exceptions(&rules);
        let assemblies = self.assemblies();
        let flow = Arc::new(self.flow());
        if rules.is_empty()
            && assemblies.is_empty()
            && self.diagnostics.errors() == 0
            && !self.files.is_empty()
        {
            let folder = self.files[0].folder.clone();
            let hint = "write a `[[rule]]`, or choose `default` or `none`";
            self.of_folder(&folder, "the policy folder holds no rule", hint);
        }
        if rules.is_empty() && !assemblies.is_empty() {
            let folder = self.files[0].folder.display().to_string();
            let hint = "write a `[[rule]]`, or take `extends = \"none\"` out".to_owned();
            let message = "no rule looks at what the profiles put into requests";
            self.diagnostics.without_place(Severity::Warning, folder, message, Some(hint));
        }
        if self.diagnostics.errors() > 0 {
            return Err(self.diagnostics.into_error());
        }
        let own = OwnIndex::new(engines.own_sets());
        plugins.loaded.extend(engines.take_own());
        let exceptions = Exceptions::new(exceptions);
        let digest = self.digest(&plugins, &engines, Some(&exceptions));
        let rules_digest = self.digest(&plugins, &engines, None);
        let policy = Policy {
            lookup: Lookup::new(&rules),
            rules,
            engines: engines.all,
            exceptions,
            assemblies,
            plugins: plugins.loaded,
            own,
            flow,
            known: self.known.as_ref().and_then(known_alone),
            declared,
            digest,
            rules_digest,
            memo: Memo::default(),
            alone: self.alone,
            enforced: self.files[..self.enforced].iter().map(|read| rows(&read.raw.rules).len()).sum(),
            warnings: Vec::new(),
            prompts: Vec::new(),
        };
        self.warn_of_useless(&policy);
        match self.diagnostics.errors() {
            0 => Ok(Policy { warnings: self.diagnostics.into_all(), ..policy }),
            _ => Err(self.diagnostics.into_error()),
        }
    }

    /// Warns of rules that do nothing, by themselves or beside those before them.
    fn warn_of_useless(&mut self, policy: &Policy) {
        let (mut shadows, labels) = (Shadows::default(), Labels::of(policy));
        let files =
            self.files.iter().flat_map(|read| rows(&read.raw.rules).iter().map(move |raw| (read.file, raw)));
        for ((file, raw), rule) in files.zip(&policy.rules) {
            let mut complaints = Complaints { file, diagnostics: &mut self.diagnostics };
            shadows.warn(rule, raw, &mut complaints);
            never::warn(rule, raw.get_ref(), &labels, &mut complaints);
        }
    }

    fn plugins(&mut self, loader: &dyn PluginLoader) -> Plugins {
        let mut plugins = Plugins::default();
        // Asked for in any file, a signature is asked for in all.
        for read in &self.files {
            let mut complaints = Complaints { file: read.file, diagnostics: &mut self.diagnostics };
            plugins.require_signed(&read.raw, &mut complaints);
        }
        for read in &self.files {
            let mut complaints = Complaints { file: read.file, diagnostics: &mut self.diagnostics };
            let mut declared: Vec<_> = read.raw.plugins.iter().flat_map(Spanned::get_ref).collect();
            // Plugins load and digest in the order in which they were written.
            declared.sort_by_key(|(name, _)| name.span().start);
            for (name, raw) in declared {
                plugins.add(name, raw.get_ref(), &read.folder, loader, &mut complaints);
            }
        }
        plugins
    }

    fn own_detectors(&mut self) -> OwnDetectors {
        let mut own = OwnDetectors::default();
        for read in &self.files {
            for raw in rows(&read.raw.detectors) {
                let mut complaints = Complaints { file: read.file, diagnostics: &mut self.diagnostics };
                own.add(raw, &read.folder, &mut complaints);
            }
        }
        own
    }

    fn rules(&mut self, plugins: &Plugins, own: &OwnDetectors, engines: &mut Engines) -> Vec<Rule> {
        let mut rules: Vec<Rule> = Vec::new();
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for read in &self.files {
            for raw in rows(&read.raw.rules) {
                let complaints = Complaints { file: read.file, diagnostics: &mut self.diagnostics };
                let mode = said(&read.raw.mode).unwrap_or(Mode::Enforce);
                let mut compiler = Compiler { complaints, plugins, own, engines, mode };
                if let Some(id) = &raw.get_ref().id {
                    let here = compiler.complaints.origin(&id.span());
                    if let Some(first) = seen.insert(id.get_ref().clone(), here) {
                        let message = format!("rule `{}` is declared twice", id.get_ref());
                        compiler.complaints.error(id.span(), message, format!("the first is at {first}"));
                    }
                }
                rules.extend(compiler.rule(raw));
            }
        }
        rules
    }

    /// Those that are in force on the day of the load.
    fn exceptions(&mut self, rules: &[Rule]) -> Vec<Exception> {
        let mut written = Vec::new();
        let raws = self.files.iter().flat_map(|read| rows(&read.raw.rules));
        let ids = raws.filter_map(|raw| raw.get_ref().id.as_ref());
        let declared: BTreeSet<&str> = ids.map(|id| id.get_ref().as_str()).collect();
        for read in &self.files {
            for raw in rows(&read.raw.exceptions) {
                let complaints = Complaints { file: read.file, diagnostics: &mut self.diagnostics };
                let mut compiler =
                    exceptions::Compiler { complaints, rules, declared: &declared, today: self.today };
                let exception = compiler.exception(raw);
                written.extend(exception.map(|exception| Written { file: read.file, raw, exception }));
            }
        }
        twice::warn(&written, &mut self.diagnostics);
        written.into_iter().map(|written| written.exception).collect()
    }

    /// What the files say together about values in arguments of tools.
    fn flow(&mut self) -> Flow {
        let mut rules = None;
        for read in &self.files {
            let Some(rows) = &read.raw.restore else { continue };
            let mut complaints = Complaints { file: read.file, diagnostics: &mut self.diagnostics };
            let rows = rows.get_ref().iter().filter_map(|row| flow::compile(row, &mut complaints));
            rules.get_or_insert_with(Vec::new).extend(rows);
        }
        rules.map(Flow::new).unwrap_or_default()
    }

    fn assemblies(&mut self) -> Vec<Arc<Assembly>> {
        let mut assemblies: Vec<Arc<Assembly>> = Vec::new();
        for read in &self.files {
            for raw in rows(&read.raw.assemblies) {
                let mut complaints = Complaints { file: read.file, diagnostics: &mut self.diagnostics };
                let Some(assembly) = assemble::compile(raw, &read.folder, &mut complaints) else { continue };
                if let Some(first) = assemblies.iter().find(|known| known.id == assembly.id) {
                    let message = format!("profile `{}` is declared twice", assembly.id);
                    complaints.error(raw.span(), message, format!("the first is at {}", first.origin));
                }
                assemblies.push(Arc::new(assembly));
            }
        }
        assemblies
    }

    /// A digest of all that decides what the policy does: the texts, the plugins, the detectors,
    /// this program's version. Without exceptions, files that hold nothing else are left out.
    fn digest(&self, plugins: &Plugins, engines: &Engines, exceptions: Option<&Exceptions>) -> [u8; 32] {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            // Lengths keep the parts apart: "ab" + "c" is not "a" + "bc".
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(env!("CARGO_PKG_VERSION").as_bytes());
        if self.enforced > 0 {
            part(&self.enforced.to_le_bytes());
        }
        for read in self.files.iter().filter(|read| exceptions.is_some() || !read.raw.is_of_exceptions()) {
            // The name without its folder: a policy that moved is the same policy.
            let name = Path::new(self.diagnostics.name(read.file)).file_name().unwrap_or_default();
            part(name.as_encoded_bytes());
            part(self.diagnostics.text(read.file).as_bytes());
        }
        for plugin in &plugins.loaded {
            part(plugin.name.as_bytes());
            part(&plugin.plugin.digest());
        }
        for engine in &engines.all {
            part(&engine.digest());
        }
        // The same files are another generation once an exception has ended.
        for exception in exceptions.into_iter().flat_map(Exceptions::iter) {
            let line = Path::new(&exception.origin).file_name().unwrap_or_default();
            part(line.as_encoded_bytes());
        }
        hash.finalize().into()
    }
}

pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    let read = leafgate_folder::read_text(path, MAX_FILE);
    read.map_err(|error| format!("the rule file cannot be read: {error}"))
}

/// Returns an engine that finds known values alone.
fn known_alone(known: &Arc<KnownValues>) -> Option<Engine> {
    // The detector is built in, so its name is one.
    Engine::with_known(&[KNOWN], Some(known)).ok().filter(|_| !known.is_empty())
}
