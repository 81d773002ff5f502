//! A recording upstream, a running gate, and a client that sends exactly what a test says.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use leafgate_contract::NoPlugins;
use leafgate_gate::{FirstUpstream, Gate, GateConfig, GateLimits, LOCAL_CLIENT, OnUnread};
use leafgate_http::Listener;
use leafgate_policy::{Policy, PolicySource};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

/// Nothing in these tests takes a second; what takes so long, hangs.
pub(crate) const SOON: Duration = Duration::from_secs(30);

pub(crate) const EMAIL: &str = "jane.doe@mail.example.org";

pub(crate) const REDACT_EMAIL: &str = r#"
[[rule]]
id = "mail"
match = {}
detect = ["pii/email"]
action = "redact"
with = "token"
"#;

pub(crate) type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// A request as it arrived at the upstream.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Returns a URL that refuses connections, and the socket that keeps its port from other tests while it lives.
pub(crate) fn refusing() -> (TcpSocket, String) {
    let bound = TcpSocket::new_v4().unwrap();
    bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", bound.local_addr().unwrap());
    (bound, url)
}

/// An upstream that keeps everything it is sent.
pub(crate) struct Upstream {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Upstream {
    /// Answers each request with what `answer` makes of it.
    pub(crate) async fn start<F, A>(answer: F) -> Upstream
    where
        F: Fn(Seen) -> A + Clone + Send + 'static,
        A: Future<Output = Response<Body>> + Send,
    {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        tokio::spawn(async move {
            loop {
                let (stream, _) = socket.accept().await.unwrap();
                let (answer, kept) = (answer.clone(), Arc::clone(&kept));
                let service = service_fn(move |request: Request<Incoming>| {
                    let (answer, kept) = (answer.clone(), Arc::clone(&kept));
                    async move {
                        let seen = seen_of(request).await;
                        kept.lock().unwrap().push(seen.clone());
                        Ok::<_, Infallible>(answer(seen).await)
                    }
                });
                // Errors are what some tests provoke.
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        Upstream { address, seen }
    }

    /// Answers every request with `{}`.
    pub(crate) async fn silent() -> Upstream {
        Upstream::start(|_| async { json_answer("{}") }).await
    }

    /// Answers each request with a stream, which the test feeds.
    pub(crate) async fn fed() -> (Upstream, UnboundedReceiver<Feed>) {
        let (began, begins) = mpsc::unbounded_channel();
        let upstream = Upstream::start(move |_| {
            let (feed, body) = fed();
            began.send(feed).unwrap();
            async move { answer("text/event-stream", body) }
        });
        (upstream.await, begins)
    }

    /// Holds each answer, which is `{}`, until the sender that arrives with its request is dropped.
    pub(crate) async fn held() -> (Upstream, UnboundedReceiver<oneshot::Sender<()>>) {
        let (arrived, arrivals) = mpsc::unbounded_channel();
        let upstream = Upstream::start(move |_| {
            let (release, released) = oneshot::channel::<()>();
            arrived.send(release).unwrap();
            async move {
                let _ = released.await;
                json_answer("{}")
            }
        });
        (upstream.await, arrivals)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The only request so far.
    pub(crate) fn only(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "the upstream got one request");
        seen[0].clone()
    }
}

async fn seen_of(request: Request<Incoming>) -> Seen {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Seen { method: parts.method, target: parts.uri.to_string(), headers: parts.headers, body }
}

pub(crate) fn full(body: impl Into<Bytes>) -> Body {
    Full::new(body.into()).map_err(|never| match never {}).boxed_unsync()
}

pub(crate) fn json_answer(body: impl Into<Bytes>) -> Response<Body> {
    answer("application/json", full(body))
}

pub(crate) fn answer(content_type: &str, body: Body) -> Response<Body> {
    Response::builder().header("content-type", content_type).body(body).unwrap()
}

/// What feeds a body.
pub(crate) type Feed = UnboundedSender<std::io::Result<Bytes>>;

/// A body that a test feeds as it goes; it ends when the sender is dropped, and breaks off on an error.
pub(crate) fn fed() -> (Feed, Body) {
    let (feed, mut fed) = mpsc::unbounded_channel();
    let frames = futures_util::stream::poll_fn(move |context| fed.poll_recv(context));
    let frames = futures_util::TryStreamExt::map_ok(frames, http_body::Frame::data);
    (feed, http_body_util::StreamBody::new(frames).boxed_unsync())
}

/// A gate that serves until it is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) gate: Gate,
    _stop: oneshot::Sender<()>,
}

pub(crate) fn keys() -> TokenKeys {
    TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new(LOCAL_CLIENT))
}

/// The token that stands for [`EMAIL`].
pub(crate) fn email_token() -> String {
    keys().token("EMAIL", EMAIL).to_string()
}

/// A policy of one rule file; an empty one is no policy.
pub(crate) fn policy(rules: &str) -> Arc<Policy> {
    if rules.is_empty() {
        return Arc::new(Policy::load(&PolicySource::None, &NoPlugins).unwrap());
    }
    let folder = tempfile::tempdir().unwrap();
    leafgate_harness::rules::write_alone(folder.path(), rules).unwrap();
    let loaded = Policy::load(&PolicySource::Folder(folder.path().to_owned()), &NoPlugins);
    Arc::new(loaded.unwrap_or_else(|error| panic!("{error}")))
}

/// Starts a gate with these rules before an upstream that answers every request with `{}`.
pub(crate) async fn behind(rules: &str) -> (Upstream, Running) {
    let upstream = Upstream::silent().await;
    let gate = gate(rules, &upstream.url()).await;
    (upstream, gate)
}

/// Starts a gate with these rules before `upstream`.
pub(crate) async fn gate(rules: &str, upstream: &str) -> Running {
    gate_with(rules, upstream, |_| {}).await
}

pub(crate) async fn gate_with(rules: &str, upstream: &str, limit: impl FnOnce(&mut GateLimits)) -> Running {
    let mut config = GateConfig::new(upstream.parse().unwrap());
    limit(&mut config.limits);
    gate_of(config, rules).await
}

/// Starts a gate that does this with files whose text cannot be read. Some recorded requests have a PDF.
pub(crate) async fn gate_with_files(rules: &str, upstream: &str, on_unread: OnUnread) -> Running {
    let mut config = GateConfig::new(upstream.parse().unwrap());
    let FirstUpstream::Own(upstream) = &mut config.upstream else { panic!("it has no name") };
    upstream.on_unread = on_unread;
    gate_of(config, rules).await
}

/// Starts a gate that is configured so.
pub(crate) async fn gate_of(config: GateConfig, rules: &str) -> Running {
    let gate = Gate::new(config, keys(), policy(rules)).unwrap();
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.address();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = gate.clone();
    tokio::spawn(async move {
        let stopped = async {
            let _ = stopped.await;
        };
        serving.serve(listener, stopped).await;
    });
    Running { address, gate, _stop: stop }
}

/// One connection to the gate.
pub(crate) struct Client {
    address: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).await.unwrap();
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Client { address, sender }
    }

    /// Sends a request; the Host header is the gate's unless the request has one.
    pub(crate) async fn send(&mut self, mut request: Request<Full<Bytes>>) -> Response<Incoming> {
        if !request.headers().contains_key("host") {
            request.headers_mut().insert("host", self.address.to_string().parse().unwrap());
        }
        self.sender.ready().await.unwrap();
        tokio::time::timeout(SOON, self.sender.send_request(request))
            .await
            .expect("an answer in time")
            .unwrap()
    }

    pub(crate) async fn whole(&mut self, request: Request<Full<Bytes>>) -> Answer {
        read(self.send(request).await).await
    }
}

/// Sends a request on a connection of its own.
pub(crate) async fn ask(to: SocketAddr, request: Request<Full<Bytes>>) -> Response<Incoming> {
    Client::connect(to).await.send(request).await
}

/// Reads an answer to its end.
pub(crate) async fn read(response: Response<Incoming>) -> Answer {
    let (parts, body) = response.into_parts();
    let body = tokio::time::timeout(SOON, body.collect()).await.expect("an end in time").unwrap().to_bytes();
    Answer { status: parts.status.as_u16(), headers: parts.headers, body }
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    /// A header; empty where there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json<T: DeserializeOwned>(&self) -> T {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// `error.code` and `error.message` of a refusal.
    pub(crate) fn error(&self) -> (String, String) {
        let body: Value = self.json();
        let field = |name: &str| body["error"][name].as_str().unwrap().to_owned();
        (field("code"), field("message"))
    }

    /// The same of one that must not be retried.
    pub(crate) fn refusal(&self) -> (String, String) {
        assert_eq!((self.status, self.header("x-should-retry")), (400, "false"), "{}", self.text());
        self.error()
    }
}

pub(crate) fn post(path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    let request = Request::post(path).header("content-type", "application/json");
    request.body(Full::new(body.into())).unwrap()
}

pub(crate) fn chat(body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    post("/v1/chat/completions", body)
}

/// A chat request with one message of the user.
pub(crate) fn says(text: &str) -> String {
    json!({ "model": "m", "messages": [{ "role": "user", "content": text }] }).to_string()
}

pub(crate) async fn once(gate: &Running, request: Request<Full<Bytes>>) -> Answer {
    read(ask(gate.address, request).await).await
}
