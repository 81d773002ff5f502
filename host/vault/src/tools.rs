//! The tools of well-known agents that read files, edit them and run commands: under which names they
//! are called, which of their arguments is the file, which its content, and which are neither.
//!
//! A name alone decides. A client that gives a tool of another kind one of these names has its
//! content fields restored like those of the editor. An argument that stands in none of these tables
//! may lead a call to another file, so nothing is known of a call that has one.

use std::sync::LazyLock;

use serde::Deserialize;

/// What `tools.toml` says.
pub static TOOLS: LazyLock<KnownTools> =
    LazyLock::new(|| toml::from_str(include_str!("../tools.toml")).expect("tests read it"));

/// Tools and their arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownTools {
    editors: Vec<Editor>,
    readers: Vec<String>,
    shells: Vec<String>,
    terminals: Vec<String>,
    /// The arguments by which tools name the file that they are called with.
    pub paths: Vec<String>,
    /// The arguments in which tools take a patch.
    pub patches: Vec<String>,
    /// The arguments in which shells take a command.
    pub commands: Vec<String>,
    /// The arguments in which shells take the folder that a command begins in.
    pub folders: Vec<String>,
    beside: Vec<String>,
}

/// A tool that puts text into a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Editor {
    tool: String,
    /// The argument that names the file.
    pub path: String,
    /// The arguments that are what stands in the file, or will.
    pub content: Vec<String>,
    /// An argument that is a list of edits, which have such members.
    pub edits: Option<String>,
    /// Whether each of these edits names its own file, and the call none.
    #[serde(default)]
    is_named_in_edits: bool,
}

/// Returns whether an argument is one of these.
pub fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|one| one == name)
}

/// Returns the editor of a name that is told its file by this argument.
pub fn editor_of(tool: &str, path: &str) -> Option<&'static Editor> {
    TOOLS
        .editors
        .iter()
        .find(|editor| editor.tool == tool && editor.path == path && !editor.is_named_in_edits)
}

/// Returns whether a tool takes patches that name their files themselves, in one of the arguments
/// [`KnownTools::patches`] or as all of its input.
pub fn is_patch(tool: &str) -> bool {
    tool == "apply_patch"
}

/// Returns whether a tool puts texts into files that it is told.
pub fn edits_files(tool: &str) -> bool {
    is_patch(tool) || TOOLS.editors.iter().any(|editor| editor.tool == tool)
}

/// Returns the editor of a name whose edits each name their file.
pub fn editor_of_many(tool: &str) -> Option<&'static Editor> {
    TOOLS.editors.iter().find(|editor| editor.tool == tool && editor.is_named_in_edits)
}

/// Returns whether an argument that is content may be a list of lines, too: VS Code's cells.
pub fn may_be_lines(argument: &str) -> bool {
    argument == "newCode"
}

/// Returns whether an argument has no part in which file a tool is called with.
pub fn is_beside(argument: &str) -> bool {
    has(&TOOLS.beside, argument)
}

/// Returns whether a tool runs each command in a process of its own.
pub fn is_shell(tool: &str) -> bool {
    tool == "Bash" || has(&TOOLS.shells, tool)
}

/// Returns the names of all tools that run commands: what the word `shell` stands for in a rule.
pub fn shells() -> impl Iterator<Item = &'static str> {
    TOOLS.shells.iter().chain(&TOOLS.terminals).map(String::as_str)
}

pub(crate) fn is_reader(tool: &str) -> bool {
    has(&TOOLS.readers, tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_is_told_by_its_name_and_by_the_argument_that_names_its_file() {
        for (n, editor) in TOOLS.editors.iter().enumerate() {
            assert!(TOOLS.paths.contains(&editor.path), "{editor:?}");
            assert!(!editor.content.contains(&editor.path), "{editor:?}");
            assert!(!editor.content.iter().chain(&TOOLS.paths).any(|key| is_beside(key)), "{editor:?}");
            let first = TOOLS.editors.iter().position(|it| it.tool == editor.tool && it.path == editor.path);
            assert_eq!(first, Some(n), "{editor:?} is there twice");
        }
        assert_eq!(editor_of("edit", "path").unwrap().content, ["old_str", "new_str"]);
        assert!(editor_of("Edit", "path").is_none());
        assert!(editor_of("multi_replace_string_in_file", "filePath").is_none());
        assert!(edits_files("apply_patch") && edits_files("replace_in_file") && !edits_files("bash"));
        assert!(!is_shell("run_in_terminal") && shells().all(|name| name == name.to_lowercase()));
    }
}
