//! P-22: a turn that an encoded value holds shows that value nowhere, and sends it as it came where a person lets it.

use http::Method;

use crate::pauses::house::{House, Reply, chat};

#[tokio::test]
async fn an_encoded_value_that_holds_a_turn_is_shown_nowhere() {
    // A value that the rule of the house finds, in hexadecimal: nothing can be put in its place.
    let rules = "[[rule]]\nid = \"secrets\"\nmatch = {}\ndetect = [\"secrets\"]\naction = \"redact\"\n";
    let (house, mut events) = House::watched_with(rules, Reply::echo(), |_| ()).await;
    let value = ["gh", "p_", "R7sKf2LmQ9xVb4NcT8wYz3HdJ6gPa1EuXo5B"].concat();
    let spelled: String = format!("token={value}").bytes().map(|byte| format!("{byte:02x}")).collect();
    let body = chat(&format!("{spelled} is what?"));
    let client = house.send(&body);
    let turn = events.paused().await;
    let told = serde_json::to_string(&turn).unwrap();
    let mut shown = vec![("event".to_owned(), told)];
    for path in ["", "/request", "/outline", "/diff", "/payload", "/capture"] {
        let path = format!("/v1/pending/{}{path}", turn.id);
        let answer = house.call(Method::GET, &path, None).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        shown.push((path, answer.text().to_owned()));
    }
    for path in ["/v1/pending", "/v1/sessions"] {
        shown.push((path.to_owned(), house.call(Method::GET, path, None).await.text().to_owned()));
    }
    for (place, text) in &shown {
        for part in spelled.as_bytes().chunks(16).filter(|part| part.len() == 16) {
            assert!(!text.contains(std::str::from_utf8(part).unwrap()), "{place}: {text}");
        }
    }
    assert!(shown.iter().any(|(_, text)| text.contains("is what?")), "{shown:?}");
    let view = house.turn(&turn.id).await;
    assert!(
        !view.is_dirty && view.sections.iter().all(|section| section.leaves.iter().all(|leaf| !leaf.changed))
    );
    house.let_go(&turn.id).await;
    assert_eq!(client.await.unwrap().status, 200);
    assert_eq!(house.upstream.received()[0], body.to_string().as_bytes());
}
