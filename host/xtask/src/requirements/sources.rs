//! Finding a named test in the sources, without a build.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::named::Named;
use crate::functions::tests;
use crate::paths;

/// Fails where the sources below a root have no such test.
pub(crate) fn find(test: &Named, root: &Path) -> Result<()> {
    match test {
        Named::Rust { folder, target, path } => {
            let package = package(folder, root)?;
            let start = start(&package, target.as_deref())?;
            let (modules, name) = path
                .rsplit_once("::")
                .map_or((Vec::new(), path.as_str()), |(modules, name)| (modules.split("::").collect(), name));
            let file = module(&start, &modules)?;
            let text = read(&file)?;
            let test = tests(&text).into_iter().find(|test| test.name == name);
            let test = test.with_context(|| format!("no test `{name}` in {}", shown(&file)))?;
            ensure!(!test.ignored, "it is ignored in {}, so no run has it", shown(&file));
            Ok(())
        }
        Named::Client { language, file, name } => {
            let file = root.join("tests/clients").join(language).join(file);
            let text = read(&file)?;
            let there = match language.as_str() {
                "python" => name.starts_with("test") && text.contains(&format!("    def {name}(self")),
                _ => ["\"", "`"].iter().any(|quote| text.contains(&format!("test({quote}{name}{quote},"))),
            };
            ensure!(there, "no such test in {}", shown(&file));
            Ok(())
        }
    }
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", shown(file)))
}

/// A path as one would type it at the root of the repository.
fn shown(path: &Path) -> String {
    path.strip_prefix(paths::root()).unwrap_or(path).display().to_string()
}

/// The folder of a package, by its last name.
fn package(folder: &str, root: &Path) -> Result<PathBuf> {
    let places = [root.join("host").join(folder), root.join("plugins").join(folder), root.join(folder)];
    let found = places.into_iter().find(|place| place.join("Cargo.toml").is_file());
    found.with_context(|| format!("there is no crate in a folder called `{folder}`"))
}

/// The file in which a target begins.
fn start(package: &Path, target: Option<&str>) -> Result<PathBuf> {
    let files = match target {
        None => vec!["src/lib.rs".to_owned(), "src/main.rs".to_owned()],
        Some(name) => {
            vec![format!("tests/{name}.rs"), format!("tests/{name}/main.rs"), format!("{name}/main.rs")]
        }
    };
    let found = files.iter().map(|file| package.join(file)).find(|file| file.is_file());
    found.with_context(|| format!("{} has none of {}", shown(package), files.join(", ")))
}

/// The file that holds a module, whether it is a file of its own or a block within one.
fn module(start: &Path, modules: &[&str]) -> Result<PathBuf> {
    let (mut file, mut folder) = (start.to_path_buf(), start.parent().unwrap_or(start).to_path_buf());
    for name in modules {
        let own = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
        if let Some(found) = own.into_iter().find(|file| file.is_file()) {
            (file, folder) = (found, folder.join(name));
            continue;
        }
        let text = read(&file)?;
        if let Some(elsewhere) = elsewhere(&text, name) {
            file = file.with_file_name(elsewhere);
        } else {
            let block = format!("mod {name} {{");
            ensure!(text.lines().any(|line| line.trim() == block), "no module `{name}` in {}", shown(&file));
        }
    }
    Ok(file)
}

/// The file that an attribute names for a module.
fn elsewhere<'a>(text: &'a str, module: &str) -> Option<&'a str> {
    let declared = format!("mod {module};");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let at = lines.iter().position(|line| *line == declared)?;
    lines[..at].last()?.strip_prefix("#[path = \"")?.strip_suffix("\"]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(test: &str) -> Result<()> {
        find(&Named::read(test).unwrap(), &paths::root())
    }

    #[test]
    fn tests_are_found_in_files_blocks_and_targets() {
        for test in [
            "xtask requirements::sources::tests::tests_are_found_in_files_blocks_and_targets",
            "gate admin::view::tests::invariant_4_the_view_of_every_leaf_is_what_would_leave",
            "gate restore::tests::joins::an_odd_index_stops_restoring",
            "gate passage bounds::idle_connections_shut_nobody_out",
            "desk modes each_mode_pauses_what_it_says",
            "tests e2e unseen::invariant_3_no_leaf_unseen",
            "clients python test_held.py::test_a_retry_joins_and_causes_no_second_call",
            "clients node held.test.mjs::a cancel after it is raised from the stream: ${api.name}",
        ] {
            found(test).unwrap_or_else(|error| panic!("{test}: {error:#}"));
        }
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        for test in [
            "xtask requirements::sources::tests::found",
            "xtask requirements::sources::no_such_test",
            "xtask requirements::sources::other::tests::tests_are_found_in_files_blocks_and_targets",
            "gate passage bounds::no_such_test",
            "gate no_such_target bounds::idle_connections_shut_nobody_out",
            "no_such_crate tests::a",
            "clients python test_held.py::setUp",
            "clients python test_held.py::test_a_retry",
            "clients node held.test.mjs::a cancel",
        ] {
            assert!(found(test).is_err(), "{test}");
        }
    }
}
