//! Traces of requests for OpenTelemetry: a span for each, by OTLP over HTTP as JSON, to a collector
//! that an operator runs.
//!
//! What it promises:
//!
//! - **No content.** A span says which API and model was asked, what became of the request, how long
//!   that took and how many tokens the provider counted: no text of a request or an answer, no path,
//!   no header. A model's name, which a client chooses, is left out where a detector finds something
//!   in it.
//! - **It never delays a request.** [`Tracer`] is a [`Recorder`](leafgate_record::Recorder) that
//!   hands over what it is told and forgets what comes faster than it is sent. A collector that does
//!   not answer costs spans and nothing else.
//!
//! Names are those of OpenTelemetry's semantic conventions for generative AI. The library of
//! OpenTelemetry is not used: what is sent is one message, and it would bring a second HTTP client.

mod collector;
mod span;
mod tracer;

pub use collector::{Collector, CollectorError};
pub use tracer::Tracer;
