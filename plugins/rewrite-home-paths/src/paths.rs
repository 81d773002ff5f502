//! Home directories in running text.
//!
//! | kind | shape |
//! |---|---|
//! | linux | `/home/<user>` |
//! | macos | `/Users/<user>` |
//! | windows | `C:\Users\<user>`, the separators `\`, `\\` (a path inside JSON or source code) or `/` |
//! | root | `/root` |
//!
//! What stands before must not be part of the same path, what stands after must not be part of the
//! same name.

use std::ops::Range;

/// A family of home directories.
#[leafgate_plugin::config]
#[derive(Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SystemKind {
    Linux,
    Macos,
    Windows,
    Root,
}

/// The kinds that are looked for.
pub(crate) struct SystemKinds(pub(crate) Vec<SystemKind>);

impl SystemKinds {
    fn has(&self, kind: SystemKind) -> bool {
        self.0.contains(&kind)
    }

    /// The text with its home directories as `~`, or none where it has none.
    pub(crate) fn rewrite(&self, text: &str) -> Option<String> {
        let mut rewritten = String::new();
        let mut kept = 0;
        while let Some(home) = self.next(text, kept) {
            rewritten.push_str(&text[kept..home.start]);
            rewritten.push('~');
            kept = home.end;
        }
        (kept > 0).then(|| rewritten + &text[kept..])
    }

    /// The first home directory at or after a place.
    fn next(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let marks = memchr::memchr2_iter(b'/', b':', &text.as_bytes()[from..]);
        marks.map(|offset| from + offset).find_map(|at| self.at(text, from, at))
    }

    /// The home directory whose first slash, or whose drive's colon, is here.
    fn at(&self, text: &str, from: usize, at: usize) -> Option<Range<usize>> {
        let rest = &text[at..];
        if !may_begin(rest.as_bytes()) {
            return None;
        }
        if rest.starts_with(':') {
            let start = at.checked_sub(1).filter(|&start| self.has(SystemKind::Windows) && start >= from)?;
            let drive = text.as_bytes()[start].is_ascii_alphabetic();
            return (drive && begins_path(text, start))
                .then(|| windows(rest))
                .flatten()
                .map(|length| start..at + length);
        }
        let length = self.unix(rest)?;
        begins_path(text, at).then_some(at..at + length)
    }

    /// Length of the home directory at the start of a text that starts with a slash.
    fn unix(&self, rest: &str) -> Option<usize> {
        if let Some(user) = rest.strip_prefix("/home/").filter(|_| self.has(SystemKind::Linux)) {
            return Some("/home/".len() + user_name(user)?);
        }
        if let Some(user) = rest.strip_prefix("/Users/").filter(|_| self.has(SystemKind::Macos)) {
            let length = user_name(user)?;
            return (&user[..length] != "Shared").then_some("/Users/".len() + length);
        }
        let behind = rest.strip_prefix("/root").filter(|_| self.has(SystemKind::Root))?;
        ends_name(behind).then_some("/root".len())
    }
}

/// Whether a slash or a colon is followed by what follows it in some home directory: code and logs
/// are full of both.
fn may_begin(rest: &[u8]) -> bool {
    matches!(rest, [b'/', b'h' | b'U' | b'r', ..] | [b':', b'\\' | b'/', ..])
}

/// Length of `:\Users\<user>` with any of the three separators.
fn windows(rest: &str) -> Option<usize> {
    const FOLDER: usize = "Users".len();
    let first = 1 + separator(&rest[1..])?;
    let folder = rest.get(first..first + FOLDER).filter(|folder| folder.eq_ignore_ascii_case("Users"))?;
    let second = first + folder.len();
    let user = second + separator(&rest[second..])?;
    let length = spaced_user_name(&rest[user..])?;
    let everybodys = ["Public", "Default", "All Users"];
    let own = !everybodys.iter().any(|name| name.eq_ignore_ascii_case(&rest[user..user + length]));
    own.then_some(user + length)
}

fn separator(rest: &str) -> Option<usize> {
    ["\\\\", "\\", "/"]
        .iter()
        .find(|separator| rest.starts_with(**separator))
        .map(|separator| separator.len())
}

/// Length of a user's name. A full stop or hyphen at its end belongs to the sentence, unless the
/// path goes on.
fn user_name(rest: &str) -> Option<usize> {
    let end = rest.find(|character| !is_name(character)).unwrap_or(rest.len());
    let name = &rest[..end];
    let goes_on = rest[end..].starts_with(['/', '\\']);
    let name = if goes_on { name } else { name.trim_end_matches(['.', '-']) };
    let nobody = name.chars().all(|character| character == '.');
    (!nobody).then_some(name.len())
}

/// The same where names may contain blanks: a blank belongs to the name only if the path goes on
/// behind the next words.
fn spaced_user_name(rest: &str) -> Option<usize> {
    const WORDS: usize = 4;
    let mut end = user_name(rest)?;
    let mut further = end;
    for _ in 1..WORDS {
        let Some(word) = rest[further..].strip_prefix(' ') else { break };
        let length = word.find(|character| !is_name(character)).unwrap_or(word.len());
        further += 1 + length;
        if length > 0 && word[length..].starts_with(['\\', '/']) {
            end = further;
            break;
        }
    }
    Some(end)
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.')
}

/// Whether a name ends here: `/rootfs` and `/root.txt` are other places, `/root.` is the end of a
/// sentence.
fn ends_name(behind: &str) -> bool {
    let mut characters = behind.trim_start_matches('.').chars();
    match characters.next() {
        None => true,
        Some(next) if behind.starts_with('.') => !is_name(next) && next != '/',
        Some(next) => !is_name(next),
    }
}

/// Whether a path can begin here: not in the middle of a longer one, nor in a URL.
fn begins_path(text: &str, at: usize) -> bool {
    let before = &text[..at];
    let Some(last) = before.chars().next_back() else { return true };
    if before.ends_with("file://") || before.ends_with("file:///") {
        return true;
    }
    // `\n`, `\t` and `\r` as two characters, in JSON or code that is quoted inside a text.
    if before.ends_with("\\n") || before.ends_with("\\t") || before.ends_with("\\r") {
        return true;
    }
    if is_compiler_flag(before) {
        return true;
    }
    !(is_name(last) || matches!(last, '/' | '\\' | '~' | '$' | '}' | '>' | '*' | '%' | '@'))
}

/// `-I`, `-L` and their like, which a path follows without a blank.
fn is_compiler_flag(before: &str) -> bool {
    let mut last = before.chars().rev();
    let letter = last.next().is_some_and(|letter| letter.is_ascii_alphabetic());
    let dash = last.next() == Some('-');
    letter
        && dash
        && last.next().is_none_or(|first| first.is_whitespace() || matches!(first, '"' | '\'' | '=' | ','))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> SystemKinds {
        SystemKinds(vec![SystemKind::Linux, SystemKind::Macos, SystemKind::Windows, SystemKind::Root])
    }

    #[test]
    fn home_directories_become_a_tilde_and_the_rest_of_the_path_stays() {
        for (text, expected) in [
            ("/home/ada", "~"),
            ("/home/ada/", "~/"),
            ("/home/ada/src/main.rs:10:4", "~/src/main.rs:10:4"),
            ("cd /home/ada && ls /home/ada/x", "cd ~ && ls ~/x"),
            ("PATH=/home/ada/bin:/home/ada/.cargo/bin", "PATH=~/bin:~/.cargo/bin"),
            ("It is in /home/ada.", "It is in ~."),
            ("/home/a.b-c_9/x", "~/x"),
            ("/home/jürgen/x", "~/x"),
            ("scp host:/home/ada/x .", "scp host:~/x ."),
            ("cc -I/home/ada/include", "cc -I~/include"),
            ("file:///home/ada/x", "file://~/x"),
            (r#"{"cwd":"/home/ada"}"#, r#"{"cwd":"~"}"#),
            (r"first\n/home/ada/x", r"first\n~/x"),
            ("/Users/ada/Library", "~/Library"),
            (r"C:\Users\ada\src", r"~\src"),
            (r"c:\users\ada", "~"),
            (r"C:\\Users\\ada\\src", r"~\\src"),
            ("C:/Users/ada/src", "~/src"),
            ("file:///C:/Users/ada/src", "file:///~/src"),
            (r"C:\Users\Ada Lovelace\src", r"~\src"),
            (r"dir C:\Users\ada and more", "dir ~ and more"),
            ("/root", "~"),
            ("/root/.ssh and /root.", "~/.ssh and ~."),
        ] {
            assert_eq!(all().rewrite(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_home_directory_stays() {
        for text in [
            "",
            "/home",
            "/home/",
            "/home//x",
            "/home/..",
            "/home/<user>/x",
            "/home/$USER/x",
            "/homework/ada",
            "/srv/home/ada",
            "./home/ada",
            "~/home/ada",
            "https://example.org/home/ada",
            "http://localhost:8080/Users/ada",
            "/Users/Shared/x",
            r"C:\Users\Public\x",
            r"C:\Users\All Users\x",
            r"C:\Users",
            r"C:\Usersada",
            "/rootfs",
            "/root.txt",
            "/root-ca",
            "/chroot/root/x",
            "${HOME}/root",
        ] {
            assert_eq!(all().rewrite(text), None, "{text}");
        }
    }

    #[test]
    fn a_host_before_a_colon_is_no_drive() {
        assert_eq!(SystemKinds(vec![SystemKind::Windows]).rewrite("ABC:/Users/ada"), None);
        assert_eq!(SystemKinds(vec![SystemKind::Macos]).rewrite("ABC:/Users/ada").as_deref(), Some("ABC:~"));
    }

    #[test]
    fn only_configured_kinds_are_rewritten() {
        let text = r"/home/a /Users/a C:\Users\a /root";
        for (kind, expected) in [
            (SystemKind::Linux, r"~ /Users/a C:\Users\a /root"),
            (SystemKind::Macos, r"/home/a ~ C:\Users\a /root"),
            (SystemKind::Windows, r"/home/a /Users/a ~ /root"),
            (SystemKind::Root, r"/home/a /Users/a C:\Users\a ~"),
        ] {
            assert_eq!(SystemKinds(vec![kind]).rewrite(text).as_deref(), Some(expected));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived_and_a_second_pass_changes_nothing(
            text in "(\\PC{0,8}|/home/|/Users/|C:\\\\Users\\\\|/root|ada|[/\\\\.: ~]){0,12}",
        ) {
            let once = all().rewrite(&text).unwrap_or_else(|| text.clone());
            proptest::prop_assert_eq!(all().rewrite(&once), None);
        }
    }
}
