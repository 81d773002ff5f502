//! How each API spells the requests of a frame, and the results that its client sends: one file
//! each, behind [`TeamWire`].
//!
//! A frame's body is the client's own, with another conversation, other tools and another model. So
//! limits, temperatures and whatever else the client wants hold for all agents.

mod chat;
mod messages;
mod responses;

use leafgate_adapt::ToolTerms;
use leafgate_agents::{
    CallOutcome, ClientResult, DELEGATE_WORK, Frame, Message, REPORT_OUT, SystemAs, Team, ToolNames,
    delegate_work, is_delegated, report_out,
};
use leafgate_answer::{Api, Call, LIVE_SIGNATURE};
use leafgate_api::responses::is_call;
use leafgate_assemble::{SERVERS, ToolServer};
use leafgate_tree::{Document, Format, Role};
use serde_json::{Map, Value, json};

use super::drive::ANSWER;
use super::live::PROGRESS;

/// A body as a client sent it.
pub(super) type Body = Map<String, Value>;

/// What stands between the client's system prompt and an agent's.
const BETWEEN: &str = "\n\n";

/// How an API spells requests.
pub(super) struct TeamWire {
    /// The API of its answers.
    pub(super) answers: Api,
    /// The key of the conversation in a body.
    conversation: &'static str,
    /// Members that are about a conversation or tools that the provider keeps, and so are the
    /// entry's alone.
    of_conversation: &'static [&'static str],
    /// The name of a tool that a client offers; `None` for one that the provider runs.
    tool_name: fn(&Value) -> Option<&str>,
    /// Puts an agent's prompt into a body: behind the client's own where there is one.
    set_system: fn(&mut Body, &str),
    /// What of a request a team cannot do, and what to send instead; `None` where it can do all.
    pub(super) refuses: fn(&Body) -> Option<&'static str>,
    /// What a user says.
    said: fn(&str) -> Value,
    /// The result of a call.
    result: fn(&Call, &CallOutcome) -> Value,
    /// Whether these two are blocks of a user's message, and no messages.
    has_blocks: bool,
}

impl TeamWire {
    /// Returns what a user sends in one turn: results in call order, and what was said behind them.
    fn turn(&self, parts: Vec<Value>) -> Vec<Value> {
        if self.has_blocks { vec![json!({ "role": "user", "content": parts })] } else { parts }
    }
}

/// What a client sends back.
#[derive(Default)]
pub(super) struct AnsweredCalls {
    pub(super) results: Vec<ClientResult>,
    pub(super) said: Option<String>,
}

/// Members about tools that mean something for the entry's first request at most.
const CHOICE: [&str; 2] = ["tool_choice", "parallel_tool_calls"];

/// The API whose requests have a format; `None` for one that teams do not speak.
pub(super) fn of(format: Format) -> Option<&'static TeamWire> {
    match format.api()? {
        Api::Chat => Some(&chat::CHAT),
        Api::Responses => Some(&responses::RESPONSES),
        Api::Messages => Some(&messages::MESSAGES),
        Api::Gemini | Api::CodeAssist => None,
    }
}

/// Returns the conversation in a body.
fn list<'b>(wire: &TeamWire, body: &'b Body) -> &'b [Value] {
    body.get(wire.conversation).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns what the client said, as a list.
fn opening(wire: &TeamWire, body: &Body) -> Vec<Value> {
    match body.get(wire.conversation) {
        Some(Value::String(text)) => wire.turn(vec![(wire.said)(text)]),
        _ => list(wire, body).to_vec(),
    }
}

/// Returns where an agent's prompt stands that is sent as the first message of a user.
pub(super) fn behind_system(opening: &[Value]) -> usize {
    let is_system = |message: &&Value| matches!(message["role"].as_str(), Some("system" | "developer"));
    opening.iter().take_while(is_system).count()
}

/// Returns the results of calls that stand at the end of a body, and what the user said there.
pub(super) fn answered(document: &Document) -> AnsweredCalls {
    let all = leafgate_adapt::messages(document);
    let after = all.iter().rposition(|message| message.role == Role::Assistant).map_or(0, |at| at + 1);
    let (mut results, mut said) = (Vec::new(), Vec::new());
    for message in &all[after..] {
        match &message.call_id {
            Some(id) => results.push(ClientResult {
                id: id.clone(),
                text: message.told().collect::<Vec<_>>().join("\n").into(),
                is_error: message.is_error,
            }),
            None if message.role == Role::User => said.extend(message.told()),
            None => {}
        }
    }
    said.retain(|text| !text.trim().is_empty());
    AnsweredCalls { results, said: (!said.is_empty()).then(|| said.join("\n\n")) }
}

/// Whether the model says an element of a conversation, or does something by it.
fn is_of_model(element: &Value) -> bool {
    let kind = element["type"].as_str().unwrap_or_default();
    element["role"] == "assistant" || kind == "reasoning" || is_call(kind)
}

/// Takes what the gate told about the work of agents out of what the client sends again: it is
/// nobody's words, and no provider signed it. Returns whether there was any.
pub(super) fn forget_progress(wire: &TeamWire, body: &mut Body) -> bool {
    let mut has_any = false;
    let Some(elements) = body.get_mut(wire.conversation).and_then(Value::as_array_mut) else {
        return false;
    };
    elements.retain_mut(|element| {
        let reasoning = element.get("reasoning_content").is_some_and(of_agents);
        if reasoning {
            element.as_object_mut().and_then(|message| message.remove("reasoning_content"));
        }
        let has_blocks = leave_out(element.get_mut("content").and_then(Value::as_array_mut), is_told);
        let is_told = is_told(element);
        has_any |= reasoning || has_blocks || is_told;
        // A message without content is refused.
        !(is_told || has_blocks && element["content"] == json!([]))
    });
    has_any
}

/// Whether a block or an item tells of the work of agents. Some clients send reasoning without its id.
fn is_told(part: &Value) -> bool {
    let id = part["id"].as_str().and_then(|id| id.strip_prefix("rs_"));
    match part["type"].as_str() {
        Some("thinking") => part["signature"] == LIVE_SIGNATURE,
        Some("reasoning") => {
            part.pointer("/summary/0/text").is_some_and(of_agents)
                || id.is_some_and(|id| id.starts_with(ANSWER))
        }
        _ => false,
    }
}

fn of_agents(text: &Value) -> bool {
    text.as_str().is_some_and(|text| text.starts_with(PROGRESS))
}

/// The members by which calls and their results are named.
const CALL_IDS: [&str; 4] = ["id", "call_id", "tool_call_id", "tool_use_id"];

/// Where a message has its calls and results, and what it says.
const WITHIN: [&str; 2] = ["content", "tool_calls"];

/// Returns a body without the calls of agents below the entry, and without their results: the client ran them, so they stand
/// in what it sends again, and they are none of the entry's. `None` where there are none.
pub(super) fn without_delegated(wire: &TeamWire, body: &Body) -> Option<Body> {
    let is_one = |part: &Value| CALL_IDS.iter().any(|key| part[*key].as_str().is_some_and(is_delegated));
    let within = |element: &Value| {
        let parts = WITHIN.iter().filter_map(|key| element[*key].as_array());
        parts.flatten().any(is_one)
    };
    let before = list(wire, body);
    if !before.iter().any(|element| is_one(element) || within(element)) {
        return None;
    }
    let mut elements = before.to_vec();
    elements.retain_mut(|element| {
        let has_some = within(element);
        for key in WITHIN {
            let parts = element.get_mut(key).and_then(Value::as_array_mut);
            if leave_out(parts, is_one) && element[key] == json!([]) {
                element.as_object_mut().and_then(|message| message.remove(key));
            }
        }
        !is_one(element) && (!has_some || says_something(element))
    });
    // Where the client answered such calls and nobody waits for that any more, the user's words are the last.
    if !before.last().is_some_and(is_of_model) {
        let said = elements.iter().rposition(|element| !is_of_model(element));
        elements.truncate(said.map_or(0, |at| at + 1));
    }
    let mut body = body.clone();
    body.insert(wire.conversation.to_owned(), elements.into());
    Some(body)
}

fn says_something(message: &Value) -> bool {
    WITHIN.iter().any(|key| match &message[*key] {
        Value::String(text) => !text.is_empty(),
        Value::Array(parts) => !parts.is_empty(),
        _ => false,
    })
}

/// The names of the tools that a client offers, in order.
pub(super) fn tool_names(wire: &TeamWire, body: &Body) -> ToolNames {
    let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    tools.filter_map(|tool| (wire.tool_name)(tool)).map(Into::into).collect()
}

/// Returns the body of a frame's next request.
pub(super) fn body(wire: &TeamWire, opening: &Body, frame: &Frame, team: &Team, model: Option<&str>) -> Body {
    let system_as = team.settings.system_as;
    let mut body = opening.clone();
    let is_entry = frame.parent().is_none();
    if !is_entry {
        for key in wire.of_conversation.iter().chain(&CHOICE) {
            body.remove(*key);
        }
        ["system", "instructions"].iter().for_each(|key| drop(body.remove(*key)));
    }
    let mut conversation = conversation(wire, opening, frame);
    match system_as {
        SystemAs::System => {}
        SystemAs::User => {
            let at = if is_entry { behind_system(&conversation) } else { 0 };
            conversation.splice(at..at, wire.turn(vec![(wire.said)(&frame.prompt)]));
        }
    }
    body.insert(wire.conversation.to_owned(), conversation.into());
    if system_as == SystemAs::System {
        (wire.set_system)(&mut body, &frame.prompt);
    }
    set_tools(wire, &mut body, frame, team);
    if let Some(model) = model {
        body.insert("model".to_owned(), model.into());
    }
    body
}

/// The client's tools that the agent has, and the gate's own.
fn set_tools(wire: &TeamWire, body: &mut Body, frame: &Frame, team: &Team) {
    let offered = body.get("tools").and_then(Value::as_array).cloned().unwrap_or_default();
    let server = |tool: &Value| ToolServer::of_tool(&tool.to_string());
    let toolsets: Vec<ToolServer> = offered.iter().filter_map(server).collect();
    let is_entry = frame.parent().is_none();
    let agent = team.agent(frame.agent.as_str());
    let has = |name: &str| agent.is_some_and(|agent| agent.tools.allows(name));
    let allowed = |tool: &Value| match (server(tool), (wire.tool_name)(tool)) {
        // What the provider runs is no tool of the client's; only the entry has what it asked for.
        (Some(server), _) => is_entry && server.passes(has, |_| false),
        (None, Some(name)) => frame.tools.iter().any(|allowed| &**allowed == name),
        (None, None) => is_entry,
    };
    let mut tools: Vec<Value> = offered.into_iter().filter(allowed).collect();
    let stays = |server: &Value| ToolServer::of_server(&server.to_string()).stays(&toolsets, has, |_| false);
    let is_over = match body.get_mut(SERVERS) {
        Some(Value::Array(servers)) => {
            leave_out(Some(&mut *servers), |server| !stays(server)) && servers.is_empty()
        }
        // What is no list of servers may name any.
        Some(servers) => !stays(servers),
        None => false,
    };
    if is_over {
        body.remove(SERVERS);
    }
    let own = |name: &str, (description, schema): (&str, Value)| {
        let terms = ToolTerms { name: name.into(), description: Some(description.into()), schema };
        terms.written(wire.answers)
    };
    if !frame.targets.is_empty() {
        tools.push(own(DELEGATE_WORK, delegate_work(&frame.targets)));
    }
    if frame.reports() {
        tools.push(own(REPORT_OUT, report_out()));
    }
    let forced = body.get("tool_choice").filter(|choice| choice.is_object());
    let still_there = forced.is_none_or(|choice| {
        let name = (wire.tool_name)(choice).or_else(|| choice["name"].as_str());
        name.is_none_or(|name| tools.iter().any(|tool| (wire.tool_name)(tool) == Some(name)))
    });
    // A choice that was made for the client's first request would be made again and again.
    if !still_there || frame.iterations > 1 || tools.is_empty() {
        body.remove("tool_choice");
    }
    if tools.is_empty() {
        ["tools", "parallel_tool_calls"].iter().for_each(|key| drop(body.remove(*key)));
    } else {
        body.insert("tools".to_owned(), tools.into());
    }
}

fn conversation(wire: &TeamWire, opening: &Body, frame: &Frame) -> Vec<Value> {
    let mut spelled = Vec::new();
    let mut messages = frame.messages.iter().peekable();
    while let Some(message) = messages.next() {
        match message {
            Message::Opening => spelled.extend(self::opening(wire, opening)),
            Message::Model(turn) => spelled.extend(turn.turn.iter().cloned()),
            Message::Work { .. } | Message::Nudge | Message::Said(_) => {
                spelled.extend(
                    message.words().into_iter().flat_map(|words| wire.turn(vec![(wire.said)(&words)])),
                );
            }
            Message::Result { call, outcome } => {
                let mut parts = vec![(wire.result)(call, outcome)];
                while let Some(Message::Result { call, outcome }) =
                    messages.next_if(|next| matches!(next, Message::Result { .. }))
                {
                    parts.push((wire.result)(call, outcome));
                }
                while let Some(next) = messages.next_if(|next| matches!(next, Message::Said(_))) {
                    parts.extend(next.words().map(|words| (wire.said)(&words)));
                }
                spelled.extend(wire.turn(parts));
            }
        }
    }
    spelled
}

/// Leaves elements of a list out; returns whether there were any.
fn leave_out(list: Option<&mut Vec<Value>>, is_out: impl Fn(&Value) -> bool) -> bool {
    let Some(list) = list else { return false };
    let before = list.len();
    list.retain(|element| !is_out(element));
    list.len() != before
}

#[cfg(test)]
mod tests {
    use leafgate_tree::Limits;

    use super::*;

    /// What a client answered, and said beside it, is the same in every API.
    #[test]
    fn results_are_read_as_they_came() {
        let given = "{\"rows\": [1, \"two\"]}";
        let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": "{}" } });
        let chat = json!([
            { "role": "user", "content": "Go." },
            { "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] },
            { "role": "tool", "tool_call_id": "a", "content": given },
            { "role": "tool", "tool_call_id": "b", "content": "" },
            { "role": "user", "content": "Go on." },
        ]);
        let item =
            |id: &str| json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": "{}" });
        let responses = json!([
            { "role": "user", "content": "Go." }, item("a"), item("b"),
            { "type": "function_call_output", "call_id": "a", "output": given },
            { "type": "function_call_output", "call_id": "b", "output": "" },
            { "role": "user", "content": [{ "type": "input_text", "text": "Go on." }] },
        ]);
        let block = |id: &str| json!({ "type": "tool_use", "id": id, "name": "f", "input": {} });
        let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA==" } });
        let messages = json!([
            { "role": "user", "content": "Go." },
            { "role": "assistant", "content": [block("a"), block("b")] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "a", "content": [{ "type": "text", "text": given }, image] },
                { "type": "tool_result", "tool_use_id": "b", "is_error": true },
                { "type": "text", "text": "Go on." },
            ] },
        ]);
        for (format, key, elements, shows, fails) in [
            (Format::OpenaiChat, "messages", chat, "", false),
            (Format::OpenaiResponses, "input", responses, "", false),
            (Format::AnthropicMessages, "messages", messages, "\n[image left out]", true),
        ] {
            let body = json!({ key: elements }).to_string();
            let document = Document::parse(body.into(), format, &Limits::default()).unwrap();
            let AnsweredCalls { results, said } = answered(&document);
            let read: Vec<_> =
                results.iter().map(|result| (&*result.id, result.text.expose(), result.is_error)).collect();
            let shown = format!("{given}{shows}");
            assert_eq!(read, [("a", &*shown, false), ("b", "", fails)], "{format}");
            assert_eq!(said.as_deref(), Some("Go on."), "{format}");
        }
    }
}
