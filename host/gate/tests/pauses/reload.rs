//! Another policy while requests wait, and one that cannot be loaded.

use leafgate_admin::{Event, PolicyStatus};
use leafgate_gate::TrialConfig;

use crate::pauses::house::{CANARY, House, RULES, Reply, chat, policy};

#[tokio::test]
async fn invariant_8_a_turn_keeps_the_generation_that_paused_it() {
    let (house, mut events) = House::watched().await;
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
    let (house, mut events) = House::watched().await;
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
    let (house, mut events) = House::watched().await;
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

/// Sends harmless requests until something is so, and gives the generations that judged them.
async fn ask_until(house: &House, done: impl Fn(&PolicyStatus) -> bool) -> Vec<String> {
    let mut generations = Vec::new();
    while !done(&house.gate.status().policy) {
        let answer = house.send(&chat(&format!("number {}", generations.len()))).await.unwrap();
        assert_eq!(answer.status, 200);
        generations.push(answer.header("leafgate-generation").to_owned());
    }
    generations
}

#[tokio::test]
async fn a_generation_serves_once_it_was_tried_on_live_requests() {
    let trial = TrialConfig { requests: 3, rise: 50 };
    let (house, mut events) = House::watched_with(RULES, Reply::echo(), |config| config.trial = trial).await;
    let before = house.gate.status().policy.generation;
    let next = policy(&RULES.replace("prod-db", "other-db"));
    house.gate.policy_loaded(next.clone());
    let Event::Policy { policy } = events.next().await else { panic!("a trial is told") };
    let trial = policy.trial.unwrap();
    assert_eq!((policy.generation, trial.generation), (before.clone(), next.generation_name()));
    assert_eq!((trial.tried, trial.requests), (0, 3));
    let mut judged_by = ask_until(&house, |policy| policy.generation == next.generation_name()).await;
    // The last one may have come just when the trial ended.
    judged_by.pop_if(|generation| *generation == next.generation_name());
    assert!(
        judged_by.len() >= 3 && judged_by.iter().all(|generation| *generation == before),
        "{judged_by:?}"
    );
    let status = house.gate.status().policy;
    assert_eq!((status.trial, status.refused, status.loads), (None, None, 2));
    assert_eq!(
        house.send(&chat("prod-db")).await.unwrap().header("leafgate-generation"),
        next.generation_name()
    );
}

#[tokio::test]
async fn a_generation_that_holds_or_fails_more_does_not_serve() {
    let holds = RULES.replace("leaf.text.contains(\"prod-db\")", "leaf.text.contains(\"number\")");
    let fails = RULES.replace("leaf.text.contains(\"prod-db\")", "int(leaf.text) > 3");
    for (rules, why) in [(holds, "were held instead of 0"), (fails, "rules failed in")] {
        let trial = TrialConfig { requests: 40, rise: 5 };
        let house = House::with(RULES, Reply::echo(), |config| config.trial = trial).await;
        let before = house.gate.status().policy.generation;
        house.gate.policy_loaded(policy(&rules));
        let judged_by = ask_until(&house, |policy| policy.refused.is_some()).await;
        assert!(judged_by.len() < 40 * 40 && judged_by.iter().all(|generation| *generation == before));
        let status = house.gate.status().policy;
        assert_eq!((status.generation, status.trial), (before, None));
        let said = status.refused.unwrap();
        assert!(
            said.contains(why) && said.contains("on 3 live requests") && said.contains("reload.rise"),
            "{said}"
        );
        // Nothing of the trial leaves or waits.
        assert_eq!(house.pending().await.len(), 0);
    }
}

#[tokio::test]
async fn newer_files_end_a_trial() {
    let trial = TrialConfig { requests: 3, rise: 5 };
    let house = House::with(RULES, Reply::echo(), |config| config.trial = trial).await;
    house.gate.policy_loaded(policy(&RULES.replace("prod-db", "other-db")));
    let newest = policy(&RULES.replace("prod-db", "third-db"));
    house.gate.policy_loaded(newest.clone());
    let trial = house.gate.status().policy.trial.unwrap();
    assert_eq!((trial.generation, trial.tried), (newest.generation_name(), 0));
    house.gate.policy_refused("rules.toml:3:1: unknown action `paus`");
    assert_eq!(house.gate.status().policy.trial, None);
}
