//! How each API spells the requests of a frame, and the results that its client sends: one file
//! each, behind [`TeamWire`].
//!
//! A frame's body is the client's own, with another conversation, other tools and another model. So
//! limits, temperatures and whatever else the client wants hold for all agents.

mod chat;
mod messages;
mod responses;

use leafgate_agents::{
    ClientResult, DELEGATE_WORK, Frame, Message, REPORT_OUT, SystemAs, Team, ToolNames, delegate_work,
    is_delegated, report_out,
};
use leafgate_answer::Api;
use leafgate_assemble::{SERVERS, ToolServer};
use leafgate_tree::Format;
use serde_json::{Map, Value, json};

/// A body as a client sent it.
pub(super) type Body = Map<String, Value>;

/// What stands between the client's system prompt and an agent's.
const BETWEEN: &str = "\n\n";

/// What stands for an image in a result: frames keep texts.
const IMAGE: &str = "[image left out]";

/// How an API spells requests.
pub(super) trait TeamWire: Sync {
    /// The API of its answers.
    fn answers(&self) -> Api;

    /// The name of a tool that a client offers; `None` for one that the provider runs.
    fn tool_name<'t>(&self, tool: &'t Value) -> Option<&'t str>;

    /// A tool of the gate's own.
    fn tool(&self, name: &str, description: &str, schema: Value) -> Value;

    /// Puts an agent's prompt into a body: behind the client's own where there is one.
    fn set_system(&self, body: &mut Body, prompt: &str);

    /// The key of the conversation in a body.
    fn conversation(&self) -> &'static str {
        "messages"
    }

    /// Whether the model says an element of a conversation, or does something by it.
    fn is_of_model(&self, element: &Value) -> bool {
        element["role"] == "assistant"
    }

    /// A message of a user.
    fn said(&self, text: &str) -> Value;

    /// Results of the calls of one answer, in call order, and what was said behind them.
    fn results(&self, results: &[CallResult<'_>], said: &[String]) -> Vec<Value>;

    /// Adds the results of calls and the words of the user that an element of a conversation holds.
    fn add_answered(&self, element: &Value, results: &mut Vec<ClientResult>, said: &mut Vec<String>);

    /// Takes what the gate told about the work of agents out of what the client sends again: it is
    /// nobody's words, and no provider signed it. Returns whether there was any.
    fn forget_progress(&self, body: &mut Body) -> bool;

    /// What of a request a team cannot do, and what to send instead; `None` where it can do all.
    fn refuses(&self, _body: &Body) -> Option<&'static str> {
        None
    }

    /// Members that are about a conversation or tools that the provider keeps, and so are the
    /// entry's alone.
    fn of_conversation(&self) -> &'static [&'static str] {
        &[]
    }
}

/// What a call of a frame came to.
pub(super) struct CallResult<'r> {
    pub(super) call: &'r leafgate_answer::Call,
    pub(super) text: &'r str,
    pub(super) is_error: bool,
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
pub(super) fn of(format: Format) -> Option<&'static dyn TeamWire> {
    match format.api()? {
        Api::Chat => Some(&chat::ChatTeam),
        Api::Responses => Some(&responses::ResponsesTeam),
        Api::Messages => Some(&messages::MessagesTeam),
        Api::Gemini | Api::CodeAssist => None,
    }
}

/// Returns the conversation in a body.
fn list<'b>(wire: &dyn TeamWire, body: &'b Body) -> &'b [Value] {
    body.get(wire.conversation()).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns what the client said, as a list.
fn opening(wire: &dyn TeamWire, body: &Body) -> Vec<Value> {
    match body.get(wire.conversation()) {
        Some(Value::String(text)) => vec![wire.said(text)],
        _ => list(wire, body).to_vec(),
    }
}

/// Returns where an agent's prompt stands that is sent as the first message of a user.
pub(super) fn behind_system(opening: &[Value]) -> usize {
    let is_system = |message: &&Value| matches!(message["role"].as_str(), Some("system" | "developer"));
    opening.iter().take_while(is_system).count()
}

/// Returns the results of calls that stand at the end of a body, and what the user said there.
pub(super) fn answered(wire: &dyn TeamWire, body: &Body) -> AnsweredCalls {
    let elements = list(wire, body);
    let after = elements.iter().rposition(|element| wire.is_of_model(element)).map_or(0, |at| at + 1);
    let (mut results, mut said) = (Vec::new(), Vec::new());
    elements[after..].iter().for_each(|element| wire.add_answered(element, &mut results, &mut said));
    said.retain(|text| !text.trim().is_empty());
    AnsweredCalls { results, said: (!said.is_empty()).then(|| said.join("\n\n")) }
}

/// The members by which calls and their results are named.
const CALL_IDS: [&str; 4] = ["id", "call_id", "tool_call_id", "tool_use_id"];

/// Where a message has its calls and results, and what it says.
const WITHIN: [&str; 2] = ["content", "tool_calls"];

/// Returns a body without the calls of agents below the entry, and without their results: the client ran them, so they stand
/// in what it sends again, and they are none of the entry's. `None` where there are none.
pub(super) fn without_delegated(wire: &dyn TeamWire, body: &Body) -> Option<Body> {
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
    if !before.last().is_some_and(|last| wire.is_of_model(last)) {
        let said = elements.iter().rposition(|element| !wire.is_of_model(element));
        elements.truncate(said.map_or(0, |at| at + 1));
    }
    let mut body = body.clone();
    body.insert(wire.conversation().to_owned(), elements.into());
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
pub(super) fn tool_names(wire: &dyn TeamWire, body: &Body) -> ToolNames {
    let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    tools.filter_map(|tool| wire.tool_name(tool)).map(Into::into).collect()
}

/// Returns the body of a frame's next request.
pub(super) fn body(
    wire: &dyn TeamWire,
    opening: &Body,
    frame: &Frame,
    team: &Team,
    model: Option<&str>,
) -> Body {
    let system_as = team.settings().system_as;
    let mut body = opening.clone();
    let is_entry = frame.parent().is_none();
    if !is_entry {
        for key in wire.of_conversation().iter().chain(&CHOICE) {
            body.remove(*key);
        }
        ["system", "instructions"].iter().for_each(|key| drop(body.remove(*key)));
    }
    let mut conversation = conversation(wire, opening, frame);
    match system_as {
        SystemAs::System => {}
        SystemAs::User => {
            let at = if is_entry { behind_system(&conversation) } else { 0 };
            conversation.insert(at, wire.said(frame.prompt()));
        }
    }
    body.insert(wire.conversation().to_owned(), conversation.into());
    if system_as == SystemAs::System {
        wire.set_system(&mut body, frame.prompt());
    }
    set_tools(wire, &mut body, frame, team);
    if let Some(model) = model {
        body.insert("model".to_owned(), model.into());
    }
    body
}

/// The client's tools that the agent has, and the gate's own.
fn set_tools(wire: &dyn TeamWire, body: &mut Body, frame: &Frame, team: &Team) {
    let offered = body.get("tools").and_then(Value::as_array).cloned().unwrap_or_default();
    let server = |tool: &Value| ToolServer::of_tool(&tool.to_string());
    let toolsets: Vec<ToolServer> = offered.iter().filter_map(server).collect();
    let is_entry = frame.parent().is_none();
    let agent = team.agent(frame.agent().as_str());
    let has = |name: &str| agent.is_some_and(|agent| agent.tools.allows(name));
    let allowed = |tool: &Value| match (server(tool), wire.tool_name(tool)) {
        // What the provider runs is no tool of the client's; only the entry has what it asked for.
        (Some(server), _) => is_entry && server.passes(has, |_| false),
        (None, Some(name)) => frame.tools().iter().any(|allowed| &**allowed == name),
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
    if !frame.targets().is_empty() {
        let (description, schema) = delegate_work(frame.targets());
        tools.push(wire.tool(DELEGATE_WORK, description, schema));
    }
    if frame.reports() {
        let (description, schema) = report_out();
        tools.push(wire.tool(REPORT_OUT, description, schema));
    }
    let forced = body.get("tool_choice").filter(|choice| choice.is_object());
    let still_there = forced.is_none_or(|choice| {
        let name = wire.tool_name(choice).or_else(|| choice["name"].as_str());
        name.is_none_or(|name| tools.iter().any(|tool| wire.tool_name(tool) == Some(name)))
    });
    // A choice that was made for the client's first request would be made again and again.
    if !still_there || frame.iterations() > 1 || tools.is_empty() {
        body.remove("tool_choice");
    }
    if tools.is_empty() {
        ["tools", "parallel_tool_calls"].iter().for_each(|key| drop(body.remove(*key)));
    } else {
        body.insert("tools".to_owned(), tools.into());
    }
}

fn conversation(wire: &dyn TeamWire, opening: &Body, frame: &Frame) -> Vec<Value> {
    let mut spelled = Vec::new();
    let mut messages = frame.messages().iter().peekable();
    while let Some(message) = messages.next() {
        match message {
            Message::Opening => spelled.extend(self::opening(wire, opening)),
            Message::Model(turn) => spelled.extend(turn.turn.iter().cloned()),
            Message::Work { .. } | Message::Nudge | Message::Said(_) => {
                spelled.extend(message.words().map(|words| wire.said(&words)));
            }
            Message::Result { call, text, is_error } => {
                let mut results = vec![CallResult { call, text: text.expose(), is_error: *is_error }];
                while let Some(Message::Result { call, text, is_error }) =
                    messages.next_if(|next| matches!(next, Message::Result { .. }))
                {
                    results.push(CallResult { call, text: text.expose(), is_error: *is_error });
                }
                let mut said = Vec::new();
                while let Some(next) = messages.next_if(|next| matches!(next, Message::Said(_))) {
                    said.extend(next.words());
                }
                spelled.extend(wire.results(&results, &said));
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

/// The text of a content: a string, or the texts of its parts, one line each.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let part = |part: &Value| match part["text"].as_str() {
                Some(text) => Some(text.to_owned()),
                None => part["type"].as_str().filter(|kind| kind.contains("image")).map(|_| IMAGE.to_owned()),
            };
            parts.iter().filter_map(part).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
