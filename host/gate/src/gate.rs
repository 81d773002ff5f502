//! The gate itself: takes connections, and takes each request through guard, route, body, policy, upstream and answer.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use http::header::EXPECT;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use leafgate_admin::{Status, TurnMode};
use leafgate_policy::{Assembly, Policy};
use leafgate_record::Recorder;
use leafgate_vault::TokenKeys;

use crate::adapter::Adapter;
use crate::admin::{self, AdminToken};
use crate::apis::{Api, dialect};
use crate::base::RequestBase;
use crate::config::GateConfig;
use crate::except::PolicyFiles;
use crate::exchange::Exchange;
use crate::judge::JudgeCase;
use crate::log::RequestLog;
use crate::reach::ReachError;
use crate::route;
use crate::saved::SavedStore;
use crate::serving::ServingPolicy;
use crate::shared::Shared;
use crate::stages::{Came, RequestOutcome};
use crate::target::{UpstreamKind, UpstreamName};
use crate::team::ForTeam;
use crate::teams::TeamSource;
use leafgate_http::{Content, Listener, Refusal, body, guard, headers, server};

/// A gate before its upstreams.
#[derive(Clone)]
pub struct Gate(Arc<Shared>);

impl Gate {
    /// A gate that judges by `policy` and makes tokens with `keys`.
    ///
    /// # Errors
    /// When an upstream is https and certificates cannot be read, or a proxy is none.
    pub fn new(config: GateConfig, keys: TokenKeys, policy: Arc<Policy>) -> Result<Self, ReachError> {
        Shared::new(config, keys, policy).map(|shared| Gate(Arc::new(shared)))
    }

    /// Another generation was loaded: it judges the requests that come from now on, or once it was tried. Those in flight and those that
    /// wait keep the one that they began with. One that routes to an upstream which is not there cannot serve.
    pub fn policy_loaded(&self, policy: Arc<Policy>) {
        self.loaded(&self.0.policy, Ok(policy));
    }

    /// The next generation comes from another place: a folder that was begun meanwhile.
    pub fn policy_comes_from(&self, source: String) {
        self.0.policy.comes_from(source);
    }

    /// Newer files were found and cannot serve; `diagnostics` says why. The generation that serves goes on.
    pub fn policy_refused(&self, diagnostics: impl Into<String>) {
        self.0.policy.refused(diagnostics.into());
    }

    /// Has the status tell how long the present look at the policy on disk, or its load, has been running.
    pub fn watch_loads(&self, running: impl Fn() -> Option<std::time::Duration> + Send + Sync + 'static) {
        self.0.policy.watch(running);
    }

    /// The same for the policy of a named upstream: it was loaded, or cannot serve. An upstream without one of its own is not changed.
    pub fn upstream_policy(&self, upstream: &UpstreamName, loaded: Result<Arc<Policy>, String>) {
        let lane = self.0.upstreams.by_name(upstream.as_str());
        if let Some(own) = lane.and_then(|lane| lane.own.as_ref()) {
            self.loaded(own, loaded);
        }
    }

    fn loaded(&self, serving: &ServingPolicy, loaded: Result<Arc<Policy>, String>) {
        let check = |policy: &Arc<Policy>| {
            self.0.upstreams.check_routes(policy).map_err(|unknown| unknown.to_string())
        };
        match loaded.and_then(|policy| check(&policy).map(|()| policy)) {
            Ok(policy) => serving.loaded(policy),
            Err(diagnostics) => serving.refused(diagnostics),
        }
    }

    /// Has a mode be in force from the start, and hands each mode that the next start should begin
    /// with to `keep`. Only the first caller is heard.
    pub fn keep_mode(
        &self,
        begin: TurnMode,
        keep: impl Fn(TurnMode) -> std::io::Result<()> + Send + Sync + 'static,
    ) {
        self.0.turns.keep_mode(begin, keep);
    }

    /// Has a team of agents serve. Only the first caller is heard.
    pub fn serve_team(&self, source: impl TeamSource + 'static) {
        self.0.teams.serve(Box::new(source));
    }

    /// Has saved edits be kept in a store. Only the first caller is heard.
    pub fn keep_saved(&self, store: impl SavedStore + 'static) {
        self.0.turns.keep_saved(Box::new(store));
    }

    /// Has a recorder be told of every request from now on. Only the first caller is heard.
    pub fn record(&self, recorder: Arc<dyn Recorder>) {
        let _ = self.0.recorder.set(recorder);
    }

    /// Has exceptions be written into these folders. Only the first caller is heard.
    pub fn write_exceptions(&self, files: impl PolicyFiles + 'static) {
        let _ = self.0.policy_files.set(Arc::new(files));
    }

    /// How the gate is.
    pub fn status(&self) -> Status {
        self.0.status()
    }

    /// Serves clients until `shutdown` is ready. Then the turns that wait are given up, and the requests in flight end, for a while.
    pub async fn serve(&self, listener: Listener, shutdown: impl Future<Output = ()>) {
        let _ = self.0.listen.set(listener.address());
        let stopping = async {
            shutdown.await;
            self.0.turns.event(|desk, now| desk.close(now));
        };
        let respond =
            |shared: Arc<Shared>, request, local| async move { shared.respond(request, local).await };
        tokio::select! {
            () = self.answer(listener, self.0.limits.connections, stopping, respond) => {}
            () = self.0.turns.keep_time() => {}
        }
    }

    /// Serves the admin API, whose every call must bear `token`, until `shutdown` is ready.
    pub async fn serve_admin(
        &self,
        listener: Listener,
        token: AdminToken,
        shutdown: impl Future<Output = ()>,
    ) {
        let stopping = async {
            shutdown.await;
            // Event streams have no end of their own, and the server waits for what is in flight.
            self.0.hub.close();
        };
        let token = Arc::new(token);
        let respond = move |shared: Arc<Shared>, request, local| {
            let token = Arc::clone(&token);
            async move { admin::respond(&shared, &token, request, local).await }
        };
        self.answer(listener, self.0.limits.admin_connections, stopping, respond).await;
    }

    /// Serves metrics and health alone, which need no token, until `shutdown` is ready.
    pub async fn serve_metrics(&self, listener: Listener, shutdown: impl Future<Output = ()>) {
        let respond = |shared: Arc<Shared>, request: Request<Incoming>, local| async move {
            admin::open::respond(&shared, &request.into_parts().0, local)
        };
        self.answer(listener, self.0.limits.admin_connections, shutdown, respond).await;
    }

    async fn answer<F: Future<Output = Response<Content>> + Send + 'static>(
        &self,
        listener: Listener,
        most: usize,
        stopping: impl Future<Output = ()>,
        respond: impl Fn(Arc<Shared>, Request<Incoming>, SocketAddr) -> F + Clone + Send + 'static,
    ) {
        let shared = Arc::clone(&self.0);
        let answer = move |request, local| respond(Arc::clone(&shared), request, local);
        server::serve(listener, most, self.0.timeouts(), stopping, answer).await;
    }
}

impl Shared {
    /// Answers one request, whatever happens.
    async fn respond(self: &Arc<Self>, request: Request<Incoming>, local: SocketAddr) -> Response<Content> {
        let (mut parts, body) = request.into_parts();
        let mut body = Some(body);
        let chosen = self.upstreams.choose(&mut parts);
        let prefix = chosen.as_ref().map(|(_, prefix)| prefix.clone()).unwrap_or_default();
        let lane = chosen.map(|(lane, _)| lane);
        // What is not looked at is not made by a profile either: its path passes as it is.
        let kind = lane.as_ref().map_or(UpstreamKind::default(), |lane| lane.kind);
        let base = if self.enabled { RequestBase::take(kind, &mut parts.uri) } else { RequestBase::Plain };
        let api = Api::of(kind, &parts.method, &parts.uri, &parts.headers);
        let policy = self.policy_of(lane.as_deref().ok());
        let path: Arc<str> = format!("{prefix}{}", self.shown_path(parts.uri.path(), &policy).await).into();
        let request_log = RequestLog::new(&parts.method, &path, &self.counters);
        let (head, progress) = (Arc::new(parts), Arc::clone(&request_log.progress));
        let answer = match guard::check(&head, local).and(lane) {
            Ok(lane) => {
                let (client, parts) = (Arc::clone(&head), Arc::clone(&head));
                let (shared, progress) = (Arc::clone(self), Arc::clone(&progress));
                let exchange = Exchange { shared, lane, client, parts, path, api, policy, progress };
                exchange.pass(base, &mut body).await
            }
            Err(refusal) => Err(refusal),
        };
        let mut response = match answer {
            Ok(response) => response,
            Err(refusal) => {
                // Who expects `100 Continue` has sent nothing yet, and reading on would ask for it.
                let left = body.filter(|body| !head.headers.contains_key(EXPECT) && !body.is_end_stream());
                if let Some(left) = left {
                    body::drain(left, self.bounds()).await;
                }
                progress.refused(&refusal);
                dialect::refused(refusal, api)
            }
        };
        progress.mark(response.headers_mut());
        let status = response.status();
        response.map(|body| request_log.follow(status, body))
    }
}

impl Exchange {
    /// The way of a request, or the place where it ends. The body is taken where it leaves as it comes.
    async fn pass(
        self,
        base: RequestBase,
        body: &mut Option<Incoming>,
    ) -> Result<Response<Content>, Refusal> {
        if !self.enabled {
            return self.pass_plain(body).await;
        }
        headers::check_connection(&self.parts.headers)?;
        let chosen = base.profile(&self.policy)?;
        let coming = body.as_mut().expect("nobody has taken the body yet");
        let (has_body, raw) = (!coming.is_end_stream(), self.lane.is_raw(self.parts.uri.path()));
        route::check(self.lane.kind, &self.parts, has_body, raw)?;
        self.refuse_elsewhere(&base)?;
        if !has_body {
            self.judge_bodyless().await?;
            return self.forward_bodyless().await;
        }
        let came = self.read(coming).await?;
        let (exchange, came, adapter) = self.adapt(came).await?;
        let client = Arc::clone(&exchange.parts);
        let answer = Exchange { client, ..exchange }.walk(&base, chosen, came).await?;
        Adapter::answer(adapter, answer).await
    }

    /// The way of a body that its upstream can read.
    async fn walk(
        self,
        base: &RequestBase,
        chosen: Option<Arc<Assembly>>,
        came: Came,
    ) -> Result<Response<Content>, Refusal> {
        let came = match self.for_team(base, came).await? {
            ForTeam::Yes(request) => return self.run_team(*request).await,
            ForTeam::No(came) => came,
        };
        let case = JudgeCase { chosen: chosen.clone(), ..self.case(came) };
        match self.judge_told(case).await? {
            RequestOutcome::Route(route, came) => self.send_elsewhere(chosen, route, came).await,
            outcome => self.settle(outcome, false).await,
        }
    }
}
