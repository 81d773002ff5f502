//! The SDK and the contract, as they were when this program was built: they come out of it until
//! they can be had from a registry.

use toml::Table;

/// Where the SDK stands in a project.
const FOLDER: &str = "vendor/leafgate";

macro_rules! files {
    ($($path:literal)+) => {
        /// Path from the root of this repository, and text. The layout is kept: the SDK looks for
        /// the contract beside it.
        const FILES: &[(&str, &str)] = &[$(($path, include_str!(concat!("../../../../", $path))),)+];
    };
}

files! {
    "wit/plugin.wit"
    "plugins/sdk/Cargo.toml"
    "plugins/sdk/src/bindings.rs"
    "plugins/sdk/src/detect.rs"
    "plugins/sdk/src/lib.rs"
    "plugins/sdk/src/log.rs"
    "plugins/sdk/src/runtime.rs"
    "plugins/sdk/src/transform.rs"
    "plugins/sdk-macros/Cargo.toml"
    "plugins/sdk-macros/src/arguments.rs"
    "plugins/sdk-macros/src/expand.rs"
    "plugins/sdk-macros/src/lib.rs"
}

/// The manifest of this repository, from which packages of the SDK inherit.
const WORKSPACE: &str = include_str!("../../../../Cargo.toml");

/// The packages of the SDK, and what they need.
const MEMBERS: [&str; 2] = ["plugins/sdk", "plugins/sdk-macros"];
const DEPENDENCIES: [&str; 5] = ["leafgate-plugin-macros", "schemars", "serde", "serde_json", "wit-bindgen"];

/// Returns all files by their path in a project.
pub(super) fn files() -> Vec<(String, String)> {
    let manifest = ("Cargo.toml", workspace());
    let texts = FILES.iter().map(|(path, text)| (*path, (*text).to_owned()));
    texts.chain([manifest]).map(|(path, text)| (format!("{FOLDER}/{path}"), text)).collect()
}

/// Returns the part of this repository's manifest from which the SDK inherits.
fn workspace() -> String {
    let whole: Table = WORKSPACE.parse().expect("the manifest of this repository is TOML");
    let whole = whole["workspace"].as_table().expect("it has a workspace");
    let known = whole["dependencies"].as_table().expect("it has dependencies");
    let dependencies: Table =
        DEPENDENCIES.iter().map(|&name| (name.to_owned(), known[name].clone())).collect();
    let mut workspace = Table::new();
    workspace.insert("resolver".to_owned(), whole["resolver"].clone());
    workspace.insert("members".to_owned(), MEMBERS.map(toml::Value::from).to_vec().into());
    for (name, value) in
        [("package", &whole["package"]), ("dependencies", &dependencies.into()), ("lints", &whole["lints"])]
    {
        workspace.insert(name.to_owned(), value.clone());
    }
    let manifest: Table = [("workspace".to_owned(), workspace.into())].into_iter().collect();
    toml::to_string(&manifest).expect("a table is TOML")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// All files beneath a folder of the repository.
    fn beneath(root: &Path, folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => beneath(root, &path, found),
                false => {
                    found.insert(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
                }
            }
        }
    }

    #[test]
    fn every_file_of_the_sdk_comes_along() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut there = BTreeSet::new();
        for folder in ["wit", "plugins/sdk", "plugins/sdk-macros"] {
            beneath(&root, &root.join(folder), &mut there);
        }
        let known: BTreeSet<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(known, there);
    }

    #[test]
    fn what_the_sdk_inherits_is_there() {
        let manifest: Table = workspace().parse().unwrap();
        let offered = manifest["workspace"].as_table().unwrap();
        for (path, text) in FILES.iter().filter(|(path, _)| path.ends_with("Cargo.toml")) {
            let package: Table = text.parse().unwrap();
            for (name, value) in package["package"].as_table().unwrap() {
                if value.as_table().is_some_and(|value| value.contains_key("workspace")) {
                    assert!(offered["package"].get(name).is_some(), "{path}: {name}");
                }
            }
            for (name, value) in package["dependencies"].as_table().unwrap() {
                if value.as_table().is_some_and(|value| value.contains_key("workspace")) {
                    assert!(offered["dependencies"].get(name).is_some(), "{path}: {name}");
                }
            }
        }
    }
}
