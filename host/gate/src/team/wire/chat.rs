//! OpenAI chat completions.

use leafgate_answer::Api;
use serde_json::{Value, json};

use super::{TeamWire, behind_system};

pub(super) static CHAT: TeamWire = TeamWire {
    answers: Api::Chat,
    conversation: "messages",
    of_conversation: &[],
    tool_name: |tool| ["function", "custom"].iter().find_map(|kind| tool[kind]["name"].as_str()),
    set_system: |body, prompt| {
        if let Some(messages) = body.get_mut("messages").and_then(Value::as_array_mut) {
            let at = behind_system(messages);
            messages.insert(at, json!({ "role": "system", "content": prompt }));
        }
    },
    refuses: |body| {
        let several = body.get("n").and_then(Value::as_f64).is_some_and(|number| number > 1.0);
        several.then_some("a team gives one answer: leave `n` out, or ask as often as you want answers")
    },
    said: |text| json!({ "role": "user", "content": text }),
    result: |call, outcome| json!({ "role": "tool", "tool_call_id": call.id.expose(), "content": outcome.text.expose() }),
    has_blocks: false,
};
