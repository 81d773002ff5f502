//! Requests that a profile makes: what leaves, what is refused, and that a turn keeps its words.

use std::fs;
use std::path::Path;

use http_body_util::Full;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kit::{EMAIL, REDACT_EMAIL, Running, Upstream, chat, email_token, gate, once, post, says};

/// Notes that a profile reads, and the policy with it.
struct Vault {
    folder: TempDir,
}

impl Vault {
    fn new() -> Vault {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("notes")).unwrap();
        let vault = Vault { folder };
        vault.write("notes/a.md", "A says 1.");
        vault.write("prompt.md", "Review.\n");
        vault
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// A policy with a profile of these further lines, and these rules.
    fn policy(&self, lines: &str, rules: &str) -> String {
        format!(
            "[[assemble]]\nid = \"vault\"\nmatch = {{ model = \"vault/*\" }}\nroot = \"{}\"\nmodel = \"gpt-x\"\nprompt = {{ type = \"file\", path = \"prompt.md\" }}\n{lines}\n{rules}",
            self.path().display()
        )
    }

    async fn gate(&self, lines: &str, rules: &str, upstream: &Upstream) -> Running {
        gate(&self.policy(lines, rules), &upstream.url()).await
    }
}

const NOTES: &str = "context = [\"notes/*.md\"]";

fn asks(text: &str) -> String {
    json!({ "model": "vault/any", "messages": [{ "role": "user", "content": text }] }).to_string()
}

fn texts(body: &[u8]) -> Vec<String> {
    let body: Value = serde_json::from_slice(body).unwrap();
    let messages = body["messages"].as_array().unwrap().iter();
    messages.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn a_request_leaves_as_its_profile_makes_it() {
    let (upstream, vault) = (Upstream::silent().await, Vault::new());
    let gate = vault.gate(NOTES, REDACT_EMAIL, &upstream).await;
    let answer = once(&gate, chat(asks("Now?"))).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let seen = upstream.only();
    assert_eq!(seen.target, "/v1/chat/completions");
    assert_eq!(
        String::from_utf8_lossy(&seen.body),
        r#"{"messages":[{"role":"system","content":"Review."},{"role":"user","content":"Context from notes/a.md:\n\nA says 1."},{"content":"Now?","role":"user"}],"model":"gpt-x"}"#
    );
    assert_eq!(seen.headers["content-length"], seen.body.len().to_string());
}

#[tokio::test]
async fn a_request_that_no_profile_is_for_leaves_byte_for_byte() {
    let (upstream, vault) = (Upstream::silent().await, Vault::new());
    let gate = vault.gate(NOTES, "", &upstream).await;
    let odd = "{ \"model\" : \"other\",\t\"messages\": [ ], \"n\": 1.50E+0 }\n";
    assert_eq!(once(&gate, chat(odd)).await.status, 200);
    assert_eq!(upstream.only().body, odd);
    let picks = r#"{"model":"other","messages":[],"leafgate":{"agentMode":true}}"#;
    let (code, message) = once(&gate, chat(picks)).await.error();
    assert_eq!(code, "leafgate_malformed");
    assert!(message.contains("`leafgate`") && message.contains("vault"), "{message}");
    assert_eq!(upstream.seen().len(), 1);
}

#[tokio::test]
async fn a_base_url_chooses_a_profile() {
    let (upstream, vault) = (Upstream::silent().await, Vault::new());
    let gate = vault.gate(NOTES, "", &upstream).await;
    let whole = once(&gate, post("/p/vault/v1/chat/completions?x=1", says("Now?"))).await;
    assert_eq!(whole.status, 200, "{}", whole.text());
    assert_eq!(upstream.only().target, "/v1/chat/completions?x=1");
    assert_eq!(texts(&upstream.only().body), ["Review.", "Context from notes/a.md:\n\nA says 1.", "Now?"]);
    let unknown = once(&gate, post("/p/vaults/v1/chat/completions", says("Now?"))).await;
    assert_eq!(unknown.status, 404);
    assert!(unknown.error().1.contains("profiles are: vault"), "{}", unknown.text());
    let other = once(&gate, post("/p/vault/v1/embeddings", r#"{"model":"m","input":"x"}"#)).await;
    assert_eq!(other.status, 400, "{}", other.text());
    assert_eq!(upstream.seen().len(), 1);
}

#[tokio::test]
async fn a_secret_of_a_context_file_leaves_as_a_token_and_comes_back() {
    let upstream = Upstream::start(|seen| async move {
        let said = texts(&seen.body)[1].replace("Context from", "I read");
        crate::kit::json_answer(
            json!({ "choices": [{ "index": 0, "message": { "role": "assistant", "content": said } }] })
                .to_string(),
        )
    })
    .await;
    let vault = Vault::new();
    vault.write("notes/a.md", &format!("Write to {EMAIL}."));
    let gate = vault.gate(NOTES, REDACT_EMAIL, &upstream).await;
    let answer = once(&gate, chat(asks("Whom?"))).await;
    let sent = upstream.only();
    assert!(!String::from_utf8_lossy(&sent.body).contains(EMAIL));
    assert_eq!(texts(&sent.body)[1], format!("Context from notes/a.md:\n\nWrite to {}.", email_token()));
    assert!(answer.text().contains(EMAIL), "{}", answer.text());
}

/// A conversation that began with the same words got the files as they were read for the first one, without end.
// S3-09, S3-23
#[tokio::test]
async fn each_question_reads_anew_and_each_loop_of_tools_keeps_what_it_read() {
    let (upstream, vault) = (Upstream::silent().await, Vault::new());
    let lines = format!("{NOTES}\nagent_mode = true\ncontinuation = \"keep\"");
    let gate = vault.gate(&lines, "", &upstream).await;
    let question: Value = serde_json::from_str(&asks("Now?")).unwrap();
    let going_on = |ids: &[&str]| {
        let mut body = question.clone();
        for id in ids {
            body["messages"].as_array_mut().unwrap().extend([
                json!({ "role": "assistant", "content": null, "tool_calls": [
                    { "id": id, "type": "function", "function": { "name": "look", "arguments": "{}" } }
                ]}),
                json!({ "role": "tool", "tool_call_id": id, "content": "seen" }),
            ]);
        }
        body
    };
    let mut read = Vec::new();
    let mut send = async |file: Option<&str>, body: Value| {
        if let Some(text) = file {
            vault.write("notes/a.md", text);
        }
        once(&gate, chat(body.to_string())).await;
        let sent = texts(&upstream.seen().pop().unwrap().body);
        read.push(
            sent.into_iter()
                .find_map(|text| Some(text.strip_prefix("Context from notes/a.md:\n\n")?.to_owned())),
        );
    };
    send(None, question.clone()).await;
    send(Some("2"), going_on(&["one"])).await;
    // The same words again, while the first loop goes on.
    send(None, question.clone()).await;
    send(Some("3"), going_on(&["one", "more"])).await;
    send(None, going_on(&["two"])).await;
    send(None, question.clone()).await;
    send(Some("4"), going_on(&["two", "more"])).await;
    let read: Vec<&str> = read.iter().map(|text| text.as_deref().unwrap_or_default()).collect();
    assert_eq!(read, ["A says 1.", "A says 1.", "2", "A says 1.", "2", "3", "2"]);
}

/// What a question costs is not what its tools are run behind.
// S3-23
#[tokio::test]
async fn a_count_keeps_nothing() {
    let (upstream, vault) = (Upstream::silent().await, Vault::new());
    let lines = format!("{NOTES}\nagent_mode = true\ncontinuation = \"keep\"");
    let gate = vault.gate(&lines, "", &upstream).await;
    let mut body =
        json!({ "model": "vault/a", "max_tokens": 9, "messages": [{ "role": "user", "content": "Now?" }] });
    once(&gate, post("/v1/messages", body.to_string())).await;
    vault.write("notes/a.md", "2");
    let mut counted = body.clone();
    counted.as_object_mut().unwrap().remove("max_tokens");
    once(&gate, post("/v1/messages/count_tokens", counted.to_string())).await;
    body["messages"].as_array_mut().unwrap().extend([
        json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "look", "input": {} }] }),
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t", "content": "seen" }] }),
    ]);
    once(&gate, post("/v1/messages", body.to_string())).await;
    let sent = String::from_utf8(upstream.seen().pop().unwrap().body.to_vec()).unwrap();
    assert!(sent.contains("A says 1."), "{sent}");
}

#[tokio::test]
async fn files_that_cannot_be_used_are_refused_by_name() {
    let (upstream, vault) = (Upstream::silent().await, Vault::new());
    std::os::unix::fs::symlink("/etc/hostname", vault.path().join("notes/link.md")).unwrap();
    fs::File::create(vault.path().join("notes/huge.md")).unwrap().set_len(1 << 30).unwrap();
    fs::write(vault.path().join("notes/binary.md"), [0xff, 0xfe, 0]).unwrap();
    let gate = vault.gate("context = [\"notes/**\"]\nmax_file = 1000000", "", &upstream).await;
    for (pick, why) in [
        ("notes/link.md", "symbolic links are not followed"),
        ("notes/huge.md", "more than 1000000 bytes"),
        ("notes/binary.md", "neither text"),
        ("notes/../prompt.md", "stay below"),
        ("notes/none.md", "no such file"),
        ("prompt.md", "does not allow"),
    ] {
        let mut body: Value = serde_json::from_str(&asks("Now?")).unwrap();
        body["leafgate"] = json!({ "context": [pick] });
        let answer = once(&gate, chat(body.to_string())).await;
        let (_, message) = answer.error();
        assert_eq!(answer.status, 400);
        assert!(message.contains("profile `vault`") && message.contains(pick), "{message}");
        assert!(message.contains(why), "{pick}: {message}");
        assert_eq!(answer.headers["x-should-retry"], "false");
    }
    assert_eq!(upstream.seen().len(), 0);
}

#[tokio::test]
async fn what_a_request_picks_never_leaves() {
    let (upstream, vault) = (Upstream::silent().await, Vault::new());
    let gate = vault.gate(NOTES, "", &upstream).await;
    let mut body: Value = serde_json::from_str(&asks("Now?")).unwrap();
    body["leafgate"] = json!({ "context": [], "agentMode": false });
    once(&gate, chat(body.to_string())).await;
    assert_eq!(texts(&upstream.only().body), ["Review.", "Now?"]);
    assert!(!String::from_utf8_lossy(&upstream.only().body).contains("leafgate"));
}

#[tokio::test]
async fn a_compressed_request_leaves_decoded_once_it_was_made_anew() {
    use std::io::Write as _;
    let (upstream, vault) = (Upstream::silent().await, Vault::new());
    let gate = vault.gate(NOTES, "", &upstream).await;
    let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    coder.write_all(asks("Now?").as_bytes()).unwrap();
    let mut request = chat(coder.finish().unwrap());
    request.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
    let request: http::Request<Full<bytes::Bytes>> = request;
    assert_eq!(once(&gate, request).await.status, 200);
    assert_eq!(upstream.only().headers.get("content-encoding"), None);
    assert_eq!(texts(&upstream.only().body).len(), 3);
}

/// What is counted is what would be sent. Options that no count takes stay behind: providers refuse them.
// S3-01
#[tokio::test]
async fn a_count_is_made_of_what_would_be_sent() {
    let (upstream, vault) = (Upstream::silent().await, Vault::new());
    let lines = format!(
        "{NOTES}\nplugins = [{{ id = \"web-search\" }}]\n\
         options = {{ include_reasoning = true, temperature = 1, generationConfig = {{ topK = 3 }} }}"
    );
    let gate = vault.gate(&lines, REDACT_EMAIL, &upstream).await;
    vault.write("notes/a.md", &format!("Write to {EMAIL}."));
    let messages = json!([{ "role": "user", "content": "Now?" }]);
    let contents = json!([{ "role": "user", "parts": [{ "text": "Now?" }] }]);
    let chat = [
        json!({ "model": "c", "max_tokens": 9, "messages": messages }),
        json!({ "model": "c", "messages": messages }),
    ];
    let pairs = [
        ("/v1/messages", &chat[0], "/v1/messages/count_tokens", &chat[1]),
        (
            "/v1/responses",
            &json!({ "input": "Now?" }),
            "/v1/responses/input_tokens",
            &json!({ "input": "Now?" }),
        ),
        (
            "/v1beta/models/g:generateContent",
            &json!({ "contents": contents }),
            "/v1beta/models/g:countTokens",
            &json!({ "contents": contents }),
        ),
        (
            "/v1/projects/p/locations/l/publishers/google/models/g:generateContent",
            &json!({ "contents": contents }),
            "/v1/projects/p/locations/l/publishers/google/models/g:countTokens",
            &json!({ "contents": contents }),
        ),
    ];
    for (turn, body, count, counted) in pairs {
        for (path, body) in [(turn, body), (count, counted)] {
            let answer = once(&gate, post(&format!("/p/vault{path}"), body.to_string())).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        }
        let [.., turn, count] = &upstream.seen()[..] else { panic!("two requests") };
        let mut sent: Value = serde_json::from_slice(&turn.body).unwrap();
        let counted: Value = serde_json::from_slice(&count.body).unwrap();
        assert!(!counted.to_string().contains(EMAIL) && counted.to_string().contains(&email_token()));
        let members = sent.as_object_mut().unwrap();
        // A whole request is counted with all that it has but plugins.
        let wraps = turn.target.starts_with("/v1beta/");
        let left = if wraps { &["plugins"][..] } else { &["plugins", "include_reasoning", "temperature"] };
        for key in left {
            assert!(members.remove(*key).is_some(), "{key}");
        }
        members.remove("max_tokens");
        if !turn.target.contains("models/") {
            members.remove("generationConfig");
        }
        match wraps {
            true => {
                assert!(count.target.ends_with("/models/gpt-x:countTokens"), "{}", count.target);
                members.insert("model".to_owned(), json!("models/gpt-x"));
                assert_eq!(counted, json!({ "generateContentRequest": sent }));
            }
            false => assert_eq!(counted, sent, "{}", count.target),
        }
    }
}
