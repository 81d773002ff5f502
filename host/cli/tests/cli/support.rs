//! Runs the binary with an installation key of its own, so that tokens in snapshots stay the same.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::de::DeserializeOwned;
use serde_json::json;
use tempfile::TempDir;

pub(crate) const EMAIL: &str = "jane.doe@mail.example.org";

/// A secret of real shape, put together here so that no scanner takes this file for a leak.
pub(crate) fn secret() -> String {
    format!("{}{}", "ghp_", "kfhfgtKAQWYm85EZgslmBp65HpUbz04IfkvX")
}

/// One test's folder, with its key and its files.
pub(crate) struct Bench(TempDir);

/// What a run of the binary gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        let bench = Bench(tempfile::tempdir().unwrap());
        let key = bench.file("data/key", &format!("{}\n", "07".repeat(32)));
        fs::set_permissions(key, fs::Permissions::from_mode(0o600)).unwrap();
        bench
    }

    /// The folder of a test whose policy has these rules.
    pub(crate) fn with(rules: &str) -> Bench {
        let bench = Bench::new();
        bench.file("policy/rules.toml", rules);
        bench
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file. The rules of a test are alone, unless they say otherwise.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if name.ends_with("/rules.toml") && !text.contains("extends") {
            fs::write(path.with_file_name("alone.toml"), "extends = \"none\"\n").unwrap();
        }
        fs::write(&path, text).unwrap();
        path
    }

    /// The binary, called in the folder.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_leafgate"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("TZ", "UTC")
            .env("LEAFGATE_DATA_DIR", self.path().join("data"));
        command
    }

    pub(crate) fn run(&self, args: &[&str], input: &str) -> Ran {
        self.run_command(self.command(args), input)
    }

    pub(crate) fn run_command(&self, mut command: Command, input: &str) -> Ran {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that reads no input may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    /// What it wrote, as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> T {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.shown()))
    }

    /// Everything that a person sees, for snapshots.
    pub(crate) fn shown(&self) -> String {
        format!("exit {}\n--- stdout\n{}--- stderr\n{}", self.code, self.out, self.err)
    }
}

/// A small conversation: a system prompt, a question with an address, a tool call and its result
/// with a credential.
pub(crate) fn request() -> String {
    let arguments = json!({ "path": "/srv/.env", "limit": 20 }).to_string();
    let body = json!({
        "model": "gpt-4o",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": format!("Write to {EMAIL}, please.") },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "call_1", "type": "function", "function": { "name": "read_file", "arguments": arguments } },
            ]},
            { "role": "tool", "tool_call_id": "call_1", "content": format!("PORT=80\nGITHUB_TOKEN={}\n", secret()) },
        ],
        "temperature": 0.5,
    });
    body.to_string()
}

/// Redacts addresses and secrets, and makes the system prompt polite.
pub(crate) const RULES: &str = r#"
[[rule]]
id = "secrets"
match = {}
detect = ["secrets", "pii/email"]
action = "redact"
with = "token"

[[rule]]
id = "polite"
match = { role = "system" }
action = "rewrite"
append = " Be polite."
"#;

/// A rule that holds every request that names the project.
pub(crate) fn holding(action: &str) -> String {
    format!(
        "{RULES}
[[rule]]
id = \"no-projects\"
match = {{ role = \"user\" }}
when = 'leaf.text.contains(\"please\")'
action = \"{action}\"
reason = \"Ask first\"
"
    )
}
