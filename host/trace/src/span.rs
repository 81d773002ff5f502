//! A span as OTLP spells it in JSON.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leafgate_answer::{Finish, Usage};
use leafgate_gate::RecordedApi;
use serde_json::{Value, json};

/// `SPAN_KIND_CLIENT`: the gate asks an upstream.
const CLIENT: u8 = 3;

/// `STATUS_CODE_ERROR`; a span without an error has no status.
const ERROR: u8 = 2;

/// What is known of a request and its answer. No text of either.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) began: SystemTime,
    pub(crate) took: Duration,
    pub(crate) api: &'static str,
    pub(crate) agent: String,
    pub(crate) class: &'static str,
    pub(crate) session: String,
    pub(crate) upstream: String,
    pub(crate) upstream_name: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) verdict: &'static str,
    pub(crate) generation: String,
    pub(crate) edits: usize,
    pub(crate) redactions: usize,
    pub(crate) judging: Duration,
    pub(crate) waiting: Option<Duration>,
    pub(crate) status: Option<u16>,
    pub(crate) head: Option<Duration>,
    pub(crate) complete: bool,
    pub(crate) finish: Option<Finish>,
    pub(crate) usage: Option<Usage>,
}

impl Span {
    fn json(&self) -> Value {
        let operation = if self.api == "embeddings" { "embeddings" } else { "chat" };
        let name = match &self.model {
            Some(model) => format!("{operation} {model}"),
            None => operation.to_owned(),
        };
        let mut attributes = vec![
            text("gen_ai.operation.name", operation),
            text(
                "gen_ai.provider.name",
                RecordedApi::named(self.api).map_or("openai", RecordedApi::provider),
            ),
            text("gen_ai.conversation.id", &self.session),
            text("server.address", &self.upstream),
            text("leafgate.agent", &self.agent),
            text("leafgate.class", self.class),
            text("leafgate.verdict", self.verdict),
            text("leafgate.generation", &self.generation),
            number("leafgate.edits", self.edits as u64),
            number("leafgate.redactions", self.redactions as u64),
            number("leafgate.judging_us", micros(self.judging)),
        ];
        attributes.extend(self.upstream_name.as_deref().map(|name| text("leafgate.upstream", name)));
        attributes.extend(self.model.as_deref().map(|model| text("gen_ai.request.model", model)));
        attributes.extend(self.waiting.map(|waiting| number("leafgate.waiting_us", micros(waiting))));
        attributes.extend(self.status.map(|status| number("http.response.status_code", status.into())));
        attributes.extend(self.head.map(|head| number("leafgate.upstream_us", micros(head))));
        if let Some(finish) = self.finish {
            let reason = json!({ "arrayValue": { "values": [{ "stringValue": finish_reason(finish) }] } });
            attributes.push(json!({ "key": "gen_ai.response.finish_reasons", "value": reason }));
        }
        if let Some(usage) = self.usage {
            attributes.push(number("gen_ai.usage.input_tokens", usage.input));
            attributes.push(number("gen_ai.usage.output_tokens", usage.output));
            attributes.push(number("gen_ai.usage.cache_read.input_tokens", usage.cached));
        }
        let error = self.error();
        attributes.extend(error.as_deref().map(|error| text("error.type", error)));
        let mut span = json!({
            "traceId": self.trace,
            "spanId": self.id,
            "name": name,
            "kind": CLIENT,
            "startTimeUnixNano": nanos(self.began),
            "endTimeUnixNano": nanos(self.began + self.took),
            "attributes": attributes,
        });
        if error.is_some() {
            span["status"] = json!({ "code": ERROR });
        }
        span
    }

    /// Returns what went wrong: why the request did not leave, or how the upstream failed.
    fn error(&self) -> Option<String> {
        match (self.verdict, self.status) {
            ("forwarded", Some(status)) if status >= 400 => Some(status.to_string()),
            ("forwarded", Some(_)) if self.complete => None,
            ("forwarded", _) => Some("incomplete".to_owned()),
            (verdict, _) => Some(verdict.to_owned()),
        }
    }
}

/// Returns the message for a collector.
pub(crate) fn message(spans: &[Span]) -> Vec<u8> {
    let resource = [text("service.name", "leafgate"), text("service.version", env!("CARGO_PKG_VERSION"))];
    let message = json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{
            "scope": { "name": "leafgate", "version": env!("CARGO_PKG_VERSION") },
            "spans": spans.iter().map(Span::json).collect::<Vec<_>>(),
        }],
    }] });
    message.to_string().into_bytes()
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// OTLP spells integers of 64 bits as texts.
fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn nanos(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn finish_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::Calls => "tool_calls",
        Finish::Filtered => "content_filter",
        Finish::Refusal => "refusal",
        Finish::Paused => "paused",
        Finish::Cancelled => "cancelled",
        Finish::Failed => "error",
        Finish::Other => "other",
    }
}
