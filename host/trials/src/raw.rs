//! A file of rule tests, word for word: the first of two stages.

use std::collections::BTreeMap;

use leafgate_diagnostic::keys::Type::{TextOrTable, Word};
use leafgate_diagnostic::{Complaints, OneOrMany, parse, read as read_table, table};
use leafgate_tree::Format;
use toml::Spanned;

use crate::RequestFate;

table! {
    /// A file.
    RawTests, "a file" {
        tests as "test": Vec<Spanned<RawTest>>; "write `[[test]]` above each test",
    }
}

table! {
    /// `[[test]]`.
    RawTest, "a test" {
        [said] name: String; "say what it shows: `name = \"an address is replaced\"`",
        text: String,
        request: serde_json::Value = TextOrTable,
        file: String,
        answer: serde_json::Value = TextOrTable,
        answer_file: String,
        format: Format = Word(Format::NAMES),
        rules: OneOrMany,
        session: String,
        agent: String,
        subagent: bool,
        model: String,
        stream: bool,
        upstream: String,
        endpoint: String,
        profile: String,
        header: BTreeMap<String, Spanned<String>>; "name the headers: `header = { x-team = \"red\" }`",
        todo: bool,
        verdict: RequestFate = Word(RequestFate::NAMES),
        held_by: OneOrMany,
        edits: Vec<Spanned<RawEdit>>,
        bytes: String,
    }
}

table! {
    /// One of `edits`.
    RawEdit, "an edit" {
        [must] at: String,
        by: OneOrMany,
        text: String,
        inserted: String,
        deleted: bool,
    }
}

/// Reads one file, and reports whatever is wrong with it.
pub(crate) fn read(text: &str, complaints: &mut Complaints<'_>) -> Vec<Spanned<RawTest>> {
    let Some(table) = parse(text, complaints) else { return Vec::new() };
    let read = read_table::<RawTests>(table, |_| None, complaints).into_inner();
    read.tests.map(Spanned::into_inner).unwrap_or_default()
}
