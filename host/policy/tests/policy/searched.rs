//! One way to search: what is found in one kind of text is found in every other, and what cannot be replaced holds the request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use leafgate_contract::{Action, NoPlugins, PluginEdit, Target};
use leafgate_policy::{Cause, Context, Evaluation, Policy, PolicySource, Verdict};
use leafgate_tree::{Author, Format, Role};
use serde_json::{Value, json};

use super::support::*;

const RULES: &str = r#"
    [[rule]]
    id = "secrets"
    match = {}
    detect = ["secrets", "pii/payment-card", "pii/iban"]
    action = "redact"
"#;

const WITH_NAMES: &str = r#"
    [[rule]]
    id = "names"
    match = {}
    detect = ["plugin:names"]
    action = "redact"
    [plugins.names]
    file = "names.wasm"
"#;

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn spaced(card: &str) -> String {
    [&card[..4], &card[4..8], &card[8..12], &card[12..]].join(" ")
}

fn held(evaluation: &Evaluation) -> bool {
    evaluation.verdict != Verdict::Forward
}

#[test]
fn an_encoded_copy_beside_a_plain_one_holds_as_it_does_alone() {
    let policy = policy(RULES);
    let line = format!("the key is {}, keep it", secret());
    for encoded in [
        STANDARD.encode(secret()),
        STANDARD.encode(&line),
        hex(&line),
        format!("data:text/plain;base64,{}", STANDARD.encode(&line)),
    ] {
        for text in [format!("{}\n{encoded}", secret()), format!("{encoded} {}", secret())] {
            let evaluation = evaluate(&policy, &chat(&text));
            assert!(held(&evaluation), "{text} -> {}", sent(&evaluation));
            let sent = sent_at(&evaluation, "/messages/0/content");
            assert!(!sent.contains(&secret()) && sent.contains(&encoded));
        }
    }
}

#[test]
fn an_escaped_copy_beside_a_plain_one_holds_as_it_does_alone() {
    let nested = |inner: String| (0..6).fold(inner, |text, _| json!({ "a": text }).to_string());
    let policy = policy(RULES);
    let plain = json!({ "a": secret(), "b": secret() }).to_string();
    assert!(!held(&evaluate(&policy, &chat(&nested(plain.clone())))), "plain copies are replaced");
    let both = plain.replacen(&secret(), &secret().replace('_', "\\u005f"), 1);
    assert!(held(&evaluate(&policy, &chat(&nested(both)))));
}

#[test]
fn keys_are_searched_like_texts() {
    let policy = policy(RULES);
    let line = format!("the key is {}, keep it", secret());
    for key in [secret(), STANDARD.encode(&line), hex(&line), card(), spaced(&card())] {
        let evaluation = evaluate(&policy, &tool_chat(&json!({ (key.as_str()): 1 }), "ok"));
        assert!(held(&evaluation), "{} bytes", key.len());
        assert!(!told(&evaluation).contains(&key));
        let Verdict::Pause(holds) = &evaluation.verdict else { continue };
        assert!(holds[0].detail.ends_with("of a key, at /messages/1/tool_calls/0/function/arguments/[KEY]"));
    }
}

#[test]
fn what_only_a_plugin_knows_holds_in_a_key_and_in_a_name() {
    let fakes = Fakes::default().with("names", Fake::finds("Acme"));
    let policy = policy_with(WITH_NAMES, &fakes);
    let hold = evaluate(&policy, &tool_chat(&json!({ "Acme": 1 }), "ok"));
    assert_eq!(block(&hold).detail, "NAME in a key, at /messages/1/tool_calls/0/function/arguments/[KEY]");
    let mut body = chat("hello");
    body["messages"][0]["name"] = "Acme".into();
    assert_eq!(block(&evaluate(&policy, &body)).detail, "NAME in a protected leaf, at /messages/0/name");
    let encoded = json!({ (STANDARD.encode("a letter to Acme, Inc.")): 1 });
    assert!(held(&evaluate(&policy, &tool_chat(&encoded, "ok"))));
}

#[test]
fn a_plugin_is_asked_about_a_key_for_any_member_that_has_it() {
    let rules = r#"
        [[rule]]
        id = "names"
        match = { path = "messages[*].content" }
        detect = ["plugin:names"]
        action = "redact"
        [plugins.names]
        file = "names.wasm"
    "#;
    let fakes = Fakes::default().with("names", Fake::finds("Acme"));
    let policy = policy_with(rules, &fakes);
    let part = |key: &str| json!({ "type": "text", "text": "hello", (key): 1 });
    for (key, expected) in [("Acme", true), ("other", false)] {
        let body =
            json!({ "before": { "Acme": 1 }, "messages": [{ "role": "user", "content": [part(key)] }] });
        assert_eq!(held(&evaluate(&policy, &body)), expected, "{key}");
    }
}

/// A policy with a plugin that puts `text` before the first message.
fn inserting(text: &str, rules: &str) -> Evaluation {
    let edits = vec![PluginEdit {
        target: Target::Section(0),
        action: Action::InsertBefore { role: Role::User, text: text.to_owned() },
    }];
    let fakes = Fakes::default()
        .with("writer", Fake::transformer(move |_| Ok(edits.clone())))
        .with("names", Fake::finds("Acme"));
    let writer = r#"
        [[rule]]
        id = "writer"
        match = { path = "messages[*].content" }
        action = "transform"
        plugin = "writer"
        [plugins.writer]
        file = "writer.wasm"
    "#;
    evaluate(&policy_with(&format!("{writer}{rules}"), &fakes), &chat("hello"))
}

#[test]
fn an_inserted_text_is_searched_like_a_set_one() {
    let nested = STANDARD.encode(json!({ "blob": STANDARD.encode(format!("key {}", secret())) }).to_string());
    let escaped = STANDARD.encode(format!(r#"{{"key": "{}"}}"#, secret().replace('_', "\\u005f")));
    for text in
        [nested, escaped, format!("{} and {}", secret(), STANDARD.encode(format!("key {}", secret())))]
    {
        assert!(held(&inserting(&text, RULES)));
    }
    assert!(held(&inserting(&STANDARD.encode("a letter to Acme, Inc."), WITH_NAMES)));
}

#[test]
fn rules_that_pause_or_block_see_an_inserted_text() {
    let rule = |matches: &str, when: &str| {
        format!("[[rule]]\nid = 'stop'\nmatch = {matches}\nwhen = '''{when}'''\naction = 'block'\n")
    };
    for (matches, when, expected) in [
        ("{}", r#"leaf.text.contains("launch")"#, true),
        ("{ role = 'user', kind = 'text' }", r#"leaf.text.contains("launch")"#, true),
        ("{ section = 'user' }", r#"leaf.text.contains("launch")"#, true),
        ("{ path = 'messages[*]' }", r#"leaf.text.contains("launch")"#, true),
        ("{}", r#"leaf.text.contains("launch") && leaf.pointer == "/messages/0/content""#, true),
        ("{}", r#"leaf.text.contains("launch") && leaf.role == "user" && leaf.section == "user""#, true),
        ("{ role = 'assistant' }", r#"leaf.text.contains("launch")"#, false),
        ("{ tool = 'f' }", r#"leaf.text.contains("launch")"#, false),
        ("{ path = 'tools[*]' }", r#"leaf.text.contains("launch")"#, false),
    ] {
        let evaluation = inserting("the launch codes", &rule(matches, when));
        assert_eq!(held(&evaluation), expected, "{matches} {when}");
    }
    let found = rule("{}", r#"leaf.findings.exists(f, f.label == "SECRET")"#);
    assert!(held(&inserting(&secret(), &format!("{RULES}{found}"))), "what was found in it is known");
}

#[test]
fn cards_and_accounts_hold_in_leaves_that_cannot_be_edited() {
    let default = Policy::load(&PolicySource::Default, &NoPlugins).unwrap();
    let iban = ["DE89 3704 0044", " 0532 0130 00"].concat();
    for number in [card(), spaced(&card()), iban] {
        for pointer in ["/model", "/messages/0/name", "/messages/2/tool_call_id"] {
            let mut body = tool_chat(&json!({}), "ok");
            body["messages"][0]["name"] = "x".into();
            *body.pointer_mut(pointer).unwrap() = number.clone().into();
            let evaluation = evaluate(&default, &body);
            assert_eq!(block(&evaluation).cause, Cause::Unredactable, "{pointer}");
            assert!(!told(&evaluation).contains(&number));
        }
        let thinking = json!({"messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": [
            {"type": "thinking", "thinking": format!("they pay with {number}."), "signature": "x"}]}]});
        let document = parse(&thinking.to_string(), Format::AnthropicMessages);
        assert!(held(&default.evaluate(document, &Context::default(), &vault())));
    }
    for id in [format!("call_{}", card()), format!("{}-x", card()), "1732262400000".to_owned()] {
        let mut body = tool_chat(&json!({}), "ok");
        body["messages"][2]["tool_call_id"] = id.clone().into();
        body["messages"][1]["tool_calls"][0]["id"] = id.into();
        assert_forward(&evaluate(&default, &body));
    }
}

#[test]
fn an_object_where_a_role_or_a_type_belongs_is_redacted_like_any_other() {
    let default = Policy::load(&PolicySource::Default, &NoPlugins).unwrap();
    let body = json!({"messages": [{"role": {"x": format!("pay with id={}", card())}, "content": [
        {"type": {"deep": [card()]}, "text": "hi"}]}]});
    let evaluation = evaluate(&default, &body);
    assert_forward(&evaluation);
    assert!(!sent(&evaluation).to_string().contains(&card()));
}

#[test]
fn one_hold_of_a_rule_counts_its_places_and_lists_the_first_of_them() {
    let encoded = STANDARD.encode(format!("the key is {}", secret()));
    let messages: Vec<Value> = (0..100).map(|_| json!({"role": "user", "content": encoded})).collect();
    let evaluation = evaluate(&policy(RULES), &json!({ "messages": messages }));
    let Verdict::Pause(holds) = &evaluation.verdict else { panic!("{:?}", evaluation.verdict) };
    assert_eq!((holds.len(), holds[0].total, holds[0].places.len()), (1, 100, leafgate_policy::MAX_PLACES));
    assert_eq!(holds[0].detail, "SECRET in base64, at /messages/0/content, and 99 more places");
    assert_eq!(evaluation.recall.unredactable().count(), 100);
}

#[test]
fn a_review_holds_for_every_place_that_still_stands() {
    let encoded = STANDARD.encode(format!("the key is {}", secret()));
    let message = |role: &str| json!({"role": role, "content": format!("see {encoded}")});
    let policy = policy(RULES);
    let body = json!({"messages": [message("user"), message("assistant"), message("user")]});
    let Evaluation { mut draft, recall, .. } = evaluate(&policy, &body);
    let review = |draft: &mut leafgate_tree::Draft| {
        let verdict = policy.review(draft, &Context::default(), &vault(), &recall).unwrap();
        match verdict {
            Verdict::Pause(holds) => {
                assert_eq!(holds.len(), 1);
                let shown = holds[0].places.iter().map(|place| (place.at.clone().unwrap(), place.stands));
                shown.collect::<Vec<_>>()
            }
            Verdict::Forward | Verdict::Route(_) => Vec::new(),
            Verdict::Block(hold) => panic!("{hold:?}"),
        }
    };
    let place = |n: usize, stands: bool| (format!("/messages/{n}/content"), stands);
    let node = |draft: &leafgate_tree::Draft, n: usize| {
        draft.document().resolve(&format!("/messages/{n}/content")).unwrap()
    };
    assert_eq!(review(&mut draft), [place(0, true), place(1, true), place(2, true)]);

    draft.set(node(&draft, 2), "see nothing", &Author::Person).unwrap();
    assert_eq!(review(&mut draft), [place(0, true), place(1, true), place(2, false)]);
    draft.set(node(&draft, 0), &format!("look at {encoded}"), &Author::Person).unwrap();
    assert_eq!(
        review(&mut draft).iter().filter(|(_, stands)| *stands).count(),
        2,
        "what is written is searched"
    );
    draft.set(node(&draft, 0), "see nothing", &Author::Person).unwrap();
    draft.set(node(&draft, 1), "see nothing", &Author::Person).unwrap();
    assert_eq!(review(&mut draft), []);
    draft.undo();
    assert_eq!(review(&mut draft).iter().filter(|(_, stands)| *stands).count(), 1, "undo brings it back");
}

#[test]
fn a_pause_for_what_did_not_run_stands_in_every_review() {
    let fakes = Fakes::default().with(
        "names",
        Fake::detector(|_| Err(leafgate_contract::Fault::Trap { code: "unreachable".into() })),
    );
    let rules = WITH_NAMES.replace("action = \"redact\"", "action = \"redact\"\non_error = \"pause\"");
    let policy = policy_with(&rules, &fakes);
    let Evaluation { mut draft, recall, verdict, .. } = evaluate(&policy, &chat("hello"));
    assert!(matches!(verdict, Verdict::Pause(_)));
    let verdict = policy.review(&mut draft, &Context::default(), &vault(), &recall).unwrap();
    assert!(matches!(&verdict, Verdict::Pause(holds) if holds[0].cause == Cause::Error), "{verdict:?}");
}

#[test]
fn more_findings_than_a_request_may_have_block_it_with_the_name_of_the_cap() {
    let mails = "a@example.com ".repeat(100_001);
    let rules = "[[rule]]\nid = 'mail'\nmatch = {}\ndetect = ['pii/email']\naction = 'redact'\n";
    let evaluation = evaluate(&policy(rules), &chat(&mails));
    let hold = block(&evaluation);
    assert_eq!(hold.cause, Cause::TooMuch);
    assert!(hold.detail.contains("`max_findings`"), "{}", hold.detail);
    let monitor = format!("{rules}mode = 'monitor'\n");
    assert_forward(&evaluate(&policy(&monitor), &chat(&mails)));
}

/// A request with a place of every kind for a text, and the pointers to them.
fn places() -> (Value, Vec<&'static str>) {
    let body = json!({
        "model": "here", "user": "here", "metadata": {"note": "here"}, "unknown": [{"deep": ["here"]}],
        "tools": [{"type": "function", "function": {"name": "here", "description": "here",
            "parameters": {"type": "object", "properties": {"q": {"type": "string", "description": "here"}}}}}],
        "messages": [
            {"role": "system", "content": "here"},
            {"role": "user", "name": "here", "content": [{"type": "text", "text": "here"}, {"type": "what", "is": "here"}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "here", "type": "function", "function": {"name": "f", "arguments": "{\"a\":\"here\"}"}}]},
            {"role": "tool", "tool_call_id": "here", "content": "here"},
        ],
    });
    let pointers = vec![
        "/model",
        "/user",
        "/metadata/note",
        "/unknown/0/deep/0",
        "/tools/0/function/name",
        "/tools/0/function/description",
        "/tools/0/function/parameters/properties/q/description",
        "/messages/0/content",
        "/messages/1/name",
        "/messages/1/content/0/text",
        "/messages/1/content/1/is",
        "/messages/2/tool_calls/0/id",
        "/messages/2/tool_calls/0/function/arguments",
        "/messages/3/tool_call_id",
        "/messages/3/content",
    ];
    (body, pointers)
}

#[test]
fn invariant_3_no_leaf_and_no_key_is_unseen() {
    let policy = policy(RULES);
    let (body, pointers) = places();
    for pointer in pointers {
        let mut planted = body.clone();
        let place = planted.pointer_mut(pointer).unwrap();
        *place = place.as_str().unwrap().replace("here", &secret()).into();
        let evaluation = evaluate(&policy, &planted);
        let sent = sent(&evaluation).to_string();
        assert!(held(&evaluation) || !sent.contains(&secret()), "{pointer}");
        assert!(evaluation.report.rules[0].findings.contains_key("SECRET"), "{pointer}");
    }
    for pointer in ["", "/metadata", "/unknown/0", "/tools/0/function/parameters/properties", "/messages/1"] {
        let mut planted = body.clone();
        planted.pointer_mut(pointer).unwrap()[secret()] = 1.into();
        assert!(held(&evaluate(&policy, &planted)), "a key at {pointer}");
    }
}

#[test]
fn invariant_10_redact_over_pin_over_rewrite() {
    let rules = format!(
        "{RULES}\n[[rule]]\nid = 'keep'\nmatch = {{ role = 'system' }}\naction = 'pin'\n\
         [[rule]]\nid = 'swap'\nmatch = {{ kind = 'text' }}\naction = 'rewrite'\nset = 'now {}'\n",
        secret()
    );
    let body = json!({"messages": [
        {"role": "system", "content": format!("was {}", secret())},
        {"role": "user", "content": "was"},
    ]});
    let evaluation = evaluate(&policy(&rules), &body);
    let token = token("SECRET", &secret());
    assert_eq!(
        sent_at(&evaluation, "/messages/0/content"),
        format!("was {token}"),
        "pinned, and yet redacted"
    );
    assert_eq!(
        sent_at(&evaluation, "/messages/1/content"),
        format!("now {token}"),
        "written, and redacted again"
    );
}

#[test]
fn a_key_that_stands_in_more_members_than_a_hold_can_keep_blocks() {
    let members = vec![json!({ (secret()): 1 }); 100_001];
    let rules = format!("{RULES}on_unredactable = 'pause'\n");
    let evaluation = evaluate(&policy(&rules), &json!({"messages": [], "members": members}));
    assert_eq!(block(&evaluation).cause, Cause::TooMuch);
}
