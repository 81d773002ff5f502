//! Codex: a provider of ours in a private `CODEX_HOME`, which is the user's own but for
//! `config.toml`.
//!
//! Every entry of the user's folder is a link in the private one, so login, history and sessions
//! are the user's. What a run adds is moved back when it ends, or before the next one where it was
//! killed. A login that Codex renews must never be lost: the old one is worth nothing any more.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use toml::Table;

use super::choice::{NamedUrl, RunningGate};
use super::known::{self, CODEX};
use super::{ClientOrigin, OPENAI, text_variable};
use crate::providers::CHATGPT_UPSTREAM;
use crate::{home, private};

/// The name of our provider.
const PROVIDER: &str = "leafgate";

const CONFIG: &str = "config.toml";

/// Held while a private folder is in use.
const LOCK: &str = ".leafgate-lock";

/// Where private folders are, in the data folder.
const FOLDERS: &str = "codex";

/// Where the subscriptions of ChatGPT are served, and behind which path.
const CHATGPT: (&str, &str) = (CHATGPT_UPSTREAM.1, "/backend-api/codex");

/// What its upstream is called.
const NAME: &str = CHATGPT_UPSTREAM.0;

/// The variable with OpenAI's key.
const KEY: &str = "OPENAI_API_KEY";

/// How Codex would ask without a gate.
pub(super) struct CodexLogin {
    /// The user's own `CODEX_HOME`.
    home: PathBuf,
    /// What `config.toml` says there.
    config: Table,
    /// The provider, as the gate's one will be but for its address.
    provider: Table,
    pub(super) origin: ClientOrigin,
}

impl CodexLogin {
    /// Reads configuration and login, where Codex was ever used or is the program itself.
    pub(super) fn find(running: &RunningGate, is_itself: bool) -> anyhow::Result<Option<CodexLogin>> {
        let home = known::client(CODEX).and_then(|codex| codex.home.folders().pop());
        ensure!(home.is_some() || !is_itself, "neither CODEX_HOME nor HOME is set: set one of them");
        let home = home.filter(|folder| is_itself || folder.is_dir());
        home.map(|home| CodexLogin::in_home(running.named(OPENAI.variable), home)).transpose()
    }

    fn in_home(base_url: NamedUrl, home: PathBuf) -> anyhow::Result<CodexLogin> {
        let file = home.join(CONFIG);
        let config = read_config(&file)?;
        let chosen = config.get("model_provider").and_then(toml::Value::as_str).unwrap_or("openai");
        let (provider, origin) = match chosen {
            "openai" => built_in(base_url, &home, &config)?,
            own => own_provider(own, &config).with_context(|| {
                format!("the provider `{own}` of {} cannot be put behind a gate", file.display())
            })?,
        };
        Ok(CodexLogin { home, config, provider, origin })
    }

    /// Makes a private home whose provider is at this base URL.
    pub(super) fn private_home(&self, base_url: &str) -> anyhow::Result<PrivateHome> {
        let folders = home::data_folder()?.join(FOLDERS);
        sweep(&folders);
        PrivateHome::make(&folders, self, base_url)
            .with_context(|| format!("no private folder for Codex can be made in {}", folders.display()))
    }

    /// Returns what `config.toml` says in the private home.
    fn config_through(&self, base_url: &str) -> Table {
        let mut provider = self.provider.clone();
        provider.insert("base_url".to_owned(), base_url.into());
        // The gate answers a WebSocket with 426, after which Codex would try again and again.
        provider.insert("supports_websockets".to_owned(), false.into());
        let mut config = with_our_provider(self.config.clone());
        config.insert("model_provider".to_owned(), PROVIDER.into());
        let providers = config.entry("model_providers").or_insert_with(|| Table::new().into());
        if let Some(providers) = providers.as_table_mut() {
            providers.insert(PROVIDER.to_owned(), provider.into());
        }
        config
    }
}

fn read_config(file: &Path) -> anyhow::Result<Table> {
    let shown = file.display();
    let text =
        private::if_there(fs::read_to_string(file)).with_context(|| format!("{shown} cannot be read"))?;
    let text = text.unwrap_or_default();
    // The file may hold keys: the error quotes nothing of it.
    text.parse::<Table>().map_err(|error| anyhow::anyhow!("{shown} is no TOML: {}", error.message()))
}

/// The built-in provider asks another address for each of its two logins.
fn built_in(base_url: NamedUrl, home: &Path, config: &Table) -> anyhow::Result<(Table, ClientOrigin)> {
    let login = login(&home.join("auth.json"))?;
    let mut provider = Table::new();
    // By this name Codex knows what it may ask for.
    provider.insert("name".to_owned(), "OpenAI".into());
    provider.insert("wire_api".to_owned(), "responses".into());
    let configured = config.get("openai_base_url").and_then(toml::Value::as_str).map(str::to_owned);
    // A URL of the configuration counts before that of the environment.
    let place = base_url.place.filter(|_| configured.is_none());
    let configured = configured.or(base_url.elsewhere);
    let origin = match (&login, &configured) {
        (_, Some(url)) => ClientOrigin::of(NAME, url)?,
        (Login::ChatGpt, None) => {
            ClientOrigin { path: CHATGPT.1.to_owned(), ..ClientOrigin::of(NAME, CHATGPT.0)? }
        }
        (Login::Key | Login::None, None) => ClientOrigin::of(NAME, OPENAI.url)?,
    };
    if matches!(login, Login::None) && text_variable(KEY).is_some() {
        provider.insert("env_key".to_owned(), KEY.into());
    } else {
        provider.insert("requires_openai_auth".to_owned(), true.into());
    }
    Ok((provider, ClientOrigin { place, ..origin }))
}

/// How Codex is logged in.
enum Login {
    ChatGpt,
    Key,
    /// Not by a file.
    None,
}

fn login(file: &Path) -> anyhow::Result<Login> {
    let Ok(text) = fs::read(file) else { return Ok(Login::None) };
    let login: Value = serde_json::from_slice(&text)
        .map_err(|error| anyhow::anyhow!("{} is no JSON from line {} on", file.display(), error.line()))?;
    let by_key = login["auth_mode"].as_str() == Some("apikey")
        || (login["tokens"].is_null() && login[KEY].is_string());
    Ok(if by_key { Login::Key } else { Login::ChatGpt })
}

fn own_provider(name: &str, config: &Table) -> anyhow::Result<(Table, ClientOrigin)> {
    let provider = config.get("model_providers").and_then(|providers| providers.get(name)?.as_table());
    let provider = provider.context("`model_providers` does not have it")?;
    let url = provider.get("base_url").and_then(toml::Value::as_str).context("it has no `base_url`")?;
    Ok((provider.clone(), ClientOrigin::of(NAME, url)?))
}

/// What chooses a provider, or where the built-in one is.
const CHOOSING: [&str; 2] = ["model_provider", "openai_base_url"];

/// Profiles may choose a provider, and would send past the gate.
fn with_our_provider(mut config: Table) -> Table {
    let choose_none = |table: &mut Table| table.retain(|key, _| !CHOOSING.contains(&key));
    choose_none(&mut config);
    let profiles = config.get_mut("profiles").and_then(toml::Value::as_table_mut);
    let profiles = profiles.into_iter().flat_map(|profiles| profiles.iter_mut());
    profiles.filter_map(|(_, profile)| profile.as_table_mut()).for_each(choose_none);
    config
}

/// A `CODEX_HOME` for one run. Dropping it gives the user's folder what the run has added.
pub(super) struct PrivateHome {
    pub(super) folder: PathBuf,
    home: PathBuf,
    /// The projects of `config.toml` before the run, where it can be read.
    projects: Option<Table>,
    _lock: File,
}

impl PrivateHome {
    fn make(folders: &Path, login: &CodexLogin, base_url: &str) -> anyhow::Result<PrivateHome> {
        private::make_folder(&login.home)?;
        let folder = folders.join(std::process::id().to_string());
        private::make_folder(&folder)?;
        let lock = File::create(folder.join(LOCK))?;
        lock.try_lock().context("another process uses it")?;
        fs::write(folder.join(HOME_FILE), login.home.as_os_str().as_encoded_bytes())?;
        let config = login.config_through(base_url);
        private::write(&folder, CONFIG, toml::to_string(&config)?.as_bytes())?;
        for entry in fs::read_dir(&login.home)? {
            let name = entry?.file_name();
            let from = login.home.join(&name);
            match name.to_str() {
                Some(CONFIG) => {}
                Some(profile) if is_profile(profile) => {
                    let profile_config = with_our_provider(read_config(&from)?);
                    private::write(&folder, profile, toml::to_string(&profile_config)?.as_bytes())?;
                }
                _ => symlink(fs::canonicalize(&from).unwrap_or(from), folder.join(&name))?,
            }
        }
        let projects = Some(projects(&login.config));
        Ok(PrivateHome { folder, home: login.home.clone(), projects, _lock: lock })
    }
}

impl Drop for PrivateHome {
    fn drop(&mut self) {
        // What is left stays in the folder, and is tried again before the next run.
        let _ = give_back(&self.folder, &self.home, self.projects.as_ref());
    }
}

/// Where a private folder says whose it is.
const HOME_FILE: &str = ".leafgate-home";

/// A configuration that `--profile NAME` chooses.
fn is_profile(name: &str) -> bool {
    name.ends_with(&format!(".{CONFIG}"))
}

fn projects(config: &Table) -> Table {
    config.get("projects").and_then(toml::Value::as_table).cloned().unwrap_or_default()
}

/// Gives back what killed runs have left.
fn sweep(folders: &Path) {
    let Ok(entries) = fs::read_dir(folders) else { return };
    for folder in entries.flatten().map(|entry| entry.path()) {
        let (Ok(lock), Ok(home)) = (File::open(folder.join(LOCK)), fs::read(folder.join(HOME_FILE))) else {
            continue;
        };
        if lock.try_lock().is_ok() {
            let home = PathBuf::from(String::from_utf8_lossy(&home).into_owned());
            let projects = read_config(&home.join(CONFIG)).map(|config| projects(&config)).ok();
            drop(PrivateHome { folder, home, projects, _lock: lock });
        }
    }
}

/// Moves what a run has added to the user's folder, then removes the private one.
fn give_back(folder: &Path, home: &Path, projects_before: Option<&Table>) -> anyhow::Result<()> {
    if let Some(before) = projects_before {
        keep_projects(&folder.join(CONFIG), before, &home.join(CONFIG))?;
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let own = matches!(name.to_str(), Some(name) if name == CONFIG || name == LOCK || name == HOME_FILE || is_profile(name));
        if own || entry.file_type()?.is_symlink() {
            continue;
        }
        let to = home.join(&name);
        if to.is_dir() {
            bail!("{} is there already", to.display());
        }
        fs::rename(entry.path(), to)?;
    }
    Ok(fs::remove_dir_all(folder)?)
}

/// Adds the folders that a person trusted during a run to the user's own configuration.
fn keep_projects(ours: &Path, before: &Table, users: &Path) -> anyhow::Result<()> {
    let mut added = projects(&read_config(ours)?);
    added.retain(|project, _| !before.contains_key(project));
    if added.is_empty() {
        return Ok(());
    }
    let mut text = private::if_there(fs::read_to_string(users))?.unwrap_or_default();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&toml::to_string(&Table::from_iter([("projects".to_owned(), added.into())]))?);
    // What would be no TOML any more is not written.
    text.parse::<Table>().map_err(|_| anyhow::anyhow!("{} has another form", users.display()))?;
    let (folder, name) = (users.parent().context("no folder")?, CONFIG);
    Ok(private::write(folder, name, text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Homes(tempfile::TempDir);

    impl Homes {
        fn new(config: &str, auth: Option<&str>) -> Homes {
            let homes = Homes(tempfile::tempdir().unwrap());
            fs::create_dir_all(homes.home().join("sessions")).unwrap();
            fs::write(homes.home().join(CONFIG), config).unwrap();
            if let Some(auth) = auth {
                fs::write(homes.home().join("auth.json"), auth).unwrap();
            }
            homes
        }

        fn home(&self) -> PathBuf {
            self.0.path().join("home")
        }

        fn folders(&self) -> PathBuf {
            self.0.path().join("data")
        }

        fn login(&self) -> anyhow::Result<CodexLogin> {
            CodexLogin::in_home(NamedUrl::default(), self.home())
        }
    }

    #[test]
    fn each_login_has_its_address() {
        let url = |auth| {
            let origin = Homes::new("", Some(auth)).login().unwrap().origin;
            format!("{}{}", origin.target, origin.path)
        };
        assert_eq!(url(r#"{"tokens": {"id_token": "x"}}"#), "https://chatgpt.com/backend-api/codex");
        assert_eq!(url(r#"{"OPENAI_API_KEY": "x", "tokens": null}"#), "https://api.openai.com/v1");
        assert_eq!(url(r#"{"auth_mode": "apikey", "tokens": {}}"#), "https://api.openai.com/v1");
        let own = "model_provider = 'p'\n[model_providers.p]\nname = 'P'\nbase_url = 'https://p.example/v1'";
        let login = Homes::new(own, None).login().unwrap();
        assert_eq!(login.origin.target.to_string(), "https://p.example");
        let provider = &login.config_through("http://127.0.0.1:1/v1")["model_providers"][PROVIDER];
        assert_eq!(provider["name"].as_str(), Some("P"));
        assert_eq!(provider["base_url"].as_str(), Some("http://127.0.0.1:1/v1"));
    }

    #[test]
    fn what_cannot_be_put_behind_a_gate_is_said() {
        for (config, words) in [
            ("model_provider = 'p'", "does not have it"),
            ("model_provider = 'p'\n[model_providers.p]\nname = 'P'", "no `base_url`"),
            ("key = hunter2", "is no TOML"),
        ] {
            let error = format!("{:#}", Homes::new(config, None).login().err().unwrap());
            assert!(error.contains(words) && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_private_home_has_everything_and_gives_everything_back() {
        let config =
            "model = 'm'\n[profiles.x]\nmodel_provider = 'other'\n[projects.'/a']\ntrust_level = 'trusted'\n";
        let homes = Homes::new(config, Some(r#"{"tokens": {}}"#));
        fs::write(homes.home().join("work.config.toml"), "model_provider = 'other'\nmodel = 'n'").unwrap();
        let login = homes.login().unwrap();
        let private = PrivateHome::make(&homes.folders(), &login, "http://127.0.0.1:1/v1").unwrap();
        let folder = private.folder.to_owned();
        let written = read_config(&folder.join(CONFIG)).unwrap();
        assert_eq!(written["model_provider"].as_str(), Some(PROVIDER));
        assert_eq!(written["model_providers"][PROVIDER]["supports_websockets"].as_bool(), Some(false));
        assert!(written["profiles"]["x"].get("model_provider").is_none());
        let profile = read_config(&folder.join("work.config.toml")).unwrap();
        assert_eq!((profile.get("model_provider"), profile["model"].as_str()), (None, Some("n")));
        // A run writes through a link, replaces one, adds a file, and has a person trust a folder.
        fs::write(folder.join("sessions/one"), "1").unwrap();
        fs::write(folder.join("auth.new"), "renewed").unwrap();
        fs::rename(folder.join("auth.new"), folder.join("auth.json")).unwrap();
        fs::write(folder.join("history"), "h").unwrap();
        let mut changed = written;
        changed["projects"].as_table_mut().unwrap().insert("/b".to_owned(), Table::new().into());
        fs::write(folder.join(CONFIG), toml::to_string(&changed).unwrap()).unwrap();
        drop(private);
        assert!(!folder.exists());
        let read = |name: &str| fs::read_to_string(homes.home().join(name)).unwrap();
        assert_eq!(
            (read("sessions/one"), read("auth.json"), read("history")),
            ("1".into(), "renewed".into(), "h".into())
        );
        assert!(read(CONFIG).starts_with(config), "{}", read(CONFIG));
        assert!(read_config(&homes.home().join(CONFIG)).unwrap()["projects"].get("/b").is_some());
    }

    #[test]
    fn what_a_killed_run_left_is_given_back() {
        let homes = Homes::new("", Some(r#"{"tokens": {}}"#));
        let private =
            PrivateHome::make(&homes.folders(), &homes.login().unwrap(), "http://127.0.0.1:1").unwrap();
        let folder = private.folder.to_owned();
        fs::write(folder.join("history"), "h").unwrap();
        sweep(&homes.folders());
        assert!(folder.exists(), "it is in use");
        // As after a kill: the lock goes, the folder stays.
        let PrivateHome { _lock, .. } = &private;
        _lock.unlock().unwrap();
        sweep(&homes.folders());
        assert!(!folder.exists());
        assert_eq!(fs::read_to_string(homes.home().join("history")).unwrap(), "h");
    }
}
