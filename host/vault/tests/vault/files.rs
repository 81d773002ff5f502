//! Two names are one file only where they are to everybody: held against a real file system, which
//! tells cases apart, and against one that does not, for clients that read names in their own ways.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use leafgate_vault::FileName;
use proptest::prelude::*;
use tempfile::TempDir;

/// A folder in which a client works.
struct Place {
    root: TempDir,
}

/// How clients come from a name to a path.
const CLIENTS: [fn(&str) -> String; 13] = [
    str::to_owned,
    |name| name.trim().to_owned(),
    |name| name.trim_end_matches('/').to_owned(),
    |name| cleaned(name),
    |name| name.replace('\\', "/"),
    |name| name.trim_matches(['"', '\'', '`']).to_owned(),
    |name| name.trim_start_matches('@').to_owned(),
    |name| name.trim_start_matches("file://").to_owned(),
    |name| name.split([':', '?']).next().unwrap_or_default().to_owned(),
    |name| name.replace("%2e", ".").replace("%65", "e"),
    |name| name.replace("$HOME", "home").replacen('~', "home", 1),
    |name| name.chars().filter(|c| !"\u{200b}\u{feff}\u{ad}".contains(*c)).collect(),
    |name| name.replace('\u{a0}', " ").replace("e\u{301}", "\u{e9}"),
];

/// A path without `.` and `..`, whatever links lead elsewhere.
fn cleaned(name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    let root = if name.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder can be made");
        for folder in ["w/x", "home", "elsewhere/x"] {
            fs::create_dir_all(root.path().join(folder)).expect("the folder is ours");
        }
        std::os::unix::fs::symlink(root.path().join("elsewhere/x"), root.path().join("w/link"))
            .expect("the folder is ours");
        Place { root }
    }

    /// Where a client goes for a name.
    fn path(&self, client: fn(&str) -> String, name: &str, is_case_blind: bool) -> PathBuf {
        let path = self.root.path().join("w").join(client(name));
        match path.strip_prefix(self.root.path()) {
            Ok(below) if is_case_blind => self.root.path().join(below.to_string_lossy().to_lowercase()),
            _ => path,
        }
    }

    /// What `stat` says of a path, once a file was written by another one.
    fn is_written_by(&self, path: &Path, written: &Path) -> bool {
        let id = |path: &Path| fs::metadata(path).ok().map(|stat| (stat.dev(), stat.ino()));
        let was_there = written.exists();
        // A name that nothing can be written by carries nothing out.
        let is_same = fs::write(written, "").is_err() || id(path) == id(written);
        if !was_there {
            _ = fs::remove_file(written);
        }
        is_same
    }
}

/// How somebody may lead a name to another file.
fn changed(name: String, how: u8) -> String {
    let at = name.floor_char_boundary(name.len() - 4);
    let inside = |what: &str| format!("{}{what}{}", &name[..at], &name[at..]);
    match how {
        0 => format!("{}{}", &name[..at], name[at..].to_uppercase()),
        1 => name + " ",
        2 => name + "\u{a0}",
        3 => name + "/",
        4 => inside("./"),
        5 => inside("/"),
        6 => inside("x/../"),
        7 => inside("link/../"),
        8 => name + "/.",
        9 => name.replace('/', "\\"),
        10 => inside("x\\"),
        11 => inside("%2e"),
        12 => format!("./{name}"),
        13 => format!("~/{name}"),
        14 => format!("@{name}"),
        15 => format!("'{name}'"),
        16 => format!("file://{name}"),
        17 => name + ":10",
        18 => name + "#L1",
        19 => inside("\u{200b}"),
        20 => inside("e\u{301}"),
        21 => inside("\u{e9}"),
        22 => format!("$HOME/{name}"),
        23 => format!("/{name}"),
        24 => format!(" {name}"),
        25 => name + ".",
        26 => name + "\r",
        _ => name,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Both names have what is `shared`, so that every way to lead a name elsewhere is met with two
    /// clients that read it, too; and each may have more of its own.
    #[test]
    fn names_are_one_file_only_where_stat_says_so(
        bases in prop_oneof![
            4 => (0_usize..4).prop_map(|base| [base, base]),
            1 => prop::array::uniform2(0_usize..4),
        ],
        shared in prop::collection::vec(0_u8..27, 0..3),
        own in prop::array::uniform2(prop_oneof![
            1 => Just(Vec::new()),
            1 => prop::collection::vec(0_u8..27, 1..2),
        ]),
    ) {
        /// All cases begin with the same files.
        static PLACE: LazyLock<Place> = LazyLock::new(Place::new);
        let place = &*PLACE;
        let root = place.root.path().to_string_lossy().into_owned();
        let all = [format!("{root}/w/.env"), ".env".into(), "x/.env".into(), format!("{root}/w/a b.env")];
        let spelled = |n: usize| {
            let changes = shared.iter().chain(&own[n]);
            changes.fold(all[bases[n]].clone(), |name, how| changed(name, *how))
        };
        let names = [spelled(0), spelled(1)];
        let [Some(one), Some(other)] = names.each_ref().map(|name| FileName::parse(name)) else {
            return Ok(());
        };
        if !one.is_same(&other) {
            return Ok(());
        }
        for is_case_blind in [false, true] {
            let paths = |name: &str| -> BTreeSet<PathBuf> {
                CLIENTS.iter().map(|client| place.path(*client, name, is_case_blind)).collect()
            };
            for read in paths(&names[0]) {
                for written in paths(&names[1]) {
                    prop_assert!(place.is_written_by(&read, &written), "{:?}", names);
                }
            }
        }
    }
}

#[test]
fn plain_spellings_of_a_name_are_one_file() {
    let is_same = |one: &str, other: &str| {
        FileName::parse(one).zip(FileName::parse(other)).is_some_and(|(one, other)| one.is_same(&other))
    };
    for (one, other) in [
        ("/w/.env", "/w/.env"),
        ("/w/.env", "/w/./.env"),
        ("/w/.env", "/w//.env"),
        (".env", "./.env"),
        ("a b/c", "a b/c"),
        ("\u{e9}/[id].ts", "\u{e9}/[id].ts"),
        (r"C:\w\.env", r"C:\w\.env"),
        ("C:/w/.env", "C:/w//.env"),
    ] {
        assert!(is_same(one, other), "{one} {other}");
    }
    for (one, other) in [
        ("/w/.env", "/w/.ENV"),
        ("/w/.env", ".env"),
        ("/w/.env", "/W/.env"),
        (r"C:\w\.env", "C:/w/.env"),
        ("\u{e9}", "e\u{301}"),
    ] {
        assert!(!is_same(one, other), "{one} {other}");
    }
}

/// What Linux has no second reading for: two slashes are a server elsewhere.
#[test]
fn a_name_that_is_a_server_somewhere_is_no_file() {
    assert!(FileName::parse("//w/.env").is_none() && FileName::parse(r"\\w\.env").is_none());
}

#[test]
fn a_name_in_a_folder_that_nobody_knows_is_no_file_of_its_own() {
    let name = |name: &str| FileName::parse(name).unwrap();
    let (folder, file) = (name("/w/app"), name(".env"));
    assert!(file.within(Some(&folder)).unwrap().is_same(&name("/w/app/.env")));
    assert!(name("/x/.env").within(Some(&folder)).unwrap().is_same(&name("/x/.env")));
    let somewhere = file.within(None).unwrap();
    assert!(!somewhere.is_same(&file) && !somewhere.is_same(&somewhere));
    assert!(file.within(Some(&name(r"C:\w"))).is_none());
    assert!(!format!("{somewhere:?}").contains("env"));
}
