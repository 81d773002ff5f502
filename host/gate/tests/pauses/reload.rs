//! Another policy while requests wait, and one that cannot be loaded.

use leafgate_admin::Event;

use crate::support::{CANARY, House, RULES, chat, policy};

#[tokio::test]
async fn invariant_8_a_turn_keeps_the_generation_that_paused_it() {
    let house = House::start().await;
    let mut events = house.events().await;
    let client = house.send(&chat("prod-db"));
    let paused = events.paused().await;
    // The next generation neither redacts nor pauses anything.
    let lax = policy(
        "[[rule]]\nid = \"nothing\"\nmatch = { role = \"tool\" }\nwhen = 'leaf.text == \"never\"'\naction = \"block\"\n",
    );
    house.gate.policy_loaded(lax.clone());
    assert!(
        matches!(events.next().await, Event::Policy { policy } if policy.generation == lax.generation_name())
    );

    let edited =
        house.write(&paused.id, "/messages/3/content", &format!("prod-db of {CANARY}")).await.unwrap();
    assert_eq!(edited.summary.redactions, 1);
    assert_eq!(edited.summary.generation, paused.generation);
    let passed = house.send(&chat("prod-db, the other one")).await.unwrap();
    assert_eq!((passed.status, passed.header("leafgate-generation")), (200, lax.generation_name().as_str()));

    house.let_go(&paused.id).await;
    let answer = client.await.unwrap();
    assert_eq!((answer.status, answer.header("leafgate-generation")), (200, paused.generation.as_str()));
}

#[tokio::test]
async fn a_retry_joins_although_another_generation_would_let_it_pass() {
    let house = House::start().await;
    let mut events = house.events().await;
    let first = house.send(&chat("prod-db"));
    let paused = events.paused().await;
    house.gate.policy_loaded(policy(&RULES.replace("prod-db", "other-db")));
    let retry = house.send(&chat("prod-db"));
    assert_eq!(first.await.unwrap().refusal().0, "leafgate_replaced");
    assert_eq!(house.upstream.received().len(), 0);
    house.let_go(&paused.id).await;
    assert_eq!(retry.await.unwrap().header("leafgate-generation"), paused.generation);
    assert_eq!(house.upstream.received().len(), 1);
}

#[tokio::test]
async fn a_policy_that_is_refused_leaves_the_last_good_one() {
    let house = House::start().await;
    let mut events = house.events().await;
    let before = house.gate.status().policy;
    assert_eq!((before.loads, before.failed_loads, before.refused), (1, 0, None));
    house.gate.policy_refused("rules.toml:3:1: unknown action `paus`");
    let status: leafgate_admin::Status = house.get("/v1/status").await;
    assert_eq!((status.policy.loads, status.policy.failed_loads), (1, 1));
    assert_eq!(status.policy.refused.as_deref(), Some("rules.toml:3:1: unknown action `paus`"));
    assert_eq!(status.policy.generation, before.generation);
    assert!(matches!(events.next().await, Event::Policy { policy } if policy == status.policy));
    let next = policy(&RULES.replace("prod-db", "other-db"));
    house.gate.policy_loaded(next.clone());
    let after = house.gate.status().policy;
    assert_eq!((after.loads, after.failed_loads, after.refused), (2, 1, None));
    assert_eq!(after.generation, next.generation_name());
}
