//! Requests and answers to test on: recordings of our own, which every clone has in `examples/recordings`, a larger set outside the
//! repository, and the examples.
//!
//! The larger set is the folder that `LEAFGATE_FIXTURES` names, or `../shared/fixtures` beside the repository; the labelled corpora that
//! of `LEAFGATE_CORPORA`, or `../shared/corpora`. A clone has neither. Tests on them then do nothing and say so, but where `CI` is
//! `true` a missing folder fails.

use std::path::{Path, PathBuf};

use leafgate_tree::{Document, Format, Limits};

/// A request body and the format that it is in.
#[derive(Clone)]
pub struct Recording {
    /// The name of its file.
    pub name: String,
    /// The body.
    pub body: Vec<u8>,
    /// Its format.
    pub format: Format,
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}, {} bytes)", self.name, self.format, self.body.len())
    }
}

/// The folders of recorded requests, how their files end, and the format that they are in.
pub const FOLDERS: &[(&str, &str, Format)] = &[
    ("openai-chat", ".request.json", Format::OpenaiChat),
    ("gemini", ".request.json", Format::Gemini),
    ("code-assist", ".request.json", Format::Gemini),
    ("copilot", ".request.json", Format::Generic),
    ("openai-responses", ".request.json", Format::OpenaiResponses),
    ("anthropic-messages", ".request.json", Format::AnthropicMessages),
    ("raw-chatmessage", ".raw-parts.json", Format::Raw),
    ("vscode-chat-export", ".json", Format::VscodeChat),
    ("prompt-tsx-json", ".json", Format::Generic),
];

/// Returns how many cases a property has each of which looks at all recordings: so many as usual, and
/// sixteen times as many where there is time. `PROPTEST_CASES` would take hours.
pub fn cases(usual: u32) -> u32 {
    if std::env::var_os("LEAFGATE_SOAK").is_some() { 16 * usual } else { usual }
}

/// Finds the folder of recordings.
///
/// # Panics
/// Where there is none and `CI` is `true`.
pub fn fixtures() -> Option<PathBuf> {
    folder("LEAFGATE_FIXTURES", "fixtures")
}

/// Finds the folder of labelled corpora.
///
/// # Panics
/// Where there is none and `CI` is `true`.
pub fn corpora() -> Option<PathBuf> {
    folder("LEAFGATE_CORPORA", "corpora")
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn folder(variable: &str, name: &str) -> Option<PathBuf> {
    let beside = || repository().join("../shared").join(name);
    let folder = std::env::var_os(variable).map_or_else(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "no folder {}: set {variable}", folder.display());
    eprintln!("skipped: no folder {}; set {variable}", folder.display());
    None
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads the recorded requests, in the order of their names; none where there is no folder of recordings.
///
/// # Panics
/// As [`fixtures`], and where a recording cannot be read.
pub fn recorded() -> Vec<Recording> {
    let Some(root) = fixtures() else { return Vec::new() };
    let mut found = Vec::new();
    for &(folder, ending, format) in FOLDERS {
        found.extend(files(&root.join(folder), ending).into_iter().map(|(name, body)| Recording {
            name,
            body,
            format,
        }));
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Reads the requests in `examples/requests`, each in the format whose shape it has, and those in `examples/recordings`. Every clone
/// has them.
///
/// # Panics
/// Where an example cannot be read.
pub fn examples() -> Vec<Recording> {
    let requests = files(&repository().join("examples/requests"), ".json");
    let read = |(name, body): (String, Vec<u8>)| {
        let document = Document::detect(body.clone().into(), &Limits::default()).expect("an example is JSON");
        Recording { name, body, format: document.format() }
    };
    let mut found: Vec<_> = requests.into_iter().map(read).collect();
    for &(folder, ending, format) in FOLDERS {
        let own = files(&own().join(folder), ending).into_iter();
        found.extend(own.map(|(name, body)| Recording { name: format!("{folder}/{name}"), body, format }));
    }
    found
}

/// One file of the recordings.
pub struct File {
    /// Its folder and name.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// What is in it, byte for byte.
    pub body: Vec<u8>,
}

/// Reads the files of one folder of recordings that end so: our own, and those outside the repository where they are.
///
/// # Panics
/// As [`fixtures`], and where a file cannot be read.
pub fn read(folder: &str, ending: &str) -> Vec<File> {
    let mut found = Vec::new();
    for root in [Some(own()), fixtures()].into_iter().flatten() {
        let root = root.join(folder);
        found.extend(files(&root, ending).into_iter().map(|(name, body)| File {
            path: root.join(&name),
            name: format!("{folder}/{name}"),
            body,
        }));
    }
    found
}

/// Reads one recording that lies outside the repository; `None` where there is no folder of them.
///
/// # Panics
/// As [`fixtures`], and where there is no such recording in it.
pub fn outside(name: &str) -> Option<String> {
    Some(std::fs::read_to_string(fixtures()?.join(name)).expect("a recording of this name"))
}

/// The recordings that every clone has.
fn own() -> PathBuf {
    repository().join("examples/recordings")
}

/// Reads the recorded requests and the examples.
///
/// # Panics
/// As [`recorded`] and [`examples`].
pub fn all() -> Vec<Recording> {
    [recorded(), examples()].concat()
}

/// Names and contents of the files of a folder that end so.
fn files(folder: &Path, ending: &str) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .filter(|(name, _)| name.ends_with(ending))
        .map(|(name, path)| (name, std::fs::read(path).expect("a readable file")))
        .collect();
    files.sort();
    files
}
