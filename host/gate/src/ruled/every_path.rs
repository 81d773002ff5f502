//! Every path that is served, in every format, under all that decides about answers: somebody reads
//! the answer, it holds nothing to decide about, or the request is refused before it is sent.

use std::sync::{Arc, LazyLock};

use http::{HeaderMap, Method, Uri};
use leafgate_contract::NoPlugins;
use leafgate_desk::Destination;
use leafgate_policy::{Policy, PolicySource};
use leafgate_tree::{Document, Format, Limits};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};

use super::Ruling;
use crate::apis::{self, Api, Wants};
use crate::restore::Restoring;
use crate::session::{Hints, Sessions};
use crate::subject::Subject;
use crate::target::UpstreamKind;
use leafgate_http::Refusal;

const CALLS: &str = "[[rule]]\nid = 'r'\non = 'tool-call'\nmatch = {}\naction = 'block'\n";
const TEXTS: &str =
    "[[rule]]\nid = 'r'\non = 'response'\nmatch = {}\ndetect = ['pii/email']\naction = 'redact'\n";
const PROFILE: &str = "[[assemble]]\nid = 'p'\ntools = { approve = { auto = ['read_*'] } }\n";

/// What decides about an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decides {
    CallRule,
    ResponseRule,
    Approval,
}

/// Paths of each API. One that is not here fails.
fn paths(api: Api) -> &'static [&'static str] {
    match api.name {
        "chat" => &[
            "/v1/chat/completions",
            "/chat/completions",
            "/openai/deployments/d/chat/completions",
            "/v1beta/openai/chat/completions",
        ],
        "responses" => &["/v1/responses", "/responses", "/openai/responses", "/backend-api/codex/responses"],
        "input-tokens" => &["/v1/responses/input_tokens"],
        "compact" => &["/v1/responses/compact", "/backend-api/codex/responses/compact"],
        "messages" => &[
            "/v1/messages",
            "/v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict",
            "/v1/projects/p/locations/l/publishers/anthropic/models/m:streamRawPredict",
        ],
        "count-tokens" => &["/v1/messages/count_tokens"],
        "embeddings" => &["/v1/embeddings", "/embeddings"],
        "completions" => &["/v1/completions", "/completions", "/v1/engines/m/completions"],
        "gemini" => &["/v1beta/models/m:generateContent"],
        "gemini-stream" => &["/v1beta/models/m:streamGenerateContent?alt=sse"],
        "gemini-array" => &["/v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent"],
        "gemini-count" => &["/v1beta/models/m:countTokens"],
        "code-assist" => &["/v1internal:generateContent"],
        "code-assist-stream" => &["/v1internal:streamGenerateContent?alt=sse"],
        "code-assist-array" => &["/v1internal:streamGenerateContent"],
        "code-assist-count" => &["/v1internal:countTokens"],
        "code-assist-other" => &["/v1internal:loadCodeAssist", "/v1internal:generateChat"],
        "copilot" => &["/auto", "/models/session", "/models/session/intent", "/search", "/skills"],
        "copilot-agents" => &["/agents", "/agents/swe/v1/jobs", "/agents/v1/chat/completions"],
        "openai" => &[
            "/v1/nobody/knows",
            "/v1/files",
            "/v1/files/f/content",
            "/v1/images/generations",
            "/v1/audio/transcriptions",
            "/v1/batches",
            "/v1/threads/t/runs",
            "/v1/responses/r/cancel",
            "/openai/deployments/d/extensions/chat/completions",
            "/openai/nobody",
        ],
        "anthropic" => &["/v1/messages/batches", "/v1/messages/nobody"],
        "google" => &[
            "/v1beta/models/m:embedContent",
            "/v1beta/models/m:batchGenerateContent",
            "/v1beta/models/m:generateAnswer",
            "/v1/projects/p/locations/l/publishers/mistralai/models/m:rawPredict",
            "/v1beta/cachedContents",
        ],
        name => panic!("the API `{name}` has no path here: say what answers hold there, and give it one"),
    }
}

/// Other spellings of a path, which servers take for the same.
fn spellings(target: &str) -> [String; 4] {
    let (path, query) =
        target.split_once('?').map_or((target, String::new()), |(path, query)| (path, format!("?{query}")));
    let (before, last) = path.rsplit_once('/').unwrap();
    let escaped = format!("{before}/%{:02x}{}", last.as_bytes()[0], &last[1..]);
    [
        target.to_owned(),
        format!("{path}/{query}"),
        format!("{before}//{last}{query}"),
        format!("{escaped}{query}"),
    ]
}

/// A body of each format.
fn body(format: Format) -> &'static str {
    match format {
        Format::OpenaiChat => r#"{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}"#,
        Format::OpenaiResponses => r#"{"model": "m", "input": [{"role": "user", "content": "Hi"}]}"#,
        Format::AnthropicMessages => {
            r#"{"model": "claude", "system": "Be", "messages": [{"role": "user", "content": "Hi"}]}"#
        }
        Format::Gemini => r#"{"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}"#,
        Format::Raw => r#"{"messages": [{"role": 1, "content": [{"type": 1, "text": "Hi"}]}]}"#,
        Format::VscodeChat => r#"{"requests": [{"message": {"text": "Hi"}, "response": []}]}"#,
        Format::Generic => r#"{"prompt": "Hi"}"#,
    }
}

/// A policy of each [`Decides`].
static POLICIES: LazyLock<[Arc<Policy>; 3]> = LazyLock::new(|| {
    [CALLS, TEXTS, PROFILE].map(|rules| {
        let folder = tempfile::tempdir().unwrap();
        leafgate_harness::rules::write_alone(folder.path(), rules).unwrap();
        Arc::new(Policy::load(&PolicySource::Folder(folder.path().to_owned()), &NoPlugins).unwrap())
    })
});

/// A request as it is judged: its document, and the API that answers it.
struct Read {
    path: String,
    document: Document,
    api: Api,
}

impl Read {
    /// Reads a body that is sent to a target, as the gate does.
    fn new(kind: UpstreamKind, target: &str, body: &'static str) -> Read {
        let uri: Uri = target.parse().unwrap();
        let api = Api::of(kind, &Method::POST, &uri, &HeaderMap::new());
        let document = match api.format {
            Some(format) => Document::parse(body.into(), format, &Limits::default()),
            None => Document::detect(body.into(), &Limits::default()),
        };
        let document = document.unwrap();
        let api = api.of_body(uri.path(), document.format());
        Read { path: uri.path().to_owned(), document, api }
    }

    fn vault() -> Vault {
        let key = InstallationKey::from_bytes([3; 32]);
        Vault::new(TokenKeys::derive(&key, &ClientIdentity::new("test")))
    }

    fn ruling(&self, decides: Decides) -> Result<Option<Arc<Ruling>>, Refusal> {
        let policy = &POLICIES[decides as usize];
        let to = Destination {
            upstream: "https://a.example".into(),
            method: "POST".into(),
            path: self.path.as_str().into(),
            options: "".into(),
        };
        let subject = Subject::new(policy, self.api, to, Read::vault());
        Ruling::of(&subject, policy.assembly("p"), None, &self.document)
    }

    fn is_restored(&self) -> bool {
        let sessions = Arc::new(Sessions::new(Read::vault().keys().clone(), 1, usize::MAX));
        let thread = sessions.thread(&sessions.of(&self.document, &Hints::default()).key);
        Restoring::of(self.api, &self.document, Read::vault(), thread).is_some()
    }
}

#[test]
fn an_answer_is_read_or_holds_nothing_or_its_request_is_refused() {
    for &kind in UpstreamKind::ALL {
        for target in Api::every().flat_map(paths).flat_map(|path| spellings(path)) {
            let path = target.split('?').next().unwrap();
            for format in Format::ALL.iter().copied().filter(|_| apis::is_served(kind, path)) {
                let read = Read::new(kind, &target, body(format));
                let wants = read.api.wants(path);
                assert_eq!(read.is_restored(), read.api.converses(), "{target} {format}");
                for decides in [Decides::CallRule, Decides::ResponseRule, Decides::Approval] {
                    let said = format!("{kind:?} {target} {format} {decides:?}: {:?}, {wants:?}", read.api);
                    let holds_nothing = match wants {
                        Wants::Count(_) | Wants::Data => true,
                        Wants::Text => decides != Decides::ResponseRule,
                        Wants::Turn | Wants::Later | Wants::Other => false,
                    };
                    match read.ruling(decides) {
                        Ok(Some(ruling)) => assert!(read.api.converses() && ruling.api == read.api, "{said}"),
                        Ok(None) => assert!(holds_nothing, "{said}"),
                        Err(refusal) => {
                            assert!(!holds_nothing && !read.api.converses(), "{said}: {}", refusal.message);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_conversation_is_judged_as_what_it_is_wherever_it_goes() {
    for (target, format, expected) in [
        ("/v1//chat/completions", Format::OpenaiChat, "chat"),
        ("/v1/chat/completions/", Format::OpenaiChat, "chat"),
        ("/v1beta/openai/chat/completions", Format::OpenaiChat, "chat"),
        ("/openai/deployments/d/extensions/chat/completions", Format::OpenaiChat, "chat"),
        ("/v1/projects/p/locations/l/endpoints/openapi/chat/completions", Format::OpenaiChat, "chat"),
        (
            "/v1/projects/p/locations/l/publishers/x/models/m:rawPredict",
            Format::AnthropicMessages,
            "messages",
        ),
        ("/v1/nobody", Format::OpenaiResponses, "responses"),
        ("/v1/nobody", Format::Gemini, "gemini"),
    ] {
        let read = Read::new(UpstreamKind::Models, target, body(format));
        assert_eq!(read.api.name, expected, "{target}");
        for decides in [Decides::CallRule, Decides::ResponseRule, Decides::Approval] {
            let ruling = read.ruling(decides).ok().flatten().expect("somebody judges the answer");
            // What passes while it comes must be what it was taken for.
            assert_eq!(ruling.of.whole, read.api.is_by_shape, "{target} {decides:?}");
        }
    }
}
