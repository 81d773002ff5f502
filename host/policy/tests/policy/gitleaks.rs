//! Rule files of gitleaks and betterleaks as detectors.

use std::fs;

use leafgate_policy::plugin::NoPlugins;
use leafgate_policy::{Policy, PolicySource};
use tempfile::TempDir;

use super::support::*;

/// A policy folder that names a file of such rules; `more` are further lines of its detector.
fn with_rules(rules: &str, more: &str) -> TempDir {
    let detector = format!("[[detector]]\nid='gl'\ngitleaks='rules/gitleaks.toml'\n{more}\n");
    let rule = "[[rule]]\nid='r'\nmatch={}\ndetect=['own/gl']\naction='redact'\nwith='mask'\n";
    let folder = folder(&(detector + rule), &Fakes::default());
    fs::create_dir(folder.path().join("rules")).unwrap();
    fs::write(folder.path().join("rules/gitleaks.toml"), rules).unwrap();
    folder
}

fn loaded(rules: &str, more: &str) -> Policy {
    let folder = with_rules(rules, more);
    let policy = load_folder(folder.path(), &Fakes::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(policy.warnings().is_empty(), "{:?}", policy.warnings());
    policy
}

fn masked(policy: &Policy, text: &str) -> String {
    sent_at(&evaluate(policy, &chat(text)), "/messages/0/content")
}

#[test]
fn keywords_groups_and_entropy_mean_what_they_mean_there() {
    let policy = loaded(
        "title = 'x'\n[[rules]]\nid = 'acme-token'\ndescription = 'Acme'\nregex = '''(?i)acme[\\w.-]{0,9}\\s*=\\s*['\"]?([a-z0-9]{12})\\b'''\n\
         entropy = 3.0\nkeywords = ['ACME']\ntags = ['key']\n\
         [[rules]]\nid = 'second-group'\nregex = 'id (\\d+) key (\\w+)'\nsecretGroup = 2\nkeywords = []\n",
        "examples = ['acme_key = q7zk29flmxw8']\ncounter_examples = ['acme_key = aaaaaaaaaaaa']\nlabel = 'ACME'",
    );
    assert_eq!(masked(&policy, "Acme.Key = \"q7zk29flmxw8\";"), "Acme.Key = \"[ACME]\";");
    assert_eq!(masked(&policy, "acme = aabbaabbaabb"), "acme = aabbaabbaabb");
    assert_eq!(masked(&policy, "id 42 key q7zk and no more"), "id 42 key [ACME] and no more");
    let explained = policy.explain().to_string();
    assert!(
        explained.contains("own/gl:acme-token") && explained.contains("own/gl:second-group"),
        "{explained}"
    );
}

#[test]
fn allow_lists_take_out_what_they_allow() {
    let rule = "[[rules]]\nid = 'key'\nregex = 'key=(\\w+)'\nkeywords = ['key=']\n";
    for (allowed, text, stands) in [
        (
            "[allowlist]\npaths = ['.*']\nregexes = ['^test']\n",
            "key=test1 key=live1",
            "key=test1 key=[SECRET]",
        ),
        (
            "[[allowlists]]\nstopwords = ['EXAMPLE']\n",
            "key=myexample key=live1",
            "key=myexample key=[SECRET]",
        ),
        (
            "[[allowlists]]\nregexTarget = 'match'\nregexes = ['^key=a']\n",
            "key=abc key=bcd",
            "key=abc key=[SECRET]",
        ),
        (
            "[[allowlists]]\nregexTarget = 'line'\nregexes = ['# fake$']\n",
            "key=abc # fake\nkey=bcd",
            "key=abc # fake\nkey=[SECRET]",
        ),
        // Both must hold, and a text has no path.
        (
            "[[allowlists]]\ncondition = 'AND'\nregexes = ['^a']\nstopwords = ['z']\n",
            "key=abz key=abc",
            "key=abz key=[SECRET]",
        ),
        ("[[allowlists]]\ncondition = 'AND'\nregexes = ['^a']\npaths = ['.*']\n", "key=abc", "key=[SECRET]"),
        (
            "[[allowlists]]\ntargetRules = ['other']\nregexes = ['.']\n[[rules]]\nid='other'\nregex='other=(\\w+)'\n",
            "key=abc other=abc",
            "key=[SECRET] other=abc",
        ),
    ] {
        let (before, after) = if allowed.contains("[[rules]]") { (rule, allowed) } else { (allowed, rule) };
        assert_eq!(masked(&loaded(&format!("{before}{after}"), ""), text), stands, "{allowed}");
    }
    let of_rule = format!("{rule}[[rules.allowlists]]\nregexes = ['^a']\n");
    assert_eq!(masked(&loaded(&of_rule, ""), "key=abc key=bcd"), "key=abc key=[SECRET]");
    // Whoever writes a text allows nothing in it.
    assert_eq!(masked(&loaded(rule, ""), "key=abc # gitleaks:allow"), "key=[SECRET] # gitleaks:allow");
}

#[test]
fn a_composite_rule_finds_only_beside_what_it_requires() {
    let rules = |within: &str| {
        format!(
            "[[rules]]\nid = 'secret'\nregex = 'sec_(\\w{{4}})'\nkeywords = ['sec_']\n[[rules.required]]\nid = 'id'\n{within}\n\
             [[rules]]\nid = 'id'\nregex = 'id_\\w{{4}}'\nkeywords = ['id_']\nskipReport = true\n"
        )
    };
    let anywhere = loaded(&rules(""), "");
    assert_eq!(masked(&anywhere, "sec_abcd"), "sec_abcd");
    assert_eq!(masked(&anywhere, "id_wxyz\n\n\nsec_abcd"), "id_wxyz\n\n\nsec_[SECRET]");
    let near = loaded(&rules("withinLines = 1"), "");
    assert_eq!(masked(&near, "id_wxyz\nsec_abcd\nsec_efgh"), "id_wxyz\nsec_[SECRET]\nsec_efgh");
    let narrow = loaded(&rules("withinColumns = 8"), "");
    assert_eq!(masked(&narrow, "id_wxyz sec_abcd sec_efgh"), "id_wxyz sec_[SECRET] sec_efgh");
    // Who fills a text with companions hides nothing.
    let filled = format!("{}\n\nsec_abcd", "id_wxyz ".repeat(300));
    assert!(masked(&near, &filled).ends_with("\n\nsec_[SECRET]"));
    let few = format!("{}\n\nsec_abcd", "id_wxyz ".repeat(30));
    assert!(masked(&near, &few).ends_with("\n\nsec_abcd"));
    // A rule by its own name, with what it requires.
    let one = "[[detector]]\nid='gl'\ngitleaks='rules/gitleaks.toml'\n[[rule]]\nid='r'\nmatch={}\ndetect=['own/gl:secret']\naction='redact'\nwith='mask'\n";
    let folder = folder(one, &Fakes::default());
    fs::create_dir(folder.path().join("rules")).unwrap();
    fs::write(folder.path().join("rules/gitleaks.toml"), rules("")).unwrap();
    let policy = load_folder(folder.path(), &Fakes::default()).unwrap();
    assert_eq!(masked(&policy, "id_wxyz sec_abcd"), "id_wxyz sec_[SECRET]");
}

#[test]
fn filters_of_betterleaks_take_out_what_they_hold_for() {
    let policy = loaded(
        "betterleaksMinVersion = 'v1.6.0'\nprefilter = '''matchesAny(get(attributes, \"path\", \"\"), [`\\.md$`])'''\n\
         filter = '''containsAny(finding[\"secret\"], [\"abcd\"])'''\n\
         [[rules]]\nid = 'key'\nregex = 'key=(\\w+)'\nspecificity = 0\nvalidate = '''http.get(\"x\")'''\n\
         filter = '''\nentropy(finding[\"secret\"]) <= 1.5\n|| matchesAny(finding[\"match\"], [`^key=no`])\n'''\n",
        "",
    );
    assert_eq!(
        masked(&policy, "key=xABCDx7 key=aaab key=nope7 key=q7zk29"),
        "key=xABCDx7 key=aaab key=nope7 key=[SECRET]"
    );
}

/// P-17: such a pattern loaded without a word.
#[test]
fn a_slow_pattern_of_a_file_is_warned_of_at_its_line() {
    let folder = with_rules("[[rules]]\nid = 'slow'\nregex = 'x.+[a-z]{300}'\nkeywords = ['x']\n", "");
    let policy = load_folder(folder.path(), &Fakes::default()).unwrap_or_else(|error| panic!("{error}"));
    let [warning] = policy.warnings() else { panic!("{:?}", policy.warnings()) };
    assert!(warning.message.contains("this pattern is slow"), "{warning:?}");
    assert!(warning.file.ends_with("gitleaks.toml") && warning.line == 3, "{warning}");
}

#[test]
fn a_change_of_the_file_is_another_policy() {
    let folder = with_rules("[[rules]]\nid='k'\nregex='key=(\\w+)'\n", "");
    let first = load_folder(folder.path(), &Fakes::default()).unwrap();
    let file = folder.path().join("rules/gitleaks.toml");
    fs::write(&file, "[[rules]]\nid='k'\nregex='key=(\\w+)'\n[[rules.allowlists]]\nstopwords=['x']\n")
        .unwrap();
    let second = load_folder(folder.path(), &Fakes::default()).unwrap();
    assert_ne!(first.digest(), second.digest());
    fs::remove_file(&file).unwrap();
    let error = load_folder(folder.path(), &Fakes::default()).unwrap_err().to_string();
    assert!(error.contains("cannot be read"), "{error}");
}

#[test]
fn what_cannot_be_taken_over_is_refused_at_its_line() {
    let rules = "
[extend]
useDefault = true

[[allowlists]]
targetRules = ['nowhere']
regexes = ['(']

[[rules]]
id = 'of-a-path'
regex = 'x=(\\w+)'
path = '(?i)\\.tf$'

[[rules]]
id = 'look-ahead'
regex = 'x(?=y)'

[[rules]]
id = 'no-such-group'
regex = 'x(y)'
secretGroup = 2

[[rules]]
id = 'token-efficiency'
regex = 'x(y)'
filter = '''
entropy(finding[\"secret\"]) <= 3.5
|| failsTokenEfficiency(finding[\"secret\"])
'''

[[rules]]
regex = 'x'

[[rules]]
id = 'only-a-path-of-old'
pathRegex = 'x'
entropy = 'high'
";
    let refused = |rules: &str, more: &str| {
        let folder = with_rules(rules, more);
        let error = Policy::load(&PolicySource::Folder(folder.path().to_owned()), &NoPlugins).unwrap_err();
        error.to_string().replace(&folder.path().display().to_string(), "policy")
    };
    snapshot!(refused(rules, "without = ['nothing']\nregex = 'x'"));
    let chain = "[[rules]]\nid='a'\nregex='a'\n[[rules.required]]\nid='b'\n[[rules]]\nid='b'\nregex='b'\n[[rules.required]]\nid='c'\n";
    let said = refused(chain, "");
    assert!(said.contains("such chains are not followed") && said.contains("there is no rule `c`"), "{said}");
    let said = refused("[[rules]]\nid='a'\nregex='a'\n[[rules]]\nid='a'\nregex='b'\n", "");
    assert!(said.contains("rule `a` is declared twice"), "{said}");
    let left_out = "[[rules]]\nid='a'\nregex='a1'\n[[rules]]\nid='b'\nregex='b'\npath='x'\n";
    assert!(refused(left_out, "").contains("a text in a request has none"));
    loaded(left_out, "without = ['b']");
}

#[test]
fn a_file_that_would_be_read_as_our_own_rules_or_lies_elsewhere_is_refused() {
    for place in [
        "gitleaks.toml",
        "../gitleaks.toml",
        "/etc/gitleaks.toml",
        "rules/gitleaks.txt",
        "tests/gitleaks.toml",
    ] {
        let rules = format!(
            "[[detector]]\nid='gl'\ngitleaks='{place}'\n[[rule]]\nid='r'\nmatch={{}}\ndetect=['own']\naction='redact'\n"
        );
        let folder = folder(&rules, &Fakes::default());
        let error = load_folder(folder.path(), &Fakes::default()).unwrap_err().to_string();
        assert!(error.contains("inside the policy folder"), "{place}: {error}");
    }
}
