//! `detectors import`.

use crate::support::Bench;

const RULES: &str = r#"
title = "ours"
[extend]
useDefault = true
[[rules]]
id = "acme-token"
description = "Token of Acme"
regex = '''(?i)acme[\w.-]{0,9}\s*=\s*['"]?([a-z0-9]{12})\b'''
entropy = 3.0
keywords = ["ACME"]
[[rules.allowlists]]
stopwords = ["example"]
[[rules]]
id = "second_group"
regex = 'id (\d+) key (\w{4})'
secretGroup = 2
[[rules]]
id = "of-files"
regex = "x+"
path = '\.pem$'
[[rules]]
id = "companion"
regex = "y+"
skipReport = true
[[rules]]
id = "backwards"
regex = '(a)\1'
"#;

#[test]
fn rules_of_gitleaks_become_detectors_and_what_is_lost_is_named() {
    let bench = Bench::new();
    bench.file("gitleaks.toml", RULES);
    let imported = bench.run(&["detectors", "import", "gitleaks.toml"], "");
    assert_eq!(imported.code, 0, "{}", imported.shown());
    for said in [
        "the whole file: `extend` is not taken over",
        "acme-token: finds more than the rule, which also has `allowlists`, `entropy`",
        "of-files: left out, since it is for certain paths",
        "companion: left out, since it finds nothing by itself",
        "backwards: left out, since its pattern cannot be read",
        "2 of 5 rules are detectors now",
    ] {
        assert!(imported.err.contains(said), "{said}\n{}", imported.err);
    }
    bench.file("policy/imported.toml", &imported.out);
    bench.file(
        "policy/rules.toml",
        "extends = \"none\"\n[[rule]]\nid = \"ours\"\nmatch = {}\ndetect = [\"own\"]\naction = \"redact\"\nwith = \"mask\"\n",
    );
    let request =
        r#"{"model":"m","messages":[{"role":"user","content":"Acme.Key = 'q7zk29flmxw8'; id 42 key q7zk"}]}"#;
    let sent = bench.run(&["apply", "--policy", "policy", "-"], request);
    assert!(sent.out.contains("Acme.Key = '[SECRET]'; id 42 key [SECRET]"), "{}", sent.shown());
}

#[test]
fn what_is_no_rule_file_is_refused() {
    let bench = Bench::new();
    bench.file("empty.toml", "title = 'x'\n");
    bench.file("words.toml", "no toml at all");
    for (file, said) in
        [("empty.toml", "holds no rule"), ("words.toml", "is no TOML"), ("none.toml", "cannot read")]
    {
        let ran = bench.run(&["detectors", "import", file], "");
        assert!(ran.code == 2 && ran.err.contains(said), "{}", ran.shown());
    }
}
