use leafgate_tree::{Document, Format, Limits};

use super::*;

fn request(model: &str) -> RequestFacts<'static> {
    RequestFacts { format: "openai-chat", model: model.to_owned(), ..RequestFacts::default() }
}

/// Evaluates as an evaluation does: the request's terms first, then the leaf's.
fn evaluate(source: &str, model: &str, text: &str) -> Result<bool, ConditionError> {
    let condition = Condition::compile(source, true).unwrap_or_else(|faults| panic!("{source}: {faults:?}"));
    let document = Document::parse("\"x\"".into(), Format::Generic, &Limits::default()).unwrap();
    let leaf = LeafFacts {
        place: FactPlace::Node(&document, document.root()),
        text,
        kind: "text",
        value: "text",
        role: "user",
        section: "user",
        tool: "",
        arguments: super::FactArguments::Unknown,
        key: "",
        findings: &[],
    };
    let request = request(model);
    condition.for_leaf(condition.for_request(&request), &request, leaf)
}

#[test]
fn terms_of_the_request_are_decided_without_a_leaf() {
    for (source, model, decided) in [
        ("request.model == 'a' && leaf.text == 'x'", "b", ForRequest::Never),
        ("request.model == 'a' && leaf.text == 'x'", "a", ForRequest::LeafTerms),
        ("leaf.text == 'x' && (leaf.key == '' && request.model == 'a')", "b", ForRequest::Never),
        ("request.model == 'a' || request.stream", "a", ForRequest::Always),
        ("request.model == 'a' || leaf.text == 'x'", "b", ForRequest::LeafTerms),
        ("int(request.model) > 3 && leaf.text == 'x'", "b", ForRequest::Whole),
        ("int(request.model) > 3 && request.model == 'a'", "b", ForRequest::Never),
        ("int(request.model) > 3 && leaf.text == 'x' && request.model == 'a'", "b", ForRequest::Never),
    ] {
        let condition = Condition::compile(source, true).unwrap();
        assert_eq!(condition.for_request(&request(model)), decided, "{source}");
    }
}

#[test]
fn splitting_keeps_what_cel_would_answer() {
    let fails = |answer: Result<bool, _>| answer.is_err();
    // A false term decides, whatever the others do; without one, a term that fails makes the whole
    // fail.
    assert_eq!(evaluate("int(request.model) > 3 && leaf.text == 'x'", "b", "y"), Ok(false));
    assert!(fails(evaluate("int(request.model) > 3 && leaf.text == 'x'", "b", "x")));
    assert_eq!(evaluate("int(leaf.text) > 3 && leaf.key == 'k'", "", "y"), Ok(false));
    assert_eq!(evaluate("leaf.key == 'k' && int(leaf.text) > 3", "", "y"), Ok(false));
    assert!(fails(evaluate("leaf.key == '' && int(leaf.text) > 3", "", "y")));
    assert_eq!(evaluate("leaf.key == '' || int(leaf.text) > 3", "", "y"), Ok(true));
}

#[test]
fn errors_are_told_without_the_values_that_caused_them() {
    for source in
        ["int(leaf.text) > 3", "leaf.findings[leaf.text.size()].label == ''", "{'a': true}[leaf.text]"]
    {
        let error = evaluate(source, "", "hunter2").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
}

#[test]
fn an_expression_that_is_too_long_is_refused() {
    let source = format!("leaf.text == '{}'", "a".repeat(MAX_SOURCE));
    assert!(Condition::compile(&source, true).unwrap_err()[0].message.contains("4096"));
}

#[test]
fn the_same_pattern_is_searched_and_not_anchored() {
    assert_eq!(evaluate("leaf.text.matches('b+')", "", "abbbc"), Ok(true));
    assert_eq!(evaluate("matches(leaf.text, '^b+$')", "", "abbbc"), Ok(false));
}
