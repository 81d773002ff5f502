//! A gate with both listeners before an upstream that records, and clients for each.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use leafgate_admin::{
    ApiError, EditCommand, Event, ModeView, ShownText, State, TurnMode, TurnSummary, TurnView,
};
use leafgate_desk::{Destination, Digest};
use leafgate_gate::{AdminToken, Gate, GateConfig};
use leafgate_http::Listener;
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) use crate::kit::{Answer, Upstream, ask, policy, read};
use crate::kit::{Body, full};
use crate::logs;

/// What redaction must take away, wherever it stands: no answer, event or log may hold it.
pub(crate) const CANARY: &str = "wanda.canary@corp-mail.net";

/// Redacts e-mail addresses, asks for a person where somebody names `prod-db`, blocks `rm -rf`.
pub(crate) const RULES: &str = r#"
[[rule]]
id = "addresses"
match = {}
detect = ["pii/email"]
action = "redact"

[[rule]]
id = "production"
match = { role = "user" }
when = 'leaf.text.contains("prod-db")'
action = "pause"
reason = "Names the production database"
severity = "high"

[[rule]]
id = "no-destruction"
match = {}
when = 'leaf.text.contains("rm -rf")'
action = "block"
reason = "Would delete files"
"#;

/// Far longer than any test runs.
pub(crate) const LONG: Duration = Duration::from_secs(3600);
/// As good as at once.
pub(crate) const SOON: Duration = Duration::from_millis(30);

pub(crate) const CHAT: &str = "/v1/chat/completions";

/// A chat that begins alike, so that all of them are one session.
pub(crate) fn chat(says: &str) -> Value {
    json!({ "model": "m-1", "messages": [
        { "role": "system", "content": "Be brief" },
        { "role": "user", "content": "Hello" },
        { "role": "assistant", "content": "Yes?" },
        { "role": "user", "content": says },
    ]})
}

/// A chat of a session of its own.
pub(crate) fn other_chat(opens: &str) -> Value {
    json!({ "model": "m-1", "messages": [{ "role": "user", "content": opens }] })
}

pub(crate) fn streaming(mut chat: Value) -> Value {
    chat["stream"] = json!(true);
    chat
}

/// What an upstream answers with.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    /// `None` answers with what the user said last, as a completion.
    pub(crate) body: Option<String>,
}

impl Reply {
    pub(crate) fn echo() -> Self {
        Reply { status: 200, kind: "application/json", body: None }
    }

    pub(crate) fn json(body: impl Into<String>) -> Self {
        Reply { body: Some(body.into()), ..Reply::echo() }
    }

    pub(crate) fn events(body: impl Into<String>) -> Self {
        Reply { status: 200, kind: "text/event-stream", body: Some(body.into()) }
    }
}

impl Upstream {
    /// Every body so far, in order of arrival.
    pub(crate) fn received(&self) -> Vec<Bytes> {
        self.seen().into_iter().map(|seen| seen.body).collect()
    }

    /// Path and query of every request so far.
    pub(crate) fn targets(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.target).collect()
    }
}

fn answer(reply: &Reply, body: &Bytes) -> Response<Body> {
    let said = || {
        let request: Value = serde_json::from_slice(body).unwrap_or_default();
        let last = request["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        let message = json!({ "role": "assistant", "content": last["content"] });
        json!({ "choices": [{ "index": 0, "message": message }] }).to_string()
    };
    let text = reply.body.clone().unwrap_or_else(said);
    let response = Response::builder().status(reply.status).header("content-type", reply.kind);
    response.body(full(text)).unwrap()
}

pub(crate) fn keys(client: &str) -> TokenKeys {
    TokenKeys::derive(&InstallationKey::from_bytes([1; 32]), &ClientIdentity::new(client))
}

/// A gate that serves, with what stands around it.
pub(crate) struct House {
    pub(crate) gate: Gate,
    pub(crate) upstream: Upstream,
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) token: String,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl House {
    /// A gate under [`RULES`] whose waits do not end by themselves.
    pub(crate) async fn start() -> Self {
        House::with(RULES, Reply::echo(), |_| ()).await
    }

    /// The same, and what it tells.
    pub(crate) async fn watched() -> (Self, Events) {
        House::watched_with(RULES, Reply::echo(), |_| ()).await
    }

    pub(crate) async fn watched_with(
        rules: &str,
        reply: Reply,
        change: impl FnOnce(&mut GateConfig),
    ) -> (Self, Events) {
        let house = House::with(rules, reply, change).await;
        let events = house.events().await;
        (house, events)
    }

    pub(crate) async fn with(rules: &str, reply: Reply, change: impl FnOnce(&mut GateConfig)) -> Self {
        House::open("test", rules, reply, change).await
    }

    /// A gate of the same installation for another client.
    pub(crate) async fn of_client(name: &str) -> Self {
        House::open(name, RULES, Reply::echo(), |_| ()).await
    }

    async fn open(client: &str, rules: &str, reply: Reply, change: impl FnOnce(&mut GateConfig)) -> Self {
        logs::record();
        let upstream = Upstream::start(move |seen| {
            let answer = answer(&reply, &seen.body);
            async move { answer }
        })
        .await;
        let mut config = GateConfig::new(upstream.url().parse().unwrap());
        config.limits.silence = LONG;
        config.limits.desk.timeout = LONG;
        config.limits.desk.linger = LONG;
        change(&mut config);
        let gate = Gate::new(config, keys(client), policy(rules)).unwrap();
        let bind = || Listener::bind((Ipv4Addr::LOCALHOST, 0).into());
        let (clients, admins) = (bind().await.unwrap(), bind().await.unwrap());
        let (address, admin) = (clients.address(), admins.address());
        let token = AdminToken::generate().unwrap();
        let text = token.expose().to_owned();
        let (stop, stopped) = oneshot::channel::<()>();
        let serve = gate.clone();
        let serving = tokio::spawn(async move { serve.serve(clients, async { drop(stopped.await) }).await });
        let serve = gate.clone();
        tokio::spawn(async move { serve.serve_admin(admins, token, std::future::pending()).await });
        House { gate, upstream, address, admin, token: text, stop: Some(stop), serving }
    }

    /// Opens a listener of metrics.
    pub(crate) async fn serve_metrics(&self) -> SocketAddr {
        let (gate, listener) =
            (self.gate.clone(), Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap());
        let address = listener.address();
        tokio::spawn(async move { gate.serve_metrics(listener, std::future::pending()).await });
        address
    }

    /// Tells the gate to stop and waits until it has.
    pub(crate) async fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        (&mut self.serving).await.unwrap();
    }

    pub(crate) fn request(&self, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
        let request = Request::post(CHAT).header("host", self.address.to_string());
        request.header("content-type", "application/json").body(Full::new(body.into())).unwrap()
    }

    /// Sends a chat and reads its answer to the end, in a task of its own.
    pub(crate) fn send(&self, chat: &Value) -> JoinHandle<Answer> {
        self.send_raw(self.request(chat.to_string()))
    }

    /// Sends a chat that must wait; its client, and the turn that it became.
    pub(crate) async fn holds(&self, events: &mut Events, chat: &Value) -> (JoinHandle<Answer>, String) {
        let client = self.send(chat);
        (client, events.paused().await.id)
    }

    pub(crate) fn send_raw(&self, request: Request<Full<Bytes>>) -> JoinHandle<Answer> {
        let to = self.address;
        tokio::spawn(async move { read(ask(to, request).await).await })
    }

    /// What the chats of this house ask for beside their body.
    fn destination(&self) -> Destination {
        let mut options = Sha256::new();
        for part in ["content-type", "application/json"] {
            options.update((part.len() as u64).to_be_bytes());
            options.update(part);
        }
        let options: String = options.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Destination {
            upstream: self.upstream.url().into(),
            method: "POST".into(),
            path: CHAT.into(),
            options: options.into(),
        }
    }

    /// The digest of a body that goes to the upstream.
    pub(crate) fn digest(&self, body: &[u8]) -> String {
        Digest::of(&self.destination(), body).to_string()
    }

    /// A call of the admin API as a proper client makes it.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let answer = read(ask(self.admin, self.admin_request(method, path, body)).await).await;
        assert!(!answer.text().contains(CANARY), "{path}: {}", answer.text());
        answer
    }

    pub(crate) fn admin_request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Request<Full<Bytes>> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", self.admin.to_string())
            .header("authorization", format!("Bearer {}", self.token));
        let request =
            if body.is_some() { request.header("content-type", "application/json") } else { request };
        request.body(Full::new(body.map(ToString::to_string).unwrap_or_default().into())).unwrap()
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> T {
        let answer = self.call(Method::GET, path, None).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    pub(crate) async fn turn(&self, id: &str) -> TurnView {
        self.get(&format!("/v1/pending/{id}")).await
    }

    pub(crate) async fn pending(&self) -> Vec<TurnSummary> {
        self.get::<leafgate_admin::Pending>("/v1/pending").await.turns
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, (u16, ApiError)> {
        let answer = self.call(Method::POST, path, Some(body)).await;
        if answer.status == 200 { Ok(answer.json()) } else { Err((answer.status, answer.json())) }
    }

    pub(crate) async fn edit(&self, id: &str, command: &EditCommand) -> Result<TurnView, (u16, ApiError)> {
        self.post(&format!("/v1/pending/{id}/edit"), &serde_json::to_value(command).unwrap()).await
    }

    /// A person writes into a leaf.
    pub(crate) async fn write(
        &self,
        id: &str,
        pointer: &str,
        text: &str,
    ) -> Result<TurnView, (u16, ApiError)> {
        self.edit(id, &EditCommand::Set { pointer: pointer.to_owned(), text: ShownText::new(text) }).await
    }

    pub(crate) async fn resume(&self, id: &str, digest: &str) -> Result<TurnSummary, (u16, ApiError)> {
        self.post(&format!("/v1/pending/{id}/resume"), &json!({ "digest": digest })).await
    }

    pub(crate) async fn cancel(&self, id: &str) -> Result<TurnSummary, (u16, ApiError)> {
        self.post(&format!("/v1/pending/{id}/cancel"), &json!({})).await
    }

    /// Chooses a mode.
    pub(crate) async fn choose(&self, mode: TurnMode) -> ModeView {
        let answer = self.call(Method::PUT, "/v1/mode", Some(&json!({ "mode": mode }))).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// Resumes a turn as it stands.
    pub(crate) async fn let_go(&self, id: &str) {
        let digest = self.turn(id).await.digest;
        assert_eq!(self.resume(id, &digest).await.unwrap().state, State::Resumed);
    }

    /// Listens to events from now on.
    pub(crate) async fn events(&self) -> Events {
        let response = ask(self.admin, self.admin_request(Method::GET, "/v1/events", None)).await;
        assert_eq!(response.status(), 200);
        Events { body: response.into_body(), read: String::new() }
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            logs::assert_clean();
        }
    }
}

/// What the gate tells.
pub(crate) struct Events {
    body: Incoming,
    read: String,
}

impl Events {
    /// The next event about a turn, the mode or the policy.
    pub(crate) async fn next(&mut self) -> Event {
        loop {
            match self.told().await {
                Event::Sessions { .. } => {}
                event => return event,
            }
        }
    }

    /// The next event of any kind.
    pub(crate) async fn told(&mut self) -> Event {
        loop {
            while let Some(end) = self.read.find("\n\n") {
                let event: String = self.read.drain(..end + 2).collect();
                assert!(!event.contains(CANARY), "{event}");
                if let Some(data) = event.lines().find_map(|line| line.strip_prefix("data: ")) {
                    return serde_json::from_str(data).unwrap();
                }
            }
            let frame = self.body.frame().await.expect("the events go on").unwrap();
            self.read.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
        }
    }

    /// The next turn that begins to wait.
    pub(crate) async fn paused(&mut self) -> TurnSummary {
        loop {
            if let Event::Paused { turn } = self.next().await {
                return turn;
            }
        }
    }

    /// The turn when it is next in this state.
    pub(crate) async fn until(&mut self, id: &str, state: State) -> TurnSummary {
        loop {
            match self.next().await {
                Event::Paused { turn } | Event::Changed { turn } | Event::Resolved { turn }
                    if turn.id == id && turn.state == state =>
                {
                    return turn;
                }
                _ => {}
            }
        }
    }
}
