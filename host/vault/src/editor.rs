//! The tools of well-known agents that read and edit files: under which names they are called, and
//! which of their arguments is the file and which its content.
//!
//! A name alone decides. A client that gives a tool of another kind one of these names has its
//! content fields restored like those of the editor.

/// A tool that puts text into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Editor {
    /// The name under which models call it.
    pub tool: &'static str,
    /// The argument that names the file.
    pub path: &'static str,
    /// The arguments that are what stands in the file, or will.
    pub content: &'static [&'static str],
    /// An argument that is a list of edits, which have such members.
    pub edits: Option<&'static str>,
}

const fn editor(tool: &'static str, path: &'static str, content: &'static [&'static str]) -> Editor {
    Editor { tool, path, content, edits: None }
}

/// The editors of Claude Code, the text editor of Anthropic's API, VS Code, Gemini CLI, opencode and
/// Cursor. A patch is read by code: see [`is_patch`].
const EDITORS: &[Editor] = &[
    editor("Write", "file_path", &["content"]),
    editor("Edit", "file_path", &["old_string", "new_string"]),
    Editor { edits: Some("edits"), ..editor("MultiEdit", "file_path", &["old_string", "new_string"]) },
    editor("NotebookEdit", "notebook_path", &["new_source"]),
    editor("str_replace_based_edit_tool", "path", &["file_text", "old_str", "new_str", "insert_text"]),
    editor("str_replace_editor", "path", &["file_text", "old_str", "new_str", "insert_text"]),
    editor("create_file", "filePath", &["content"]),
    editor("replace_string_in_file", "filePath", &["oldString", "newString"]),
    editor("insert_edit_into_file", "filePath", &["code"]),
    editor("write_file", "file_path", &["content"]),
    editor("replace", "file_path", &["old_string", "new_string"]),
    editor("write", "filePath", &["content"]),
    editor("edit", "filePath", &["oldString", "newString"]),
    editor("edit_file", "target_file", &["code_edit"]),
];

/// The tools of the same agents that show a file.
const READERS: &[&str] = &[
    "Read",
    "read_file",
    "read",
    "NotebookRead",
    "str_replace_based_edit_tool",
    "str_replace_editor",
    "view",
];

/// The arguments by which tools name the file that they are called with.
pub const PATHS: &[&str] =
    &["file_path", "filePath", "path", "notebook_path", "target_file", "absolute_path"];

/// Returns the editor of a name.
#[must_use]
pub fn editor_of(tool: &str) -> Option<&'static Editor> {
    EDITORS.iter().find(|editor| editor.tool == tool)
}

/// Returns whether a tool takes patches that name their files themselves, in its argument `input`
/// or as all of its input.
#[must_use]
pub fn is_patch(tool: &str) -> bool {
    tool == "apply_patch"
}

/// Returns whether anything is restored in a tool's arguments at all.
#[must_use]
pub fn edits_files(tool: &str) -> bool {
    is_patch(tool) || editor_of(tool).is_some()
}

pub(crate) fn is_reader(tool: &str) -> bool {
    READERS.contains(&tool)
}
