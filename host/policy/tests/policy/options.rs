//! What rules do to a request as a whole: tools, options, another model; and how long a text may be.

use leafgate_policy::{Cause, Context, Evaluation, Policy, Verdict};
use leafgate_tree::{Author, Format};
use serde_json::{Value, json};

use super::support::*;

fn rule(action: &str) -> Policy {
    policy(&format!("[[rule]]\nid = 'r'\nmatch = {{}}\n{action}\n"))
}

fn offering(tools: &[&str]) -> Value {
    let tools: Vec<Value> =
        tools.iter().map(|name| json!({ "type": "function", "function": { "name": name } })).collect();
    let mut body = chat("hello");
    body["tools"] = json!(tools);
    body["tool_choice"] = json!("auto");
    body["parallel_tool_calls"] = json!(false);
    body
}

fn names(evaluation: &Evaluation) -> Option<Vec<String>> {
    let name = |tool: &Value| {
        let function = tool.get("function").unwrap_or(tool);
        function.get("name").or(tool.get("type")).unwrap().as_str().unwrap().to_owned()
    };
    Some(sent(evaluation).get("tools")?.as_array()?.iter().map(name).collect())
}

// S4-05
#[test]
fn tools_are_kept_and_dropped_by_name() {
    let body = offering(&["Read", "Bash", "mcp__docs__find", "mcp__mail__send"]);
    for (filter, left) in [
        ("keep = ['Read', 'mcp__docs__*']", vec!["Read", "mcp__docs__find"]),
        ("drop = 'mcp__*'", vec!["Read", "Bash"]),
        ("keep = ['*_*', 'Read']\ndrop = ['*send']", vec!["Read", "mcp__docs__find"]),
        ("keep = '*'", vec!["Read", "Bash", "mcp__docs__find", "mcp__mail__send"]),
    ] {
        let evaluation = evaluate(&rule(&format!("action = 'filter-tools'\n{filter}")), &body);
        assert_forward(&evaluation);
        assert_eq!(names(&evaluation).unwrap(), left, "{filter}");
    }
    let none = evaluate(&rule("action = 'filter-tools'\nkeep = '*'"), &body);
    assert!(!none.draft.is_dirty(), "a filter that takes nothing away changes nothing");
}

#[test]
fn with_the_last_tool_goes_what_means_nothing_without_tools() {
    let evaluation = evaluate(&rule("action = 'filter-tools'\ndrop = '*'"), &offering(&["Read", "Bash"]));
    assert_forward(&evaluation);
    assert_eq!(sent(&evaluation), chat("hello"));
    let without_tools = evaluate(&rule("action = 'filter-tools'\ndrop = '*'"), &chat("hello"));
    assert!(!without_tools.draft.is_dirty());
}

#[test]
fn with_the_last_tool_goes_whatever_else_offers_tools() {
    let left = |body: &Value, format| {
        let policy = rule("action = 'filter-tools'\ndrop = '*'");
        let evaluation = policy.evaluate(parse(&body.to_string(), format), &Context::default(), &vault());
        assert_forward(&evaluation);
        sent(&evaluation)
    };
    let plain =
        json!({ "model": "claude-x", "max_tokens": 9, "messages": [{ "role": "user", "content": "hello" }] });
    let mut body = plain.clone();
    body["tools"] = json!([{ "name": "Read", "input_schema": { "type": "object" } }]);
    body["mcp_servers"] = json!([{ "type": "url", "url": "https://tools.example/sse", "name": "docs" }]);
    assert_eq!(left(&body, Format::AnthropicMessages), plain);
    let mut body = offering(&["Read"]);
    body["functions"] = json!([{ "name": "find" }]);
    body["function_call"] = json!("auto");
    assert_eq!(left(&body, Format::OpenaiChat), chat("hello"));
}

#[test]
fn a_tool_without_a_name_is_known_by_its_type() {
    let body = json!({ "input": "hello", "tools": [
        { "type": "web_search" }, { "type": "function", "name": "f", "parameters": {} }, { "type": "mcp" },
    ] });
    let policy = rule("action = 'filter-tools'\nkeep = ['f', 'web_*']");
    let document = parse(&body.to_string(), Format::OpenaiResponses);
    let evaluation = policy.evaluate(document, &Context::default(), &vault());
    assert_eq!(names(&evaluation).unwrap(), ["web_search", "f"]);
}

/// What a server offers stands in no request, unless the request says which of it may be called.
// S3-21
#[test]
fn a_filter_reaches_the_tools_of_servers() {
    let left = |body: &Value, format, filter: &str| {
        let policy = rule(&format!("action = 'filter-tools'\n{filter}"));
        let evaluation = policy.evaluate(parse(&body.to_string(), format), &Context::default(), &vault());
        assert_forward(&evaluation);
        sent(&evaluation)
    };
    let toolset = |server: &str, tools: &[&str]| {
        let configs: serde_json::Map<_, _> =
            tools.iter().map(|tool| ((*tool).to_owned(), json!({ "enabled": true }))).collect();
        json!({ "type": "mcp_toolset", "mcp_server_name": server, "default_config": { "enabled": tools.is_empty() }, "configs": configs })
    };
    let server = |name: &str| json!({ "type": "url", "url": "https://tools.example/sse", "name": name });
    let body = json!({
        "model": "claude-x", "max_tokens": 9, "messages": [{ "role": "user", "content": "hello" }],
        "tools": [{ "name": "Read", "input_schema": { "type": "object" } }, toolset("docs", &["find"]), toolset("shell", &[])],
        "mcp_servers": [server("docs"), server("shell")],
    });
    let names = |body: &Value| {
        let servers = body["mcp_servers"].as_array().unwrap();
        servers.iter().map(|server| server["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (filter, servers, tools) in [
        ("keep = 'Read'", &[][..], 1),
        ("keep = ['Read', 'find']", &["docs"], 2),
        ("keep = ['Read', 'mcp_toolset']", &["docs", "shell"], 3),
        ("drop = 'find'", &["shell"], 2),
        ("drop = 'Write'", &["docs", "shell"], 3),
    ] {
        let sent = left(&body, Format::AnthropicMessages, filter);
        assert_eq!(
            (names(&sent), sent["tools"].as_array().unwrap().len()),
            (servers.iter().map(|&it| it.to_owned()).collect(), tools),
            "{filter}"
        );
    }
    let mut earlier = body.clone();
    earlier["tools"] = json!([{ "name": "Read", "input_schema": { "type": "object" } }]);
    earlier["mcp_servers"][0]["tool_configuration"] = json!({ "allowed_tools": ["find"] });
    assert_eq!(names(&left(&earlier, Format::AnthropicMessages, "keep = ['Read', 'find']")), ["docs"]);
    let mut alone = earlier.clone();
    alone.as_object_mut().unwrap().remove("tools");
    assert_eq!(names(&left(&alone, Format::AnthropicMessages, "keep = 'find'")), ["docs"]);
    let policy = rule("action = 'strip-tools'");
    let stripped =
        policy.evaluate(parse(&alone.to_string(), Format::AnthropicMessages), &Context::default(), &vault());
    assert_eq!(sent(&stripped)["mcp_servers"], json!([]));
    earlier["mcp_servers"] = json!({ "docs": {} });
    assert_eq!(left(&earlier, Format::AnthropicMessages, "keep = 'Read'")["mcp_servers"], json!([]));
    let responses = json!({ "input": "hello", "tools": [
        { "type": "function", "name": "Read", "parameters": {} },
        { "type": "mcp", "name": "Read", "server_label": "Read", "server_url": "https://tools.example" },
        { "type": "mcp", "server_label": "docs", "allowed_tools": ["find"] },
    ] });
    let sent = left(&responses, Format::OpenaiResponses, "keep = ['Read', 'find']");
    assert_eq!(sent["tools"], json!([responses["tools"][0], responses["tools"][2]]));
}

#[test]
fn a_group_whose_tools_are_all_gone_goes_too() {
    let body = json!({ "contents": [{ "role": "user", "parts": [{ "text": "x" }] }], "tools": [
        { "functionDeclarations": [{ "name": "a" }, { "name": "b" }] }, { "googleSearch": {} },
    ], "toolConfig": {} });
    let left = |drop: &str| {
        let policy = rule(&format!("action = 'filter-tools'\ndrop = {drop}"));
        let document = parse(&body.to_string(), Format::Gemini);
        let evaluation = policy.evaluate(document, &Context::default(), &vault());
        assert_forward(&evaluation);
        sent(&evaluation)
    };
    assert_eq!(left("['a']")["tools"][0], json!({ "functionDeclarations": [{ "name": "b" }] }));
    assert_eq!(left("['a', 'b']")["tools"], json!([{ "googleSearch": {} }]));
    let nothing = left("['a', 'b', 'googleSearch']");
    assert!(nothing.get("tools").is_none() && nothing.get("toolConfig").is_none(), "{nothing}");
}

#[test]
fn a_tool_that_the_model_must_call_is_not_taken_away_in_silence() {
    let mut body = offering(&["Read", "Bash"]);
    body["tool_choice"] = json!({ "type": "function", "function": { "name": "Bash" } });
    let evaluation = evaluate(&rule("action = 'filter-tools'\nkeep = 'Read'"), &body);
    let Verdict::Pause(holds) = &evaluation.verdict else { panic!("{:?}", evaluation.verdict) };
    assert_eq!(holds[0].cause, Cause::Invalid);
}

#[test]
fn a_pinned_tool_stays_and_a_monitored_filter_only_counts() {
    let pinned = policy(
        "[[rule]]\nid='p'\nmatch={ tool = 'Bash' }\naction='pin'\n\
         [[rule]]\nid='f'\nmatch={}\naction='filter-tools'\nkeep='Read'\n",
    );
    let body = offering(&["Read", "Bash", "Write"]);
    let evaluation = evaluate(&pinned, &body);
    assert_eq!(names(&evaluation).unwrap(), ["Read", "Bash"]);
    assert_eq!(evaluation.report.rules[1].skipped["pinned"], 1);
    let monitored = evaluate(&rule("action='filter-tools'\nkeep='Read'\nmode='monitor'"), &body);
    assert!(!monitored.draft.is_dirty());
    assert_eq!(monitored.report.rules[0].edits, 2);
}

#[test]
fn a_filter_applies_where_its_rule_does() {
    let policy = policy(
        "[[rule]]\nid='f'\nmatch={ agent = 'codex', latest = true }\nwhen = 'leaf.text.contains(\"prod\")'\n\
         action='filter-tools'\ndrop='Bash'\n",
    );
    let filtered = |text: &str, agent| {
        let mut body = offering(&["Read", "Bash"]);
        body["messages"][0]["content"] = json!(text);
        let context = Context { agent: Some(agent), ..Context::default() };
        names(&policy.evaluate(document(&body), &context, &vault())).unwrap().len() == 1
    };
    assert!(filtered("in prod", "codex"));
    assert!(!filtered("in test", "codex") && !filtered("in prod", "curl"));
}

#[test]
fn options_are_set_whether_they_stand_there_or_not() {
    let policy =
        rule("action = 'rewrite'\noptions = { temperature = 0.2, user = 'team', stop = ['x'], n = 1 }");
    let mut body = chat("hello");
    body["temperature"] = json!(1);
    body["stop"] = json!("y");
    body["n"] = json!(1);
    let evaluation = evaluate(&policy, &body);
    assert_forward(&evaluation);
    let mut wanted = body.clone();
    wanted["temperature"] = json!(0.2);
    wanted["user"] = json!("team");
    wanted["stop"] = json!(["x"]);
    assert_eq!(sent(&evaluation), wanted);
    assert_eq!(evaluation.report.rules[0].edits, 3);
    let again = evaluate(&policy, &wanted);
    assert!(!again.draft.is_dirty(), "the same request gives the same bytes however often it passes");
}

#[test]
fn an_option_is_set_where_a_rule_that_matches_it_finds_it() {
    let set = "[[rule]]\nid = 'set'\nmatch = {}\naction = 'rewrite'\n\
               options = { 'reasoning.effort' = 'high', 'text.verbosity' = 'low' }\n";
    let found = policy(
        "[[rule]]\nid = 'found'\nmatch = { option = { 'reasoning.effort' = 'high', 'text.verbosity' = 'low' } }\n\
         action = 'block'\n",
    );
    let format = json!({ "type": "json_schema", "name": "n" });
    for members in [
        json!({}),
        json!({ "reasoning": null, "text": { "format": format } }),
        json!({ "reasoning": { "effort": "minimal", "summary": "auto" }, "text": {} }),
        json!({ "reasoning.effort": "a member of its own", "text": { "verbosity": "high", "format": format } }),
    ] {
        let mut body = chat("hello");
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        assert_forward(&evaluate(&found, &body));
        let evaluation = evaluate(&policy(set), &body);
        assert_forward(&evaluation);
        let sent = sent(&evaluation);
        block(&evaluate(&found, &sent));
        let mut wanted = body.clone();
        for (outer, inner, value) in [("reasoning", "effort", "high"), ("text", "verbosity", "low")] {
            wanted[outer][inner] = json!(value);
        }
        assert_eq!(sent, wanted);
    }
    let mut body = chat("hello");
    body["reasoning"] = json!("high");
    let evaluation = evaluate(&policy(set), &body);
    assert_eq!(sent(&evaluation)["reasoning"], "high", "a text has no members, and is nobody's to replace");
    assert_eq!(evaluation.report.rules[0].skipped["not insertable"], 1);
}

#[test]
fn a_dotted_key_of_an_option_names_members_and_no_message() {
    for (key, message) in [("reasoning..effort", "no member can be called"), ("messages.x", "is no option")] {
        let text = format!("[[rule]]\nid='r'\nmatch={{}}\naction='rewrite'\noptions={{ '{key}' = 1 }}\n");
        let folder = folder(&text, &Fakes::default());
        let error = load_folder(folder.path(), &Fakes::default()).unwrap_err();
        assert!(error.diagnostics()[0].message.contains(message), "{error}");
    }
}

#[test]
fn a_value_that_redact_rules_find_is_not_put_in() {
    let secrets = "[[rule]]\nid='s'\nmatch={}\ndetect=['secrets', 'pii/email']\naction='redact'\n";
    for value in [EMAIL.to_owned(), format!("[\\\"{EMAIL}\\\"]")] {
        let put =
            format!("[[rule]]\nid='o'\nmatch={{}}\naction='rewrite'\noptions={{ user = \"{value}\" }}\n");
        let evaluation = evaluate(&policy(&(secrets.to_owned() + &put)), &chat("hello"));
        let hold = block(&evaluation);
        assert_eq!((&*hold.rule, hold.cause), ("s", Cause::Unredactable), "{value}");
        assert!(hold.detail.contains("option") && hold.detail.contains("/user"), "{}", hold.detail);
        assert!(!told(&evaluation).contains(EMAIL));
    }
    let monitored = format!(
        "[[rule]]\nid='o'\nmatch={{}}\naction='rewrite'\nmode='monitor'\noptions={{ user = '{EMAIL}' }}\n"
    );
    assert_forward(&evaluate(&policy(&(secrets.to_owned() + &monitored)), &chat("hello")));
}

#[test]
fn what_somebody_puts_in_by_a_record_is_searched_too() {
    let policy = policy("[[rule]]\nid='s'\nmatch={}\ndetect=['pii/email']\naction='redact'\n");
    let mut steps = vec![json!(EMAIL)].into_iter();
    let evaluation = policy.replay(document(&chat("hello")), &Context::default(), &vault(), |draft| {
        let step = steps.next();
        if let Some(value) = &step {
            draft.put_option("user", value, &Author::Person).unwrap();
        }
        step.is_some()
    });
    assert_eq!(block(&evaluation).cause, Cause::Unredactable);
    // A person who does the same to a turn that waits is refused.
    let waiting = evaluate(&policy, &chat("hello"));
    let mut draft = waiting.draft.clone();
    draft.put_option("user", &json!(EMAIL), &Author::Person).unwrap();
    let context = Context { session: "s1", ..Context::default() };
    assert!(policy.review(&mut draft, &context, &vault(), &waiting.recall).is_err());
}

#[test]
fn every_rule_is_asked_about_the_model_that_a_request_goes_to() {
    let rules = "
        [[rule]]
        id = 'look'
        match = { model = 'big-*' }
        action = 'pause'

        [[rule]]
        id = 'mail'
        match = { model = 'big-1' }
        detect = ['pii/email']
        action = 'redact'

        [[rule]]
        id = 'larger'
        match = { model = 'small', option = { effort = 'high' } }
        action = 'rewrite'
        model = 'big-1'

        [[rule]]
        id = 'another'
        match = { model = ['small', 'big-1'] }
        action = 'rewrite'
        model = 'big-2'
    ";
    let policy = policy(rules);
    let ask = |model: &str, effort: &str| {
        let body = json!({ "model": model, "effort": effort,
            "messages": [{ "role": "user", "content": format!("mail {EMAIL}") }] });
        evaluate(&policy, &body)
    };
    let larger = ask("small", "high");
    assert_eq!(sent(&larger)["model"], "big-1", "the first that applies chooses");
    assert!(!sent(&larger).to_string().contains(EMAIL), "a redact rule for the new model runs");
    assert!(matches!(&larger.verdict, Verdict::Pause(holds) if &*holds[0].rule == "look"));
    let Evaluation { mut draft, recall, .. } = larger;
    let context = Context { session: "s1", ..Context::default() };
    let reviewed = policy.review(&mut draft, &context, &vault(), &recall).unwrap();
    assert!(matches!(reviewed, Verdict::Pause(_)));
    assert_eq!(sent(&ask("small", "low"))["model"], "big-2");
    assert_eq!(sent(&ask("other", "high"))["model"], "other");
    assert!(sent(&ask("other", "high")).to_string().contains(EMAIL));
}

#[test]
fn a_model_that_a_condition_chooses_is_the_one_that_is_asked() {
    let rules = "
        [[rule]]
        id = 'larger'
        match = {}
        when = 'request.model == \"small\"'
        action = 'rewrite'
        model = 'big'
    ";
    let policy = policy(rules);
    let body = json!({ "model": "small", "messages": [{ "role": "user", "content": "x" }] });
    let asked = evaluate(&policy, &body);
    assert_eq!(sent(&asked)["model"], "big");
    assert_eq!((asked.report.rules[0].matched, asked.report.rules[0].edits), (1, 1));
    let context = Context { session: "s1", model: Some("small"), ..Context::default() };
    let body = parse(r#"{"model":"small","contents":[{"parts":[{"text":"x"}]}]}"#, Format::Gemini);
    assert_eq!(policy.model_for(&body, &context), Some("big"));
    assert_eq!(sent(&policy.evaluate(body, &context, &vault()))["model"], "big");
}

#[test]
fn where_the_path_names_the_model_a_rule_chooses_what_is_asked_there() {
    let rules = "
        [[rule]]
        id = 'mail'
        match = { model = 'big' }
        detect = ['pii/email']
        action = 'redact'

        [[rule]]
        id = 'larger'
        match = { model = 'small' }
        action = 'rewrite'
        model = 'big'
    ";
    let body = |model: Option<&str>| {
        let mut body = json!({ "contents": [{ "parts": [{ "text": format!("mail {EMAIL}") }] }] });
        if let Some(model) = model {
            body["model"] = model.into();
        }
        parse(&body.to_string(), Format::Gemini)
    };
    let context = |model| Context { session: "s1", model: Some(model), ..Context::default() };
    let policy = policy(rules);
    assert_eq!(policy.model_for(&body(None), &context("small")), Some("big"));
    assert_eq!(policy.model_for(&body(None), &context("other")), None);
    let asked = policy.evaluate(body(None), &context("small"), &vault());
    assert_eq!((asked.report.rules[1].matched, asked.report.rules[1].edits), (1, 1));
    assert!(!sent(&asked).to_string().contains(EMAIL), "a redact rule for the new model runs");
    // A body that repeats the model says no other one.
    for (repeats, said) in [("small", "big"), ("models/small", "models/big")] {
        let asked = policy.evaluate(body(Some(repeats)), &context("small"), &vault());
        assert_eq!(sent(&asked)["model"], said);
    }
    let monitored = rules.replace("model = 'big'\n    ", "model = 'big'\nmode = 'monitor'\n");
    let policy = self::policy(&monitored);
    assert_eq!(policy.model_for(&body(None), &context("small")), None);
    let watched = policy.evaluate(body(Some("small")), &context("small"), &vault());
    assert_eq!(sent(&watched)["model"], "small");
    assert_eq!(watched.report.rules[1].would[0].what, "ask the model `big`");
    assert!(watched.report.rules.iter().all(|rule| rule.errors.is_empty()));
    assert_forward(&watched);
}

#[test]
fn a_model_rule_that_cannot_be_asked_holds_the_request() {
    let failing = "[[rule]]\nid='m'\nmatch={}\nwhen='int(request.model) > 3'\naction='rewrite'\nmodel='b'\n";
    assert_eq!(block(&evaluate(&policy(failing), &chat("hello"))).cause, Cause::Error);
    let nameless = json!({ "messages": [{ "role": "user", "content": "x" }] });
    let evaluation = evaluate(&rule("action = 'rewrite'\nmodel = 'b'"), &nameless);
    assert!(!evaluation.draft.is_dirty(), "the path names it, and nobody can edit that");
    let monitored = evaluate(&rule("action = 'rewrite'\nmodel = 'b'\nmode = 'monitor'"), &chat("hello"));
    assert!(!monitored.draft.is_dirty());
    assert_eq!(monitored.report.rules[0].edits, 1);
    let pinned = policy(
        "[[rule]]\nid='p'\nmatch={ path = 'model' }\naction='pin'\n\
         [[rule]]\nid='m'\nmatch={}\naction='rewrite'\nmodel='b'\n",
    );
    let hold = evaluate(&pinned, &chat("hello"));
    assert_eq!(&*block(&hold).rule, "m", "rules were asked about a model that it would not go to");
}

#[test]
fn long_texts_lose_their_middle_and_no_token_is_cut() {
    let rules = "[[rule]]\nid='mail'\nmatch={}\ndetect=['pii/email']\naction='redact'\n\
                 [[rule]]\nid='short'\nmatch={ kind='tool-result' }\naction='rewrite'\nmax_lines=5\nmax_chars=400\n";
    let policy = policy(rules);
    let result: String = (1..=100).map(|line| format!("line {line}\n")).collect();
    let evaluation = evaluate(&policy, &tool_chat(&json!({}), &result));
    assert_eq!(
        sent_at(&evaluation, "/messages/2/content"),
        "line 1\nline 2\n[96 lines left out]\nline 99\nline 100\n"
    );
    let mails = format!("{}{EMAIL}{}", "a ".repeat(85), " b".repeat(400));
    let evaluation = evaluate(&policy, &tool_chat(&json!({}), &mails));
    let short = sent_at(&evaluation, "/messages/2/content");
    assert!(short.chars().count() <= 400 && short.contains("characters left out"), "{short}");
    assert!(!short.contains("EMAIL_") && !short.contains("EMAIL"), "half a token is left: {short}");
}

#[test]
fn a_reason_tells_facts_and_no_text() {
    let rules = format!(
        "[[rule]]\nid='mail'\nmatch={{}}\ndetect=['pii/email']\naction='redact'\non_unredactable='pause'\nmode='monitor'\n\
         [[rule]]\nid='sql'\nmatch={{ section='tool-result' }}\naction='block'\n\
         reason='{}'\n",
        "${rule.id}: ${leaf.tool} says ${leaf.kind} to ${request.model} (${request.messages} messages, $${x})"
    );
    let evaluation = evaluate(&policy(&rules), &tool_chat(&json!({}), "prod"));
    assert_eq!(block(&evaluation).reason, "sql: run_sql says tool-result to gpt-4o (3 messages, ${x})");
    let mut named = tool_chat(&json!({}), "prod");
    named["messages"][1]["tool_calls"][0]["function"]["name"] = json!(format!("a\n{EMAIL}"));
    let evaluation = evaluate(&policy(&rules), &named);
    let reason = &block(&evaluation).reason;
    assert!(!reason.contains(EMAIL) && reason.contains("EMAIL") && !reason.contains('\n'), "{reason}");
}

#[test]
fn a_reason_says_where_there_is_no_tool_and_no_model() {
    let rules = "[[rule]]\nid='r'\nmatch={ role = 'user' }\naction='block'\nreason='${leaf.tool}, ${request.model}'\n";
    let nameless = json!({ "messages": [{ "role": "user", "content": "x" }] });
    assert_eq!(block(&evaluate(&policy(rules), &nameless)).reason, "no tool, no model");
}
