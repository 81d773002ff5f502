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

/// An editor that may take several edits at once.
const fn edits(tool: &'static str, path: &'static str, content: &'static [&'static str]) -> Editor {
    Editor { edits: Some("edits"), ..editor(tool, path, content) }
}

/// The editors of Claude Code, Anthropic's API, VS Code, Copilot, Gemini CLI, Qwen Code, opencode, Crush,
/// Cursor, Windsurf, Cline and its kin, Continue, Amp, Zed, Goose, and MCP's server of files. Some
/// share a name: the argument that names the file tells them apart. A patch is read by code: see
/// [`is_patch`].
#[rustfmt::skip]
const EDITORS: &[Editor] = &[
    editor("Write", "file_path", &["content"]),
    editor("Edit", "file_path", &["old_string", "new_string"]),
    edits("MultiEdit", "file_path", &["old_string", "new_string"]),
    editor("NotebookEdit", "notebook_path", &["new_source"]),
    editor("str_replace_based_edit_tool", "path", &["file_text", "old_str", "new_str", "insert_text"]),
    editor("str_replace_editor", "path", &["file_text", "old_str", "new_str", "insert_text"]),
    editor("text_editor", "path", &["file_text", "old_str", "new_str", "insert_text"]),
    editor("developer__text_editor", "path", &["file_text", "old_str", "new_str", "insert_text"]),
    editor("create", "path", &["file_text"]),
    editor("create_file", "filePath", &["content"]),
    editor("create_file", "path", &["content"]),
    editor("replace_string_in_file", "filePath", &["oldString", "newString"]),
    editor("insert_edit_into_file", "filePath", &["code"]),
    editor("write_file", "file_path", &["content"]),
    editor("write_file", "path", &["content"]),
    editor("replace", "file_path", &["old_string", "new_string"]),
    editor("write", "filePath", &["content"]),
    editor("write", "file_path", &["content", "contents"]),
    editor("edit", "filePath", &["oldString", "newString"]),
    editor("edit", "file_path", &["old_string", "new_string"]),
    editor("edit", "path", &["old_str", "new_str"]),
    edits("multiedit", "filePath", &["oldString", "newString"]),
    edits("multiedit", "file_path", &["old_string", "new_string"]),
    edits("multi_edit", "filepath", &["old_string", "new_string"]),
    editor("search_replace", "file_path", &["old_string", "new_string"]),
    editor("edit_file", "target_file", &["code_edit"]),
    edits("edit_file", "path", &["old_str", "new_str", "oldText", "newText", "old_text", "new_text"]),
    editor("write_to_file", "path", &["content"]),
    editor("write_to_file", "TargetFile", &["CodeContent"]),
    Editor { edits: Some("ReplacementChunks"), ..editor("replace_file_content", "TargetFile", &["TargetContent", "ReplacementContent"]) },
    editor("replace_in_file", "path", &["diff"]),
    editor("apply_diff", "path", &["diff"]),
    editor("insert_content", "path", &["content"]),
    editor("search_and_replace", "path", &["search", "replace"]),
    editor("create_new_file", "filepath", &["contents"]),
    editor("edit_existing_file", "filepath", &["changes"]),
    editor("single_find_and_replace", "filepath", &["old_string", "new_string"]),
];

/// The tools of the same agents that show a file.
const READERS: &[&str] = &[
    "Read",
    "read_file",
    "read",
    "NotebookRead",
    "str_replace_based_edit_tool",
    "str_replace_editor",
    "text_editor",
    "developer__text_editor",
    "read_text_file",
    "view_file",
    "view",
];

/// The arguments by which tools name the file that they are called with.
pub const PATHS: &[&str] = &[
    "file_path",
    "filePath",
    "filepath",
    "path",
    "notebook_path",
    "target_file",
    "absolute_path",
    "TargetFile",
    "AbsolutePath",
];

/// The arguments in which tools take a patch.
pub const PATCHES: &[&str] = &["input", "patchText", "patch"];

/// Returns the editor of a name that is told its file by this argument.
#[must_use]
pub fn editor_of(tool: &str, path: &str) -> Option<&'static Editor> {
    EDITORS.iter().find(|editor| editor.tool == tool && editor.path == path)
}

/// Returns whether a tool takes patches that name their files themselves, in one of the arguments
/// [`PATCHES`] or as all of its input.
#[must_use]
pub fn is_patch(tool: &str) -> bool {
    tool == "apply_patch"
}

/// Returns whether anything is restored in a tool's arguments at all.
#[must_use]
pub fn edits_files(tool: &str) -> bool {
    is_patch(tool) || EDITORS.iter().any(|editor| editor.tool == tool)
}

pub(crate) fn is_reader(tool: &str) -> bool {
    READERS.contains(&tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_is_told_by_its_name_and_by_the_argument_that_names_its_file() {
        for (n, editor) in EDITORS.iter().enumerate() {
            assert!(PATHS.contains(&editor.path), "{editor:?}");
            assert!(!editor.content.contains(&editor.path), "{editor:?}");
            let first = EDITORS.iter().position(|it| it.tool == editor.tool && it.path == editor.path);
            assert_eq!(first, Some(n), "{editor:?} is there twice");
        }
        assert_eq!(editor_of("edit", "path").unwrap().content, ["old_str", "new_str"]);
        assert_eq!(editor_of("Edit", "path"), None);
        assert!(edits_files("apply_patch") && edits_files("replace_in_file") && !edits_files("bash"));
    }
}
