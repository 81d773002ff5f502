use leafgate_tree::{Format, Limits};
use serde_json::{Value, json};

use super::*;

/// The files of each stretch that a call writes, with its text.
fn stretches(tool: &str, arguments: &Value) -> Vec<(String, Vec<FileName>)> {
    let limits = Limits { embedded: 0, ..Limits::default() };
    let document = Document::parse(arguments.to_string().into(), Format::Generic, &limits).unwrap();
    let mut found = Vec::new();
    for content in written(tool, &document, document.root()) {
        let text = text(&document, content.node).unwrap();
        for stretch in content.form.stretches(&text) {
            found.push((text[stretch.at].trim_end().to_owned(), stretch.files.to_vec()));
        }
    }
    found
}

fn file(name: &str) -> FileName {
    FileName::parse(name).unwrap()
}

fn is_written(tool: &str, arguments: &Value, text: &str, name: &str) -> bool {
    let all = stretches(tool, arguments);
    all.iter().any(|(stretch, files)| stretch == text && files.iter().all(|it| it.is_same(&file(name))))
}

/// The tools of Copilot Chat 0.67 and of Gemini CLI 0.61 that put texts into files.
#[test]
fn editors_of_vs_code_and_gemini_are_known_by_their_arguments() {
    for (tool, arguments) in [
        ("create_file", json!({ "filePath": "/w/.env", "content": "x" })),
        ("replace_string_in_file", json!({ "filePath": "/w/.env", "oldString": "", "newString": "x" })),
        (
            "multi_replace_string_in_file",
            json!({ "explanation": "e", "replacements": [
                { "filePath": "/w/a", "oldString": "a", "newString": "b" },
                { "filePath": "/w/.env", "oldString": "x", "newString": "y" }] }),
        ),
        ("insert_edit_into_file", json!({ "explanation": "e", "filePath": "/w/.env", "code": "x" })),
        (
            "edit_notebook_file",
            json!({ "filePath": "/w/.env", "cellId": "1", "newCode": "x", "language": "python", "editType": "edit" }),
        ),
        ("edit_notebook_file", json!({ "filePath": "/w/.env", "newCode": ["a", "x"], "editType": "insert" })),
        (
            "apply_patch",
            json!({ "explanation": "e", "input": "*** Begin Patch\n*** Update File: /w/.env\nx\n*** End Patch" }),
        ),
        ("write_file", json!({ "file_path": "/w/.env", "content": "x" })),
        (
            "replace",
            json!({ "file_path": "/w/.env", "instruction": "i", "old_string": "x", "new_string": "y", "allow_multiple": true }),
        ),
        ("create", json!({ "path": "/w/.env", "file_text": "x" })),
        ("edit", json!({ "path": "/w/.env", "old_str": "x", "new_str": "y" })),
        (
            "run_shell_command",
            json!({ "command": "cat > /w/.env <<'EOF'\nx\nEOF", "description": "d", "dir_path": "a", "is_background": false }),
        ),
    ] {
        assert!(is_written(tool, &arguments, "x", "/w/.env"), "{tool} {arguments}");
    }
    let cat =
        json!({ "command": "cat > /w/.env <<'EOF'\nx\nEOF", "explanation": "e", "isBackground": false });
    for terminal in ["run_in_terminal", "create_and_run_task", "get_terminal_output", "create_directory"] {
        assert!(stretches(terminal, &cat).is_empty() && !may_write(terminal), "{terminal}");
    }
}

/// What a call has that nobody knows may lead it elsewhere.
#[test]
fn a_call_with_an_argument_that_is_not_known_writes_nothing_that_is_known() {
    let own = json!({ "file_path": "/w/.env", "content": "x" });
    assert!(is_written("Write", &own, "x", "/w/.env"));
    for (key, value) in [
        ("FILE_PATH", json!("/w/b")),
        ("filePath", json!("/w/b")),
        ("file-path", json!("/w/b")),
        ("cwd", json!("/x")),
        ("workdir", json!("/x")),
        ("host", json!("other")),
        ("encoding ", json!("x")),
        ("Content", json!("y")),
        ("env", json!({})),
    ] {
        let mut arguments = own.clone();
        arguments[key] = value;
        assert!(stretches("Write", &arguments).is_empty(), "{key}");
    }
    let many = |key: &str| json!({ "replacements": [{ "filePath": "/w/.env", "oldString": "x", "newString": "x", key: "/w/b" }] });
    assert!(stretches("multi_replace_string_in_file", &many("path")).is_empty());
    assert!(!stretches("multi_replace_string_in_file", &many("explanation")).is_empty());
    let beside =
        json!({ "filePath": "/w/.env", "replacements": [{ "filePath": "/w/.env", "newString": "x" }] });
    assert!(stretches("multi_replace_string_in_file", &beside).is_empty());
}

#[test]
fn a_command_is_known_with_its_folder_and_nothing_else() {
    let cat = "cat > /w/.env <<'EOF'\nx\nEOF";
    for (tool, arguments) in [
        ("Bash", json!({ "command": cat, "timeout": 5, "run_in_background": false })),
        ("shell", json!({ "command": ["bash", "-lc", cat], "workdir": "/x", "timeout_ms": 5 })),
        ("exec_command", json!({ "cmd": cat, "workdir": "sub" })),
    ] {
        assert!(is_written(tool, &arguments, "x", "/w/.env"), "{tool}");
    }
    for more in ["host", "env", "container", "shell", "sessionId", "cmd", "Command"] {
        let arguments = json!({ "command": cat, more: "x" });
        assert!(stretches("bash", &arguments).is_empty(), "{more}");
    }
    assert!(stretches("bash", &json!({ "command": cat, "workdir": "/x", "cwd": "/y" })).is_empty());
    assert!(stretches("bash", &json!({ "command": cat, "workdir": "~" })).is_empty());
}

/// A relative name in a patch that a shell applies is in the shell's folder, wherever that is.
#[test]
fn the_names_of_a_patch_begin_in_the_folder_of_its_command() {
    let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: .env\n+x\n*** End Patch\nEOF";
    let call = |folder: Option<&str>| match folder {
        Some(folder) => json!({ "command": ["bash", "-lc", patch], "workdir": folder }),
        None => json!({ "command": ["bash", "-lc", patch] }),
    };
    assert!(is_written("shell", &call(Some("/w")), "+x", "/w/.env"));
    assert!(!is_written("shell", &call(Some("/x")), "+x", "/w/.env"));
    assert!(!is_written("shell", &call(Some("/x")), "+x", ".env"));
    let [(_, somewhere)] = &stretches("shell", &call(None))[..] else { panic!("one line") };
    assert!(!somewhere[0].is_same(&file(".env")) && !somewhere[0].is_same(&somewhere[0]));
    assert!(stretches("shell", &call(Some("../x"))).is_empty());
    let tool = json!({ "input": "*** Begin Patch\n*** Update File: .env\n+x\n*** End Patch" });
    assert!(is_written("apply_patch", &tool, "+x", ".env"));
}

#[test]
fn the_lines_of_a_file_that_moves_stand_in_both() {
    let patch = |parts: &str| json!({ "input": format!("*** Begin Patch\n{parts}*** End Patch\n") });
    for parts in [
        "*** Update File: /w/.env\n*** Move to: /w/b\n@@\n+x\n",
        "*** Update File: /w/.env\n@@\n+x\n*** Move to: /w/b\n",
        "*** Update File: /w/.env\n@@\n+x\n*** Move to: /w/b\n@@\n y\n",
    ] {
        let found = stretches("apply_patch", &patch(parts));
        let (_, files) = found.iter().find(|(text, _)| text == "+x").unwrap();
        assert_eq!(*files, [file("/w/.env"), file("/w/b")], "{parts}");
    }
    let own = "*** Update File: /w/.env\n@@\n+x\n*** Add File: /w/b\n+y\n";
    assert!(is_written("apply_patch", &patch(own), "+x", "/w/.env"));
    assert!(!is_written("apply_patch", &patch(own), "+y", "/w/.env"));
}

/// What one of those who apply patches takes for a header, or for a name, and another does not.
#[test]
fn a_patch_that_has_two_readings_says_nothing() {
    for odd in [
        "*** Environment ID: remote\n*** Update File: /w/.env\n+x\n",
        "*** Update File: /w/.env\n+x\n *** Move to: /w/b\n",
        "*** Update File: /w/.env\n+x\n*** Move To: /w/b\n",
        "*** Update File:/w/.env\n+x\n",
        "*** Update File: /w/.env \n+x\n",
        "*** Update File: /w/.env\r\n+x\r\n",
        "*** Update File:  /w/.env\n+x\n",
        "*** Update File: /w/.env\n+x\n***\n",
        "*** Update File: /w/.env\n+x\r*** Move to: /w/b\r",
        "*** Update File: /w/.env\n*** Move to: ~/b\n+x\n",
        "*** Update File: /w/.env\n*** Move to: /w/.env\n*** Move to: /w/.env\n+x\n",
    ] {
        let call = json!({ "input": format!("*** Begin Patch\n{odd}*** End Patch\n") });
        assert!(!stretches("apply_patch", &call).iter().any(|(text, _)| text == "+x"), "{odd:?}");
    }
    let behind = json!({ "input": "*** Begin Patch\n*** Update File: /w/.env\n*** End Patch\n+x\n" });
    assert!(stretches("apply_patch", &behind).is_empty());
}
