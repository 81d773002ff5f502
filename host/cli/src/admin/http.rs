//! One exchange with the admin API, and the errors of failed ones.

use std::fmt::Display;
use std::net::SocketAddr;

use anyhow::Context;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use leafgate_admin::{ApiError, ErrorCode, RuntimeFile};
use tokio::runtime::{Builder, Runtime};

use crate::{exchange, runtime};

/// Address and token of an admin API.
pub(super) struct AdminEndpoint {
    address: SocketAddr,
    token: String,
}

impl AdminEndpoint {
    /// Reads the endpoint of a runtime file.
    ///
    /// # Errors
    /// When the file names another address than a loopback one: the token is for a gate on this
    /// machine only.
    pub(super) fn new(gate: &RuntimeFile) -> anyhow::Result<AdminEndpoint> {
        let address = runtime::address_of(&gate.admin).ok().filter(|address| address.ip().is_loopback());
        let address = address.with_context(|| {
            format!("the runtime file names {}, which is no loopback address of http", gate.admin)
        })?;
        Ok(AdminEndpoint { address, token: gate.token.clone() })
    }

    /// Makes one call, and returns its answer once that has begun. An answer with an error status
    /// is an error.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<Response<Incoming>, ApiError> {
        let bearer = format!("Bearer {}", self.token);
        let mut request = Request::builder().method(method).uri(path).header(AUTHORIZATION, bearer);
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let request = request.body(Full::new(body.unwrap_or_default()));
        let sent = async { exchange::begun(self.address, request?).await };
        let response = sent.await.map_err(|cause| self.unreachable(cause))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = response.into_body().collect().await.map_err(|cause| self.unreachable(cause))?;
        Err(serde_json::from_slice(&body.to_bytes()).unwrap_or_else(|_| {
            ApiError::unexpected(format!("the gate answered {status} without saying why"))
        }))
    }

    /// Returns the error of a gate that does not answer, or no longer.
    pub(super) fn unreachable(&self, cause: impl Display) -> ApiError {
        ApiError {
            code: ErrorCode::Unreachable,
            message: format!("the gate's admin API at {} does not answer: {cause}", self.address),
            hint: Some("see whether `leafgate run` still runs".to_owned()),
        }
    }
}

/// Creates a runtime for one thread that waits for one thing at a time.
pub(super) fn waiting_runtime() -> anyhow::Result<Runtime> {
    Builder::new_current_thread().enable_all().build().context("cannot wait for the network")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_goes_to_this_machine_only() {
        let gate = |admin: &str| RuntimeFile {
            pid: 1,
            admin: admin.to_owned(),
            token: "t".repeat(64),
            listen: String::new(),
            ..RuntimeFile::default()
        };
        for good in ["http://127.0.0.1:7000", "http://[::1]:7000"] {
            assert!(AdminEndpoint::new(&gate(good)).is_ok(), "{good}");
        }
        for bad in [
            "",
            "https://127.0.0.1:7000",
            "http://192.0.2.1:7000",
            "http://127.0.0.1",
            "http://localhost:7000",
            "http://user@127.0.0.1:7000",
        ] {
            assert!(AdminEndpoint::new(&gate(bad)).is_err(), "{bad}");
        }
    }
}
