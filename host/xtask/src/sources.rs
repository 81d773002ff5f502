//! The tests in the sources, read line by line and without a build.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::paths;

/// Where tests are.
const FOLDERS: [&str; 3] = ["host", "plugins", "tests"];

/// What is made by tools.
const MADE: [&str; 3] = ["target", "node_modules", ".venv"];

/// A test.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Test {
    /// Its file below the root of the repository.
    pub(crate) file: String,
    /// The name of a function, or what a script calls it. What a script puts together (`${api.name}`) stands for any text.
    pub(crate) name: String,
    /// It runs only where somebody asks for it.
    pub(crate) ignored: bool,
    /// The requirements that it shows: `// S0-12, S0-16` above it.
    pub(crate) rows: Vec<String>,
}

impl Test {
    /// Returns the language of a client test, as its folder is called.
    pub(crate) fn language(&self) -> Option<&str> {
        self.file.strip_prefix("tests/clients/")?.split('/').next()
    }
}

/// Reads all tests of the repository.
pub(crate) fn tests() -> Result<Vec<Test>> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        read(&paths::root().join(folder), &mut found)?;
    }
    Ok(found)
}

fn read(folder: &Path, found: &mut Vec<Test>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<_> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.sort();
    for path in paths {
        let is = |name: &str| path.file_name().is_some_and(|there| there == name);
        if path.is_dir() {
            if !MADE.iter().any(|name| is(name)) {
                read(&path, found)?;
            }
        } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "py" || kind == "mjs") {
            let file = path.strip_prefix(paths::root()).unwrap_or(&path).display().to_string();
            let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {file}"))?;
            found.extend(of(&file, &text)?);
        }
    }
    Ok(())
}

/// Returns the tests of one source, in order. Fails where the ids of requirements stand above something else.
fn of(file: &str, text: &str) -> Result<Vec<Test>> {
    let mut found = Vec::new();
    let (mut is_test, mut ignored, mut rows) = (!file.ends_with(".rs"), false, Vec::new());
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if let Some(ids) = ids(trimmed) {
            rows = ids;
        } else if let Some(attribute) = trimmed.strip_prefix("#[") {
            let path = attribute.split(['(', ']', ' ']).next().unwrap_or_default();
            is_test |= path.rsplit("::").next() == Some("test");
            ignored |= path == "ignore";
        } else {
            if let Some(name) = name(trimmed).filter(|_| is_test) {
                let (file, name, rows) = (file.to_owned(), name.to_owned(), std::mem::take(&mut rows));
                found.push(Test { file, name, ignored, rows });
            }
            // Comments and attributes over several lines stand between as well.
            if trimmed.is_empty() || trimmed.contains("fn ") || trimmed.ends_with('}') {
                (is_test, ignored) = (!file.ends_with(".rs"), false);
                ensure!(rows.is_empty(), "{file}:{}: {} stands above no test", number + 1, rows.join(", "));
            }
        }
    }
    ensure!(rows.is_empty(), "{file}: {} stands above no test", rows.join(", "));
    Ok(found)
}

/// The requirements that a comment names, if it does nothing else.
fn ids(line: &str) -> Option<Vec<String>> {
    let ids = line.strip_prefix("// ").or_else(|| line.strip_prefix("# "))?.split(", ");
    let is_id = |id: &str| {
        id.strip_prefix('S').and_then(|id| id.split_once('-')).is_some_and(|(document, number)| {
            [document, number].iter().all(|part| part.parse::<u8>().is_ok())
        })
    };
    ids.map(|id| is_id(id).then(|| id.to_owned())).collect()
}

/// The name of the test that a line begins, in Rust, Python or JavaScript.
fn name(line: &str) -> Option<&str> {
    let line = line.strip_prefix("async ").unwrap_or(line);
    if let Some(name) = line.strip_prefix("fn ") {
        return name.split(['(', '<']).next();
    }
    if let Some(name) = line.strip_prefix("def ") {
        return name.split('(').next().filter(|name| name.starts_with("test"));
    }
    let name = line.strip_prefix("test(")?;
    let quote = name.chars().next().filter(|quote| ['"', '`'].contains(quote))?;
    name[1..].split(quote).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(file: &str, source: &str) -> Vec<String> {
        let tests = of(file, source).unwrap().into_iter();
        tests
            .map(|test| {
                format!(
                    "{}{} {}",
                    test.name,
                    ["", " (ignored)"][usize::from(test.ignored)],
                    test.rows.join("+")
                )
            })
            .collect()
    }

    #[test]
    fn a_test_has_an_attribute_or_a_name_and_the_rows_above_it() {
        let source = "// S0-12, S1-01\n#[test]\n#[ignore = \"long\"]\nfn a() {\n}\n\n/// Says.\n// S4-03\n#[tokio::test(start_paused = true)]\n\
                      async fn b() {\n}\n\nfn helper() {\n}\n#[cfg(test)]\nfn other() {}\n#[test]\nfn c() {}\n// fn d()\n";
        assert_eq!(names("a.rs", source), ["a (ignored) S0-12+S1-01", "b S4-03", "c "]);
        assert_eq!(
            names("a.py", "    # S0-54\n    def test_a(self):\n    def set_up(self):\n"),
            ["test_a S0-54"]
        );
        let script = "  // S0-54\n  test(`a client: ${api.name}`, async () => {\n  latest(\"x\");\n";
        assert_eq!(names("a.mjs", script), ["a client: ${api.name} S0-54"]);
    }

    #[test]
    fn rows_above_no_test_are_refused_with_their_place() {
        for source in
            ["// S0-12\nfn a() {}\n", "// S0-12\n\n#[test]\nfn a() {}\n", "#[test]\nfn a() {}\n// S0-12"]
        {
            let error = of("a.rs", source).unwrap_err().to_string();
            assert!(error.ends_with("S0-12 stands above no test"), "{error}");
        }
        assert!(ids("// S0-12 says that").is_none() && ids("// S0-").is_none());
    }
}
