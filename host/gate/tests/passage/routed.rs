//! Requests that a rule sends to another upstream than their client did.

use http::Request;
use http_body_util::Full;
use leafgate_gate::{Gate, GateConfig, NamedUpstream, OwnPolicy, UpstreamConfig};

use crate::kit::{
    Client, EMAIL, Running, Upstream, chat, email_token, gate_of, keys, once, policy, post, says,
};

const RULES: &str = r#"
[[rule]]
id = "mail"
match = {}
detect = ["pii/email"]
action = "redact"

[[rule]]
id = "to-local"
match = {}
when = "leaf.findings.size() > 0"
action = "route"
to = "local"
"#;

fn local(upstream: &Upstream) -> NamedUpstream {
    NamedUpstream {
        name: "local".parse().unwrap(),
        upstream: UpstreamConfig::new(upstream.url().parse().unwrap()),
    }
}

async fn gate(first: &Upstream, named: Vec<NamedUpstream>, rules: &str) -> Running {
    let mut config = GateConfig::new(first.url().parse().unwrap());
    config.named = named;
    gate_of(config, rules).await
}

#[tokio::test]
async fn a_request_with_findings_goes_to_the_other_upstream_and_its_credentials_do_not() {
    let (first, other) = (Upstream::silent().await, Upstream::silent().await);
    let gate = gate(&first, vec![local(&other)], RULES).await;
    let request = |text: &str| {
        Request::post("/v1/chat/completions?key=k-1&beta=true")
            .header("content-type", "application/json")
            .header("authorization", "Bearer k-2")
            .header("openai-organization", "k-3")
            .header("x-somebodys-token", "k-4")
            .body(Full::new(says(text).into()))
            .unwrap()
    };
    let mut client = Client::connect(gate.address).await;
    let answer = client.whole(request("hello")).await;
    assert_eq!((answer.status, answer.headers.get("leafgate-routed")), (200, None));
    let answer = client.whole(request(EMAIL)).await;
    assert_eq!((answer.status, &answer.headers["leafgate-routed"]), (200, &"local".parse().unwrap()));
    assert_eq!(first.only().headers["authorization"], "Bearer k-2", "only what is for it");
    let seen = other.only();
    assert_eq!(seen.target, "/v1/chat/completions?beta=true");
    assert!(String::from_utf8_lossy(&seen.body).contains(&email_token()), "the same rules judge it there");
    let head = format!("{:?}", seen.headers);
    assert!(["k-1", "k-2", "k-3", "k-4"].iter().all(|secret| !head.contains(secret)), "{head}");
    let counts = gate.gate.status().rules;
    assert!(counts.iter().any(|count| count.rule == "to-local"), "{counts:?}");
}

#[tokio::test]
async fn a_rule_that_matches_here_and_there_counts_for_one_request() {
    let (first, other) = (Upstream::silent().await, Upstream::silent().await);
    let mut routed = local(&other);
    let gate = gate(&first, vec![routed.clone()], RULES).await;
    once(&gate, chat(says(EMAIL))).await;
    let counted = |gate: &Running| -> Vec<(String, u64)> {
        gate.gate.status().rules.into_iter().map(|count| (count.rule, count.requests)).collect()
    };
    assert_eq!(counted(&gate), [("mail".to_owned(), 1), ("to-local".to_owned(), 1)]);

    // What only the policy there has counts besides.
    let own = RULES.replace("\"mail\"", "\"house\"").replace("\"to-local\"", "\"stay\"");
    routed.upstream.policy = Some(OwnPolicy { source: "own".to_owned(), policy: policy(&own) });
    let gate = self::gate(&first, vec![routed], RULES).await;
    once(&gate, chat(says(EMAIL))).await;
    assert_eq!(counted(&gate), ["house", "mail", "stay", "to-local"].map(|rule| (rule.to_owned(), 1)));
}

#[tokio::test]
async fn the_policy_of_the_other_upstream_judges_what_is_sent_there() {
    let (first, other) = (Upstream::silent().await, Upstream::silent().await);
    let mut open = local(&other);
    open.upstream.policy = Some(OwnPolicy { source: "none".to_owned(), policy: policy("") });
    let gate = gate(&first, vec![open], RULES).await;
    once(&gate, chat(says(EMAIL))).await;
    assert_eq!(other.only().body, says(EMAIL), "byte for byte: it never leaves the house");
    assert!(first.seen().is_empty());
}

#[tokio::test]
async fn nothing_is_sent_on_twice() {
    let (first, other) = (Upstream::silent().await, Upstream::silent().await);
    let mut back = local(&other);
    let rules = "[[rule]]\nid = 'away'\nmatch = {}\naction = 'route'\nto = 'third'\n";
    back.upstream.policy = Some(OwnPolicy { source: "own".to_owned(), policy: policy(rules) });
    let third = NamedUpstream { name: "third".parse().unwrap(), ..local(&other) };
    let gate = gate(&first, vec![back, third], RULES).await;
    let refused = once(&gate, chat(says(EMAIL))).await;
    assert_eq!(refused.status, 400);
    let (code, message) = refused.error();
    assert_eq!(code, "leafgate_blocked");
    assert!(message.contains("rule `away`") && message.contains("nothing is sent on twice"), "{message}");
    assert!(first.seen().is_empty() && other.seen().is_empty());
    // Who asks for it by name is sent on once.
    assert_eq!(once(&gate, post("/u/local/v1/chat/completions", says("hello"))).await.status, 200);
    assert_eq!(other.seen().len(), 1);
}

#[tokio::test]
async fn a_policy_that_routes_nowhere_does_not_serve() {
    let (first, other) = (Upstream::silent().await, Upstream::silent().await);
    let config = GateConfig::new(first.url().parse().unwrap());
    let Err(refused) = Gate::new(config, keys(), policy(RULES)) else { panic!("it must not start") };
    let said = refused.to_string();
    assert!(said.contains("rule `to-local` (") && said.contains("routes to the upstream `local`"), "{said}");
    assert!(said.contains("this gate has none"), "{said}");

    let gate = gate(&first, vec![local(&other)], RULES).await;
    let before = gate.gate.status().policy.generation;
    gate.gate.policy_loaded(policy(&RULES.replace("\"local\"", "\"elsewhere\"")));
    let status = gate.gate.status().policy;
    assert_eq!(status.generation, before, "the last good one serves");
    assert!(status.refused.unwrap().contains("this gate has local"));
}
