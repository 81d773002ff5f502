//! What a path, and the name of an API in a record, say of a request, for those who judge and read
//! requests without a gate: both ask the same table.

use std::str::FromStr;

use http::{HeaderMap, Method, Uri};
use leafgate_tree::{Document, Format};

use crate::apis::{Api, is_served};
use crate::path::refuse_ambiguous;
use crate::target::UpstreamKind;

/// The path that a request is sent to, and the API that it asks.
#[derive(Clone, Debug)]
pub struct AskedPath {
    path: Box<str>,
    api: Api,
}

/// A text that is no path of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a path begins with `/` and goes nowhere back, as `/v1beta/models/gemini-2.5-pro:generateContent`")]
pub struct AskedPathError;

impl FromStr for AskedPath {
    type Err = AskedPathError;

    /// Reads a path, with its query where it has one, or a whole URL.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri: Uri = text.parse().map_err(|_| AskedPathError)?;
        let is_path = text.starts_with('/') || uri.scheme().is_some();
        if !is_path || refuse_ambiguous(uri.path()).is_err() {
            return Err(AskedPathError);
        }
        let api = Api::of(UpstreamKind::default(), &Method::POST, &uri, &HeaderMap::new());
        Ok(AskedPath { path: uri.path().into(), api })
    }
}

impl AskedPath {
    /// Returns it without its query, as rules know it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns what a body that is sent there is read as; `None` where its shape must tell.
    pub fn format(&self) -> Option<Format> {
        self.api.format
    }

    /// Returns whether a gate lets requests with a body go there, whatever their upstream.
    pub fn is_served(&self) -> bool {
        is_served(UpstreamKind::default(), &self.path)
    }

    /// Returns the model that it names, where the body does not say another one.
    pub fn model(&self, body: &Document) -> Option<String> {
        let repeated = || self.api.deployment(&self.path).filter(|_| body.model().is_none());
        self.api.model(&self.path).or_else(repeated)
    }

    /// Returns whether the answer comes as a stream, where the path says it.
    pub fn stream(&self) -> Option<bool> {
        self.api.streams_by_path
    }

    /// Returns the path that asks another model; `None` where no path names it.
    pub fn with_model(&self, model: &str) -> Option<AskedPath> {
        let path = self.api.with_model(&self.path, model)?;
        Some(AskedPath { path: path.into(), api: self.api })
    }
}

/// Returns what a body was read as, by the name that a record has for its API; `None` where its shape told, and for a
/// name that this version does not know.
pub fn recorded_format(api: &str) -> Option<Format> {
    Api::named(api)?.format
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &'static str) -> Document {
        Document::detect(text.into(), &leafgate_tree::Limits::default()).unwrap()
    }

    #[test]
    fn a_path_says_its_format_its_model_and_whether_it_streams() {
        let silent = body(r#"{"contents":[]}"#);
        for (path, model, stream) in [
            ("/v1beta/models/gemini-2.5-pro:generateContent", Some("gemini-2.5-pro"), Some(false)),
            (
                "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
                Some("gemini-2.5-pro"),
                Some(true),
            ),
            (
                "https://example.org/openai/deployments/house/chat/completions?api-version=1",
                Some("house"),
                None,
            ),
            ("/v1/chat/completions", None, None),
            ("/somewhere", None, None),
        ] {
            let asked: AskedPath = path.parse().unwrap();
            assert_eq!((asked.model(&silent).as_deref(), asked.stream()), (model, stream), "{path}");
        }
        let azure: AskedPath = "/openai/deployments/house/chat/completions?api-version=1".parse().unwrap();
        assert_eq!(
            (azure.path(), azure.format()),
            ("/openai/deployments/house/chat/completions", Some(Format::OpenaiChat))
        );
        assert_eq!(azure.model(&body(r#"{"model":"m","messages":[]}"#)), None, "the body's word counts");
        let other = azure.with_model("small").unwrap();
        assert_eq!(other.path(), "/openai/deployments/small/chat/completions");
    }

    #[test]
    fn what_no_gate_serves_is_no_path() {
        for text in
            ["", "v1/chat/completions", "/v1/../admin", "/v1/%2e%2e/admin", "not a path", "example.org:80"]
        {
            assert_eq!(text.parse::<AskedPath>().err(), Some(AskedPathError), "{text}");
        }
    }
}
