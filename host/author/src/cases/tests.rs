use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leafgate_contract::{
    Action, CheckedEdits, CheckedFindings, Description, DetectLeaf, Fault, LoadError, Plugin, PluginEdit,
    PluginFinding, PluginWords, Spent, Target, TransformRequest, World,
};
use leafgate_detect::{Confidence, Label};

use super::{CaseOutcome, Cases, run};

/// Finds the word of its configuration, or writes it in capitals.
#[derive(Debug)]
struct Word {
    description: Description,
    world: World,
    word: String,
    /// Answers every other question with nothing.
    forgets: Option<AtomicBool>,
    /// Finds nothing in any leaf but the first of a call.
    first_only: bool,
}

impl Plugin for Word {
    fn description(&self) -> &Description {
        &self.description
    }

    fn world(&self) -> World {
        self.world
    }

    fn digest(&self) -> [u8; 32] {
        [0; 32]
    }

    fn detect(&self, leaves: &[DetectLeaf<'_>], _: &Spent) -> Result<CheckedFindings, Fault> {
        if leaves.iter().any(|leaf| leaf.text == "fail") {
            return Err(Fault::GaveUp { unsupported: true, message: PluginWords::new("no such thing") });
        }
        let forgets = self.forgets.as_ref().is_some_and(|forgets| forgets.fetch_xor(true, Ordering::Relaxed));
        let asked = leaves.iter().enumerate().take(if self.first_only { 1 } else { usize::MAX });
        let found = asked.filter(|_| !forgets).flat_map(|(leaf, given)| {
            given.text.match_indices(&self.word).map(move |(start, word)| PluginFinding {
                leaf,
                at: start..start + word.len(),
                label: 0,
                confidence: Confidence::Medium,
            })
        });
        CheckedFindings::checked(found.collect(), leaves, 1)
    }

    fn transform(&self, request: &TransformRequest<'_>, _: &Spent) -> Result<CheckedEdits, Fault> {
        let mut edits = Vec::new();
        for (place, leaf) in request.leaves.iter().enumerate() {
            let target = Target::Leaf(place);
            if let Some(start) = leaf.text.find(&self.word) {
                let at = start..start + self.word.len();
                edits.push(PluginEdit { target, action: Action::Redact(vec![(at, 0)]) });
                edits.push(PluginEdit { target: Target::Request, action: Action::Note("a word".to_owned()) });
            } else if leaf.text == "shout" {
                edits.push(PluginEdit { target, action: Action::Set("SHOUT".to_owned()) });
            }
        }
        CheckedEdits::checked(edits, request, 1)
    }
}

fn word(config: &str, world: World) -> Result<Word, LoadError> {
    let config: serde_json::Value = serde_json::from_str(config).unwrap();
    let Some(word) = config["word"].as_str() else {
        return Err(LoadError::new("its configuration is not accepted: no `word`"));
    };
    let text = |text: &str| text.to_owned();
    let description = Description {
        name: text("word"),
        version: text("1"),
        summary: text(""),
        labels: vec![Label::new("WORD").unwrap()],
        config_schema: None,
    };
    Ok(Word { description, world, word: word.to_owned(), forgets: None, first_only: false })
}

fn ran(world: World, cases: &str, change: fn(Word) -> Word) -> Vec<CaseOutcome> {
    let load = |config: &str| word(config, world).map(|word| Arc::new(change(word)) as Arc<dyn Plugin>);
    run(&Cases::read(cases).unwrap(), &load)
}

/// The problems of all cases, each with its line.
fn problems(world: World, cases: &str) -> Vec<String> {
    let told = |outcome: CaseOutcome| {
        outcome
            .problems
            .into_iter()
            .map(move |problem| format!("{}: {problem}", outcome.line))
            .collect::<Vec<_>>()
    };
    ran(world, cases, |word| word).into_iter().flat_map(told).collect()
}

const FOUND: &str = r#"
config = { word = "ada" }

[[case]]
name = "twice in one, once in another"
leaves = [{ text = "ada and ada" }, { text = "é ada" }]
finds = [
    { text = "ada", at = 8 },
    { text = "ada", label = "WORD", confidence = "medium" },
    { leaf = 1, text = "ada" },
]

[[case]]
name = "another word"
config = { word = "bob" }
text = "ada"
finds = []

[[case]]
name = "no word"
config = {}
refuses = "no `word`"

[[case]]
name = "a failure"
text = "fail"
fails = "no such thing"
"#;

#[test]
fn fulfilled_cases_have_no_problems() {
    assert_eq!(problems(World::Detector, FOUND), Vec::<String>::new());
    let edited = r#"
        config = { word = "ada" }
        [[case]]
        name = "a word"
        leaves = [{ text = "by ada", becomes = "by [WORD]" }, { text = "shout", becomes = "SHOUT" }, { text = "x" }]
        edits = [{ action = "note", text = "word" }]
        [[case]]
        name = "nothing"
        text = "x"
        unchanged = true
    "#;
    assert_eq!(problems(World::Transformer, edited), Vec::<String>::new());
}

#[test]
fn what_a_detector_finds_otherwise_is_told() {
    let cases = r#"
        config = { word = "ada" }
        [[case]]
        name = "more"
        text = "ada bob"
        finds = [{ text = "ada", label = "NAME" }, { text = "bob" }]
        [[case]]
        name = "less"
        text = "ada"
        finds = []
        [[case]]
        name = "sure"
        text = "ada"
        finds = [{ text = "ada", confidence = "high" }]
        [[case]]
        name = "refused"
        refuses = "x"
        [[case]]
        name = "fails"
        text = "ada"
        fails = "x"
        [[case]]
        name = "of another world"
        text = "ada"
        unchanged = true
        [[case]]
        name = "another message"
        text = "fail"
        fails = "deadline"
    "#;
    insta::assert_snapshot!(problems(World::Detector, cases).join("\n"));
}

#[test]
fn what_a_transformer_proposes_otherwise_is_told() {
    let cases = r#"
        config = { word = "ada" }
        [[case]]
        name = "texts"
        leaves = [{ text = "shout" }, { text = "x", becomes = "y" }]
        [[case]]
        name = "edits"
        text = "by ada"
        edits = [{ action = "pause", text = "look" }]
        [[case]]
        name = "of another world"
        text = "ada"
        finds = []
    "#;
    insta::assert_snapshot!(problems(World::Transformer, cases).join("\n"));
}

#[test]
fn invariant_7_a_detector_whose_answers_depend_on_more_than_the_leaf_is_a_liar() {
    let forgets = |word: Word| Word { forgets: Some(AtomicBool::new(false)), ..word };
    let outcomes = ran(World::Detector, FOUND, forgets);
    assert_eq!(outcomes[0].problems, ["it answers otherwise when it is asked again"]);
    let first_only = |word: Word| Word { first_only: true, ..word };
    let cases = "config = { word = \"ada\" }\n[[case]]\nname = \"a\"\ntext = \"ada\"\nfinds = [{ text = \"ada\" }]\n\
                 [[case]]\nname = \"b\"\ntext = \"x\"\nfinds = []\n";
    let outcomes = ran(World::Detector, cases, first_only);
    assert_eq!(outcomes.len(), 3);
    assert!(outcomes[2].problems[0].contains("lines 2 when"), "{outcomes:?}");
}

#[test]
fn what_does_not_load_is_told_once_whatever_its_cases_configure() {
    let case = |name: &str, config: &str| {
        format!("[[case]]\nname = \"{name}\"\nconfig = {{ {config} }}\ntext = \"a\"\nfinds = []\n\n")
    };
    let cases = case("a", "") + &case("b", "other = 1") + &case("c", "other = 2");
    let told = problems(World::Detector, &cases);
    let loads = told.iter().filter(|told| told.contains("no `word`")).count();
    assert_eq!((told.len(), loads), (3, 1), "{told:?}");
}

#[test]
fn a_file_that_is_no_cases_is_told_by_line() {
    let bad = [
        "",
        "[[case]]\nname = \"a\"\n",
        "\n[[case]]\nname = \"a\"\ntext = \"x\"\n",
        "[[case]]\nname = \"a\"\ntext = \"x\"\nfinds = []\nunchanged = true\n",
        "[[case]]\nname = \"a\"\ntext = \"x\"\nbecomes = \"y\"\nunchanged = true\n",
        "[[case]]\nname = \"a\"\ntext = \"x\"\nfinds = [{ text = \"y\" }]\n",
        "[[case]]\nname = \"a\"\ntext = \"é\"\nfinds = [{ text = \"é\", at = 1 }]\n",
        "[[case]]\nname = \"a\"\ntext = \"x\"\nfinds = [{ text = \"x\", leaf = 1 }]\n",
        "[[case]]\nname = \"a\"\ntext = \"x\"\nfinds = [{ text = \"\" }]\n",
        "[[case]]\nname = \"a\"\ntext = \"x\"\nleaves = [{ text = \"x\" }]\nfinds = []\n",
        "[[case]]\nname = \"a\"\nkind = \"text\"\nleaves = [{ text = \"x\" }]\nfinds = []\n",
        "[[case]]\nname = \"a\"\ntext = \"x\"\nedits = [{ action = \"set\" }]\n",
        "[[case]]\nname = \"a\"\ntext = \"x\"\nedits = [{ action = \"pin\", section = 3 }]\n",
        "[[case]]\nname = \"a\"\ntext = \"x\"\nkind = \"texts\"\nfinds = []\n",
        "[[case]]\nname = \"a\"\ntext = \"x\"\nfind = []\n",
        "[[case]]\nname = \"a\"\nconfig = { day = 2026-01-01 }\ntext = \"x\"\nfinds = []\n",
    ];
    let told: Vec<String> = bad.iter().map(|text| Cases::read(text).unwrap_err().to_string()).collect();
    insta::assert_snapshot!(told.join("\n"));
}
