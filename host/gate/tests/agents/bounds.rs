//! How runs end that do not end well: failing models, clients that go away, caps, lesser forms.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::BodyExt as _;
use leafgate_answer::{AnswerLimits, Api, Reader, write_answer};
use serde_json::json;
use tokio::sync::{mpsc, watch};

use crate::agents::stage::*;
use crate::kit::{Client, Upstream, answer, full, post};

// S4-21
#[tokio::test]
async fn an_entry_that_fails_at_once_becomes_plain_chat() {
    for (api, streams) in every_way() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let model = Model::new([("lead", vec![says("never")])].into());
        let upstream = Upstream::start(move |seen| {
            let (first, model) = (count.fetch_add(1, Ordering::SeqCst) == 0, Arc::clone(&model));
            async move {
                if first {
                    let mut failed =
                        answer("application/json", full("{\"error\":{\"message\":\"overloaded\"}}"));
                    *failed.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
                    return failed;
                }
                let mut plain = seen.clone();
                let mut body: serde_json::Value = serde_json::from_slice(&seen.body).unwrap();
                assert!(!body.to_string().contains("You are lead"), "as the client sent it");
                body["note"] = json!("You are lead.");
                plain.body = body.to_string().into();
                model.answer(&plain)
            }
        })
        .await;
        let gate = crate::kit::gate("", &upstream.url()).await;
        gate.gate.serve_team(Slot::new(&team(&[agent("lead")])));
        let stage = Stage { upstream, gate, slot: Slot::new(&team(&[agent("lead")])) };
        let mut client = Conversation::new(api, streams, "Go.");
        assert_eq!(client.finish(&stage).await.content.expose(), "never", "{api:?} {streams}");
        assert_eq!(client.headers["leafgate-agents"], "direct-chat");
        assert_eq!(stage.upstream.seen().len(), 2);
    }
}

/// A stage whose model answers as its script says, and then as a provider refuses.
async fn refusing(script: Script, status: u16) -> Stage {
    let model = Model::new(script);
    let upstream = Upstream::start(move |seen| {
        let model = Arc::clone(&model);
        async move {
            let mut said = model.answer(&seen);
            if !said.status().is_success() {
                said = answer("application/json", full("{\"error\":{\"message\":\"quota of today\"}}"));
                *said.status_mut() = http::StatusCode::from_u16(status).unwrap();
                said.headers_mut().insert("retry-after", "7".parse().unwrap());
            }
            said
        }
    })
    .await;
    Stage::before(&team(&[agent("lead"), agent("reviewer")]), upstream).await
}

/// It was sent a second time as plain chat, where the same must come of it.
// S4-21
#[tokio::test]
async fn a_refusal_of_the_client_itself_passes_and_is_asked_for_once() {
    for status in [401, 403, 404, 429] {
        for (api, streams) in every_way() {
            let stage = refusing([("lead", vec![])].into(), status).await;
            let mut client = Conversation::new(api, streams, "Go.");
            let (told, _, text) = client.send(&stage).await;
            assert!(text.contains("quota of today"), "{status} {api:?} {streams}: {text}");
            if !streams {
                assert_eq!((told, client.headers["retry-after"].to_str().unwrap()), (status, "7"));
            }
            assert_eq!(stage.upstream.seen().len(), 1, "{status} {api:?} {streams}");
        }
    }
}

/// It ended as an answer that was cut off by its length, without a word.
// S4-21
#[tokio::test]
async fn an_entry_that_fails_later_ends_in_the_providers_error() {
    for status in [429, 500] {
        for (api, streams) in every_way() {
            let mut asks = delegates("reviewer", "Review it.");
            asks.content = "I ask.".into();
            let script = [("lead", vec![asks]), ("reviewer", vec![reports("Fine.")])];
            let stage = refusing(script.into(), status).await;
            let body = Conversation::new(api, streams, "Go.").body;
            let path = format!("/agents/v1{}", APIS.into_iter().find(|(of, _)| *of == api).unwrap().1);
            let answer = Client::connect(stage.gate.address).await.whole(post(&path, body.to_string())).await;
            let text = answer.text();
            assert!(text.contains("quota of today"), "{status} {api:?} {streams}: {text}");
            assert_eq!(answer.status, if streams { 200 } else { status }, "{api:?} {streams}: {text}");
            if streams {
                let mut reader = Reader::stream(api, AnswerLimits::default());
                reader.push(&answer.body).unwrap();
                let read = reader.finish().unwrap();
                assert_eq!(read.reply.content.expose(), "I ask.", "{text}");
                assert!(read.failure.is_some(), "{api:?}: {text}");
            }
            assert_eq!(stage.bodies_of("lead").len(), 2, "{api:?} {streams}");
        }
    }
}

/// A rule's refusal was gone around by plain chat, and a later one ended as if nothing were.
// S4-21
#[tokio::test]
async fn an_entry_that_a_rule_blocks_ends_in_that() {
    let rule = |words: &str| {
        format!(
            "[[rule]]\nid = \"no\"\nmatch = {{ agent = \"agents/lead\" }}\nwhen = 'leaf.text.contains(\"{words}\")'\naction = \"block\"\nreason = \"Not this\"\n"
        )
    };
    for (words, leaves) in [("Go.", 0), ("All is fine", 2)] {
        let script = [("lead", vec![delegates("reviewer", "x")]), ("reviewer", vec![reports("All is fine")])];
        let stage =
            Stage::with(&team(&[agent("lead"), agent("reviewer")]), script.into(), &rule(words)).await;
        let (status, _, text) = Conversation::new(Api::Chat, false, "Go.").send(&stage).await;
        assert_eq!((status, stage.upstream.seen().len()), (400, leaves), "{text}");
        assert!(text.contains("leafgate_blocked") && text.contains("Not this"), "{text}");
    }
}

// S4-21
#[tokio::test]
async fn a_provider_without_tools_has_the_entry_work_alone() {
    let model = Model::new([("lead", vec![says("Alone.")])].into());
    let upstream = Upstream::start(move |seen| {
        let model = Arc::clone(&model);
        async move {
            if String::from_utf8_lossy(&seen.body).contains("delegateWork") {
                let refused = "{\"error\":{\"message\":\"this model does not support tools\"}}";
                let mut refusal = answer("application/json", full(refused));
                *refusal.status_mut() = http::StatusCode::BAD_REQUEST;
                return refusal;
            }
            model.answer(&seen)
        }
    })
    .await;
    let stage = Stage::before(&team(&[agent("lead"), agent("reviewer")]), upstream).await;
    let mut client = Conversation::new(Api::Chat, false, "Go.");
    assert_eq!(client.finish(&stage).await.content.expose(), "Alone.");
    assert_eq!(client.headers["leafgate-agents"], "single-agent");
}

// S4-24
#[tokio::test]
async fn a_run_ends_within_its_caps() {
    let mut small = team(&[agent("lead"), agent("reviewer")]);
    small["leafgate"] = json!({ "maxIterations": 3 });
    let endless = vec![delegates("reviewer", "More."); 10];
    let script = [("lead", endless), ("reviewer", vec![says("I only talk."); 40])];
    let stage = Stage::new(&small, script.into()).await;
    let mut client = Conversation::new(Api::Chat, false, "Go.");
    let last = client.finish(&stage).await;
    assert_eq!(last.finish, Some(leafgate_answer::Finish::Length), "it did not come to its own end");
    assert_eq!(stage.bodies_of("lead").len(), 3);
    assert_eq!(stage.bodies_of("reviewer").len(), 9);
    assert!(
        stage.bodies_of("reviewer")[1]
            .to_string()
            .contains("Please complete your task and call reportOut with your findings.")
    );
}

#[tokio::test]
async fn a_client_that_waits_gets_signs_of_life_and_then_the_answer() {
    let (upstream, mut begins) = Upstream::fed().await;
    let stage = Stage::before(&team(&[agent("lead")]), upstream).await;
    let body = json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": "Go." }] });
    let mut client = Client::connect(stage.gate.address).await;
    let mut body = client.send(post("/agents/v1/chat/completions", body.to_string())).await.into_body();
    let feed = begins.recv().await.unwrap();
    for _ in 0..2 {
        let life = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(life.starts_with(b":"), "{life:?}");
    }
    let said = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    feed.send(Ok(said.into())).unwrap();
    drop(feed);
    let rest = body.collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&rest).contains("Hi"), "{rest:?}");
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_no_answer() {
    let model = Model::new([("lead", vec![delegates("reader", "Read."), says("Without it.")])].into());
    let upstream = Upstream::start(move |seen| {
        let model = Arc::clone(&model);
        async move {
            if Model::agent_of(&String::from_utf8_lossy(&seen.body)) == "reader" {
                return answer("application/json", full("<html>"));
            }
            model.answer(&seen)
        }
    })
    .await;
    let stage = Stage::before(&team(&[agent("lead"), agent("reader")]), upstream).await;
    let mut client = Conversation::new(Api::Chat, false, "Go.");
    assert_eq!(client.finish(&stage).await.content.expose(), "Without it.");
    assert!(stage.bodies_of("lead")[1].to_string().contains("could not be read"));
}

#[tokio::test]
async fn a_client_that_can_only_choose_models_chooses_an_agent_by_one() {
    let mut named = team(&[agent("lead"), agent("reviewer")]);
    named["leafgate"] = json!({ "defaultModel": "gpt-x" });
    let script = [("lead", vec![says("I am lead.")]), ("reviewer", vec![says("I am reviewer.")])];
    let stage = Stage::new(&named, script.into()).await;
    for (model, said) in [("agents/reviewer", "I am reviewer."), ("agents/lead", "I am lead.")] {
        let mut client = Conversation::new(Api::Chat, false, "Who?").at("/v1/chat/completions");
        client.body["model"] = json!(model);
        assert_eq!(client.finish(&stage).await.content.expose(), said);
    }
    assert_eq!(stage.bodies_of("reviewer")[0]["model"], "gpt-x");
}

/// Who waits for a model has no turn: a hundred runs wait for theirs at once, and a plain request
/// passes them all.
// S4-26
#[tokio::test]
async fn a_plain_request_does_not_queue_behind_a_hundred_runs() {
    let (ask, mut asked) = mpsc::unbounded_channel();
    let (allow, allowed) = watch::channel(false);
    let upstream = Upstream::start(move |seen| {
        let body = String::from_utf8_lossy(&seen.body).into_owned();
        let is_frame = body.contains("You are ");
        let reply = match Model::agent_of(&body).as_str() {
            _ if !is_frame => says("Hello."),
            "lead" if body.contains("all is well") => says("Done."),
            "lead" => delegates("reviewer", "work"),
            _ => reports("all is well"),
        };
        let (ask, mut allowed) = (ask.clone(), allowed.clone());
        async move {
            if is_frame {
                // Nobody counts the frames that ask once the first ones may be answered.
                let _ = ask.send(());
                allowed.wait_for(|allowed| *allowed).await.unwrap();
            }
            let head = leafgate_answer::Head { id: "a".into(), model: "m".into(), created: 1 };
            answer("application/json", full(write_answer(Api::Chat, &reply, &head).to_string()))
        }
    })
    .await;
    let stage = Arc::new(Stage::before(&team(&[agent("lead"), agent("reviewer")]), upstream).await);
    let runs: Vec<_> = (0..RUNS)
        .map(|number| {
            let stage = Arc::clone(&stage);
            tokio::spawn(async move {
                Conversation::new(Api::Chat, false, &format!("Task {number}.")).finish(&stage).await
            })
        })
        .collect();
    for _ in 0..RUNS {
        asked.recv().await.unwrap();
    }
    let plain = json!({ "model": "m", "messages": [{ "role": "user", "content": "Hi" }] });
    let mut client = Client::connect(stage.gate.address).await;
    assert_eq!(client.whole(post("/v1/chat/completions", plain.to_string())).await.status, 200);
    allow.send(true).unwrap();
    for run in runs {
        assert_eq!(run.await.unwrap().content.expose(), "Done.");
    }
}

/// As many as a slow machine answers before a client of these tests gives up.
const RUNS: usize = 100;

// S4-26
#[tokio::test]
async fn many_runs_at_a_time_do_not_cross() {
    let upstream = Upstream::start(|seen| async move {
        let body = String::from_utf8_lossy(&seen.body).into_owned();
        let word = body.split("word-").nth(1).unwrap_or_default();
        let word: String = word.chars().take_while(char::is_ascii_digit).collect();
        let reply = match Model::agent_of(&body).as_str() {
            "lead" if body.contains("reported-") => says(&format!(
                "said-{}",
                body.split("reported-")
                    .nth(1)
                    .unwrap()
                    .chars()
                    .take_while(char::is_ascii_digit)
                    .collect::<String>()
            )),
            "lead" => delegates("reviewer", &format!("word-{word}")),
            "reviewer" if body.contains("reported-") => reports(&format!("reported-{word}")),
            "reviewer" => delegates("reader", &format!("word-{word}")),
            _ => reports(&format!("reported-{word}")),
        };
        let head = leafgate_answer::Head { id: "a".into(), model: "m".into(), created: 1 };
        answer("application/json", full(write_answer(Api::Chat, &reply, &head).to_string()))
    })
    .await;
    let stage =
        Arc::new(Stage::before(&team(&[agent("lead"), agent("reviewer"), agent("reader")]), upstream).await);
    let runs = (0..RUNS).map(|number| {
        let stage = Arc::clone(&stage);
        tokio::spawn(async move {
            let mut client = Conversation::new(Api::Chat, false, &format!("Tell word-{number}."));
            (number, client.finish(&stage).await.content.expose().to_owned())
        })
    });
    for run in runs.collect::<Vec<_>>() {
        let (number, said) = run.await.unwrap();
        assert_eq!(said, format!("said-{number}"));
    }
    assert_eq!(stage.upstream.seen().len(), 5 * RUNS);
}
