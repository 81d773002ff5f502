//! Rules about answers: which load, and that each rule is asked about its own matter alone.

use leafgate_policy::{Context, OfAnswers, On, Rest, Verdict};
use serde_json::{Value, json};

use super::support::*;

fn complaints(rules: &str) -> String {
    let fakes = Fakes::default().with("names", Fake::finds("x"));
    load_folder(folder(rules, &fakes).path(), &fakes).expect_err("the rules are wrong").to_string()
}

fn rule(on: &str, rest: &str) -> String {
    format!("[[rule]]\nid = 'a'\non = '{on}'\n{rest}\n")
}

#[test]
fn a_rule_is_asked_about_its_own_matter_alone() {
    let rules = [
        "[[rule]]\nid = 'r'\nmatch = {}\nwhen = 'leaf.text.contains(\"prod\")'\naction = 'block'\n",
        "[[rule]]\nid = 'c'\non = 'tool-call'\nmatch = { tool = 'run_sql' }\naction = 'pause'\n",
        "[[rule]]\nid = 's'\non = 'response'\nmatch = {}\ndetect = ['pii/email']\naction = 'redact'\n",
    ];
    let policy = policy(&rules.concat());
    let body = json!({ "model": "m", "messages": [{ "role": "assistant", "content": null, "tool_calls": [
        { "id": "1", "type": "function", "function": { "name": "run_sql", "arguments": json!({ "q": format!("prod {EMAIL}") }).to_string() } },
    ]}]});
    let by = |on| {
        let context = Context { on, ..Context::default() };
        let evaluation = policy.evaluate(document(&body), &context, &vault());
        let rules: Vec<String> = evaluation
            .report
            .rules
            .iter()
            .filter(|rule| rule.matched > 0)
            .map(|rule| rule.rule.to_string())
            .collect();
        (rules, evaluation)
    };
    let (rules, of_request) = by(On::Request);
    assert_eq!(rules, ["r"]);
    assert!(matches!(of_request.verdict, Verdict::Block(_)));
    let (rules, of_call) = by(On::ToolCall);
    assert_eq!(rules, ["c"]);
    assert!(matches!(of_call.verdict, Verdict::Pause(_)));
    let (rules, of_response) = by(On::Response);
    assert_eq!(rules, ["s"]);
    let left = String::from_utf8(of_response.draft.render().to_vec()).unwrap();
    assert!(!left.contains(EMAIL) && left.contains("prod"), "{left}");
    assert_eq!(
        policy.of_answers(&Context::default()),
        Some(OfAnswers { calls: true, whole: false, look_behind: Some(256), respells: false })
    );
}

#[test]
fn a_policy_without_such_rules_asks_nothing_of_answers() {
    assert_eq!(
        policy("[[rule]]\nid = 'r'\nmatch = {}\naction = 'block'\n").of_answers(&Context::default()),
        None
    );
}

#[test]
fn a_rule_guards_the_answers_to_requests_that_it_may_be_for() {
    let chats = "match = { endpoint = '/v1/chat/*', model = 'm-*', upstream = 'near' }\naction = 'block'\n";
    let policy = policy(&rule("tool-call", chats));
    let context = |endpoint, model, upstream_name| Context {
        endpoint,
        model,
        upstream: Some("https://a.example"),
        upstream_name,
        ..Context::default()
    };
    for (known, guarded) in [
        (Context::default(), true),
        (context(None, None, Some("near")), true),
        (context(Some("/v1/chat/completions"), Some("m-1"), Some("near")), true),
        (context(Some("/v1//chat/completions/"), None, Some("near")), true),
        (context(Some("/v1/messages"), Some("m-1"), Some("near")), false),
        (context(Some("/v1/chat/completions"), Some("n"), Some("near")), false),
        (context(Some("/v1/chat/completions"), None, None), false),
    ] {
        assert_eq!(policy.of_answers(&known).is_some(), guarded, "{known:?}");
        assert_eq!(policy.answer_guard(&known, true).is_some(), guarded, "{known:?}");
        assert_eq!(policy.answer_guard(&known, false), None, "it is about calls alone");
    }
    let watches = rule("response", &format!("{chats}stream = 'buffer'\nmode = 'monitor'"));
    let policy = self::policy(&watches);
    assert!(policy.of_answers(&Context::default()).is_some());
    assert_eq!(policy.answer_guard(&Context::default(), true), None, "it decides nothing");
}

#[test]
fn what_makes_no_sense_about_an_answer_does_not_load() {
    for (rule, says) in [
        (rule("tool-call", "match = {}\naction = 'delete'"), "`delete` does not act on tool calls"),
        (rule("response", "match = {}\naction = 'pause'"), "`pause` does not act on responses so"),
        (
            rule("response", "match = {}\naction = 'rewrite'\nset = 'x'\nstream = 'buffer'"),
            "`rewrite` does not act on responses so",
        ),
        (
            rule("response", "match = {}\naction = 'redact'\ndetect = ['pii/email']\nwith = 'token'"),
            "so this one would do nothing",
        ),
        (
            rule("response", "match = {}\naction = 'redact'\ndetect = ['pii/email']\non_error = 'pause'"),
            "responses do not wait for people",
        ),
        (
            rule(
                "response",
                "match = { latest = true, header = { x-a = 'b' } }\naction = 'redact'\ndetect = ['pii/email']",
            ),
            "`latest` chooses requests",
        ),
        (
            rule("request", "match = {}\naction = 'block'\nstream = 'buffer'"),
            "`stream` means nothing with `on = \"request\"`",
        ),
        (
            rule("tool-call", "match = {}\naction = 'block'\nlook_behind = 64"),
            "`look_behind` means nothing with `on = \"tool-call\"`",
        ),
        (
            rule("request", "match = {}\naction = 'block'\non_odd = 'respell'"),
            "`on_odd` means nothing with `on = \"request\"`",
        ),
        (
            rule("tool-call", "match = {}\naction = 'block'\non_odd = 'mend'"),
            "`mend` is no value of `on_odd`",
        ),
        (rule("answer", "match = {}\naction = 'block'"), "`answer` is no value of `on`"),
        (
            rule("response", "match = {}\naction = 'redact'\ndetect = ['pii/email']\nlook_behind = 4"),
            "`look_behind` must be a whole number from 32 to 16384",
        ),
    ] {
        let said = complaints(&rule);
        assert!(said.contains(says), "{says}: {said}");
    }
}

#[test]
fn a_rule_that_must_see_all_of_a_text_says_that_a_stream_waits() {
    let redact = "match = {}\naction = 'redact'\ndetect = ['secrets']";
    let replace = |pattern: &str| {
        format!("match = {{}}\naction = 'rewrite'\nreplace = {{ pattern = '{pattern}', with = 'x' }}")
    };
    let block = "match = {}\naction = 'block'\nwhen = 'leaf.text.contains(\"x\")'";
    for (needs, why) in [
        (
            redact.to_owned(),
            "\"!secrets/private-key\", \"!secrets/private-key-base64\", \"!secrets/putty-key\", leave it out",
        ),
        (redact.replace("']", "', 'secrets/one-line']"), "find what goes over many lines"),
        (redact.replace("']", "/one-line', 'secrets/putty-key']"), "\"!secrets/putty-key\", leave it out"),
        (block.to_owned(), "`when` asks about whole texts"),
        (replace("a.*b"), "more than 256 bytes with blanks among them"),
        (replace("^a"), "where a text begins or ends"),
    ] {
        let said = complaints(&rule("response", &needs));
        assert!(said.contains(why) && said.contains("stream = \"buffer\""), "{why}: {said}");
        let buffered = policy(&rule("response", &format!("{needs}\nstream = 'buffer'")));
        assert_eq!(
            buffered.of_answers(&Context::default()),
            Some(OfAnswers { calls: false, whole: true, look_behind: None, respells: false })
        );
    }
    for runs in [
        "match = {}\naction = 'redact'\ndetect = ['secrets/one-line']".to_owned(),
        "match = {}\naction = 'redact'\ndetect = ['secrets/likely']".to_owned(),
        "match = {}\naction = 'redact'\ndetect = ['secrets', '!secrets/private-key', '!secrets/private-key-base64', '!secrets/putty-key']".to_owned(),
        replace("Project [A-Z][a-z]{2,20}"),
        replace("id-[0-9a-f]+"),
        "match = { section = 'tool-call' }\naction = 'block'\nwhen = 'leaf.text.contains(\"x\")'".to_owned(),
    ] {
        let policy = policy(&rule("response", &runs));
        assert_eq!(policy.of_answers(&Context::default()).unwrap().look_behind, Some(256), "{runs}");
    }
}

#[test]
fn answers_are_spelled_anew_where_every_rule_about_them_says_so() {
    let (on, respell) = ("match = { model = 'm' }\naction = 'block'", "\non_odd = 'respell'");
    let calls = rule("tool-call", &format!("{on}{respell}"));
    let texts = |odd: &str| rule("response", &format!("{on}\nstream = 'buffer'{odd}")).replace("'a'", "'b'");
    let respells = |rules: &str, model| {
        let context = Context { model: Some(model), ..Context::default() };
        policy(rules).of_answers(&context).map(|of| of.respells)
    };
    assert_eq!(respells(&calls, "m"), Some(true));
    assert_eq!(respells(&(calls.clone() + &texts(respell)), "m"), Some(true));
    assert_eq!(respells(&(calls.clone() + &texts("")), "m"), Some(false));
    assert_eq!(respells(&(calls.clone() + &texts("\non_odd = 'refuse'")), "m"), Some(false));
    assert_eq!(respells(&(calls.clone() + &texts("").replace("'m'", "'n'")), "m"), Some(true));
    assert_eq!(respells(&calls, "n"), None);
    let told = policy(&calls).explain().to_string();
    assert!(told.contains("on_odd = \"respell\""), "{told}");
}

#[test]
fn a_profile_says_which_calls_pass() {
    let profile = |approve: &str| format!("[[assemble]]\nid = 'vault'\ntools = {{ approve = {approve} }}\n");
    let policy = policy(&profile("{ auto = ['read_*'] }"));
    let approval = policy.assembly("vault").unwrap().approval.as_ref().unwrap();
    assert_eq!(
        (approval.passes("read_file"), approval.passes("write_file"), approval.rest),
        (true, false, Rest::Ask)
    );
    let said = complaints(&profile("{ auto = 'read_*', rest = 'skip' }"));
    assert!(said.contains("`skip` is no value of `rest`"), "{said}");
}

/// P-23: seven of nine spellings passed the rule that the documents give.
#[test]
fn the_documents_rule_against_asking_for_values_is_not_passed_by_spelling() {
    let documents = include_str!("../../../../docs/restoring.md");
    let rules = documents.split("```toml\n").filter_map(|rest| rest.split("```").next());
    let rules = policy(rules.into_iter().find(|rule| rule.contains("no-reveal")).unwrap());
    let is_blocked = |arguments: &Value| {
        let call = json!({ "id": "1", "type": "function",
            "function": { "name": "Bash", "arguments": arguments.to_string() } });
        let body = json!({ "messages": [{ "role": "assistant", "content": null, "tool_calls": [call] }] });
        let context = Context { on: On::ToolCall, ..Context::default() };
        matches!(rules.evaluate(document(&body), &context, &vault()).verdict, Verdict::Block(_))
    };
    for command in [
        "leafgate reveal EMAIL_1",
        "leafgate  \treveal EMAIL_1",
        "LEAFGATE=leafgate; $LEAFGATE rev''eal EMAIL_1",
        "\\leafgate re\\veal EMAIL_1",
        "leaf\"gate\" 'reveal' EMAIL_1",
        "leafgate --gate 127.0.0.1:4100 reveal EMAIL_1",
        "leafgate${IFS}reveal EMAIL_1",
        "leafgate \\\n reveal EMAIL_1",
        "a=rev; b=eal; curl 127.0.0.1:4100/v1/reve$()al",
        "python3 -c 'import os; os.execvp(\"leaf\" + \"gate\", [\"\"])'",
    ] {
        assert!(is_blocked(&json!({ "command": command })), "{command}");
    }
    assert!(is_blocked(&json!({ "command": ["leafgate", "reveal", "EMAIL_1"] })));
    assert!(!is_blocked(&json!({ "command": "cargo test --release" })));
}
