//! The recipes of `examples/policies/recipes`: each is sound, shows by its tests what it does, and is listed in the book.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use leafgate_contract::NoPlugins;
use leafgate_policy::{Policy, PolicySource};
use leafgate_trials::RuleTests;

const BOOK: &str = include_str!("../../../../docs/recipes.md");

fn recipes() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies/recipes");
    let mut recipes: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    recipes.sort();
    recipes
}

#[test]
fn every_recipe_is_sound_and_does_what_its_tests_say() {
    let recipes = recipes();
    assert!(recipes.len() >= 20, "{recipes:?}");
    for recipe in recipes {
        let name = recipe.file_name().unwrap().to_string_lossy().into_owned();
        let source = PolicySource::Folder(recipe.clone());
        let policy = Policy::load_knowing(&source, None, &NoPlugins, SystemTime::now(), None)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(policy.warnings().is_empty(), "{name}: {:?}", policy.warnings());
        let tests = RuleTests::read(&leafgate_folder::tests_of(&recipe), &policy)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(tests.iter().len() > 0, "{name} has no tests");
        for test in tests.iter() {
            let outcome = test.run(&policy);
            assert!(!outcome.fails(), "{name}: {}: {outcome:?}", test.place.name);
        }
        assert!(
            BOOK.contains(&format!("(../examples/policies/recipes/{name}/rules.toml)")),
            "{name} is not in the book"
        );
    }
}
