//! What the operator of a machine decides for all its users: settings in `config.toml` and rules in
//! `policy`, in one folder that is root's.
//!
//! No variable, flag or setting names another folder. One that others may write to says nothing of the
//! operator's, so it is an error, and no gate starts with it.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use leafgate_admin::RuntimeFile;
use leafgate_config::{Layer, Settings};
use leafgate_contract::Signer;
use leafgate_diagnostic::Diagnostics;
use leafgate_gate::{GateConfig, UpstreamTarget};
use leafgate_policy::ManagedPolicy;
use leafgate_wasm::{LoaderLimits, Signatures};
use sha2::{Digest as _, Sha256};
use walkdir::{DirEntry, WalkDir};

use crate::{home, private};

/// The folder.
#[cfg(target_os = "macos")]
const FOLDER: &str = "/Library/Application Support/Leafgate";
#[cfg(not(target_os = "macos"))]
const FOLDER: &str = "/etc/leafgate";

/// Whose it must be.
const ROOT: u32 = 0;

/// A policy with more files, or deeper folders, is none.
const MOST_FILES: usize = 10_000;
const DEEPEST: usize = 6;

/// What the operator decided.
pub(crate) struct Managed {
    /// The settings; where they are enforced, what protects is among them.
    pub(crate) settings: Layer,
    pub(crate) policy: ManagedPolicy,
    /// Where requests may go; anywhere, where it is empty.
    upstreams: Vec<UpstreamTarget>,
}

/// Returns what the operator decided; `None` where there is none.
pub(crate) fn find() -> anyhow::Result<Option<Managed>> {
    // Tests of this crate are not about the machine that they run on.
    if cfg!(test) { Ok(None) } else { read(Path::new(FOLDER), ROOT) }
}

/// Returns the operator's policy.
pub(crate) fn policy() -> anyhow::Result<Option<ManagedPolicy>> {
    Ok(find()?.map(|managed| managed.policy))
}

/// Returns a keyed digest of the settings that the operator enforces, if any.
pub(crate) fn enforced() -> anyhow::Result<Option<String>> {
    let managed = find()?.filter(|managed| managed.policy.is_enforced);
    managed.map(|managed| home::keyed("enforced", &Settings::of([managed.settings]).identity())).transpose()
}

/// Refuses a gate that began before the operator decided what is enforced now.
pub(crate) fn check_gate(gate: &RuntimeFile) -> anyhow::Result<()> {
    let enforced = enforced()?;
    ensure!(
        enforced.is_none() || gate.enforced == enforced,
        "the gate at {} began before the operator of this machine decided what is enforced now ({FOLDER}): start it anew",
        gate.listen
    );
    Ok(())
}

/// Returns the folder of its rules, if it is there.
pub(crate) fn policy_folder() -> Option<PathBuf> {
    Some(Path::new(FOLDER).join("policy")).filter(|folder| !cfg!(test) && folder.exists())
}

fn read(folder: &Path, owner: u32) -> anyhow::Result<Option<Managed>> {
    let used = || {
        let Some(metadata) = metadata(folder)? else { return Ok(None) };
        check(folder, &metadata, owner)?;
        ensure!(metadata.is_dir(), "{} is no folder", folder.display());
        Managed::in_folder(folder, owner).map(Some)
    };
    used().with_context(|| {
        format!(
            "what the operator of this machine decided, in {}, cannot be used, and nothing starts without it",
            folder.display()
        )
    })
}

impl Managed {
    fn in_folder(folder: &Path, owner: u32) -> anyhow::Result<Managed> {
        let mut layer = settings(&folder.join("config.toml"), owner)?;
        let settings = Settings::of([layer.clone()]);
        let is_enforced = settings.switch("enforce") == Some(true);
        let upstreams = if is_enforced { upstreams(&settings)? } else { Vec::new() };
        if is_enforced {
            layer.protect();
        }
        let policy = folder.join("policy");
        let is_there = metadata(&policy)?.is_some();
        let signers = settings.texts("signed-by").iter().map(|key| key.parse::<Signer>());
        let signers: Vec<Signer> =
            signers.collect::<Result<_, _>>().context("the setting `signed-by` is wrong")?;
        ensure!(
            is_there || signers.is_empty(),
            "`signed-by` asks for a policy, and {} is not there",
            policy.display()
        );
        if is_there {
            let digest = digest(&policy, Some(owner))?;
            if !signers.is_empty() {
                must_be_signed(&policy, &digest, &signers)?;
            }
        }
        let policy = ManagedPolicy { folder: Some(policy).filter(|_| is_there), is_enforced };
        Ok(Managed { settings: layer, policy, upstreams })
    }

    /// Returns whether requests may go somewhere.
    pub(crate) fn allows(&self, upstream: &UpstreamTarget) -> bool {
        self.upstreams.is_empty() || self.upstreams.iter().any(|known| upstream.is_at_host_of(known))
    }

    /// Refuses a gate whose requests would go where they may not.
    pub(crate) fn check_upstreams(&self, config: &GateConfig) -> anyhow::Result<()> {
        let refused = config.upstreams().find(|upstream| !self.allows(&upstream.target));
        let Some(refused) = refused else { return Ok(()) };
        bail!(
            "the operator of this machine names the upstreams that requests may go to ({FOLDER}), and {} is none of them: ask the operator, who decides about it",
            leafgate_admin::shown_url(&refused.target.to_string())
        );
    }
}

/// Reads the settings, if there are any.
fn settings(file: &Path, owner: u32) -> anyhow::Result<Layer> {
    let Some(metadata) = metadata(file)? else { return Ok(Layer::default()) };
    check(file, &metadata, owner)?;
    ensure!(metadata.is_file(), "{} is no file", file.display());
    let text = fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let mut diagnostics = Diagnostics::default();
    let layer = Layer::of_file(file, text, &mut diagnostics);
    let wrong = diagnostics.into_all();
    if wrong.is_empty() {
        return Ok(layer);
    }
    let said: String = wrong.iter().map(|one| crate::masking::masked(&format!("\n{one}"))).collect();
    bail!("{} is wrong{said}", file.display())
}

/// Returns the upstreams that settings name.
fn upstreams(settings: &Settings) -> anyhow::Result<Vec<UpstreamTarget>> {
    let top = settings.text("upstream").filter(|name| settings.upstream(name).is_none());
    let named: Vec<_> = settings.upstreams().collect();
    let urls = top.into_iter().chain(named.iter().filter_map(|upstream| upstream.text("url")));
    urls.map(|url| url.parse::<UpstreamTarget>().context("an upstream is wrong")).collect()
}

fn must_be_signed(policy: &Path, digest: &[u8; 32], signers: &[Signer]) -> anyhow::Result<()> {
    let verified = Signatures::of(policy)?.verify(digest);
    let (policy, beside) = (policy.display(), Signatures::beside(policy));
    if verified.signed.iter().any(|signer| signers.contains(signer)) {
        return Ok(());
    }
    let why = match (&*verified.signed, &*verified.stale) {
        ([], []) => "nobody has signed",
        ([], _) => "no signature is for",
        _ => "no key that counts has signed",
    };
    bail!(
        "{why} {policy} as it is ({}), and `signed-by` asks for it: have it signed by one of these keys (`leafgate plugin sign {policy} --key KEY`), or bring back what was signed",
        beside.display()
    )
}

/// Returns a digest of a policy folder: of all its files but those whose names begin with a dot, which no
/// policy reads. With an owner, each must be theirs.
pub(crate) fn digest(folder: &Path, owner: Option<u32>) -> anyhow::Result<[u8; 32]> {
    let mut files = Vec::new();
    let is_hidden = |entry: &DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".");
    let is_read = |entry: &DirEntry| entry.depth() == 0 || !is_hidden(entry);
    for entry in WalkDir::new(folder).into_iter().filter_entry(is_read) {
        let entry = entry.with_context(|| format!("{} cannot be read", folder.display()))?;
        let path = entry.path();
        let metadata = metadata(path)?.with_context(|| format!("{} is gone", path.display()))?;
        if let Some(owner) = owner {
            check(path, &metadata, owner)?;
        }
        let (shown, is_file) = (path.display(), metadata.is_file());
        ensure!(
            is_file || metadata.is_dir(),
            "{shown} is neither a file nor a folder: put a copy in its place"
        );
        files.extend(is_file.then(|| path.to_owned()));
        let is_policys = entry.depth() < DEEPEST && files.len() <= MOST_FILES;
        ensure!(is_policys, "{shown} holds more than a policy does");
    }
    files.sort();
    // No plugin's file begins so: what is signed is one or the other.
    let mut hash = Sha256::new_with_prefix(b"\0leafgate policy folder 1");
    for path in files {
        let name = path.strip_prefix(folder).unwrap_or(&path).as_os_str().as_encoded_bytes();
        let bytes = leafgate_folder::read(&path, LoaderLimits::default().file_bytes)
            .with_context(|| format!("{} cannot be read", path.display()))?;
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update(Sha256::digest(&bytes));
    }
    Ok(hash.finalize().into())
}

/// Returns what stands at a path, and not what a link there leads to.
fn metadata(path: &Path) -> anyhow::Result<Option<Metadata>> {
    private::if_there(fs::symlink_metadata(path))
        .with_context(|| format!("{} cannot be looked at", path.display()))
}

/// Refuses what somebody else than its owner could change.
fn check(path: &Path, metadata: &Metadata, owner: u32) -> anyhow::Result<()> {
    let (uid, mode, path) = (metadata.uid(), metadata.mode() & 0o7777, path.display());
    if metadata.is_symlink() {
        bail!("{path} is a link: put what it leads to in its place");
    }
    ensure!(uid == owner, "{path} is not root's (it is user {uid}'s): run `chown root` on it");
    ensure!(mode & 0o022 == 0, "others may write to {path} (mode {mode:03o}): run `chmod go-w` on it");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use leafgate_gate::{FirstUpstream, UpstreamConfig};
    use leafgate_wasm::SigningKey;

    use super::*;

    const RULE: &str = "[[rule]]\nid = \"a\"\nmatch = {}\ndetect = \"pii/email\"\naction = \"redact\"\n";

    /// A folder of the operator's, who is the user of the test, and so many settings.
    fn folder(settings: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("policy/tests")).unwrap();
        for (file, text) in
            [("config.toml", settings), ("policy/rules.toml", RULE), ("policy/tests/a.toml", "")]
        {
            fs::write(folder.path().join(file), text).unwrap();
        }
        for path in ["", "policy", "policy/tests", "config.toml", "policy/rules.toml", "policy/tests/a.toml"]
        {
            allow(&folder.path().join(path), 0o755);
        }
        folder
    }

    fn allow(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn own(folder: &Path) -> anyhow::Result<Option<Managed>> {
        read(folder, folder.symlink_metadata().map_or(0, |metadata| metadata.uid()))
    }

    fn error(folder: &Path) -> String {
        format!("{:#}", own(folder).err().unwrap())
    }

    #[test]
    fn the_operators_folder_is_read_where_there_is_one() {
        let folder = folder("enforce = true\nrestore = false\n");
        let managed = own(folder.path()).unwrap().unwrap();
        let policy = Some(folder.path().join("policy"));
        assert_eq!(managed.policy, ManagedPolicy { folder: policy, is_enforced: true });
        let settings = Settings::of([managed.settings]);
        assert_eq!((settings.switch("restore"), settings.switch("switch-off")), (Some(false), Some(false)));
        assert!(own(&folder.path().join("none")).unwrap().is_none());
        let empty = tempfile::tempdir().unwrap();
        let managed = own(empty.path()).unwrap().unwrap();
        assert_eq!(managed.policy, ManagedPolicy { folder: None, is_enforced: false });
        assert_eq!(Settings::of([managed.settings]).get("switch-off"), None);
    }

    #[test]
    fn what_others_could_change_is_refused_with_what_to_do() {
        for path in ["", "config.toml", "policy", "policy/rules.toml", "policy/tests", "policy/tests/a.toml"]
        {
            for mode in [0o775, 0o757] {
                let folder = folder("");
                allow(&folder.path().join(path), mode);
                let said = error(folder.path());
                assert!(said.contains("chmod go-w") && said.contains("nothing starts"), "{path}: {said}");
            }
        }
        let folder = folder("");
        let other = folder.path().metadata().unwrap().uid() + 1;
        let said = format!("{:#}", read(folder.path(), other).err().unwrap());
        assert!(said.contains("chown root"), "{said}");
    }

    #[test]
    fn a_link_is_refused_wherever_it_stands() {
        let elsewhere = folder("");
        for path in ["config.toml", "policy", "policy/rules.toml", "policy/more.toml"] {
            let folder = folder("");
            let link = folder.path().join(path);
            let _ = fs::rename(&link, folder.path().join("away"));
            symlink(elsewhere.path().join(path), &link).unwrap();
            assert!(error(folder.path()).contains("is a link"), "{path}");
        }
        let beside = elsewhere.path().with_extension("link");
        symlink(elsewhere.path(), &beside).unwrap();
        assert!(error(&beside).contains("is a link"));
        fs::remove_file(beside).unwrap();
    }

    #[test]
    fn a_wrong_setting_is_refused_with_its_place() {
        let folder = folder("enforse = true\n");
        let said = error(folder.path());
        assert!(said.contains("config.toml:1") && said.contains("did you mean `enforce`?"), "{said}");
    }

    #[test]
    fn a_policy_must_be_signed_by_one_of_the_keys_as_it_is() {
        let key = |seed| SigningKey::from_seed(&[seed; 32]).unwrap();
        let folder = folder(&format!("signed-by = ['{}', '{}']\n", key(1).signer(), key(2).signer()));
        let policy = folder.path().join("policy");
        assert!(error(folder.path()).contains("nobody has signed"));
        let sign = |key: &SigningKey| {
            let mut signatures = Signatures::default();
            signatures.sign(key, &digest(&policy, None).unwrap());
            fs::write(Signatures::beside(&policy), signatures.to_text()).unwrap();
        };
        sign(&key(3));
        assert!(error(folder.path()).contains("no key that counts"));
        sign(&key(2));
        assert!(own(folder.path()).is_ok());
        for (file, text) in [("rules.toml", "# changed\n"), ("more.toml", RULE), ("tests/b.toml", "")] {
            let path = policy.join(file);
            let before = fs::read(&path).ok();
            fs::write(&path, text).unwrap();
            allow(&path, 0o644);
            assert!(error(folder.path()).contains("no signature is for"), "{file}");
            match before {
                Some(before) => fs::write(&path, before).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            assert!(own(folder.path()).is_ok(), "{file}");
        }
        fs::rename(&policy, folder.path().join("away")).unwrap();
        assert!(error(folder.path()).contains("is not there"));
    }

    #[test]
    fn requests_go_to_the_upstreams_that_the_operator_names() {
        let named = "[upstreams.a]\nurl = 'https://a.example'\n";
        let gate = |url: &str| GateConfig {
            upstream: FirstUpstream::Own(Box::new(UpstreamConfig::new(url.parse().unwrap()))),
            ..GateConfig::new(UpstreamTarget::Echo)
        };
        let of = |settings: &str| own(folder(settings).path()).unwrap().unwrap();
        let (enforced, free) = (of(&format!("enforce = true\nupstream = 'a'\n{named}")), of(named));
        for (url, is_allowed) in [
            ("https://a.example", true),
            ("https://A.example/openai", true),
            ("echo:", true),
            ("http://a.example", false),
            ("https://a.example:8443", false),
            ("https://b.example", false),
        ] {
            assert_eq!(enforced.check_upstreams(&gate(url)).is_ok(), is_allowed, "{url}");
            assert!(free.check_upstreams(&gate(url)).is_ok(), "{url}");
        }
        let said = enforced.check_upstreams(&gate("https://b.example")).unwrap_err().to_string();
        assert!(said.contains("https://b.example") && said.contains("ask the operator"), "{said}");
    }
}
