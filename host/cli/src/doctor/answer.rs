//! What a gate answers that is asked for its upstream.

use anyhow::Context;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;

use crate::exchange;

/// What a gate has answered.
pub(super) struct DoctorAnswer(Response<Bytes>);

impl DoctorAnswer {
    /// Returns whether the gate says that it cannot reach its upstream.
    pub(super) fn is_unreachable(&self) -> bool {
        self.0.status().is_server_error() && self.error()["code"] == "leafgate_upstream"
    }

    /// Returns the gate's own words.
    pub(super) fn message(&self) -> String {
        self.error()["message"].as_str().unwrap_or("it does not say why").to_owned()
    }

    fn error(&self) -> serde_json::Value {
        serde_json::from_slice::<serde_json::Value>(self.0.body()).unwrap_or_default()["error"].take()
    }
}

/// Asks a gate, `http://address/prefix`, for a path.
pub(super) async fn get(base: &str, path: &str) -> anyhow::Result<DoctorAnswer> {
    let rest = base.strip_prefix("http://").context("it is no http URL")?;
    let (address, prefix) = rest.split_once('/').map_or((rest, ""), |(address, prefix)| (address, prefix));
    let slash = if prefix.is_empty() { "" } else { "/" };
    let request = Request::get(format!("{slash}{prefix}{path}")).body(Full::default())?;
    Ok(DoctorAnswer(exchange::whole(address.parse()?, request).await?))
}
