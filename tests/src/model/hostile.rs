//! Hostile answers of the table, each to the request whose last message names it, behind the name of one.

use std::sync::LazyLock;

use leafgate_harness::answers::WORD;
use leafgate_harness::answers::table::{self, Guarded, Row, TOKEN};
use serde_json::{Value, json};

use super::message;
use crate::http::Message;

/// What stands before the name of a row.
const NAMES: &str = "hostile answer ";

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(table::rows);

/// The answer that a request names; `None` where it names none.
pub(super) fn answer(request: &Message) -> Option<Message> {
    let body: Value = request.json().ok()?;
    let said =
        ["messages", "input", "contents"].iter().map(|key| &body[*key]).find(|said| !said.is_null())?;
    let last = said.as_array().and_then(|messages| messages.last()).unwrap_or(said).to_string();
    let (_, behind) = last.rsplit_once(NAMES)?;
    let name = behind.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next()?;
    let row = ROWS.iter().find(|row| row.name == name)?;
    let kind = if row.stream { "text/event-stream" } else { "application/json" };
    Some(message("200 OK", kind, in_words_of(row, &body.to_string())))
}

/// Returns the table for a script: what a row is called, who answers so, and what it guards.
#[must_use]
pub fn listed() -> Value {
    let row = |row: &Row| json!({ "name": row.name, "api": row.api.name(), "stream": row.stream, "guards": row.guards.name(), "what": row.what });
    ROWS.iter().map(row).collect()
}

/// A row's bytes with the token that the request has, and with the shell that its client has. What a
/// call hides bears the name of its row: agents tell it in all their later requests.
fn in_words_of(row: &Row, request: &str) -> String {
    let token = request.match_indices("EMAIL_").find_map(|(at, _)| {
        let word = request[at..].split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
        (word.len() == "EMAIL_".len() + 16).then_some(word)
    });
    let answer = row.answer.replace(TOKEN, token.unwrap_or_default());
    let answer = match row.guards {
        Guarded::Calls => answer.replace(WORD, &format!("{WORD}--{}.", row.name)),
        Guarded::Texts | Guarded::Values => answer,
    };
    match ["exec_command", "shell_command", "shell"]
        .iter()
        .find(|tool| request.contains(&format!("\"name\":\"{tool}\"")))
    {
        Some(&"exec_command") => answer.replace("Bash", "exec_command").replace("\"command\\\"", "\"cmd\\\""),
        Some(tool) => answer.replace("Bash", tool),
        None => answer,
    }
}
