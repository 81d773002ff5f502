//! Where VS Code and its kin keep settings: for each edition, profile and remote server.
//!
//! Sources: VS Code's documentation of settings and profiles, its `userDataProfile.ts`, and
//! code-server's FAQ.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use leafgate_words::words;
use serde::Deserialize;
use serde_json::Value;

use crate::home;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
struct EditionTable {
    edition: Vec<Edition>,
}

/// An edition of the editor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edition {
    pub(crate) name: &'static str,
    /// What starts it, if that is a program.
    command: Option<&'static str>,
    /// Where its settings may lie, from these places on.
    places: Vec<(EditorBase, &'static str)>,
}

/// From where on a folder of settings is named.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EditorBase {
    /// Where programs of a desktop keep their settings.
    Config,
    /// Where programs keep their data.
    Data,
    /// The home folder.
    Home,
}

use EditorBase::{Config, Data, Home};

/// Returns all editions.
pub(super) fn editions() -> &'static [Edition] {
    static TABLE: LazyLock<EditionTable> =
        LazyLock::new(|| toml::from_str(include_str!("editors.toml")).expect("tests read it"));
    &TABLE.edition
}

/// A folder of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingsFolder {
    /// Whose it is.
    pub(crate) editor: String,
    folder: PathBuf,
}

words! {
    /// What a file of settings is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum EditorFile {
        /// The settings themselves.
        Settings = "settings.json" / "settings",
        /// The user's own models.
        Models = "chatLanguageModels.json" / "languageModels",
    }
    pub(super) fn name = 0;
    /// The flag of a profile that uses what the default one has.
    fn flag = 1;
}

/// Where macOS has both of them.
const OF_MACOS: &str = "Library/Application Support";

impl EditorBase {
    /// Returns the folder that it is, as variables of the environment say.
    fn folder(self, is_macos: bool, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
        match (self, is_macos) {
            (Home, _) => variable("HOME"),
            (Config, true) => Some(variable("HOME")?.join(OF_MACOS)),
            (Config, false) => home::of_user(variable, "XDG_CONFIG_HOME", ".config"),
            (Data, true) => home::of_user(variable, "XDG_DATA_HOME", OF_MACOS),
            (Data, false) => home::of_user(variable, "XDG_DATA_HOME", ".local/share"),
        }
    }
}

impl Edition {
    /// Returns the edition that a program starts.
    pub(crate) fn of(program: &str) -> Option<&'static Edition> {
        editions().iter().find(|edition| edition.command == Some(program))
    }

    /// Returns the folders where its settings may lie, whether they are there or not.
    fn folders(&self, is_macos: bool, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Vec<SettingsFolder> {
        let folder = |&(base, place): &(EditorBase, &str)| Some(base.folder(is_macos, variable)?.join(place));
        let folders = self.places.iter().filter_map(folder);
        folders.map(|folder| SettingsFolder { editor: self.name.to_owned(), folder }).collect()
    }
}

/// Returns the folders of settings that are there, of one edition or of all.
pub(crate) fn installed(only: Option<&'static Edition>) -> Vec<SettingsFolder> {
    let editions = only.map_or(editions(), std::slice::from_ref).iter();
    let folders = editions.flat_map(|edition| edition.folders(cfg!(target_os = "macos"), &home::variable));
    folders.filter(|folder| folder.folder.is_dir()).collect()
}

impl SettingsFolder {
    /// Returns the folder of `--user-data-dir`, or one of settings that is named itself.
    pub(crate) fn at(folder: &Path) -> SettingsFolder {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let is_of_settings = folder.ends_with("User") || folder.ends_with("Machine");
        let of_settings = if is_of_settings { folder.clone() } else { folder.join("User") };
        SettingsFolder { editor: folder.display().to_string(), folder: of_settings }
    }

    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    /// Returns the files of a kind: that of the default profile, and of each profile that has its own.
    /// Settings need not be there: a profile without them would lead nowhere.
    pub(super) fn files(&self, kind: EditorFile) -> Vec<PathBuf> {
        let folder = self.folder.join("profiles");
        let there = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut profiles: BTreeSet<PathBuf> =
            there.filter(|profile| profile.join(kind.name()).exists()).collect();
        let (own, borrowed): (Vec<_>, Vec<_>) =
            self.profiles().into_iter().partition(|(_, flags)| flags[kind.flag()] != true);
        let borrowed: Vec<_> = borrowed.iter().map(|(name, _)| folder.join(name)).collect();
        profiles.retain(|profile| !borrowed.contains(profile));
        profiles.extend(own.iter().map(|(name, _)| folder.join(name)));
        let files =
            std::iter::once(self.folder.clone()).chain(profiles).map(|folder| folder.join(kind.name()));
        files.filter(|file| kind == EditorFile::Settings || file.exists()).collect()
    }

    /// Returns the names of the folders of profiles, and what each has from the default one.
    fn profiles(&self) -> Vec<(String, Value)> {
        let storage = fs::read(self.folder.join("globalStorage/storage.json")).unwrap_or_default();
        let storage: Value = serde_json::from_slice(&storage).unwrap_or_default();
        let profiles = storage["userDataProfiles"].as_array().cloned().unwrap_or_default();
        let named = profiles.into_iter().filter_map(|mut profile| {
            let name = profile["location"].as_str()?.to_owned();
            let is_folder =
                matches!(Path::new(&name).components().collect::<Vec<_>>()[..], [Component::Normal(_)]);
            is_folder.then(|| (name, profile["useDefaultFlags"].take()))
        });
        named.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_keeps_settings_in_its_places() {
        let folders = |is_macos, set: &[(&str, &str)]| {
            let variable =
                |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            let all = editions().iter().flat_map(|edition| edition.folders(is_macos, &variable));
            all.map(|folder| folder.folder.display().to_string()).collect::<Vec<_>>()
        };
        let linux = folders(false, &[("HOME", "/h")]);
        for place in [
            "/h/.config/Code/User",
            "/h/.config/Code - Insiders/User",
            "/h/.config/VSCodium/User",
            "/h/.local/share/code-server/User",
            "/h/.vscode-server/data/Machine",
            "/h/.var/app/com.visualstudio.code/config/Code/User",
        ] {
            assert!(linux.iter().any(|folder| folder == place), "{place}");
        }
        let macos = folders(true, &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")]);
        for place in
            ["/h/Library/Application Support/Code/User", "/h/Library/Application Support/code-server/User"]
        {
            assert!(macos.iter().any(|folder| folder == place), "{place}");
        }
        assert_eq!(linux.len(), macos.len(), "each base is one folder");
        let named = folders(false, &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "d")]);
        assert!(named.contains(&"/c/Code/User".to_owned()), "{named:?}");
        assert!(named.contains(&"/h/.local/share/code-server/User".to_owned()), "a relative one is ignored");
        for is_macos in [false, true] {
            assert_eq!(folders(is_macos, &[]), Vec::<String>::new());
        }
    }

    #[test]
    fn profiles_have_settings_of_their_own_unless_they_borrow_them() {
        let folder = tempfile::tempdir().unwrap();
        let settings = SettingsFolder::at(folder.path());
        let user = folder.path().join("User");
        let write = |name: &str, text: &str| {
            let file = user.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let storage = serde_json::json!({ "userDataProfiles": [
            { "location": "own", "name": "A" },
            { "location": "borrows", "name": "B", "useDefaultFlags": { "settings": true } },
            { "location": "../out", "name": "C" },
        ]});
        write("globalStorage/storage.json", &storage.to_string());
        for profile in ["borrows", "unlisted"] {
            write(&format!("profiles/{profile}/settings.json"), "{}");
            write(&format!("profiles/{profile}/chatLanguageModels.json"), "[]");
        }
        let files = |kind| {
            let files = settings.files(kind).into_iter();
            files.map(|file| file.strip_prefix(&user).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            files(EditorFile::Settings),
            ["settings.json", "profiles/own/settings.json", "profiles/unlisted/settings.json"]
        );
        let models =
            ["profiles/borrows/chatLanguageModels.json", "profiles/unlisted/chatLanguageModels.json"];
        assert_eq!(files(EditorFile::Models), models);
        assert_eq!(
            SettingsFolder::at(&user),
            SettingsFolder { editor: user.display().to_string(), ..settings }
        );
    }
}
