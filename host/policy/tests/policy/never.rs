//! Rules that load and can never match, or let everything pass: `check` warns of them.

use super::support::*;

fn warnings(rules: &str) -> Vec<String> {
    policy(rules).warnings().iter().map(ToString::to_string).collect()
}

fn rule(lines: &str) -> String {
    format!("[[rule]]\nid = 'r'\naction = 'block'\n{lines}\n")
}

const MAIL: &str = "[[rule]]\nid = 'mail'\nmatch = {}\ndetect = ['pii/email']\naction = 'redact'\n";

#[test]
fn a_rule_that_no_request_can_match_is_warned_of() {
    for (lines, said) in [
        (
            "match = { format = 'openai-chat', path = 'input[*].content' }",
            "no request in openai-chat has a message at `input[*].content`",
        ),
        (
            "match = { format = ['gemini', 'anthropic-messages'], path = ['messages[*].content', 'input[0].content'] }",
            "has a message at `input[0].content`",
        ),
        ("match = { path = 'contents[*].parts[*].text' }", "only requests in gemini have messages there"),
        ("match = { role = 'system', latest = true }", "the latest message of the user is the user's"),
        ("match = { role = ['assistant', 'tool'], latest = true }", "no leaf fits"),
        ("match = {}\nwhen = 'request.tokens > 10 && request.tokens < 5'", "`request.tokens` cannot be this"),
        (
            "match = {}\nwhen = '10 <= request.tools && leaf.text.size() > 1 && request.tools <= 9'",
            "`request.tools`",
        ),
        ("match = {}\nwhen = 'leaf.text.size() > 4 && leaf.text.size() < 5'", "`leaf.text.size()`"),
        ("match = {}\nwhen = 'request.model == \"a\" && request.model == \"b\"'", "`request.model`"),
        (
            "match = {}\nwhen = 'leaf.findings.exists(f, f.label == \"NOSUCH\")'",
            "no redact rule of this policy finds a `NOSUCH`",
        ),
        (
            "match = {}\nwhen = 'leaf.text.matches(\".*(a|b|c){1,400}.*(d|e){1,400}\")'",
            "this pattern is slow",
        ),
    ] {
        let found = warnings(&(MAIL.to_owned() + &rule(lines)));
        assert_eq!(found.len(), 1, "{lines}: {found:?}");
        assert!(found[0].contains(said) && found[0].contains("help: "), "{}", found[0]);
    }
    let rewrite = "[[rule]]\nid='r'\nmatch={ role = 'user' }\naction='rewrite'\n";
    for pattern in [".*(a|b|c){1,400}.*(d|e){1,400}", "x.+[a-z]{300}", "(?s).*(ab){250,}"] {
        let found = warnings(&format!("{rewrite}replace = {{ pattern = '{pattern}', with = 'y' }}\n"));
        assert!(found.len() == 1 && found[0].contains("slow"), "{pattern}: {found:?}");
    }
}

#[test]
fn a_rule_that_may_match_is_not() {
    for lines in [
        "match = { path = 'messages[*].content' }",
        "match = { format = 'openai-responses', path = 'input[*].content' }",
        "match = { endpoint = '/v1/responses', path = 'input[*].content' }",
        "match = { path = ['messages[*].content', 'input[*].content'] }",
        "match = { path = 'metadata.user' }",
        "match = { path = '**.token' }",
        "match = { format = 'generic', path = 'rows[*].text' }",
        "match = { role = ['system', 'user'], latest = true }",
        "match = {}\nwhen = 'request.tokens > 5 && request.tokens < 10'",
        "match = {}\nwhen = 'request.tokens >= 5 && request.tokens <= 5'",
        "match = {}\nwhen = 'request.tokens > 10 || request.tokens < 5'",
        "match = {}\nwhen = 'request.model == \"a\" && request.agent == \"curl\"'",
        "match = {}\nwhen = 'leaf.findings.exists(f, f.label == \"EMAIL\")'",
        "match = {}\nwhen = 'leaf.text.matches(\".*(a|b){1,40}\")'",
    ] {
        let found = warnings(&(MAIL.to_owned() + &rule(lines)));
        assert!(found.is_empty(), "{lines}: {found:?}");
    }
}

#[test]
fn an_exception_that_lets_everything_pass_is_warned_of() {
    let with = |lines: &str| {
        let said = "reason = 'ours'\nby = 'jane'\nuntil = 'never'\n";
        warnings(&format!("{MAIL}[[exception]]\n{lines}\n{said}"))
    };
    for (lines, of) in [
        ("pattern = '.*'", "redact rules find"),
        ("pattern = '.+'", "redact rules find"),
        ("pattern = '(a@b)?'", "redact rules find"),
        ("pattern = '(?s).*'\nrule = 'mail'", "rule `mail` finds"),
        ("pattern = '[^x]+|.*x.*'", "redact rules find"),
    ] {
        let found = with(lines);
        let said = format!("this exception lets pass all that {of}");
        assert!(found.len() == 1 && found[0].contains(&said), "{lines}: {found:?}");
    }
    for lines in [
        "pattern = '.*@example\\.org'",
        "pattern = '.*'\nmatch = { tool = 'mail' }",
        "value = 'a@b.example'",
        "pattern = '\\d+'",
    ] {
        assert!(with(lines).is_empty(), "{lines}: {:?}", with(lines));
    }
}

fn pin(lines: &str) -> Vec<String> {
    warnings(&format!("[[rule]]\nid = 'r'\naction = 'pin'\n{lines}\n"))
}

#[test]
fn what_was_nothing_else_first_is_warned_of() {
    for (matches, said) in [
        ("{ format = 'generic' }", "is of no conversation"),
        ("{ latest = true }", "was nothing else first"),
        ("{ role = 'user' }", "known by the first words of its user"),
    ] {
        let found = pin(&format!("match = {matches}\nto = 'first-seen'"));
        assert!(found.len() == 1 && found[0].contains(said), "{matches}: {found:?}");
    }
    for matches in [
        "{ role = 'system' }",
        "{ role = 'user', agent = 'codex' }",
        "{ format = 'openai-responses', path = 'instructions' }",
    ] {
        assert!(
            pin(&format!("match = {matches}\nto = 'first-seen'\non_drift = 'block'")).is_empty(),
            "{matches}"
        );
    }
}

#[test]
fn a_text_for_several_places_is_warned_of() {
    for matches in [
        "{ role = 'system' }",
        "{ path = 'system[*].text' }",
        "{ path = ['messages[0].content', 'messages[1].content'] }",
    ] {
        let found = pin(&format!("match = {matches}\nto = 'Be brief.'"));
        assert!(found.iter().any(|it| it.contains("says it twice")), "{matches}: {found:?}");
    }
    for path in ["['instructions', 'system']", "'temperature'", "['temperature', 'top_p']"] {
        let found = pin(&format!("match = {{ path = {path} }}\nto = '0'"));
        assert!(found.iter().all(|it| !it.contains("says it twice")), "{path}: {found:?}");
    }
}
