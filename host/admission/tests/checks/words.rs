//! Signatures, scripts, schemas and descriptions: any text is read without a panic, and what is told
//! of it is one line.

use std::path::Path;

use leafgate_admission::{Script, Signatures, described};
use leafgate_contract::{ConfigFinding, Description, Fault, check_config};

use super::is_line;

/// Holds the readers of texts to their promises. An input is up to three texts, with a NUL behind
/// each: what a plugin has written, what it is configured with, and what it says.
pub(crate) fn words(input: &[u8]) {
    let mut parts = input.splitn(3, |&byte| byte == 0).map(String::from_utf8_lossy);
    let [written, config, said] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    signatures(&written);
    script(&written, &config, &said);
    schema(&written, &config);
    placed(ConfigFinding::said(&said, &config), &config);
    description(&written, &said);
}

fn signatures(text: &str) {
    match Signatures::parse(text) {
        Ok(signatures) => {
            assert_eq!(Signatures::parse(&signatures.to_text()), Ok(signatures.clone()));
            let verified = signatures.verify(&[7; 32]);
            assert_eq!(verified.signed, [], "nobody has signed this");
        }
        Err(bad) => is_line(&bad.to_string()),
    }
}

fn script(source: &str, config: &str, said: &str) {
    let script = match Script::new(Path::new("names.js"), source.as_bytes()) {
        Ok(script) => script,
        Err(refusal) => return is_line(&refusal.to_string()),
    };
    let envelope: serde_json::Value = serde_json::from_str(&script.envelope(config)).expect("JSON");
    assert_eq!((envelope["source"].as_str(), envelope["config"].as_str()), (Some(source), Some(config)));
    let fault = script.threw(false, said.to_owned());
    is_line(&fault.to_string());
    if let Fault::Threw { line, column, .. } = fault {
        let text = source.split('\n').nth(line - 1).expect("a line of the source");
        assert!(column >= 1 && column <= text.chars().count() + 1);
    }
    for whose in ["config", "source"] {
        match script.refused(vec![whose.to_owned(), said.to_owned()], config) {
            Ok(finding) => placed(finding, config),
            Err(refusal) => is_line(&refusal.to_string()),
        }
    }
    if let Err(refusal) = script.world(Some(said)) {
        is_line(&refusal.to_string());
    }
}

fn schema(schema: &str, config: &str) {
    let found = check_config(schema, config);
    assert!(found.len() <= 10);
    for finding in found {
        assert!(finding.hint.as_deref().is_none_or(|hint| !hint.contains(char::is_control)));
        placed(finding, config);
    }
}

/// A finding is one line, about something that is there.
fn placed(finding: ConfigFinding, config: &str) {
    assert!(!finding.message.contains(char::is_control) && finding.message.len() < 2000);
    if !finding.pointer.is_empty() {
        let config: serde_json::Value = serde_json::from_str(config).expect("a pointer leads into JSON");
        assert!(config.pointer(&finding.pointer).is_some(), "{}", finding.pointer);
    }
}

fn description(name: &str, labels: &str) {
    let labels: Vec<String> = labels.split(' ').map(str::to_owned).collect();
    let said = Description { name: name.to_owned(), summary: name.to_owned(), ..Description::default() };
    match described(said, &labels, 4) {
        Ok(description) => {
            is_line(&description.name);
            for label in description.labels.iter().map(ToString::to_string) {
                assert!(
                    (2..=16).contains(&label.len()) && label.bytes().all(|byte| byte.is_ascii_alphanumeric())
                );
            }
        }
        Err(refusal) => is_line(&refusal.to_string()),
    }
}
