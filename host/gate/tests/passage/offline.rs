//! What a policy does to a request is the same offline, as `apply` and tests of rules judge it, and in a gate.

use std::collections::HashMap;
use std::sync::Arc;

use leafgate_gate::{OnUnread, session_key};
use leafgate_policy::{Context, Verdict};
use leafgate_tree::{Document, Format, Limits};
use leafgate_vault::Vault;

use crate::fixtures::requests;
use crate::kit::{Client, Upstream, gate_with_files, keys, policy, post};

/// Rules of every phase; their words occur in recorded requests.
const RULES: &str = r#"
[[detector]]
id = "words"
case_sensitive = true
words = ["file", "error"]

[[rule]]
id = "material"
match = { role = "user" }
when = 'leaf.text.size() > 2000'
action = "classify"
as = "context"

[[rule]]
id = "words"
match = {}
detect = ["own/words", "secrets", "pii/email"]
action = "redact"
on_unredactable = "pause"

[[exception]]
value = "error"
match = { role = "system" }
reason = "r"
by = "b"
until = "never"

[[rule]]
id = "steady"
match = { role = "system" }
action = "pin"
to = "first-seen"

[[rule]]
id = "polite"
match = { latest = true }
action = "rewrite"
append = " Please."

[[rule]]
id = "cool"
match = {}
when = "request.messages > 1"
action = "rewrite"
options = { temperature = 0 }

[[rule]]
id = "no-edits"
match = {}
action = "filter-tools"
drop = ["Edit", "apply_patch", "str_replace*"]

[[rule]]
id = "small"
match = { section = "tool-result" }
when = 'leaf.text.contains("No such")'
action = "block"
"#;

#[tokio::test]
async fn a_gate_does_to_recorded_requests_what_is_done_to_them_offline() {
    let upstream = Upstream::silent().await;
    let gate = gate_with_files(RULES, &upstream.url(), OnUnread::Pass).await;
    let (policy, mut client) = (policy(RULES), Client::connect(gate.address).await);
    let (mut left, mut held, mut changed) = (0, 0, 0);
    // Several recordings may be of one conversation.
    let mut vaults: HashMap<String, Vault> = HashMap::new();
    for (format, path) in [
        (Format::OpenaiChat, "/v1/chat/completions"),
        (Format::OpenaiResponses, "/v1/responses"),
        (Format::AnthropicMessages, "/v1/messages"),
    ] {
        for (name, body) in requests(format.name()) {
            let document = Arc::new(Document::parse(body.clone(), format, &Limits::default()).unwrap());
            let session = session_key(&keys(), &document);
            let vault = vaults.entry(session.clone()).or_insert_with(|| Vault::new(keys()));
            // What the gate knows besides is of no rule's concern here.
            let context = Context { session: &session, ..Context::default() };
            let evaluation = policy.evaluate(document, &context, vault);
            if matches!(evaluation.verdict, Verdict::Pause(_)) {
                // Nobody is there to let it go.
                held += 1;
                continue;
            }
            let before = upstream.seen().len();
            let answer = client.whole(post(path, body.clone())).await;
            let seen = upstream.seen();
            match &evaluation.verdict {
                Verdict::Block(_) => {
                    assert_eq!(
                        (answer.error().0.as_str(), seen.len()),
                        ("leafgate_blocked", before),
                        "{name}"
                    );
                    held += 1;
                }
                verdict => {
                    assert_eq!(*verdict, Verdict::Forward, "{name}");
                    let sent = &seen[before].body;
                    assert_eq!(*sent, evaluation.draft.render(), "{name}");
                    left += 1;
                    changed += usize::from(*sent != body);
                }
            }
        }
    }
    assert!(left > 3 && changed > 3, "{left} left, {changed} of them changed, {held} held");
}
