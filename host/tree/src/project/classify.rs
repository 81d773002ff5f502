//! What a user message carries, where its role does not say: files and directory maps that the client put in, earlier turns, results
//! of tools told as text.
//!
//! Clients that have no role for such things write them as user messages in forms of their own; the forms known here are those of
//! prompt-tsx (the message's name says it), of chat views that insert files before the latest question, and of agents that report
//! results in words. What fits none stays a message of the user.

use std::borrow::Cow;
use std::sync::Arc;

use super::Projector;
use crate::index::Index;
use crate::kinds::{Role, SectionKind};
use crate::node::{JsonKind, NodeId};
use crate::section::{NodeType, SectionId};

/// Bytes of a message that are looked at: enough for a path, or for the first lines of a directory map.
const PROLOGUE: usize = 2048;

/// How a message begins that holds a file.
const CONTEXT: &str = "Context from ";

/// How a message begins that reports the result of a tool.
const TOLD: &str = "Tool ";

impl<'i> Projector<'i> {
    /// Refines the kind of a message that a user sent, by its name and by how its text begins.
    pub(crate) fn classify_user(&mut self, id: SectionId, name: Option<&str>) {
        let section = &self.projection.sections[id.index()];
        if section.role != Role::User || section.kind != SectionKind::User {
            return;
        }
        let text = self.telling_prologue(section.node);
        let (kind, tool) = match (kind_by_name(name), text.as_deref()) {
            (Some(kind), _) => (kind, None),
            (None, Some(text)) if context_path(text).is_some() => (SectionKind::Context, None),
            (None, Some(text)) => match told_result(text) {
                Some(tool) => (SectionKind::ToolResult, Some(Arc::from(tool))),
                None => return,
            },
            (None, None) => return,
        };
        let section = &mut self.projection.sections[id.index()];
        (section.kind, section.tool) = (kind, tool.or(section.tool.take()));
    }

    /// Directory maps stand directly before the latest user message; anywhere else a list of paths is what the user wrote.
    pub(crate) fn classify_maps(&mut self) {
        let messages = self.projection.sections.iter().enumerate().rev();
        let messages = messages.filter(|(_, section)| section.node_type == NodeType::Message);
        let before_latest: Vec<usize> = messages
            .skip_while(|(_, section)| section.role != Role::User)
            .take_while(|(_, section)| section.role == Role::User)
            .map(|(at, _)| at)
            .skip(1)
            .collect();
        for at in before_latest {
            let section = &self.projection.sections[at];
            let is_map = || {
                let text = self.prologue(section.node);
                text.is_some_and(|text| is_directory_map(&text))
            };
            if section.kind == SectionKind::User && is_map() {
                self.projection.sections[at].kind = SectionKind::Context;
            }
        }
    }

    /// How the first text of a message begins, where its first words may say what the message is.
    /// Most messages say nothing there, and of those a few bytes are read.
    fn telling_prologue(&self, message: NodeId) -> Option<Cow<'i, str>> {
        let text = self.body.first_text(message, self.content_key)?;
        let tells = [CONTEXT, TOLD].iter().any(|words| self.body.starts_with(text, words));
        tells.then(|| self.body.text_start(text, PROLOGUE))
    }

    /// How the first text of a message begins.
    fn prologue(&self, message: NodeId) -> Option<Cow<'i, str>> {
        Some(self.body.text_start(self.body.first_text(message, self.content_key)?, PROLOGUE))
    }
}

impl Index {
    /// The first text of a message: what stands under `content_key`, or the first part of it that has some.
    pub(crate) fn first_text(&self, message: NodeId, content_key: &str) -> Option<NodeId> {
        let content = match self.kind(message) {
            JsonKind::Object => self.member(message, content_key)?,
            _ => message,
        };
        let is_text = |node: &NodeId| self.is_string(*node);
        if self.kind(content) != JsonKind::Array {
            return Some(content).filter(is_text);
        }
        self.children(content).filter_map(|part| self.member(part, "text")).find(is_text)
    }
}

/// prompt-tsx names user messages by what they carry.
fn kind_by_name(name: Option<&str>) -> Option<SectionKind> {
    let name = name?.to_ascii_lowercase();
    let kinds = [
        ("history", SectionKind::History),
        ("context", SectionKind::Context),
        ("prediction", SectionKind::Prediction),
    ];
    kinds.into_iter().find(|(word, _)| name.contains(word)).map(|(_, kind)| kind)
}

/// `Context from <path>:` and an empty line, before the file's content; and alone, before a picture.
pub(crate) fn context_path(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(CONTEXT)?;
    let path = rest.split_once(":\n\n").map(|(path, _)| path).or_else(|| rest.strip_suffix(':'))?;
    (!path.is_empty() && !path.contains('\n')).then_some(path)
}

/// `Tool <name> result: `, as agents without tool messages report.
fn told_result(text: &str) -> Option<&str> {
    let (tool, _) = text.strip_prefix(TOLD)?.split_once(" result: ")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    (!tool.is_empty() && tool.len() <= 128 && tool.chars().all(is_name)).then_some(tool)
}

/// Three lines or more, of which all but a heading name files and folders, indented or drawn as a tree.
fn is_directory_map(text: &str) -> bool {
    let lines: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let entries = lines.iter().filter(|line| is_map_entry(line)).count();
    entries >= 3 && entries + 1 >= lines.len()
}

fn is_map_entry(line: &str) -> bool {
    let drawn =
        |c: char| c.is_whitespace() || matches!(c, '│' | '├' | '└' | '─' | '|' | '`' | '+' | '-' | '*');
    let name = line.trim_start_matches(drawn);
    let is_entry = name.ends_with('/') || name.contains('/') || name.contains('.') || name.len() < line.len();
    !name.is_empty()
        && is_entry
        && name.split_whitespace().count() <= 4
        && !name.ends_with(['.', '?', '!', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_context() {
        assert_eq!(context_path("Context from notes/a b.md:\n\ntext"), Some("notes/a b.md"));
        assert_eq!(context_path("Context from notes.md: text"), None);
        assert_eq!(context_path("Context from notes/a.png:"), Some("notes/a.png"));
        assert_eq!(context_path("Context from :\n\n"), None);
        assert_eq!(context_path("Some Context from a:\n\n"), None);
    }

    #[test]
    fn results_in_words() {
        assert_eq!(told_result("Tool read_file result: 42"), Some("read_file"));
        assert_eq!(told_result("Tool tips for a good result: practise"), None);
        assert_eq!(told_result("Tool  result: 42"), None);
    }

    #[test]
    fn directory_maps() {
        assert!(is_directory_map("Vault structure:\nnotes/\n  daily/\n    2024-01-01.md\n"));
        assert!(is_directory_map("├── src\n│   ├── main.rs\n└── README.md"));
        assert!(is_directory_map("- a.md\n- b/\n- c.txt"));
        assert!(!is_directory_map("notes/"));
        assert!(!is_directory_map("Please look at src/main.rs.\nIt is broken.\nThanks"));
        assert!(!is_directory_map("First do this\nThen do that\nAnd stop"));
        assert!(!is_directory_map(
            "- buy milk, eggs and some bread\n- call the plumber about it\n- sleep for once"
        ));
    }
}
