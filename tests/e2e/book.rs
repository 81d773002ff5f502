//! What the pages of the book show is what the binary does: their commands run, their blocks of TOML load, their links lead somewhere.
//! A tutorial and a reference have tests of their own beside what they are about; the plugin is a documentation test of this crate.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use leafgate_tests::admin::Admin;
use leafgate_tests::book::{self, Page};
use leafgate_tests::gate::{self, Gate};
use leafgate_tests::{paths, plant, plugins, sample};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::setup::policy;

/// Commands that these tests do not run, and why. An entry that ends with a blank is about all that begin with it.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo ", "tests are built by it"),
    ("rustup ", "it changes the machine"),
    (".ci/run", "it runs these tests"),
    ("cd project-names", "what is in it is built from crates, in `author`'s tests and `cargo xtask authors`"),
    ("cd project-module", "the same"),
    ("python3 ", "a plugin in Python is begun and tested by `cargo xtask authors`"),
    ("leafgate plugin test", "in a project: the same"),
    ("leafgate plugin build", "in a project: the same"),
    ("leafgate plugin inspect ", "of what was built there"),
    ("leafgate exec ", "with models of clients in `exec.rs`, with real ones in `tests/clients`"),
    ("leafgate review", "at a terminal in `prompt.rs`"),
    ("leafgate review --plain", "the same"),
    ("leafgate service ", "it changes what the machine starts: `cli`'s tests"),
    ("leafgate vscode ", "with settings of editors in `cli`'s tests"),
    ("leafgate log tail", "it goes on until it is stopped: `cli`'s tests"),
    ("leafgate reveal ", "a made-up token stands for nothing: `cli`'s tests have one that does"),
    ("leafgate except add --finding ", "the same"),
    ("leafgate promote ", "it wants twenty matches in a log: `cli`'s tests"),
    ("leafgate pending show ", "a request that waits: `pauses.rs`"),
    ("leafgate saved capture 7 ", "the same"),
    ("leafgate agents run ", "it asks a model: `cli`'s tests"),
    ("leafgate doctor", "it asks the network: `cli`'s tests"),
    ("leafgate self verify ", "of a file of a release: `cli`'s tests"),
    ("sudo ", "it changes the machine: `cargo xtask package --check`"),
    ("npm ", "the same"),
    ("pip ", "the same"),
    ("brew ", "the same"),
    ("nix ", "the same"),
    ("tar ", "a program that is not ours"),
    ("curl ", "a program that is not ours"),
    ("systemctl ", "a program that is not ours"),
    ("journalctl ", "a program that is not ours"),
    ("docker ", "a program that is not ours"),
    ("podman ", "a program that is not ours"),
];

/// Pages whose commands and files are tried in their order by tests of their own.
const TRIED_ELSEWHERE: [&str; 3] = ["docs/policy.md", "docs/managed.md", "host/policy/RULES.md"];

fn pages() -> Vec<Page> {
    book::pages().unwrap()
}

/// The commands of a block: its lines without what is said about them.
fn commands(block: &str) -> impl Iterator<Item = &str> {
    block.lines().map(|line| line.split(" #").next().unwrap_or(line).trim()).filter(|line| !line.is_empty())
}

fn why_not(command: &str) -> Option<&'static str> {
    let fits = |entry: &str| if entry.ends_with(' ') { command.starts_with(entry) } else { command == entry };
    NOT_RUN.iter().find(|(entry, _)| fits(entry)).map(|(_, why)| *why)
}

#[test]
fn the_example_policies_load() {
    plugins::install(&paths::example("policies/demo")).unwrap();
    for name in ["starter", "demo", "vault", "team", "steady", "context"] {
        let folder = paths::example("policies").join(name);
        let output = gate::run(&["check", "--policy", &folder.to_string_lossy()], b"").unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(!said.contains("extends"), "{name} has the built-in rules beneath its own: {said}");
    }
}

/// The plugin of all pages: what matters here is that they declare and ask it rightly, and a script needs no build.
const SCRIPT: &str = "export const labels = [\"NAME\"];
export const configure = (config) => config;
export const detect = (leaf) => leaf.find(/Lovelace, Ada/);
";

/// Has the binary read a block of TOML as what it is: settings, cases of a plugin, or a rule file.
fn loads(data: &Path, page: &str, block: &str) {
    let folder = policy("[[rule]]\nid = \"none\"\nmatch = { model = \"none\" }\naction = \"block\"\n");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let has = |name: &str, text: &str| book::write(&folder.path().join(name), text).unwrap();
    let files = ["plugins/tickets.js", "plugins/redact-names.js"];
    files.iter().for_each(|file| has(file, SCRIPT));
    let output = if block.starts_with("# ~/.config/leafgate/config.toml") {
        has("house.pem", &rcgen::generate_simple_self_signed(["house".to_owned()]).unwrap().cert.pem());
        has("config.toml", block);
        gate::run_in(data, &["config", "show", "--config", &path("config.toml")], b"")
    } else if block.contains("[[case]]") {
        has("cases.toml", block);
        gate::run_in(data, &["plugin", "test", &path(files[1]), "--cases", &path("cases.toml")], b"")
    } else {
        let digest: String = Sha256::digest(SCRIPT).iter().map(|byte| format!("{byte:02x}")).collect();
        has("prompts/review.md", "Review.");
        has(
            "page.toml",
            &block.replace(".wasm\"", ".js\"").replace("sha256 = \"…\"", &format!("sha256 = \"{digest}\"")),
        );
        gate::run_in(data, &["check", "--policy", &path("")], b"")
    };
    let output = output.unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{page}: {}\n{block}", String::from_utf8_lossy(&said));
}

#[test]
fn the_toml_of_the_book_loads() {
    // One for all, so that the engine of scripts is compiled once.
    let data = tempfile::tempdir().unwrap();
    let mut loaded = 0;
    for page in pages().iter().filter(|page| !TRIED_ELSEWHERE.contains(&page.path.as_str())) {
        for block in page.blocks().iter().filter(|block| block.language == "toml") {
            loads(data.path(), &page.path, &block.text);
            loaded += 1;
        }
    }
    assert!(loaded > 14, "{loaded} blocks");
}

// S0-112
#[test]
fn the_commands_that_are_not_run_exist() {
    let blocks: Vec<String> = pages().iter().flat_map(Page::blocks).map(|block| block.text).collect();
    let lines: BTreeSet<&str> = blocks.iter().flat_map(|block| commands(block)).collect();
    let not_run = lines.into_iter().filter(|line| why_not(line).is_some());
    let mut seen = 0;
    for call in not_run.filter_map(|line| line.strip_prefix("leafgate ")) {
        // What follows `exec` is another program's.
        let most = if call.starts_with("exec") { 1 } else { usize::MAX };
        let words = call
            .split_whitespace()
            .take(most)
            .take_while(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()));
        let command: Vec<&str> = words.chain(["--help"]).collect();
        let output = gate::run(&command, b"").unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`leafgate {call}` of the book: {said}");
        let options = call.split_whitespace().filter(|word| word.starts_with("--"));
        let help = String::from_utf8(output.stdout).unwrap();
        for option in options {
            let option = option.split('=').next().unwrap_or(option);
            assert!(help.contains(option), "`leafgate {call}` of the book: there is no {option}");
        }
        seen += 1;
    }
    assert!(seen > 15, "{seen} commands");
}

/// Somebody who types what a page shows: a home with a gate that has seen two requests, and a folder with the files that pages name.
struct Reader {
    home: TempDir,
    _gate: Gate,
    runtime: PathBuf,
}

impl Reader {
    fn new() -> Reader {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join(".local/share/leafgate");
        // Its log has both requests by the time that they are answered.
        let gate = Gate::start_in(&data, &["--upstream", "echo:", "--log-required"]).unwrap();
        let turn = |role: &str, text: &str| json!({ "role": role, "content": text });
        let asked = turn("user", &format!("deploy with {}", plant::github(3)));
        let later = json!([asked, turn("assistant", "Done."), turn("user", "And now?")]);
        for messages in [json!([asked]), later] {
            let answer = gate.client().unwrap().chat(&sample::messages("gpt-4.1", &messages)).unwrap();
            assert_eq!(answer.status(), 200);
        }
        let runtime = gate.runtime_file().parent().unwrap().to_owned();
        let reader = Reader { home, _gate: gate, runtime };
        let request = std::fs::read_to_string(paths::example("requests/chat.json")).unwrap();
        for file in ["request.json", "a.json", "old/1.json", "requests/1.json"] {
            reader.has(file, &request);
        }
        for file in ["my-policy/rules.toml", "next/rules.toml"] {
            reader.has(
                file,
                "[[rule]]\nid = \"mail\"\nmatch = {}\ndetect = [\"pii/email\"]\naction = \"redact\"\n",
            );
        }
        let test = "[[test]]\nname = \"a word stays\"\ntext = \"word\"\nedits = []\n";
        reader.has("my-policy/tests/words.toml", test);
        reader.has(".leafgate/saved.toml", "version = 1\n");
        reader.has("../.config/leafgate/config.toml", "upstream = \"echo:\"\n");
        for file in [".env", "src/main.rs", "session.jsonl", "sessions/1.jsonl"] {
            reader.has(file, "");
        }
        for (file, of) in [
            ("chat.json", "vscode-chat-export/buoys.json"),
            ("raw.json", "raw-chatmessage/turn.raw-messages.json"),
        ] {
            reader.has(file, &std::fs::read_to_string(paths::example("recordings").join(of)).unwrap());
        }
        std::os::unix::fs::symlink(paths::root().join("examples"), reader.folder().join("examples")).unwrap();
        reader
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("work")
    }

    fn has(&self, file: &str, text: &str) {
        book::write(&self.folder().join(file), text).unwrap();
    }

    fn shell(&self, line: &str) -> Command {
        let (home, binary) = (self.home.path(), gate::binary().unwrap());
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .current_dir(self.folder())
            .env("PATH", format!("{}:/usr/bin:/bin", binary.parent().unwrap().display()))
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("LEAFGATE_DATA_DIR", home.join(".local/share/leafgate"))
            .env("LEAFGATE_RUNTIME_DIR", &self.runtime)
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    fn runs(&self, line: &str) -> Result<(), String> {
        let output = self.shell(line).output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        if output.status.success() { Ok(()) } else { Err(format!("{line}: {said}")) }
    }

    /// Starts a gate, waits until it listens, and ends it.
    fn serves(&self, line: &str) -> Result<(), String> {
        let line = format!("exec {line} --set listen=127.0.0.1:0");
        let mut process = self.shell(&line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
        process.kill().unwrap();
        let output = process.wait_with_output().unwrap();
        match first.starts_with("http://127.0.0.1:") {
            true => Ok(()),
            false => Err(format!("{line}: {first}{}", String::from_utf8_lossy(&output.stderr))),
        }
    }
}

#[test]
fn the_commands_of_the_book_run_in_their_order() {
    let (mut ran, mut wrong) = (0, Vec::new());
    for page in pages().iter().filter(|page| !TRIED_ELSEWHERE.contains(&page.path.as_str())) {
        let blocks = page.blocks();
        let blocks = blocks.iter().filter(|block| matches!(block.language.as_str(), "sh" | "console"));
        let lines: Vec<&str> = blocks.flat_map(|block| commands(&block.text)).collect();
        let lines: Vec<&str> = lines.into_iter().filter(|line| why_not(line).is_none()).collect();
        if lines.is_empty() {
            continue;
        }
        let reader = Reader::new();
        for line in lines {
            let result =
                if line.starts_with("leafgate run") { reader.serves(line) } else { reader.runs(line) };
            wrong.extend(result.err().map(|error| format!("{}: {error}", page.path)));
            ran += 1;
        }
        if page.path == "README.md" {
            let begun = reader.home.path().join(".config/leafgate/policy");
            assert!(begun.join("exceptions.toml").exists() && begun.join("rules.toml").exists());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ran > 60, "{ran} commands");
}

/// The README of 5,000 words was read by nobody, and these could not be found in it.
#[test]
fn the_readme_is_short_and_has_what_people_look_for() {
    let readme = Page::read("README.md").unwrap().text;
    let words = readme.split_whitespace().count();
    assert!(words <= 900, "{words} words");
    let help = gate::run(&["--help"], b"").unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let first_screen = help.lines().take(24);
    let headings = readme.lines().filter(|line| line.starts_with('#'));
    let places: Vec<String> = headings.chain(first_screen).map(str::to_lowercase).collect();
    for wanted in [
        "start",
        "redacted",
        "exception",
        "rule",
        "approve",
        "off",
        "remove",
        "update",
        "data",
        "what leaves",
    ] {
        assert!(places.iter().any(|place| place.contains(wanted)), "`{wanted}` is not found at once");
    }
}

/// A link that leads nowhere, a page that the table of contents does not have, and one that stands there twice.
#[test]
fn the_links_of_the_book_lead_somewhere_and_every_page_is_in_it() {
    let pages = pages();
    let mut listed = BTreeSet::new();
    for page in &pages {
        assert!(listed.insert(page.path.clone()), "{} stands twice in {}", page.path, book::SUMMARY);
        for link in page.links() {
            let (Some(file), shown) = (&link.file, &page.text[link.place.clone()]) else { continue };
            assert!(paths::root().join(file).exists(), "{}: {shown} leads nowhere", page.path);
            let Some(anchor) = &link.anchor else { continue };
            let anchors = Page::read(file).unwrap().anchors();
            assert!(anchors.contains(anchor), "{}: {shown}: {file} has {anchors:?}", page.path);
        }
    }
    for entry in std::fs::read_dir(paths::root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let path = format!("docs/{name}");
        let is_page = name.ends_with(".md") && path != book::SUMMARY;
        assert!(!is_page || listed.contains(&path), "{} does not have {path}", book::SUMMARY);
    }
}

/// An alert about a metric that does not exist never sounds.
#[test]
fn the_metrics_of_the_alerts_exist() {
    let gate = Gate::start(&["--upstream", "echo:"]).unwrap();
    let exposition = Admin::of(&gate).unwrap().metrics().unwrap();
    let exist: BTreeSet<&str> =
        exposition.lines().filter_map(|line| line.strip_prefix("# HELP ")?.split(' ').next()).collect();
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let alerts = std::fs::read_to_string(paths::root().join("examples/grafana/alerts.yaml")).unwrap();
    let named = alerts.split(|letter| !is_name(letter)).filter(|word| word.starts_with("leafgate_"));
    let named: BTreeSet<&str> = named.collect();
    assert!(named.len() > 6 && named.is_subset(&exist), "{:?}", named.difference(&exist).collect::<Vec<_>>());
}
