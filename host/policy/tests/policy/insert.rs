//! Messages that rules and plugins put in: where they stand, that they stand once, and that they are redacted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use leafgate_contract::{Action, InvalidAnswer, PluginEdit, Target};
use leafgate_policy::{Context, Evaluation, Policy, Verdict};
use leafgate_tree::{Author, Format, Role};
use serde_json::{Value, json};

use super::support::*;

const NOTES: &str = r#"
    [[rule]]
    id = "notes"
    match = {}
    action = "insert"
    text = "Answer in French."
    path = "notes.md"
"#;

const REDACT: &str = r#"
    [[rule]]
    id = "mail"
    match = {}
    detect = ["pii/email", "plugin:names"]
    action = "redact"
    [plugins.names]
    file = "names.wasm"
"#;

const TEXT: &str = "Context from notes.md:\n\nAnswer in French.";

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn messages(evaluation: &Evaluation) -> Vec<Value> {
    sent(evaluation)["messages"].as_array().unwrap().clone()
}

fn evaluate_as(policy: &Policy, body: &Value, format: Format) -> Evaluation {
    policy.evaluate(parse(&body.to_string(), format), &Context::default(), &vault())
}

/// What left, arriving once more.
fn pass_again(policy: &Policy, evaluation: &Evaluation) -> Evaluation {
    let body = String::from_utf8(evaluation.draft.render().to_vec()).unwrap();
    policy.evaluate(parse(&body, Format::OpenaiChat), &Context::default(), &vault())
}

#[test]
fn a_message_stands_directly_before_the_latest_one_of_the_user() {
    let mut body = tool_chat(&json!({}), "ok");
    body["messages"].as_array_mut().unwrap().insert(0, json!({"role": "system", "content": "be kind"}));
    body["messages"].as_array_mut().unwrap().insert(1, user("earlier"));
    let evaluation = evaluate(&policy(NOTES), &body);
    assert_forward(&evaluation);
    let mut expected = body["messages"].as_array().unwrap().clone();
    expected.insert(2, user(TEXT));
    assert_eq!(messages(&evaluation), expected);
    let edit = evaluation.draft.edits().next().unwrap();
    assert_eq!(edit.author, Author::rule("notes"));
    assert_eq!(evaluation.report.rules[0].edits, 1);
}

#[test]
fn without_a_path_the_text_is_the_message() {
    let rules = NOTES.replace("path = \"notes.md\"", "");
    assert_eq!(messages(&evaluate(&policy(&rules), &chat("hello")))[0], user("Answer in French."));
}

#[test]
fn every_format_with_messages_takes_it() {
    let policy = policy(NOTES);
    let anthropic = json!({"model": "m", "max_tokens": 5, "messages": [user("a"), {"role": "assistant", "content": "b"}, user("c")]});
    let sent_messages = messages(&evaluate_as(&policy, &anthropic, Format::AnthropicMessages));
    assert_eq!(sent_messages[2], user(TEXT));
    let responses = json!({"model": "m", "input": [user("a")]});
    let evaluation = evaluate_as(&policy, &responses, Format::OpenaiResponses);
    assert_eq!(sent(&evaluation)["input"][0], user(TEXT));
}

#[test]
fn the_same_message_is_put_in_once_however_often_the_request_passes() {
    let two = format!("{NOTES}{}", NOTES.replace("\"notes\"", "\"more\"").replace("notes.md", "more.md"));
    let policy = policy(&two);
    let first = evaluate(&policy, &chat("hello"));
    assert_eq!(messages(&first).len(), 3);
    let again = pass_again(&policy, &first);
    assert_forward(&again);
    assert_eq!(again.draft.render(), first.draft.render(), "the request is the same");
    assert_eq!(again.report.rules[0].edits + again.report.rules[1].edits, 0);
}

#[test]
fn what_is_put_in_is_redacted_and_recognised_afterwards() {
    let fakes = Fakes::default().with("names", Fake::finds("Acme"));
    let rules = format!("{}{REDACT}", NOTES.replace("Answer in French.", &format!("Ask {EMAIL} of Acme.")));
    let policy = policy_with(&rules, &fakes);
    let evaluation = evaluate(&policy, &chat("hello"));
    assert_forward(&evaluation);
    let text =
        format!("Context from notes.md:\n\nAsk {} of {}.", token("EMAIL", EMAIL), token("NAME", "Acme"));
    assert_eq!(messages(&evaluation)[0], user(&text));
    assert_eq!(evaluation.report.rules[1].findings["EMAIL"], 1);
    assert!(!told(&evaluation).contains(EMAIL));

    let again = pass_again(&policy, &evaluation);
    assert_eq!(again.draft.render(), evaluation.draft.render());
    let mut draft = evaluation.draft;
    draft.undo().unwrap();
    draft.redo().unwrap();
    assert!(!String::from_utf8_lossy(&draft.render()).contains(EMAIL), "no undo brings the value back");
}

#[test]
fn a_value_that_is_encoded_in_it_asks_a_person() {
    let text = STANDARD.encode(format!("write to {EMAIL}, please"));
    let rules = format!("{}{REDACT}", NOTES.replace("Answer in French.", &text));
    let fakes = Fakes::default().with("names", Fake::finds("Acme"));
    let evaluation = evaluate(&policy_with(&rules, &fakes), &chat("hello"));
    let Verdict::Pause(holds) = &evaluation.verdict else { panic!("{:?}", evaluation.verdict) };
    assert_eq!(holds[0].detail, "EMAIL in base64 of a message that is put in, at /messages/0");
}

#[test]
fn what_a_person_puts_in_is_redacted_by_the_review() {
    let fakes = Fakes::default().with("names", Fake::finds("Acme"));
    let policy = policy_with(REDACT, &fakes);
    let Evaluation { mut draft, recall, .. } = evaluate(&policy, &chat("hello"));
    let before = draft.document().latest_user_message().unwrap();
    draft.insert(before, Role::User, &format!("and {EMAIL}"), &Author::Person).unwrap();
    let verdict = policy.review(&mut draft, &Context::default(), &vault(), &recall).unwrap();
    assert_eq!(verdict, Verdict::Forward);
    let body = String::from_utf8(draft.render().to_vec()).unwrap();
    assert!(body.contains(&token("EMAIL", EMAIL)) && !body.contains(EMAIL), "{body}");
}

#[test]
fn a_rule_that_does_not_apply_puts_nothing_in() {
    for (rules, why) in [
        (NOTES.replace("match = {}", "match = { model = \"other\" }"), "the model is another"),
        (
            NOTES.replace("match = {}", "match = {}\nwhen = 'leaf.text.contains(\"bonjour\")'"),
            "the condition fails",
        ),
        (NOTES.replace("match = {}", "match = {}\nmode = \"monitor\""), "it only counts"),
    ] {
        let evaluation = evaluate(&policy(&rules), &chat("hello"));
        assert_forward(&evaluation);
        assert_eq!(sent(&evaluation), chat("hello"), "{why}");
    }
}

#[test]
fn a_request_without_a_place_for_it_is_left_alone_and_counted() {
    let policy = policy(NOTES);
    let assistant = json!({"messages": [{"role": "assistant", "content": "hello"}]});
    let evaluation = evaluate(&policy, &assistant);
    assert_eq!(sent(&evaluation), assistant);
    assert_eq!(evaluation.report.rules[0].skipped["no message of the user"], 1);
}

const PLUGIN: &str = r#"
    [[rule]]
    id = "plugin"
    match = { path = "messages[*].content" }
    action = "transform"
    plugin = "fake"
    [plugins.fake]
    file = "fake.wasm"
"#;

fn with_plugin(target: Target, role: Role, text: &str, rules: &str, body: &Value) -> Evaluation {
    let edits = vec![PluginEdit { target, action: Action::InsertBefore { role, text: text.to_owned() } }];
    let fakes = Fakes::default().with("fake", Fake::transformer(move |_| Ok(edits.clone())));
    evaluate(&policy_with(&format!("{PLUGIN}{rules}"), &fakes), body)
}

#[test]
fn a_plugin_may_put_a_message_before_any_other() {
    let mail =
        REDACT.replace(", \"plugin:names\"", "").replace("[plugins.names]\n    file = \"names.wasm\"", "");
    let evaluation =
        with_plugin(Target::Section(0), Role::Assistant, &format!("from {EMAIL}"), &mail, &chat("hello"));
    assert_forward(&evaluation);
    let expected = json!({"role": "assistant", "content": format!("from {}", token("EMAIL", EMAIL))});
    assert_eq!(messages(&evaluation)[0], expected);
    let edit = evaluation.draft.edits().next().unwrap();
    assert_eq!(edit.author, Author::Plugin { rule: "plugin".into(), plugin: "fake".into() });
}

#[test]
fn a_plugin_is_skipped_where_no_message_can_stand() {
    let body = tool_chat(&json!({}), "ok");
    for (place, role, why) in
        [(2, Role::User, "between a call and its result"), (0, Role::Tool, "a result of no call")]
    {
        let message = parse(&body.to_string(), Format::OpenaiChat);
        let nth = |section: &leafgate_tree::Section| section.message == Some(place);
        let section = message.sections().iter().position(nth).unwrap();
        let evaluation = with_plugin(Target::Section(section), role, "x", "", &body);
        assert_forward(&evaluation);
        assert_eq!(sent(&evaluation), body, "{why}");
        assert_eq!(evaluation.report.rules[0].skipped["not insertable"], 1, "{why}");
    }
}

#[test]
fn a_plugin_that_names_no_section_is_at_fault() {
    let evaluation = with_plugin(Target::Request, Role::User, "x", "", &chat("hello"));
    assert!(block(&evaluation).detail.contains(&InvalidAnswer::Misfit.to_string()));
}
