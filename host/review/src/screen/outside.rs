//! A leaf's text in the person's own editor: through a file that only they can read, and that is
//! removed afterwards.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;

/// Largest file taken back: an editor that wrote more has opened something else.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// An editor outside this program.
pub trait OutsideEditor {
    /// Shows the person a text, which can be changed where `may_edit`. The editor has the terminal meanwhile.
    ///
    /// # Errors
    /// The editor could not be started, failed, or left no text. Nothing is changed then.
    fn open(&mut self, text: &str, may_edit: bool) -> io::Result<String>;
}

/// An editor that is started by a command, such as `$EDITOR`.
#[derive(Clone, Debug)]
pub struct EditorCommand {
    command: String,
    parent: PathBuf,
}

impl EditorCommand {
    /// Takes the command as the shell would read it (`code --wait`), and the parent of the private
    /// folder for the file.
    pub fn new(command: impl Into<String>, parent: impl Into<PathBuf>) -> Self {
        EditorCommand { command: command.into(), parent: parent.into() }
    }
}

impl OutsideEditor for EditorCommand {
    fn open(&mut self, text: &str, may_edit: bool) -> io::Result<String> {
        let (name, mode) = if may_edit { ("leaf.txt", 0o600) } else { ("body.json", 0o400) };
        // It is removed with everything in it, an editor's backups too.
        let private = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new()
            .prefix("leafgate-edit-")
            .permissions(private)
            .tempdir_in(&self.parent)?;
        let file = folder.path().join(name);
        OpenOptions::new().write(true).create_new(true).mode(mode).open(&file)?.write_all(text.as_bytes())?;
        // The shell splits the command as its user wrote it. The name of the file is an argument
        // and never a part of the line.
        let line = format!("{} \"$1\"", self.command);
        let status = Command::new("sh").arg("-c").arg(line).arg("sh").arg(&file).status()?;
        if !status.success() {
            return Err(io::Error::other(format!("it ended with {status}")));
        }
        let mut edited = String::new();
        fs::File::open(&file)?.take(MOST_BYTES).read_to_string(&mut edited)?;
        Ok(edited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("leafgate-review-test-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn the_text_goes_through_a_private_file_that_is_removed() {
        let parent = scratch("private");
        let modes = parent.join("modes");
        let script = format!(
            "f() {{ stat -c %a \"$1\" \"$(dirname \"$1\")\" > '{}'; printf ' and more' >> \"$1\"; }}; f",
            modes.display()
        );
        let edited = EditorCommand::new(script, &parent).open("some text", true).unwrap();
        assert_eq!(edited, "some text and more");
        assert_eq!(fs::read_to_string(&modes).unwrap(), "600\n700\n");
        let left: Vec<_> = fs::read_dir(&parent).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["modes"]);
        fs::remove_dir_all(parent).unwrap();
    }

    #[test]
    fn an_editor_that_fails_changes_nothing() {
        let parent = scratch("fails");
        let error = EditorCommand::new("false", &parent).open("some text", true).unwrap_err();
        assert!(error.to_string().contains("exit status: 1"), "{error}");
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 0);
        fs::remove_dir_all(parent).unwrap();
    }
}
