//! GitHub and Copilot, as far as VS Code's Copilot Chat asks them: who is logged in, which models there are, and which of them
//! answers a prompt. The chats themselves are [`super::chat`], [`super::messages`] and [`super::responses`], without `/v1` before
//! their paths. A second host asks the same paths for completions; below `/proxy` this one stands for it.

use serde_json::{Value, json};

use super::{directed, fragments, json_answer, message, refused};
use crate::http::Message;

/// A model: its id, the name by which people choose it, and what it is asked through.
type Row = (&'static str, &'static str, &'static [&'static str]);

/// One of each kind. The first is the one that side requests go to.
const MODELS: [Row; 3] = [
    ("gpt-4.1", "GPT-4.1", &["/chat/completions"]),
    ("gpt-5.4", "GPT-5.4", &["/responses", "ws:/responses"]),
    ("claude-sonnet-4.5", "Claude Sonnet 4.5", &["/chat/completions", "/v1/messages"]),
];

/// Who chooses its model by the prompt asks for one; this is it.
const CHOSEN: Row = MODELS[2];

/// Where a login leads whom no setting leads elsewhere.
const HOST: &str = "individual.githubcopilot.com";

/// A time that never comes, in seconds since 1970.
const NEVER: u64 = 9_999_999_999;

/// Returns what is answered beside the chats; `None` where it is another's path.
pub(super) fn answer(request: &Message, path: &str) -> Option<Message> {
    if request.header("upgrade").is_some() {
        return Some(refused("responses", 426));
    }
    let body = match path {
        "/user" => json!({ "login": "ann", "id": 1, "name": "Ann Lee", "type": "User" }),
        "/copilot_internal/user" => user(),
        "/copilot_internal/v2/token" | "/copilot_internal/v2/nltoken" => token(),
        "/models" => {
            let chats = MODELS.iter().map(model);
            json!({ "object": "list", "data": chats.chain([embedder()]).collect::<Vec<_>>() })
        }
        "/proxy/models" => json!({ "models": [] }),
        "/auto" => json!({ "selected_model": model(&CHOSEN), "session_token": "kit", "expires_at": NEVER }),
        _ => return None,
    };
    Some(json_answer("200 OK", &body))
}

/// Returns what is offered to somebody who types: the token that stands last in what was typed.
pub(super) fn offered(body: &Value) -> Message {
    let shown = directed::tokens(std::slice::from_ref(&body["prompt"])).pop().unwrap_or_default();
    let said = |text: &str, reason: Option<&str>| {
        let choice = json!({ "index": 0, "text": text, "logprobs": null, "finish_reason": reason });
        format!("data: {}\n\n", json!({ "id": "cmpl-kit", "created": 0, "choices": [choice] }))
    };
    let events: String = fragments(&shown).iter().map(|text| said(text, None)).collect();
    message("200 OK", "text/event-stream", format!("{events}{}data: [DONE]\n\n", said("", Some("stop"))))
}

fn user() -> Value {
    json!({
        "login": "ann", "copilot_plan": "business", "access_type_sku": "copilot_for_business_seat",
        "chat_enabled": true, "is_mcp_enabled": true, "can_signup_for_limited": false,
        "organization_list": [], "organization_login_list": [], "analytics_tracking_id": "kit",
        "quota_snapshots": {}, "endpoints": endpoints(),
    })
}

fn token() -> Value {
    json!({
        "token": format!("tid=kit;exp={NEVER};sku=copilot_for_business_seat;chat=1"), "expires_at": NEVER,
        "refresh_in": 1500, "sku": "copilot_for_business_seat", "chat_enabled": true, "endpoints": endpoints(),
    })
}

fn endpoints() -> Value {
    let at = |name: &str| format!("https://{name}.{HOST}");
    json!({ "api": at("api"), "proxy": at("proxy"), "telemetry": at("telemetry") })
}

fn model(&(id, name, endpoints): &Row) -> Value {
    let is_first = id == MODELS[0].0;
    json!({
        "id": id, "name": name, "version": id, "object": "model", "vendor": "Kit", "preview": false,
        "model_picker_enabled": true, "is_chat_default": is_first, "is_chat_fallback": is_first,
        "supported_endpoints": endpoints, "policy": { "state": "enabled", "terms": "" },
        "capabilities": {
            "family": id, "object": "model_capabilities", "type": "chat", "tokenizer": "o200k_base",
            "limits": { "max_prompt_tokens": 100_000, "max_output_tokens": 16_000, "max_context_window_tokens": 128_000 },
            "supports": { "streaming": true, "tool_calls": true, "parallel_tool_calls": true },
        },
    })
}

fn embedder() -> Value {
    let id = "text-embedding-3-small";
    json!({
        "id": id, "name": "Embeddings", "version": id, "object": "model", "vendor": "Kit", "preview": false,
        "model_picker_enabled": false,
        "capabilities": {
            "family": id, "object": "model_capabilities", "type": "embeddings", "tokenizer": "cl100k_base",
            "limits": { "max_inputs": 512 }, "supports": { "dimensions": true },
        },
    })
}
