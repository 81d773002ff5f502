//! A span as OTLP spells it in JSON.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leafgate_answer::{Finish, Usage};
use leafgate_record::RequestRecord;
use serde_json::{Value, json};

/// `SPAN_KIND_CLIENT`: the gate asks an upstream.
const CLIENT: u8 = 3;

/// `STATUS_CODE_ERROR`; a span without an error has no status.
const ERROR: u8 = 2;

/// What is known of a request and its answer.
#[derive(Debug)]
pub(crate) struct Span {
    /// The request without its bodies. Of what it says, numbers and our own names are told.
    pub(crate) record: Box<RequestRecord>,
    pub(crate) took: Duration,
    pub(crate) status: Option<u16>,
    pub(crate) head: Option<Duration>,
    pub(crate) complete: bool,
    pub(crate) finish: Option<Finish>,
    pub(crate) usage: Option<Usage>,
}

impl Span {
    /// Returns the span of a request that has just been judged.
    pub(crate) fn of(mut record: Box<RequestRecord>) -> Self {
        (record.received, record.source, record.sent) = Default::default();
        let took = record.judging + record.waiting.unwrap_or_default();
        Span { record, took, status: None, head: None, complete: false, finish: None, usage: None }
    }

    /// Returns `None` where the system gives no random bytes for its ids.
    fn json(&self) -> Option<Value> {
        let mut ids = [0; 24];
        getrandom::fill(&mut ids).ok()?;
        let record = &self.record;
        let redactions = record.edits.iter().filter(|edit| edit.kind == "redact").count();
        let operation = if record.api == "embeddings" { "embeddings" } else { "chat" };
        let name = match &record.model {
            Some(model) => format!("{operation} {model}"),
            None => operation.to_owned(),
        };
        let mut attributes = vec![
            text("gen_ai.operation.name", operation),
            text("gen_ai.provider.name", record.provider),
            text("gen_ai.conversation.id", &record.session),
            text("server.address", &record.upstream),
            text("leafgate.agent", &record.agent),
            text("leafgate.class", record.class),
            text("leafgate.verdict", record.verdict),
            text("leafgate.generation", &record.policy.generation_name()),
            number("leafgate.edits", (record.edits.len() - redactions) as u64),
            number("leafgate.redactions", redactions as u64),
            number("leafgate.judging_us", micros(record.judging)),
        ];
        attributes.extend(record.upstream_name.as_deref().map(|name| text("leafgate.upstream", name)));
        attributes.extend(record.model.as_deref().map(|model| text("gen_ai.request.model", model)));
        attributes.extend(record.waiting.map(|waiting| number("leafgate.waiting_us", micros(waiting))));
        attributes.extend(self.status.map(|status| number("http.response.status_code", status.into())));
        attributes.extend(self.head.map(|head| number("leafgate.upstream_us", micros(head))));
        if let Some(finish) = self.finish {
            let reason = json!({ "arrayValue": { "values": [{ "stringValue": finish.otel() }] } });
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
            "traceId": base16ct::lower::encode_string(&ids[..16]),
            "spanId": base16ct::lower::encode_string(&ids[16..]),
            "name": name,
            "kind": CLIENT,
            "startTimeUnixNano": nanos(record.at),
            "endTimeUnixNano": nanos(record.at + self.took),
            "attributes": attributes,
        });
        if error.is_some() {
            span["status"] = json!({ "code": ERROR });
        }
        Some(span)
    }

    /// Returns what went wrong: why the request did not leave, or how the upstream failed.
    fn error(&self) -> Option<String> {
        match (self.record.verdict, self.status) {
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
            "spans": spans.iter().filter_map(Span::json).collect::<Vec<_>>(),
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
