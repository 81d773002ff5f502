//! Bodies that are wrong, hostile or merely odd: each is refused with its own words, or passes byte for byte, and the gate serves on.

use leafgate_tests::{plant, sample};

use crate::setup::{Setup, holds};
use crate::untouched::gzip;

const CHAT: &str = "/v1/chat/completions";

/// The most that the gate reads of one body.
const LIMIT: usize = 32 * 1024 * 1024;

fn malformed(body: &[u8]) -> String {
    let mut setup = Setup::with_default_policy();
    let answer = setup.client.chat(body).unwrap();
    setup.refused(&answer, 400, "leafgate_malformed")
}

fn too_large(headers: &[(&str, &str)], body: &[u8]) -> String {
    let mut setup = Setup::with_default_policy();
    let answer = setup.client.post(CHAT, headers, body).unwrap();
    setup.refused(&answer, 413, "leafgate_too_large")
}

#[test]
fn what_is_not_json_is_refused() {
    let message = malformed(b"model=gpt-sample&secret-words=1");
    assert!(message.contains("not JSON") && message.contains("line 1, column 1"), "{message}");
    assert!(!message.contains("secret-words"), "an error never quotes the body: {message}");
}

#[test]
fn an_empty_object_with_something_behind_it_is_refused() {
    let message = malformed(b"{}\n{\"model\": 1}");
    assert!(message.contains("line 2, column 1"), "{message}");
}

#[test]
fn a_truncated_body_is_refused() {
    let whole = sample::chat("cut off");
    let message = malformed(&whole[..whole.len() - 4]);
    assert!(message.contains("ends inside a value"), "{message}");
}

#[test]
fn a_body_201_levels_deep_is_refused_and_200_pass() {
    let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels)).into_bytes();
    let message = too_large(&[], &nested(201));
    assert!(message.contains("deeper than 200 levels"), "{message}");
    let mut setup = Setup::with_default_policy();
    assert_eq!(setup.passes(&nested(200)).body, nested(200));
}

#[test]
fn two_million_values_are_refused() {
    let body = format!("[{}0]", "0,".repeat(1_999_999));
    let message = too_large(&[], body.as_bytes());
    assert!(message.contains("more than 1000000 values"), "{message}");
}

#[test]
fn a_body_over_the_limit_is_refused() {
    let message = too_large(&[], &sample::chat(&"x".repeat(LIMIT)));
    assert!(message.contains(&LIMIT.to_string()), "{message}");
}

#[test]
fn a_body_over_the_limit_is_refused_in_chunks_too() {
    let mut setup = Setup::with_default_policy();
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: {}\r\ntransfer-encoding: chunked\r\n\r\n",
        setup.gate.address()
    );
    let size = LIMIT + 1;
    let request =
        [head.as_bytes(), format!("{size:x}\r\n").as_bytes(), &vec![b' '; size], b"\r\n0\r\n\r\n"].concat();
    let answer = setup.client.exchange(&request).unwrap();
    setup.refused(&answer, 413, "leafgate_too_large");
}

#[test]
fn a_compression_bomb_is_refused() {
    let bomb = gzip(&vec![b' '; 2 * LIMIT]);
    assert!(bomb.len() < 100_000, "small on the wire");
    let message = too_large(&[("content-encoding", "gzip")], &bomb);
    assert!(message.contains("unpack"), "{message}");
}

#[test]
fn a_coding_that_is_damaged_or_unknown_is_refused() {
    let mut setup = Setup::with_default_policy();
    let packed = gzip(&sample::chat("whole"));
    let answer =
        setup.client.post(CHAT, &[("content-encoding", "gzip")], &packed[..packed.len() - 9]).unwrap();
    setup.refused(&answer, 400, "leafgate_malformed");
    let answer = setup.client.post(CHAT, &[("content-encoding", "compress")], &packed).unwrap();
    setup.refused(&answer, 415, "leafgate_unsupported");
}

#[test]
fn invalid_utf8_is_refused() {
    let message =
        malformed(b"{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": \"\xff\"}]}");
    assert!(message.contains("invalid UTF-8"), "{message}");
}

#[test]
fn a_bare_control_character_is_refused() {
    malformed(b"{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": \"a\0b\"}]}");
}

#[test]
fn a_lone_surrogate_passes_as_it_came_and_hides_nothing() {
    let mut setup = Setup::with_default_policy();
    let chat = |text: &str| {
        format!(r#"{{"model": "m", "messages": [{{"role": "user", "content": "{text}"}}]}}"#).into_bytes()
    };
    let odd = chat(r"\udeaa alone, \ud83d\ude00 paired, \ud83d");
    assert_eq!(setup.passes(&odd).body, odd);
    let secret = plant::github(1);
    let left = setup.passes(&chat(&format!(r"\udeaa {secret} \ud83d"))).body;
    assert!(!holds(&left, &secret), "the secret beside a lone surrogate");
    assert!(holds(&left, r#""\udeaa "#) && holds(&left, r#" \ud83d""#), "the bytes around it stay");
}

#[test]
fn every_occurrence_of_a_duplicate_key_is_seen() {
    let mut setup = Setup::with_default_policy();
    let (first, second) = (plant::github(2), plant::aws(3));
    let chat = |first: &str, second: &str| {
        format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"a {first}","content":"b {second}"}}]}}"#
        )
        .into_bytes()
    };
    assert_eq!(setup.passes(&chat("one", "two")).body, chat("one", "two"));
    let left = setup.passes(&chat(&first, &second)).body;
    assert!(!holds(&left, &first) && !holds(&left, &second));
    assert!(holds(&left, r#""content":"a "#) && holds(&left, r#""content":"b "#), "both occurrences stay");
}

#[test]
fn nul_and_line_separators_pass_as_they_came_and_hide_nothing() {
    let mut setup = Setup::with_default_policy();
    let chat = |text: &str| {
        format!("{{\"model\":\"m\",\"messages\":[{{\"role\":\"user\",\"content\":\"{text}\"}}]}}")
            .into_bytes()
    };
    let odd = chat("a\\u0000b\u{2028}c\\u2028d");
    assert_eq!(setup.passes(&odd).body, odd);
    let secret = plant::stripe(4);
    let left = setup.passes(&chat(&format!("\\u0000{secret}\u{2028}"))).body;
    assert!(!holds(&left, &secret));
    assert!(holds(&left, "\"\\u0000") && holds(&left, "\u{2028}\""));
}

#[test]
fn what_cannot_be_looked_into_is_refused() {
    let mut setup = Setup::with_default_policy();
    let host = setup.gate.address();
    let form = |body: &str| {
        let head = format!(
            "POST /v1/files HTTP/1.1\r\nhost: {host}\r\ncontent-type: multipart/form-data; boundary=x"
        );
        format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    let archive = "--x\r\ncontent-disposition: form-data; name=\"f\"; filename=\"a.zip\"\r\n\r\nPK\u{3}\u{4}\0\0\r\n--x--\r\n";
    let answer = setup.client.exchange(form(archive).as_bytes()).unwrap();
    setup.refused(&answer, 415, "leafgate_unsupported");
    let answer = setup.client.exchange(form("--x").as_bytes()).unwrap();
    setup.refused(&answer, 400, "leafgate_malformed");
    let request = format!(
        "GET /v1/responses HTTP/1.1\r\nhost: {host}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
    );
    let answer = setup.client.exchange(request.as_bytes()).unwrap();
    setup.refused(&answer, 426, "leafgate_unsupported");
    let answer = setup.client.post("/elsewhere", &[], &sample::chat("Hi")).unwrap();
    setup.refused(&answer, 404, "leafgate_unsupported");
}

#[test]
fn a_body_without_a_known_shape_is_walked_all_the_same() {
    let mut setup = Setup::with_default_policy();
    let secret = plant::github(5);
    let body = format!(r#"{{"input": [["deep", {{"down": "{secret}"}}]]}}"#);
    let answer = setup.client.post("/v1/anything", &[], body.as_bytes()).unwrap();
    assert_eq!(answer.status(), 200);
    assert!(!holds(&setup.arrived().body, &secret));
}
