//! What redaction does grows with the number of findings, not with its square.

use std::sync::Arc;

use leafgate_tree::{Document, Format, Limits};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};

use super::hits::work;
use crate::plugin::NoPlugins;
use crate::{Context, Policy, PolicySource};

const RULES: &str = r#"
    [[rule]]
    id = "mail"
    match = {}
    detect = ["pii/email"]
    action = "redact"
    with = "mask"
    [[rule]]
    id = "cards"
    match = {}
    detect = ["pii/payment-card"]
    action = "redact"
    with = "mask"
"#;

/// Steps for a megabyte in one leaf that `count` findings are spread over, those of two rules in
/// turn, with tokens of ours between.
fn steps(policy: &Policy, count: usize) -> usize {
    let vault =
        Vault::new(TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("laptop")));
    let ours = vault.keys().token("EMAIL", "jane@example.org");
    let room = (1 << 20) / count;
    let mut text = String::with_capacity(1 << 20);
    let card = ["4539 5787", " 6362 1486"].concat();
    for number in 0..count {
        let before = text.len();
        match number % 3 {
            0 => text.push_str("a@example.org"),
            1 => text.push_str(&card),
            _ => text.push_str(ours.as_str()),
        }
        text.push_str(&" ".repeat(room - (text.len() - before)));
    }
    let body = format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}]}}"#);
    let document = Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap();
    work::take();
    let evaluation = policy.evaluate(Arc::new(document), &Context::default(), &vault);
    let found = count - count / 3;
    assert_eq!(evaluation.draft.redactions().count(), found, "of {count}");
    work::take()
}

#[test]
fn four_times_the_findings_in_one_leaf_cost_at_most_four_times_the_work() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rules.toml"), RULES).unwrap();
    let policy = Policy::load(&PolicySource::Folder(folder.path().to_owned()), &NoPlugins).unwrap();
    let (few, many) = (steps(&policy, 8_000), steps(&policy, 32_000));
    assert!(few >= 8_000, "{few} steps are counted");
    assert!(many <= 4 * few + 64, "{few} steps for 8,000 findings, {many} for 32,000");
}
