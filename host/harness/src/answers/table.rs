//! The table of hostile answers, `tests/clients/hostile.toml`: those that were found by hand. Real
//! clients get them through a gate, and so do the models of clients.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::WORD;
use crate::clients::Api;

/// What must not reach a client, and so which rules stand before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Guarded {
    /// A call of [`TOOL`](super::TOOL), or of any tool with [`WORD`].
    Calls,
    /// [`WORD`] in a text.
    Texts,
    /// A value in the place of [`TOKEN`], in a link or in a call.
    Values,
}

impl Guarded {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Guarded::Calls => "calls",
            Guarded::Texts => "texts",
            Guarded::Values => "values",
        }
    }

    /// The rules that guard it, as a file of a policy.
    pub fn rules(self) -> String {
        match self {
            Guarded::Calls => {
                let tool = |(at, name): (usize, &str)| {
                    format!("[[rule]]\nid = \"no-shell-{at}\"\non = \"tool-call\"\nmatch = {{ tool = \"{name}\" }}\naction = \"block\"\n")
                };
                let word = format!(
                    "[[rule]]\nid = \"no-word\"\non = \"tool-call\"\nmatch = {{ kind = \"tool-arguments\" }}\n\
                     when = 'leaf.text.contains(\"{WORD}\")'\naction = \"block\"\n"
                );
                SHELLS.into_iter().enumerate().map(tool).collect::<String>() + &word
            }
            Guarded::Texts => format!(
                "[[detector]]\nid = \"bird\"\nwords = [\"{WORD}\"]\n\
                 [[rule]]\nid = \"bird\"\non = \"response\"\nmatch = {{}}\ndetect = [\"own/bird\"]\naction = \"redact\"\n"
            ),
            Guarded::Values => {
                "[[rule]]\nid = \"mail\"\nmatch = {}\ndetect = [\"pii/email\"]\naction = \"redact\"\nwith = \"token\"\n".to_owned()
            }
        }
    }
}

/// The tools that no client may see called: [`TOOL`](super::TOOL), and what items that name none
/// and agents call theirs.
pub const SHELLS: [&str; 6] =
    [super::TOOL, "local_shell_call", "apply_patch_call", "shell", "shell_command", "exec_command"];

/// What stands in an answer where the token of the request's value belongs.
pub const TOKEN: &str = "{{TOKEN}}";

/// One hostile answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// The API that answers, by the name of its endpoint.
    #[serde(deserialize_with = "of_endpoint")]
    pub api: Api,
    /// Whether it is an event stream.
    pub stream: bool,
    /// What must not reach a client.
    pub guards: Guarded,
    /// What is hostile about it.
    pub what: String,
    /// Its bytes, with [`TOKEN`] where a token belongs.
    pub answer: String,
}

fn of_endpoint<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Api, D::Error> {
    let name = String::deserialize(deserializer)?;
    let api = Api::ALL.iter().find(|api| api.endpoint() == name);
    api.copied().ok_or_else(|| D::Error::custom("no such API"))
}

/// Reads the table.
///
/// # Panics
/// Where it is not TOML, or two rows have one name.
pub fn rows() -> Vec<Row> {
    #[derive(Deserialize)]
    struct Table {
        row: Vec<Row>,
    }
    let table: Table =
        toml::from_str(include_str!("../../../../tests/clients/hostile.toml")).expect("a table of answers");
    let mut names: Vec<&str> = table.row.iter().map(|row| row.name.as_str()).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "each row has a name of its own");
    table.row
}
