//! Rules that send requests to another upstream.

use leafgate_policy::{Context, Evaluation, Policy, Verdict};
use leafgate_tree::Author;
use serde_json::{Value, json};

use super::support::*;

const LOCAL: &str = r#"
[[rule]]
id = "mail"
match = {}
detect = ["pii/email"]
action = "redact"

[[rule]]
id = "to-local"
match = { role = "user" }
when = 'leaf.findings.exists(f, f.label == "EMAIL") || leaf.text.contains("internal")'
action = "route"
to = "local"
"#;

fn at(policy: &Policy, body: &Value, upstream_name: Option<&str>) -> Evaluation {
    let context = Context { upstream_name, ..Context::default() };
    policy.evaluate(document(body), &context, &vault())
}

fn route(evaluation: &Evaluation) -> Option<(String, String)> {
    match &evaluation.verdict {
        Verdict::Route(route) => Some((route.rule.to_string(), route.to.to_string())),
        Verdict::Forward | Verdict::Pause(_) | Verdict::Block(_) => None,
    }
}

#[test]
fn a_request_with_findings_goes_elsewhere_and_is_there_already_there() {
    let policy = policy(LOCAL);
    let found = chat("write to ann@example.org");
    let to_local = Some(("to-local".to_owned(), "local".to_owned()));
    assert_eq!(route(&at(&policy, &found, None)), to_local);
    assert_eq!(route(&at(&policy, &found, Some("main"))), to_local);
    assert_eq!(at(&policy, &found, Some("local")).verdict, Verdict::Forward);
    assert_eq!(at(&policy, &chat("hello"), None).verdict, Verdict::Forward);
    let routes: Vec<_> = policy.routes().map(|(to, rule, _)| (to.to_string(), rule.to_string())).collect();
    assert_eq!(routes, [("local".to_owned(), "to-local".to_owned())]);
}

#[test]
fn a_block_is_no_route_and_a_route_no_pause() {
    let more = |action: &str| format!("{LOCAL}\n[[rule]]\nid = 'also'\nmatch = {{}}\naction = '{action}'\n");
    let found = chat("internal");
    let blocked = at(&policy(&more("block")), &found, None);
    assert_eq!(&*block(&blocked).rule, "also");
    // A person is asked on the way to where it goes.
    let policy = policy(&more("pause"));
    assert!(route(&at(&policy, &found, None)).is_some());
    assert!(matches!(at(&policy, &found, Some("local")).verdict, Verdict::Pause(_)));
}

#[test]
fn a_rule_that_only_counts_sends_nothing_anywhere() {
    let policy = policy(&format!("mode = 'monitor'\n{LOCAL}"));
    let evaluation = at(&policy, &chat("internal"), None);
    assert_eq!(evaluation.verdict, Verdict::Forward);
    let would = &evaluation.report.rules[1].would[0];
    assert_eq!((would.what.as_str(), would.at.as_deref()), ("route to local", Some("/messages/0/content")));
}

#[test]
fn what_a_person_writes_is_told_to_belong_elsewhere() {
    let policy = policy(LOCAL);
    let context = Context::default();
    let Evaluation { mut draft, recall, .. } = policy.evaluate(document(&chat("hello")), &context, &vault());
    let node = draft.document().resolve("/messages/0/content").unwrap();
    draft.set(node, "internal numbers", &Author::Person).unwrap();
    let verdict = policy.review(&mut draft, &context, &vault(), &recall).unwrap();
    let Verdict::Route(route) = verdict else { panic!("{verdict:?}") };
    let hold = route.refused("not here");
    assert_eq!((&*hold.rule, hold.reason.as_str()), ("to-local", "it is for the upstream `local`: not here"));
}

#[test]
fn a_verdict_as_json() {
    let shown = |verdict: &Verdict| serde_json::to_value(verdict).unwrap();
    assert_eq!(shown(&Verdict::Forward), json!({ "type": "forward" }));
    let routed = at(&policy(LOCAL), &chat("internal"), None);
    assert_eq!(
        shown(&routed.verdict),
        json!({ "type": "route", "route": { "rule": "to-local", "to": "local", "detail": "first at /messages/0/content" } })
    );
}

#[test]
fn explain_says_where_a_request_goes() {
    let policy = policy(LOCAL);
    let document = document(&chat("internal"));
    let (_, explained) = policy.explain_request(document, &Context::default(), &vault(), &[]);
    assert_eq!(explained.rules[1].did, ["routes the request to `local`: first at /messages/0/content"]);
    let told = policy.explain().to_string();
    assert!(told.contains("to = \"local\""), "{told}");
}

#[test]
fn what_names_no_upstream_is_refused_with_its_place() {
    for (to, message) in [
        ("", "`route` needs `to`"),
        ("to = 'Local'", "no upstream can be called `Local`"),
        ("to = 'https://example.org'", "no upstream can be called `https://example.org`"),
        ("to = 'a'\nwith = 'mask'", "`with` means nothing with `action = \"route\"`"),
    ] {
        let rule = format!("[[rule]]\nid = 'r'\nmatch = {{}}\naction = 'route'\n{to}\n");
        let error = try_policy(&rule, &Fakes::default()).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn an_upstream_is_matched_by_its_name_too() {
    let policy = policy("[[rule]]\nid = 'r'\nmatch = { upstream = 'local' }\naction = 'block'\n");
    assert!(matches!(at(&policy, &chat("a"), Some("local")).verdict, Verdict::Block(_)));
    assert_eq!(at(&policy, &chat("a"), None).verdict, Verdict::Forward);
}
