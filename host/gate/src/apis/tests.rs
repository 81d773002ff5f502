//! Which API a path is.

use super::*;

fn api(method: Method, path: &str) -> Api {
    Api::of(UpstreamKind::Models, &method, &path.parse().unwrap(), &HeaderMap::new())
}

#[test]
fn each_path_has_its_api() {
    for (path, expected) in [
        ("/v1/chat/completions", named("chat")),
        ("/v1/responses", named("responses")),
        ("/v1/responses/input_tokens", named("input-tokens")),
        ("/v1/responses/compact", named("compact")),
        ("/v1/messages", named("messages")),
        ("/v1/messages/count_tokens", named("count-tokens")),
        ("/v1/embeddings", named("embeddings")),
        ("/v1/completions", named("completions")),
        ("/openai/deployments/my-gpt.4o/chat/completions", named("chat")),
        ("/openai/deployments/d/embeddings", named("embeddings")),
        ("/openai/deployments/d/completions", named("completions")),
        ("/openai/responses", named("responses")),
        ("/openai/v1/responses", named("responses")),
        ("/responses", named("responses")),
        ("/chat/completions", named("chat")),
        ("/v1/chat/completions/", named("chat")),
        ("/v1//chat/completions", named("chat")),
        ("/v1/%63hat/completion%73", named("chat")),
        ("/completions", named("completions")),
        ("/embeddings", named("embeddings")),
        ("/v1/engines/gpt-41-copilot/completions", named("completions")),
        ("/backend-api/codex/responses", named("responses")),
        ("/openai/v1/chat/completions", named("chat")),
        ("/v1beta/openai/chat/completions", named("chat")),
    ] {
        assert_eq!(api(Method::POST, path), expected, "{path}");
        assert_eq!(api(Method::GET, path), Api::at(expected.dialect.other), "GET {path}");
    }
}

#[test]
fn the_paths_of_gemini_name_model_and_method() {
    for (path, expected) in [
        ("/v1beta/models/gemini-2.5-pro:generateContent", "gemini"),
        ("/v1beta/models/gemini-2.5-pro:generateContent?key=k", "gemini"),
        ("/v1/models/m:generateContent", "gemini"),
        ("/v1beta/tunedModels/m:generateContent", "gemini"),
        ("/v1/projects/p/locations/l/publishers/google/models/m:generateContent", "gemini"),
        ("/v1beta1/projects/p/locations/l/publishers/google/models/m:countTokens", "gemini-count"),
        ("/v1beta/models/m:streamGenerateContent?alt=sse", "gemini-stream"),
        ("/v1beta/models/m:streamGenerateContent?key=k&alt=sse", "gemini-stream"),
        ("/v1beta/models/m:streamGenerateContent", "gemini-array"),
        ("/v1beta/models/m:streamGenerateContent?alt=json", "gemini-array"),
        ("/v1beta/models/m:countTokens", "gemini-count"),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/m@1:rawPredict", "messages"),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/m@1:streamRawPredict", "messages"),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", "count-tokens"),
        ("/v1/projects/p/locations/l/publishers/mistralai/models/m:rawPredict", "google"),
        ("/v1beta/models/m:embedContent", "google"),
        ("/v1beta/cachedContents", "google"),
        ("/v1/models/m:embedContent", "google"),
        ("/v1/models", "openai"),
        ("/v1/models/ft:gpt-4o:acme::abc", "openai"),
        ("/v1beta/models/a/b:generateContent", "google"),
        ("/models/m:generateContent", "openai"),
    ] {
        assert_eq!(api(Method::POST, path), named(expected), "{path}");
    }
    assert_eq!(api(Method::GET, "/v1beta/models"), named("google"));
    assert!(
        is_served(UpstreamKind::Models, "/v1beta/models/m:generateContent")
            && is_served(UpstreamKind::Models, "/v1beta1/projects/p")
    );
    assert!(!is_served(UpstreamKind::Models, "/v1gamma/models/m:generateContent"));
}

#[test]
fn code_assist_has_methods_of_its_own() {
    for (path, expected) in [
        ("/v1internal:generateContent", "code-assist"),
        ("/v1internal:streamGenerateContent?alt=sse", "code-assist-stream"),
        ("/v1internal:streamGenerateContent", "code-assist-array"),
        ("/v1internal:countTokens", "code-assist-count"),
        ("/v1internal:loadCodeAssist", "code-assist-other"),
        ("/v1internal:onboardUser", "code-assist-other"),
        ("/v1internal/models/m:generateContent", "code-assist-other"),
        ("/v1internals:generateContent", "openai"),
    ] {
        assert_eq!(api(Method::POST, path), named(expected), "{path}");
        let bare = path.split('?').next().unwrap();
        assert_eq!(is_served(UpstreamKind::Models, bare), expected != "openai", "{path}");
    }
    assert_eq!(api(Method::POST, "/v1internal:generateContent").model("/v1internal:generateContent"), None);
    assert_eq!(api(Method::GET, "/v1internal/operations/o"), named("code-assist-other"));
}

#[test]
fn a_path_that_names_a_model_can_name_another_one() {
    for (path, model, other) in [
        ("/v1beta/models/a:generateContent", "b-2.5", "/v1beta/models/b-2.5:generateContent"),
        ("/v1beta/models/a:countTokens", "models/b", "/v1beta/models/b:countTokens"),
        ("/v1beta/tunedModels/a:generateContent", "b", "/v1beta/models/b:generateContent"),
        ("/v1beta/models/a:generateContent", "tunedModels/b", "/v1beta/tunedModels/b:generateContent"),
        ("/v1beta/models/a:generateContent", "../b:c?d", "/v1beta/models/..%2Fb%3Ac%3Fd:generateContent"),
        (
            "/v1/projects/p/locations/l/publishers/google/models/a:streamGenerateContent",
            "b",
            "/v1/projects/p/locations/l/publishers/google/models/b:streamGenerateContent",
        ),
        ("/openai/deployments/a/chat/completions", "gpt 4", "/openai/deployments/gpt%204/chat/completions"),
        ("/openai/deployments/a/embeddings", "b", "/openai/deployments/b/embeddings"),
        ("/v1/engines/a/completions", "b", "/v1/engines/b/completions"),
        ("/openai//deployments/a/embeddings/", "b", "/openai/deployments/b/embeddings"),
        (
            "/v1/projects/p/locations/l/publishers/anthropic/models/a@1:streamRawPredict",
            "b@2",
            "/v1/projects/p/locations/l/publishers/anthropic/models/b@2:streamRawPredict",
        ),
    ] {
        assert_eq!(api(Method::POST, path).with_model(path, model).as_deref(), Some(other), "{path}");
    }
    for path in ["/v1/chat/completions", "/openai/v1/chat/completions", "/v1/messages", "/v1beta/models/m:x"]
    {
        assert_eq!(api(Method::POST, path).with_model(path, "b"), None, "{path}");
    }
    let azure = "/openai/deployments/a/chat/completions";
    assert_eq!(api(Method::POST, azure).deployment(azure).as_deref(), Some("a"));
}

#[test]
fn what_is_near_a_path_is_another() {
    for path in [
        "/v1/responses/resp_1/cancel",
        "/v1/deployments/d/chat/completions",
        "/openai/deployments/a/b/chat/completions",
        "/openai/deployments/chat",
        "/chat/completionsx",
        "/v1/engines/completions",
        "/auto",
        "/agents/swe",
        "/",
    ] {
        assert_eq!(api(Method::POST, path), named("openai"), "{path}");
    }
    assert_eq!(api(Method::POST, "/v1/messages/batches"), named("anthropic"));
}

#[test]
fn an_upstream_of_copilot_has_paths_of_its_own() {
    let api = |method, path: &str| {
        Api::of(UpstreamKind::Copilot, &method, &path.parse().unwrap(), &HeaderMap::new()).name
    };
    for (path, expected) in [
        ("/auto", "copilot"),
        ("/models/session", "copilot"),
        ("/models/session/intent", "copilot"),
        ("/search", "copilot"),
        ("/skills", "copilot"),
        ("/agents/swe/v1/jobs", "copilot-agents"),
        ("/agents", "copilot-agents"),
        ("/agentsx", "openai"),
        ("/chat/completions", "chat"),
        ("/v1/messages", "messages"),
    ] {
        assert_eq!(api(Method::POST, path), expected, "{path}");
    }
    assert_eq!(api(Method::PATCH, "/agents/swe/v1/jobs/1"), "copilot-agents");
    assert!(is_served(UpstreamKind::Copilot, "/auto") && !is_served(UpstreamKind::Copilot, "/elsewhere"));
}

#[test]
fn where_no_path_tells_the_header_does() {
    let headers = HeaderMap::from_iter([(
        http::HeaderName::from_static("anthropic-version"),
        http::HeaderValue::from_static("2023-06-01"),
    )]);
    let of = |path| Api::of(UpstreamKind::Models, &Method::POST, &Uri::from_static(path), &headers);
    assert_eq!(of("/elsewhere"), named("anthropic"));
    assert_eq!(of("/v1/models"), named("anthropic"));
    assert_eq!(of("/v1/chat/completions"), named("chat"));
    let google = HeaderMap::from_iter([(
        http::HeaderName::from_static("x-goog-api-key"),
        http::HeaderValue::from_static("k"),
    )]);
    assert_eq!(
        Api::of(UpstreamKind::Models, &Method::POST, &Uri::from_static("/elsewhere"), &google),
        named("google")
    );
}
