//! A model for a client's trial: it keeps what comes, and has the built-in upstream answer it.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use leafgate_gate::{Gate, GateConfig, UpstreamTarget};
use leafgate_http::listener::Listener;
use leafgate_policy::PolicySource;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::{exchange, home, policy};

/// A request that has come.
#[derive(Clone)]
pub(super) struct SeenRequest {
    pub(super) path: String,
    pub(super) body: Bytes,
}

/// A model that runs until it is dropped.
pub(super) struct DoctorProbe {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for DoctorProbe {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl DoctorProbe {
    pub(super) async fn start() -> anyhow::Result<DoctorProbe> {
        let nothing = Arc::new(policy::load(&PolicySource::None)?);
        let echo = Gate::new(GateConfig::new(UpstreamTarget::Echo), home::token_keys()?, nothing)?;
        let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).await?;
        let answers = listener.address();
        let serving = tokio::spawn(async move { echo.serve(listener, std::future::pending()).await });
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = socket.local_addr()?;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let accepting = tokio::spawn(accept(socket, answers, Arc::clone(&seen)));
        Ok(DoctorProbe { address, seen, tasks: [serving, accepting] })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn seen(&self) -> Vec<SeenRequest> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn accept(socket: TcpListener, answers: SocketAddr, seen: Arc<Mutex<Vec<SeenRequest>>>) {
    while let Ok((stream, _)) = socket.accept().await {
        let seen = Arc::clone(&seen);
        let service = service_fn(move |request| {
            let seen = Arc::clone(&seen);
            async move { Ok::<_, Infallible>(answer(request, answers, &seen).await) }
        });
        // A client that breaks off is a client of a trial that ends.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(
    request: Request<Incoming>,
    answers: SocketAddr,
    seen: &Mutex<Vec<SeenRequest>>,
) -> Response<Full<Bytes>> {
    let failed = |status| {
        let mut response = Response::new(Full::default());
        *response.status_mut() = status;
        response
    };
    let (mut parts, body) = request.into_parts();
    let Ok(body) = body.collect().await.map(|body| body.to_bytes()) else {
        return failed(StatusCode::BAD_REQUEST);
    };
    // What is compressed nobody has edited; it says nothing here.
    if !parts.headers.contains_key(CONTENT_ENCODING) {
        let path = parts.uri.path().to_owned();
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(SeenRequest { path, body: body.clone() });
    }
    if let Some(told) = told_before_a_question(&parts.method, parts.uri.path()) {
        return json(&told);
    }
    for own in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        parts.headers.remove(own);
    }
    match exchange::whole(answers, Request::from_parts(parts, Full::new(body))).await {
        Ok(answer) => {
            let mut answer = answer.map(Full::new);
            answer.headers_mut().remove(TRANSFER_ENCODING);
            answer
        }
        Err(_) => failed(StatusCode::BAD_GATEWAY),
    }
}

/// Returns what a client must be told before it asks a model: Copilot's which models there are, Gemini's
/// with a login of Google who is logged in. An echo of what they sent says neither.
fn told_before_a_question(method: &Method, path: &str) -> Option<Value> {
    if method == Method::GET && path == "/models" {
        return Some(json!({ "data": [copilot_model()] }));
    }
    let (_, call) = path.split_once("/v1internal:")?;
    let project = "leafgate-doctor";
    let tier =
        json!({ "currentTier": { "id": "free-tier", "name": "Free" }, "cloudaicompanionProject": project });
    match call {
        "generateContent" | "streamGenerateContent" | "countTokens" => None,
        "loadCodeAssist" => Some(tier),
        _ => Some(json!({})),
    }
}

/// A model by one of the names that Copilot CLI chooses by itself.
fn copilot_model() -> Value {
    let limits = json!({
        "max_prompt_tokens": 200_000,
        "max_output_tokens": 64_000,
        "max_context_window_tokens": 264_000,
    });
    let supports = json!({ "streaming": true, "tool_calls": true, "parallel_tool_calls": true });
    json!({
        "id": "gpt-5.4",
        "name": "gpt-5.4",
        "object": "model",
        "vendor": "leafgate",
        "version": "gpt-5.4",
        "preview": false,
        "model_picker_enabled": true,
        "capabilities": {
            "family": "gpt-5.4",
            "object": "model_capabilities",
            "type": "chat",
            "tokenizer": "o200k_base",
            "limits": limits,
            "supports": supports,
        },
        "supported_endpoints": ["/responses"],
        "policy": { "state": "enabled", "terms": "" },
        "billing": { "is_premium": false, "multiplier": 1 },
    })
}

fn json(value: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(value.to_string()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
