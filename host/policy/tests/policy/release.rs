//! What a person may release, and what stays redacted whatever they do.

use std::sync::Arc;

use leafgate_policy::{Cause, Context, Evaluation, Hold, Policy, Verdict};
use leafgate_tree::{Author, Draft, EditError, NodeId};
use leafgate_vault::Vault;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::support::{EMAIL, document, policy, restore, secret, vault};

const RULES: &str = r#"
[[rule]]
id = "contacts"
match = {}
detect = ["pii/email"]
action = "redact"
releasable = true
on_unredactable = "pause"

[[rule]]
id = "secrets"
match = {}
detect = ["secrets"]
action = "redact"

[[rule]]
id = "customers"
match = { role = "assistant" }
detect = ["own/customers"]
action = "redact"
on_unredactable = "pause"

[[rule]]
id = "looks"
match = {}
when = 'leaf.text.contains("drop table")'
action = "block"
reason = "destroys data"

[[detector]]
id = "customers"
label = "CUSTOMER"
regex = 'kept\.[a-z]+@customer\.example\.org'
keywords = ["kept."]
examples = ["kept.one@customer.example.org"]
"#;

/// An address that the rule of customers keeps, in the words of an assistant alone.
const KEPT: &str = "kept.ann@customer.example.org";

struct Case {
    policy: Policy,
    vault: Vault,
    judged: Evaluation,
}

fn judged_by(rules: &str, body: &Value) -> Case {
    let (policy, vault) = (policy(rules), vault());
    let judged = policy.evaluate(document(body), &Context::default(), &vault);
    Case { policy, vault, judged }
}

fn judged(messages: &Value) -> Case {
    judged_by(RULES, &json!({ "model": "m", "messages": messages }))
}

impl Case {
    fn draft(&self) -> Draft {
        self.judged.draft.clone()
    }

    fn review(&self, draft: &mut Draft) -> Result<Verdict, Hold> {
        self.policy.review(draft, &Context::default(), &self.vault, &self.judged.recall)
    }

    /// Releases a redaction as a desk does: what the review refuses has not been.
    fn release(&self, draft: &mut Draft, number: usize) -> Result<Verdict, String> {
        let mut next = draft.clone();
        next.release(number).map_err(|error| error.to_string())?;
        let verdict = self.review(&mut next).map_err(|hold| format!("{}: {}", hold.rule, hold.reason))?;
        *draft = next;
        Ok(verdict)
    }
}

fn at(draft: &Draft, pointer: &str) -> NodeId {
    draft.document().resolve(pointer).unwrap()
}

fn body(draft: &Draft) -> String {
    String::from_utf8(draft.render().to_vec()).unwrap()
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

/// The number of the first redaction with a label.
fn redaction(draft: &Draft, label: &str) -> usize {
    draft.redactions().find(|made| &*made.label == label).unwrap().number
}

#[test]
fn a_redaction_is_released_where_its_rule_says_so_and_the_next_request_is_redacted_again() {
    let messages = json!([user(&format!("write to {EMAIL} with {}", secret()))]);
    let case = judged(&messages);
    let mut draft = case.draft();
    let email = redaction(&draft, "EMAIL");
    assert_eq!(case.release(&mut draft, email), Ok(Verdict::Forward));
    let text = draft.text(at(&draft, "/messages/0/content")).expose().to_owned();
    assert!(text.starts_with(&format!("write to {EMAIL} with ")) && !text.contains(&secret()), "{text}");
    // A further change of the turn looks at all of it again, and leaves it released.
    let leaf = at(&draft, "/messages/0/content");
    draft.set(leaf, &format!("{text} now"), &Author::Person).unwrap();
    assert_eq!(case.review(&mut draft), Ok(Verdict::Forward));
    assert!(body(&draft).contains(EMAIL) && !body(&draft).contains(&secret()));
    draft.undo().unwrap();
    draft.undo().unwrap();
    assert_eq!(body(&draft), body(&case.judged.draft));
    // The same conversation, judged again.
    let document = Arc::clone(draft.document());
    let next = case.policy.evaluate(document, &Context::default(), &case.vault);
    assert!(!body(&next.draft).contains(EMAIL), "a release holds for its own request");
    let token = next.draft.redaction(email).unwrap().replacement.clone();
    assert_eq!(restore(&case.vault, &token), EMAIL);
}

#[test]
fn no_redaction_of_a_rule_that_does_not_say_so_is_released() {
    let case = judged(&json!([user(&format!("{} and {EMAIL}", secret()))]));
    let mut draft = case.draft();
    let number = draft.redactions().find(|made| made.author == Author::rule("secrets")).unwrap().number;
    assert_eq!(draft.release(number), Err(EditError::NotReleasable { by: Author::rule("secrets") }));
    // The same rules without the word: nothing is releasable.
    let rules = RULES.replace("releasable = true", "releasable = false");
    let case = judged_by(&rules, &json!({ "messages": [user(EMAIL)] }));
    assert_eq!(case.draft().release(0), Err(EditError::NotReleasable { by: Author::rule("contacts") }));
}

#[test]
fn what_a_second_rule_found_too_stays_redacted() {
    let assistant = |text: &str| json!({ "role": "assistant", "content": text });
    // In the same place: the two findings are one.
    let case = judged(&json!([user("hi"), assistant(&format!("ask {KEPT} today"))]));
    let by = Author::rule("customers");
    assert_eq!(case.draft().release(0), Err(EditError::NotReleasable { by }));
    // Elsewhere in the request, in an encoding, and in a key: the value is refused, others are not.
    let percent = KEPT.replace('@', "%40");
    let call = json!({ "id": "c1", "type": "function",
        "function": { "name": "f", "arguments": json!({ KEPT: 1 }).to_string() } });
    let calls = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    let result = json!({ "role": "tool", "tool_call_id": "c1", "content": "ok" });
    for others in [
        vec![assistant(&format!("ask {KEPT}"))],
        vec![assistant(&format!("ask {percent} now"))],
        vec![calls, result],
    ] {
        let mut messages = vec![user(&format!("is {KEPT} right, or {EMAIL}?"))];
        messages.extend(others.clone());
        messages.push(user("well?"));
        let case = judged(&Value::from(messages));
        let mut draft = case.draft();
        let node = at(&draft, "/messages/0/content");
        let numbers: Vec<_> =
            draft.redactions().filter(|made| made.node == node).map(|made| made.number).collect();
        let refused = case.release(&mut draft, numbers[0]).unwrap_err();
        assert!(refused.starts_with("customers: a value that this rule keeps"), "{refused}");
        assert!(case.release(&mut draft, numbers[1]).is_ok(), "beside {others:?}");
        let sent = body(&draft);
        assert!(sent.contains(EMAIL) && !sent.contains(&format!("is {KEPT}")), "{sent}");
    }
}

#[test]
fn an_encoded_value_is_released_as_it_was_spelled() {
    let encoded = EMAIL.replace('@', "%40");
    let case = judged(&json!([user(&format!("GET /?to={encoded}&x=1"))]));
    let mut draft = case.draft();
    assert!(!body(&draft).contains("%40"));
    let email = redaction(&draft, "EMAIL");
    case.release(&mut draft, email).unwrap();
    assert!(body(&draft).contains(&encoded), "{}", body(&draft));
}

#[test]
fn a_value_over_two_parts_is_released_whole() {
    let part = |text: &str| json!({ "type": "text", "text": text });
    let (first, second) = EMAIL.split_at(8);
    let parts = json!([part(&format!("write to {first}")), part(&format!("{second} today"))]);
    let messages = json!([{ "role": "user", "content": parts }]);
    let case = judged(&messages);
    let mut draft = case.draft();
    assert_eq!(draft.redactions().count(), 2, "a token, and a piece that goes");
    for number in [0, 1] {
        let mut one = draft.clone();
        case.release(&mut one, number).unwrap();
        let sent: Value = serde_json::from_str(&body(&one)).unwrap();
        assert_eq!(sent["messages"], messages);
    }
    // One piece is written over: the other stays redacted.
    draft.set(at(&draft, "/messages/0/content/0/text"), "never", &Author::Person).unwrap();
    case.review(&mut draft).unwrap();
    assert!(case.release(&mut draft, 1).unwrap_err().contains("does not stand any more"));
}

#[test]
fn pauses_and_blocks_about_findings_and_texts_go_on_holding() {
    let asks = r#"
[[rule]]
id = "asks"
match = {}
when = 'leaf.findings.exists(f, f.label == "EMAIL")'
action = "pause"
reason = "names a person"
"#;
    let rules = format!("{RULES}{asks}");
    let case = judged_by(&rules, &json!({ "messages": [user(&format!("{EMAIL} says drop tab le"))] }));
    let mut draft = case.draft();
    let holds = |verdict: &Verdict| match verdict {
        Verdict::Pause(holds) => holds.iter().map(|hold| hold.rule.to_string()).collect(),
        other => vec![format!("{other:?}")],
    };
    assert_eq!(holds(&case.judged.verdict), ["asks"]);
    let verdict = case.release(&mut draft, 0).unwrap();
    assert_eq!(holds(&verdict), ["asks"], "what was found is still found");
    // An address that is a command once it stands there.
    let body = json!({ "messages": [user("mail drop@table.example.org")] });
    let rules = RULES.replace("drop table", "drop@table");
    let case = judged_by(&rules, &body);
    assert_eq!(case.judged.verdict, Verdict::Forward);
    let verdict = case.release(&mut case.draft(), 0).unwrap();
    assert!(matches!(&verdict, Verdict::Block(hold) if hold.cause == Cause::Rule), "{verdict:?}");
}

#[test]
fn a_released_value_that_is_copied_elsewhere_is_redacted_there() {
    let case = judged(&json!([user(&format!("to {EMAIL}")), user("and?")]));
    let mut draft = case.draft();
    case.release(&mut draft, 0).unwrap();
    let other = at(&draft, "/messages/1/content");
    draft.set(other, &format!("copy {EMAIL}"), &Author::Person).unwrap();
    case.review(&mut draft).unwrap();
    assert!(!draft.text(other).expose().contains(EMAIL));
    assert_eq!(body(&draft).matches(EMAIL).count(), 1);
}

#[derive(Clone, Debug)]
enum Step {
    Set(Index, Index),
    Release(Index),
    Undo,
    Redo,
    Reset,
}

fn any_step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    prop_oneof![
        3 => (index(), index()).prop_map(|(leaf, text)| Step::Set(leaf, text)),
        6 => index().prop_map(Step::Release),
        2 => Just(Step::Undo),
        1 => Just(Step::Redo),
        1 => Just(Step::Reset),
    ]
}

const LEAVES: [&str; 4] = [
    "/messages/0/content",
    "/messages/1/content",
    "/messages/2/content/0/text",
    "/messages/2/content/1/text",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_edits_and_releases_lets_a_value_leave_that_a_rule_keeps(
        steps in proptest::collection::vec(any_step(), 1..10),
    ) {
        let (first, second) = EMAIL.split_at(6);
        let parts = json!([
            { "type": "text", "text": format!("over {first}") },
            { "type": "text", "text": format!("{second} and {}", secret()) },
        ]);
        let case = judged(&json!([
            user(&format!("{EMAIL}, {KEPT} and {}", secret())),
            { "role": "assistant", "content": format!("{KEPT} or {EMAIL}") },
            { "role": "user", "content": parts },
        ]));
        let texts = [format!("a {EMAIL} b"), format!("c {}", secret()), "plain".to_owned(), KEPT.to_owned()];
        let mut draft = case.draft();
        for step in &steps {
            let mut next = draft.clone();
            let made = match step {
                Step::Set(leaf, text) => {
                    let node = at(&next, LEAVES[leaf.index(LEAVES.len())]);
                    let new = format!("{} {}", next.text(node).expose(), texts[text.index(texts.len())]);
                    next.set(node, &new, &Author::Person).is_ok()
                }
                Step::Release(number) => next.release(number.index(next.redactions().count())).is_ok(),
                Step::Undo => next.undo().is_some(),
                Step::Redo => next.redo().is_some(),
                Step::Reset => next.reset().is_some(),
            };
            if made && case.review(&mut next).is_ok() {
                draft = next;
            }
            let sent = body(&draft);
            prop_assert!(!sent.contains(&secret()) && !sent.contains(KEPT), "after {:?}", step);
            let read: Value = serde_json::from_str(&sent).unwrap();
            for pointer in LEAVES {
                let shown = draft.text(at(&draft, pointer));
                prop_assert_eq!(read.pointer(pointer).unwrap().as_str().unwrap(), shown.expose());
            }
            for made in draft.redactions().filter(|made| draft.is_released(made)) {
                prop_assert!(made.is_releasable());
            }
        }
    }
}
