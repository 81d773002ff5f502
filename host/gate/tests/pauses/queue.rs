//! Several requests at a time: retries, queues, many sessions, no room.

use tokio::task::JoinSet;

use crate::pauses::house::{House, RULES, Reply, chat, other_chat};

#[tokio::test]
async fn two_hundred_turns_wait_at_once() {
    const MANY: usize = 200;
    let (house, mut events) = House::watched().await;
    let mut clients = JoinSet::new();
    for place in 0..MANY {
        let answer = house.send(&other_chat(&format!("prod-db {place}")));
        clients.spawn(async move { answer.await.unwrap() });
        events.paused().await;
    }
    let waiting = house.pending().await;
    assert_eq!((waiting.len(), house.gate.status().pending), (MANY, MANY));
    for turn in &waiting {
        house.let_go(&turn.id).await;
    }
    let mut answered = 0;
    while let Some(answer) = clients.join_next().await {
        assert_eq!(answer.unwrap().status, 200);
        answered += 1;
    }
    assert_eq!((answered, house.upstream.received().len()), (MANY, MANY));
    assert_eq!(house.gate.status().pending, 0);
}

/// The desk counts the body of the turn; a connection that joins it has brought another one.
#[tokio::test]
async fn the_body_of_a_connection_that_joins_counts_towards_all_bodies() {
    let (house, mut events) =
        House::watched_with(RULES, Reply::echo(), |config| config.limits.bodies = 8192).await;
    let asks = chat(&format!("prod-db {}", "x ".repeat(2500)));
    let (first, id) = house.holds(&mut events, &asks).await;
    assert_eq!(house.send(&other_chat("Hi")).await.unwrap().status, 200, "there is room");
    let again = house.send(&asks);
    let (code, message) = first.await.unwrap().refusal();
    assert!(
        code == "leafgate_replaced" && message.contains("ask with `n`, or one after the other"),
        "{message}"
    );
    assert_eq!(house.send(&other_chat("Hi")).await.unwrap().status, 503, "there is none");
    house.let_go(&id).await;
    assert_eq!(again.await.unwrap().status, 200);
    assert_eq!(house.send(&other_chat("Hi")).await.unwrap().status, 200, "there is room again");
}
