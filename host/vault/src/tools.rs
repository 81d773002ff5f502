//! The tools of well-known agents that read files, edit them and run commands: under which names they
//! are called, which of their arguments is the file, which its content, and which are neither.
//!
//! A name alone decides. A client that gives a tool of another kind one of these names has its
//! content fields restored like those of the editor. An argument that stands in none of these tables
//! may lead a call to another file, so nothing is known of a call that has one.

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
    /// Whether each of these edits names its own file, and the call none.
    pub is_named_in_edits: bool,
}

const fn editor(tool: &'static str, path: &'static str, content: &'static [&'static str]) -> Editor {
    Editor { tool, path, content, edits: None, is_named_in_edits: false }
}

/// An editor that may take several edits at once.
const fn edits(tool: &'static str, path: &'static str, content: &'static [&'static str]) -> Editor {
    Editor { edits: Some("edits"), ..editor(tool, path, content) }
}

/// The editors of Claude Code, Anthropic's API, VS Code, Copilot, Gemini CLI, Qwen Code, opencode, Crush,
/// Cursor, Windsurf, Cline and its kin, Continue, Amp, Zed, Goose, and MCP's server of files. Some
/// share a name: the argument that names the file tells them apart. A patch is read by code: see
/// [`is_patch`]. VS Code's stand in the manifest of Copilot Chat 0.67, Gemini CLI's in its 0.61.
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
    Editor { edits: Some("replacements"), is_named_in_edits: true, ..editor("multi_replace_string_in_file", "filePath", &["oldString", "newString"]) },
    editor("insert_edit_into_file", "filePath", &["code"]),
    editor("edit_notebook_file", "filePath", &["newCode"]),
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
#[rustfmt::skip]
const READERS: &[&str] = &[
    "Read", "read_file", "read", "NotebookRead", "str_replace_based_edit_tool", "str_replace_editor", "text_editor",
    "developer__text_editor", "read_text_file", "view_file", "view",
];

/// The tools of the same agents that run a command, in a process that begins and ends with it: so what
/// the command does with its lines is all that becomes of them.
#[rustfmt::skip]
const SHELLS: &[&str] = &[
    "bash", "shell", "shell_command", "exec_command", "container.exec", "local_shell", "run_shell_command",
    "developer__shell", "execute_bash",
];

/// Those that type a command into a terminal, where another program may be listening.
#[rustfmt::skip]
const TERMINALS: &[&str] = &[
    "run_in_terminal", "send_to_terminal", "create_and_run_task", "run_terminal_cmd", "run_terminal_command", "execute_command",
    "run_command", "terminal", "write_stdin", "write_bash", "powershell", "pwsh", "write_powershell",
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

/// The arguments in which shells take a command.
pub const COMMANDS: &[&str] = &["command", "cmd"];

/// The arguments in which shells take the folder that a command begins in.
pub const FOLDERS: &[&str] =
    &["workdir", "cwd", "working_directory", "working_dir", "workingDirectory", "dir_path", "directory"];

/// The arguments of known tools that have no part in which file is meant.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    // Which part of it.
    "offset", "limit", "pages", "head", "tail", "line", "start_line", "end_line", "startLine", "endLine", "StartLine", "EndLine",
    "start_line_one_indexed", "end_line_one_indexed_inclusive", "should_read_entire_file", "view_range", "insert_line",
    "cellId", "cell_id", "cell_type", "cell_number", "encoding", "language", "CodeMarkdownLanguage",
    // What is done to it.
    "command", "mode", "edit_mode", "editType", "replace_all", "replaceAll", "replace_all_occurrences", "expected_replacements",
    "allow_multiple", "AllowMultiple", "use_regex", "ignore_case", "Overwrite", "EmptyFile", "dryRun", "dry_run", "line_count",
    "TargetLintErrorIds",
    // How a command is run.
    "timeout", "timeout_ms", "timeoutMs", "timeout_seconds", "yield_time_ms", "max_output_tokens", "is_background", "isBackground",
    "run_in_background", "login", "tty", "with_escalated_permissions", "sandbox_permissions", "prefix_rule", "requires_approval",
    "dangerouslyDisableSandbox", "initial_wait",
    // What is said about it.
    "description", "Description", "display_description", "explanation", "goal", "instruction", "Instruction", "instructions",
    "justification", "reason", "task_progress", "toolSummary", "Complexity",
];

/// Returns the editor of a name that is told its file by this argument.
#[must_use]
pub fn editor_of(tool: &str, path: &str) -> Option<&'static Editor> {
    EDITORS.iter().find(|editor| editor.tool == tool && editor.path == path && !editor.is_named_in_edits)
}

/// Returns whether a tool takes patches that name their files themselves, in one of the arguments
/// [`PATCHES`] or as all of its input.
#[must_use]
pub fn is_patch(tool: &str) -> bool {
    tool == "apply_patch"
}

/// Returns whether a tool puts texts into files that it is told.
#[must_use]
pub fn edits_files(tool: &str) -> bool {
    is_patch(tool) || EDITORS.iter().any(|editor| editor.tool == tool)
}

/// Returns the editor of a name whose edits each name their file.
#[must_use]
pub fn editor_of_many(tool: &str) -> Option<&'static Editor> {
    EDITORS.iter().find(|editor| editor.tool == tool && editor.is_named_in_edits)
}

/// Returns whether an argument that is content may be a list of lines, too: VS Code's cells.
#[must_use]
pub fn may_be_lines(argument: &str) -> bool {
    argument == "newCode"
}

/// Returns whether an argument has no part in which file a tool is called with.
#[must_use]
pub fn is_beside(argument: &str) -> bool {
    OTHERS.contains(&argument)
}

/// Returns whether a tool runs each command in a process of its own.
#[must_use]
pub fn is_shell(tool: &str) -> bool {
    tool == "Bash" || SHELLS.contains(&tool)
}

/// Returns the names of all tools that run commands: what the word `shell` stands for in a rule.
pub fn shells() -> impl Iterator<Item = &'static str> {
    SHELLS.iter().chain(TERMINALS).copied()
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
            assert!(!editor.content.iter().chain(PATHS).any(|key| is_beside(key)), "{editor:?}");
            let first = EDITORS.iter().position(|it| it.tool == editor.tool && it.path == editor.path);
            assert_eq!(first, Some(n), "{editor:?} is there twice");
        }
        assert_eq!(editor_of("edit", "path").unwrap().content, ["old_str", "new_str"]);
        assert_eq!(editor_of("Edit", "path"), None);
        assert!(editor_of("multi_replace_string_in_file", "filePath").is_none());
        assert!(edits_files("apply_patch") && edits_files("replace_in_file") && !edits_files("bash"));
        assert!(!is_shell("run_in_terminal") && shells().all(|name| name == name.to_lowercase()));
    }
}
