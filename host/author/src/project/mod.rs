//! A new plugin: a project that builds and passes its tests as it is.
//!
//! The SDK stands in the project (`vendor/leafgate`), as it was when this program was built, so a
//! plugin and the gate that makes it always speak one contract.

mod sdk;

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use leafgate_contract::World;

/// Names that cargo or the compiler takes for something else.
const TAKEN: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "build",
    "const",
    "continue",
    "core",
    "crate",
    "deps",
    "do",
    "dyn",
    "else",
    "enum",
    "examples",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "incremental",
    "leafgate-plugin",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc-macro",
    "pub",
    "ref",
    "return",
    "self",
    "serde",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

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
        if TAKEN.contains(&name) {
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
    #[must_use]
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
        match self.language {
            Language::Rust => self.crate_files(),
            Language::JavaScript => self.script_files(),
            Language::Python => self.python_files(),
        }
    }

    fn script_files(&self) -> Vec<(String, String)> {
        let (code, cases) = match self.world {
            World::Detector => {
                (include_str!("../../templates/detector.js"), include_str!("../../templates/detector.toml"))
            }
            World::Transformer => (
                include_str!("../../templates/transformer.js"),
                include_str!("../../templates/transformer.toml"),
            ),
        };
        let readme = self.readme(include_str!("../../templates/README-js.md"));
        let types = include_str!("../../../../plugins/javascript/leafgate.d.ts");
        let script = format!("{}.js", self.name);
        let files =
            [(&*script, code), ("README.md", &readme), ("cases.toml", cases), ("leafgate.d.ts", types)];
        files.into_iter().map(|(path, text)| (path.to_owned(), self.filled(text))).collect()
    }

    fn python_files(&self) -> Vec<(String, String)> {
        let (code, tests, cases) = match self.world {
            World::Detector => (
                include_str!("../../templates/detector.py"),
                include_str!("../../templates/test_detector.py"),
                include_str!("../../templates/detector.toml"),
            ),
            World::Transformer => (
                include_str!("../../templates/transformer.py"),
                include_str!("../../templates/test_transformer.py"),
                include_str!("../../templates/transformer.toml"),
            ),
        };
        let readme = self.readme(include_str!("../../templates/README-py.md"));
        // The tools of the example, which is built in every full run of the tests.
        let tools = include_str!("../../../../examples/plugins/internal-addresses/requirements.txt");
        let own = [
            ("pyproject.toml", include_str!("../../templates/pyproject.toml")),
            (".gitignore", "/target\n__pycache__/\n"),
            ("README.md", &readme),
            ("plugin.py", code),
            ("test_plugin.py", tests),
            ("cases.toml", cases),
            ("requirements.txt", tools),
        ];
        let own = own.into_iter().map(|(path, text)| (path.to_owned(), self.filled(text)));
        // The SDK is two files, which are its authors' to read: nothing is filled in.
        let sdk = [
            ("leafgate.py", include_str!("../../../../plugins/python/leafgate.py")),
            ("wit/plugin.wit", include_str!("../../../../wit/plugin.wit")),
        ];
        own.chain(sdk.map(|(path, text)| (path.to_owned(), text.to_owned()))).collect()
    }

    /// How a rule file declares it.
    fn readme(&self, template: &str) -> String {
        let (config, rule) = match self.world {
            World::Detector => (
                "\nconfig = { words = [\"Zeppelin\"] }",
                "detect = [\"plugin:{{name}}\"]\naction = \"redact\"",
            ),
            World::Transformer => ("", "action = \"transform\"\nplugin = \"{{name}}\""),
        };
        template.replace("{{config}}", config).replace("{{rule}}", rule)
    }

    fn crate_files(&self) -> Vec<(String, String)> {
        let (code, cases) = match self.world {
            World::Detector => {
                (include_str!("../../templates/detector.rs"), include_str!("../../templates/detector.toml"))
            }
            World::Transformer => (
                include_str!("../../templates/transformer.rs"),
                include_str!("../../templates/transformer.toml"),
            ),
        };
        let readme = self.readme(include_str!("../../templates/README.md"));
        let files = [
            ("Cargo.toml", include_str!("../../templates/Cargo.toml")),
            (".cargo/config.toml", include_str!("../../templates/config.toml")),
            (".gitignore", "/target\n"),
            ("README.md", &readme),
            ("src/lib.rs", code),
            ("cases.toml", cases),
        ];
        files.into_iter().map(|(path, text)| (path.to_owned(), self.filled(text))).collect()
    }

    fn filled(&self, template: &str) -> String {
        let file = self.name.replace('-', "_");
        let world = self.world.name();
        template.replace("{{name}}", &self.name).replace("{{file}}", &file).replace("{{world}}", world)
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
