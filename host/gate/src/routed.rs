//! A request that a rule sends to another upstream than its client did.
//!
//! It is judged anew there, from the body that came, by the policy of that upstream, and never sent on
//! a second time. Its client knows nothing of that place, so what the header shows the first one stays
//! behind: only fields and parameters of a short list go along, and none of them can be a credential.
//!
//! A list of what goes along cannot forget the name of somebody's own token; a list of what stays could.

use std::sync::Arc;

use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, USER_AGENT};
use http::uri::{PathAndQuery, Uri};
use http::{Response, request};
use leafgate_policy::{Assembly, Route};

use crate::adapter::Adapter;
use crate::blocked::blocked;
use crate::exchange::Exchange;
use crate::judge::JudgeCase;
use crate::stages::Came;
use leafgate_http::{Content, Refusal};

/// The fields that a request keeps on its way to a place that its client does not know.
const FIELDS: [HeaderName; 7] = [
    ACCEPT,
    CONTENT_ENCODING,
    CONTENT_TYPE,
    USER_AGENT,
    HeaderName::from_static("anthropic-beta"),
    HeaderName::from_static("anthropic-version"),
    HeaderName::from_static("openai-beta"),
];

/// The parameters of a path that it keeps.
const PARAMETERS: [&str; 3] = ["alt", "api-version", "beta"];

impl Exchange {
    /// Has a request judged where a rule sends it, and sent from there. `chosen` is the profile that its base URL chose.
    pub(crate) async fn send_elsewhere(
        self,
        chosen: Option<Arc<Assembly>>,
        route: Route,
        came: Came,
    ) -> Result<Response<Content>, Refusal> {
        // Whoever loads a policy has looked whether it is there.
        let Some(lane) = self.upstreams.by_name(&route.to).cloned() else {
            return Err(blocked(&route.refused("this gate has none of that name")));
        };
        let (policy, head) = (self.policy_of(Some(&lane)), head_for_another(&self.parts)?);
        let elsewhere = Exchange { lane, policy, ..self }.with_head(head);
        let (exchange, came, adapter) = elsewhere.adapt(came).await?;
        exchange.progress.goes(|marks| {
            marks.generation = Some(exchange.policy.generation_name().into());
            marks.routed = Some(Arc::clone(&route.to));
        });
        let case = JudgeCase { chosen, routed: Some(route.rule), ..exchange.case(came) };
        let outcome = exchange.judge_told(case).await?;
        // The upstream that a rule chose may speak another API.
        Adapter::answer(adapter, exchange.settle(outcome, false).await?).await
    }
}

/// Returns the head of a request without all that was for one upstream alone.
fn head_for_another(parts: &request::Parts) -> Result<request::Parts, Refusal> {
    let mut head = parts.clone();
    head.headers = fields_for_another(&parts.headers);
    let path = parts.uri.path();
    let query = parts.uri.query().unwrap_or_default().split('&');
    let kept: Vec<&str> = query
        .filter(|parameter| PARAMETERS.contains(&parameter.split('=').next().unwrap_or_default()))
        .collect();
    let target = if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) };
    let target = target.parse::<PathAndQuery>();
    head.uri = target.map(Uri::from).map_err(|_| Refusal::malformed("the path cannot be sent elsewhere"))?;
    Ok(head)
}

fn fields_for_another(received: &HeaderMap) -> HeaderMap {
    let kept = received.iter().filter(|(name, _)| FIELDS.contains(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn nothing_that_could_be_a_credential_goes_elsewhere() {
        let mut request =
            Request::post("http://gate/v1/messages?beta=true&key=k-1&api_key=k-2&api-version=3&session=s");
        for (name, value) in [
            ("authorization", "Bearer k"),
            ("x-api-key", "k"),
            ("api-key", "k"),
            ("x-goog-api-key", "k"),
            ("cookie", "k"),
            ("proxy-authorization", "k"),
            ("chatgpt-account-id", "k"),
            ("openai-organization", "k"),
            ("x-somebodys-token", "k"),
            ("content-type", "application/json"),
            ("anthropic-beta", "one"),
            ("anthropic-beta", "two"),
            ("user-agent", "claude-cli/2"),
        ] {
            request = request.header(name, value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let head = head_for_another(&parts).unwrap();
        assert_eq!(head.uri, "/v1/messages?beta=true&api-version=3");
        let left: Vec<_> =
            head.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(
            left,
            [
                ("content-type", "application/json"),
                ("anthropic-beta", "one"),
                ("anthropic-beta", "two"),
                ("user-agent", "claude-cli/2"),
            ]
        );
    }
}
