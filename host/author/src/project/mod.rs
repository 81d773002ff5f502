//! A new plugin: a project that builds and passes its tests as it is.
//!
//! The SDK stands in the project (`vendor/leafgate`), as it was when this program was built, so a
//! plugin and the gate that makes it always speak one contract.

mod sdk;

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use leafgate_contract::World;

/// Names that cargo or the compiler takes for something else, a line each.
const TAKEN: &str = include_str!("taken.txt");

/// Longest name of a plugin: it becomes a file's name.
const LONGEST_NAME: usize = 64;

leafgate_words::words! {
    /// What a plugin is written in.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Language {
        /// A project that cargo builds, with the SDK in it.
        #[default]
        Rust = "rust",
        /// A script, which nothing builds.
        JavaScript = "js",
        /// A project that componentize-py builds, with the SDK in it.
        Python = "python",
    }
    /// The word for it on the command line.
    pub fn name = 0;
}

/// A file of a new project: its path, and its text for each [`World`].
type ProjectFile = (&'static str, [&'static str; 2]);

macro_rules! template {
    ($name:literal) => {
        include_str!(concat!("../../templates/", $name))
    };
}

const CASES: ProjectFile = ("cases.toml", [template!("detector.toml"), template!("transformer.toml")]);

const RUST: [ProjectFile; 6] = [
    ("Cargo.toml", [template!("Cargo.toml"); 2]),
    (".cargo/config.toml", [template!("config.toml"); 2]),
    (".gitignore", ["/target\n"; 2]),
    ("README.md", [template!("README.md"); 2]),
    ("src/lib.rs", [template!("detector.rs"), template!("transformer.rs")]),
    CASES,
];

const SCRIPT: [ProjectFile; 4] = [
    ("{{name}}.js", [template!("detector.js"), template!("transformer.js")]),
    ("README.md", [template!("README-js.md"); 2]),
    CASES,
    ("leafgate.d.ts", [include_str!("../../../../plugins/javascript/leafgate.d.ts"); 2]),
];

/// The last two are the SDK, which is its authors' to read.
const PYTHON: [ProjectFile; 9] = [
    ("pyproject.toml", [template!("pyproject.toml"); 2]),
    (".gitignore", ["/target\n__pycache__/\n"; 2]),
    ("README.md", [template!("README-py.md"); 2]),
    ("plugin.py", [template!("detector.py"), template!("transformer.py")]),
    ("test_plugin.py", [template!("test_detector.py"), template!("test_transformer.py")]),
    CASES,
    // The tools of the example, which is built in every full run of the tests.
    (
        "requirements.txt",
        [include_str!("../../../../examples/plugins/internal-addresses/requirements.txt"); 2],
    ),
    ("leafgate.py", [include_str!("../../../../plugins/python/leafgate.py"); 2]),
    ("wit/plugin.wit", [include_str!("../../../../wit/plugin.wit"); 2]),
];

/// A plugin that is to be begun.
#[derive(Clone, Debug)]
pub struct NewPlugin {
    name: String,
    world: World,
    language: Language,
}

/// Why a project cannot be begun.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NewError {
    /// The name cannot be that of a package.
    #[error(
        "`{0}` cannot be the name of a plugin: write it like `trim-results`, in letters, digits and hyphens"
    )]
    Name(String),
    /// The name means something to cargo or the compiler.
    #[error("`{0}` cannot be the name of a plugin: cargo and the compiler use it")]
    Taken(String),
    /// The folder holds something.
    #[error("`{}` is there already: choose another name or folder", .0.display())]
    Exists(PathBuf),
    /// A file cannot be written.
    #[error("cannot write `{}`: {error}", .path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl NewPlugin {
    /// Names a plugin of a world.
    ///
    /// # Errors
    /// A name that is not kebab-case, or that cargo refuses.
    pub fn new(name: &str, world: World) -> Result<Self, NewError> {
        let word = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        let begins = name.starts_with(|first: char| first.is_ascii_lowercase());
        if !begins || name.len() > LONGEST_NAME || !name.split('-').all(word) {
            return Err(NewError::Name(name.to_owned()));
        }
        if TAKEN.lines().any(|taken| taken == name) {
            return Err(NewError::Taken(name.to_owned()));
        }
        Ok(NewPlugin { name: name.to_owned(), world, language: Language::Rust })
    }

    /// Chooses what it is written in.
    #[must_use]
    pub fn in_language(self, language: Language) -> Self {
        NewPlugin { language, ..self }
    }

    /// Returns its name, which is that of its folder unless another one is chosen.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes the project into a folder that is not there yet, or is empty. Returns the author's
    /// own files, without the SDK.
    ///
    /// # Errors
    /// A folder that holds something, or a disk that takes no file. What was written till then
    /// stays.
    pub fn create(&self, folder: &Path) -> Result<Vec<PathBuf>, NewError> {
        if holds_something(folder) {
            return Err(NewError::Exists(folder.to_owned()));
        }
        let own = self.files();
        let sdk = match self.language {
            Language::Rust => sdk::files(),
            Language::JavaScript | Language::Python => vec![],
        };
        for (path, text) in own.iter().chain(&sdk) {
            let path = folder.join(path);
            write(&path, text).map_err(|error| NewError::Write { path, error })?;
        }
        Ok(own.into_iter().map(|(path, _)| folder.join(path)).collect())
    }

    /// The author's own files.
    fn files(&self) -> Vec<(String, String)> {
        let files: &[ProjectFile] = match self.language {
            Language::Rust => &RUST,
            Language::JavaScript => &SCRIPT,
            Language::Python => &PYTHON,
        };
        let filled =
            |(path, texts): &ProjectFile| (self.filled(path), self.filled(texts[self.world as usize]));
        files.iter().map(filled).collect()
    }

    /// Fills what depends on the plugin into a template.
    fn filled(&self, template: &str) -> String {
        let (config, rule) = match self.world {
            World::Detector => (
                "\nconfig = { words = [\"Zeppelin\"] }",
                "detect = [\"plugin:{{name}}\"]\naction = \"redact\"",
            ),
            World::Transformer => ("", "action = \"transform\"\nplugin = \"{{name}}\""),
        };
        let (file, world) = (self.name.replace('-', "_"), self.world.name());
        [
            ("{{config}}", config),
            ("{{rule}}", rule),
            ("{{name}}", &self.name),
            ("{{file}}", &file),
            ("{{world}}", world),
        ]
        .iter()
        .fold(template.to_owned(), |text, (mark, words)| text.replace(mark, words))
    }
}

/// An empty folder is as good as none.
fn holds_something(folder: &Path) -> bool {
    match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Nothing is overwritten, whatever appears meanwhile.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANGUAGES: [Language; 3] = [Language::Rust, Language::JavaScript, Language::Python];

    #[test]
    fn a_name_is_one_of_a_package() {
        for name in ["a", "trim-results", "v2-names", "names2"] {
            assert!(NewPlugin::new(name, World::Detector).is_ok(), "{name}");
        }
        for name in ["", "-a", "a-", "a--b", "Names", "2names", "a_b", "a/b", "..", "é", &"a".repeat(65)] {
            assert!(matches!(NewPlugin::new(name, World::Detector), Err(NewError::Name(_))), "{name}");
        }
        for name in ["match", "serde", "test", "leafgate-plugin"] {
            assert!(matches!(NewPlugin::new(name, World::Detector), Err(NewError::Taken(_))), "{name}");
        }
    }

    #[test]
    fn nothing_is_overwritten() {
        let parent = tempfile::tempdir().unwrap();
        let plugin = NewPlugin::new("names", World::Detector).unwrap();
        let folder = parent.path().join("names");
        fs::create_dir(&folder).unwrap();
        let written = plugin.create(&folder).unwrap();
        assert!(written.iter().all(|path| path.is_file()) && written.len() == 6, "{written:?}");
        fs::write(folder.join("src/lib.rs"), "mine").unwrap();
        assert!(matches!(plugin.create(&folder), Err(NewError::Exists(_))));
        assert_eq!(fs::read_to_string(folder.join("src/lib.rs")).unwrap(), "mine");
    }

    #[test]
    fn no_placeholder_is_left_in_a_file() {
        for (world, language) in [World::Detector, World::Transformer]
            .into_iter()
            .flat_map(|world| LANGUAGES.map(|language| (world, language)))
        {
            let plugin = NewPlugin::new("trim-results", world).unwrap().in_language(language);
            for (path, text) in plugin.files() {
                assert!(!text.contains("{{"), "{path}: {text}");
            }
        }
    }

    /// What an author finds in a new project in Python, without the SDK.
    #[test]
    fn a_project_in_python_is_written_file_by_file() {
        let mut all = String::new();
        for world in [World::Detector, World::Transformer] {
            let plugin = NewPlugin::new("trim-results", world).unwrap().in_language(Language::Python);
            let files = plugin.files();
            let sdk = |path: &str| path == "leafgate.py" || path.starts_with("wit/");
            assert_eq!(files.iter().filter(|(path, _)| sdk(path)).count(), 2);
            for (path, text) in files.iter().filter(|(path, _)| !sdk(path)) {
                all += &format!("=== {path}\n{text}");
            }
        }
        insta::assert_snapshot!(all);
    }
}
