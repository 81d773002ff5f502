//! The examples of the reference of rule files are right: its tests beside its rules.

use leafgate_policy::REFERENCE;
use leafgate_trials::Grade;

use super::outcomes::Tried;

#[test]
fn the_tests_of_the_reference_are_right() {
    let examples = REFERENCE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let (tests, rules): (Vec<&str>, Vec<&str>) = examples.partition(|example| example.contains("[[test]]"));
    let folder = tempfile::tempdir().unwrap();
    for (place, rules) in rules.iter().enumerate() {
        std::fs::write(folder.path().join(format!("{place}.toml")), rules).unwrap();
    }
    let tried = Tried::of_folder(folder, &tests.concat());
    let outcomes = tried.outcomes();
    assert!(outcomes.len() > 1);
    for outcome in outcomes {
        assert_eq!(outcome.grade, Grade::Right, "{:?}", outcome.differences);
    }
}
