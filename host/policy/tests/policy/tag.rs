//! Rules that tag requests, and how much rules matter.

use leafgate_policy::{Context, Urgency, Verdict};

use super::support::*;

const TAGS: &str = r#"
[[rule]]
id = "payments"
match = {}
when = 'leaf.text.contains("card")'
action = "tag"
tag = "payments"
severity = "low"

[[rule]]
id = "money"
match = {}
when = 'leaf.text.contains("money")'
action = "tag"
tag = "payments"
severity = "critical"

[[rule]]
id = "tried"
mode = "monitor"
match = {}
action = "tag"
tag = "tried"
"#;

#[test]
fn a_request_has_each_tag_of_the_rules_that_matched_once() {
    let policy = policy(TAGS);
    let tags = |words: &str| {
        let evaluation = policy.evaluate(document(&chat(words)), &Context::default(), &vault());
        assert_eq!(evaluation.verdict, Verdict::Forward);
        assert_eq!(evaluation.draft.edits().count(), 0);
        let rules = evaluation.report.rules.iter().filter(|rule| rule.has_matched());
        let matched: Vec<_> = rules.map(|rule| rule.rule.to_string()).collect();
        let tags: Vec<_> = policy.tags(&matched).into_iter().map(str::to_owned).collect();
        (tags, policy.severity(&matched))
    };
    assert_eq!(tags("a card and money"), (vec!["payments".to_owned()], Some(Urgency::Critical)));
    assert_eq!(tags("a card"), (vec!["payments".to_owned()], Some(Urgency::Low)));
    assert_eq!(tags("hello"), (Vec::new(), None));
}

#[test]
fn a_tag_that_is_only_tried_is_told() {
    let policy = policy(TAGS);
    let evaluation = policy.evaluate(document(&chat("hello")), &Context::default(), &vault());
    assert_eq!(evaluation.report.rules[2].would[0].what, "tag with tried");
}

#[test]
fn what_can_be_no_tag_is_refused() {
    let long = "t".repeat(41);
    for (key, said) in [
        ("", "`tag` needs `tag`"),
        ("tag = 'Two Words'", "is not kebab-case"),
        (&*format!("tag = '{long}'"), "at most 40 letters"),
        ("tag = 'answers'\non = 'response'", "does not act on responses"),
    ] {
        let rule = format!("[[rule]]\nid = 't'\nmatch = {{}}\naction = 'tag'\n{key}\n");
        let refused = try_policy(&rule, &Fakes::default()).unwrap_err().to_string();
        assert!(refused.contains(said), "{key}: {refused}");
    }
}
