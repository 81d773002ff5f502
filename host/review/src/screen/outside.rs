//! A leaf's text in the person's own editor: through a file that only they can read, and that is
//! removed afterwards.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Largest file taken back: an editor that wrote more has opened something else.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// An editor outside this program.
pub trait OutsideEditor {
    /// Lets the person edit a text. The editor has the terminal meanwhile.
    ///
    /// # Errors
    /// The editor could not be started, failed, or left no text. Nothing is changed then.
    fn edit(&mut self, text: &str) -> io::Result<String>;

    /// Shows the person a text that cannot be changed.
    ///
    /// # Errors
    /// As above.
    fn read(&mut self, text: &str) -> io::Result<String>;
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
    #[must_use]
    pub fn new(command: impl Into<String>, parent: impl Into<PathBuf>) -> Self {
        EditorCommand { command: command.into(), parent: parent.into() }
    }
}

impl OutsideEditor for EditorCommand {
    fn edit(&mut self, text: &str) -> io::Result<String> {
        self.open("leaf.txt", 0o600, text)
    }

    fn read(&mut self, text: &str) -> io::Result<String> {
        self.open("body.json", 0o400, text)
    }
}

impl EditorCommand {
    fn open(&self, name: &str, mode: u32, text: &str) -> io::Result<String> {
        let folder = PrivateFolder::make(&self.parent)?;
        let file = folder.0.join(name);
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

/// A folder of mode 0700, which is removed with everything in it, an editor's backups too.
struct PrivateFolder(PathBuf);

impl PrivateFolder {
    fn make(parent: &Path) -> io::Result<PrivateFolder> {
        for number in 0..1000 {
            let path = parent.join(format!("leafgate-edit-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                // Nobody else made it: `create` fails if anything exists there, a link included.
                Ok(()) => return Ok(PrivateFolder(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!("no free name for a private folder in {}", parent.display())))
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // An error cannot be reported here, and the folder is private.
        let _ = fs::remove_dir_all(&self.0);
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
        let edited = EditorCommand::new(script, &parent).edit("some text").unwrap();
        assert_eq!(edited, "some text and more");
        assert_eq!(fs::read_to_string(&modes).unwrap(), "600\n700\n");
        let left: Vec<_> = fs::read_dir(&parent).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["modes"]);
        fs::remove_dir_all(parent).unwrap();
    }

    #[test]
    fn an_editor_that_fails_changes_nothing() {
        let parent = scratch("fails");
        let error = EditorCommand::new("false", &parent).edit("some text").unwrap_err();
        assert!(error.to_string().contains("exit status: 1"), "{error}");
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 0);
        fs::remove_dir_all(parent).unwrap();
    }
}
