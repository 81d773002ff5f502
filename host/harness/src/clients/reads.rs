//! What a client takes from the events of each API.

use std::borrow::Cow;

use super::lines::Event;
use super::{Api, Client, Json, Keys, Kinds, Pieces, Seen, SeenCall};

/// Reads an answer.
pub(super) fn answer(client: Client, api: Api, stream: bool, events: &[Event]) -> Seen {
    let mut taking =
        Taking { client, stream, texts: Vec::new(), said: Vec::new(), calls: Vec::new(), blocks: Vec::new() };
    for event in events {
        match api {
            Api::Chat => taking.chat(event),
            Api::Responses => taking.responses(event),
            Api::Messages => taking.messages(event),
            Api::Gemini => taking.gemini(&event.data),
            Api::CodeAssist => {
                if let Some(response) = taking.get(&event.data, "response") {
                    taking.gemini(response);
                }
            }
        }
    }
    taking.seen()
}

/// Which text: what says it, and where.
type Slot = (&'static str, usize, usize, usize);

/// What a client has taken so far.
struct Taking {
    client: Client,
    stream: bool,
    texts: Vec<(Slot, String)>,
    /// The same as they came, whose ever they are.
    said: Vec<(&'static str, String)>,
    calls: Vec<Making>,
    /// Blocks of Messages in the order in which they began: their index, and their call.
    blocks: Vec<(usize, Option<usize>)>,
}

/// A call that comes in pieces.
struct Making {
    /// Which one: the variant, the choice, the number.
    slot: (&'static str, usize, usize),
    id: String,
    tool: String,
    text: String,
    value: Option<Json>,
    /// It is a call only if pieces of it come: who reads none has another one.
    is_only_pieces: bool,
}

/// Goes on with the text that is said so.
fn join(joined: &mut Vec<(&'static str, String)>, says: &'static str, text: &str) {
    match joined.iter_mut().find(|(other, _)| *other == says) {
        Some((_, joined)) => joined.push_str(text),
        None => joined.push((says, text.to_owned())),
    }
}

impl Taking {
    fn seen(self) -> Seen {
        let mut joined = if self.client.pieces == Pieces::InOrder { self.said } else { Vec::new() };
        if joined.is_empty() {
            self.texts.iter().for_each(|((says, ..), text)| join(&mut joined, says, text));
        }
        let has_come = |made: &Making| !made.is_only_pieces || !made.text.is_empty();
        let call = |made: Making| {
            let arguments = if made.text.is_empty() { made.value } else { Some(Json::Text(made.text)) };
            SeenCall { tool: made.tool, arguments: arguments.unwrap_or(Json::Null) }
        };
        let is_one = |call: &SeenCall| !call.tool.is_empty() || call.arguments != Json::Null;
        Seen {
            calls: self.calls.into_iter().filter(has_come).map(call).filter(is_one).collect(),
            texts: self.texts.into_iter().map(|(_, text)| text).collect(),
            joined: joined.into_iter().map(|(_, text)| text).collect(),
        }
    }

    /// A member; `None` where it is `null`.
    fn get<'j>(&self, object: &'j Json, name: &str) -> Option<&'j Json> {
        let Json::Object(members) = object else { return None };
        let name = match self.client.keys {
            Keys::Exact => Cow::Borrowed(name),
            Keys::AnyCase => Cow::Owned(name.to_ascii_lowercase()),
        };
        let member = members.iter().find(|(own, _)| *own == name);
        member.map(|(_, value)| value).filter(|value| **value != Json::Null)
    }

    fn text<'j>(&self, object: &'j Json, name: &str) -> &'j str {
        self.get(object, name).and_then(Json::as_text).unwrap_or_default()
    }

    fn list<'j>(&self, object: &'j Json, name: &str) -> impl Iterator<Item = (usize, &'j Json)> + use<'j> {
        let list = match self.get(object, name) {
            Some(Json::List(list)) => list.as_slice(),
            _ => &[],
        };
        list.iter().enumerate()
    }

    /// The number in a member, or where something stands.
    fn number(&self, object: &Json, name: &str, at: usize) -> usize {
        let said = match self.get(object, name) {
            Some(Json::Scalar(said) | Json::Text(said)) => said.parse().ok(),
            _ => None,
        };
        said.unwrap_or(at)
    }

    /// Which choice or candidate stands at a place of an event's list.
    fn choice(&self, choice: &Json, at: usize) -> usize {
        if self.client.pieces == Pieces::InOrder { at } else { self.number(choice, "index", at) }
    }

    fn kind<'e>(&self, event: &'e Event) -> &'e str {
        match self.client.kinds {
            Kinds::ByType => self.text(&event.data, "type"),
            Kinds::ByName => event.name.as_deref().unwrap_or_default(),
        }
    }

    /// Whether a part is one whose text is shown: of any kind, or of this one alone, as OpenAI's `output_text` joins them.
    fn shows(&self, part: &Json, kind: &str) -> bool {
        self.client.pieces != Pieces::InOrder || self.text(part, "type") == kind
    }

    /// Goes on with a text.
    fn say(&mut self, slot: Slot, text: &str) {
        if text.is_empty() {
            return;
        }
        join(&mut self.said, slot.0, text);
        match self.texts.iter_mut().find(|(other, _)| *other == slot) {
            Some((_, said)) => said.push_str(text),
            None => self.texts.push((slot, text.to_owned())),
        }
    }

    /// A call that is there as a whole.
    fn call(&mut self, tool: &str, arguments: Option<&Json>) -> usize {
        self.calls.push(Making {
            slot: ("whole", 0, 0),
            id: String::new(),
            tool: tool.to_owned(),
            text: arguments.and_then(Json::as_text).unwrap_or_default().to_owned(),
            value: arguments.cloned(),
            is_only_pieces: false,
        });
        self.calls.len() - 1
    }

    /// Goes on with a call of chat completions.
    fn more(&mut self, slot: (&'static str, usize, usize), id: &str, call: &Json, key: &str) {
        let (tool, arguments) = (self.text(call, "name").to_owned(), self.get(call, key).cloned());
        let at = self.calls.iter().rposition(|made| made.slot == slot);
        let at = at.unwrap_or_else(|| {
            self.calls.push(Making {
                slot,
                id: id.to_owned(),
                tool: String::new(),
                text: String::new(),
                value: None,
                is_only_pieces: false,
            });
            self.calls.len() - 1
        });
        let made = &mut self.calls[at];
        match self.client.pieces {
            Pieces::ByIndex => made.tool.push_str(&tool),
            Pieces::InOrder if !tool.is_empty() => made.tool = tool,
            Pieces::AsClosed if made.tool.is_empty() => made.tool = tool,
            Pieces::InOrder | Pieces::AsClosed => {}
        }
        match arguments {
            Some(Json::Text(more)) => made.text.push_str(&more),
            Some(value) => made.value = Some(value),
            None => {}
        }
    }

    fn chat(&mut self, event: &Event) {
        if self.client.kinds == Kinds::ByName && event.name.as_deref().is_some_and(|name| name != "message") {
            return;
        }
        for (at, choice) in self.list(&event.data, "choices") {
            let number = self.choice(choice, at);
            for message in ["message", "delta"] {
                if let Some(message) = self.get(choice, message) {
                    self.chat_message(number, message);
                }
            }
        }
    }

    fn chat_message(&mut self, choice: usize, message: &Json) {
        for key in ["content", "refusal", "reasoning_content", "reasoning"] {
            self.say((key, choice, 0, 0), self.text(message, key));
            for (part, value) in self.list(message, key) {
                if self.shows(value, "text") {
                    self.say((key, choice, 0, part), self.text(value, "text"));
                }
                self.say((key, choice, 1, part), self.text(value, "refusal"));
            }
        }
        if let Some(call) = self.get(message, "function_call") {
            self.more(("function_call", choice, 0), "", call, "arguments");
        }
        for (at, call) in self.list(message, "tool_calls") {
            let id = self.text(call, "id");
            for (variant, arguments) in [("function", "arguments"), ("custom", "input")] {
                let Some(called) = self.get(call, variant) else { continue };
                let number = match self.client.pieces {
                    _ if !self.stream => self.calls.len(),
                    Pieces::InOrder => self.named(choice, variant, id),
                    Pieces::ByIndex | Pieces::AsClosed => self.number(call, "index", at),
                };
                self.more((variant, choice, number), id, called, arguments);
            }
        }
    }

    /// The number of a call for who looks at ids: an id that is another begins a call.
    fn named(&self, choice: usize, variant: &str, id: &str) -> usize {
        let last = self.calls.iter().rfind(|made| (made.slot.0, made.slot.1) == (variant, choice));
        match last {
            Some(made) if id.is_empty() || made.id == id => made.slot.2,
            Some(made) => made.slot.2 + 1,
            None => 0,
        }
    }

    fn messages(&mut self, event: &Event) {
        let data = &event.data;
        if !self.stream {
            return self.list(data, "content").for_each(|(at, block)| self.block(at, block));
        }
        let at = self.number(data, "index", 0);
        match self.kind(event) {
            "message_start" => {
                let message = self.get(data, "message").unwrap_or(&Json::Null);
                self.list(message, "content").for_each(|(at, block)| self.block(at, block));
            }
            "content_block_start" => {
                if let Some(block) = self.get(data, "content_block") {
                    self.block(at, block);
                }
            }
            "content_block_delta" => {
                let Some(delta) = self.get(data, "delta") else { return };
                match self.text(delta, "type") {
                    "text_delta" => self.say(("text", 0, at, 0), self.text(delta, "text")),
                    "input_json_delta" => {
                        let more = self.text(delta, "partial_json").to_owned();
                        let block = match self.client.pieces {
                            Pieces::ByIndex => self.blocks.iter().rfind(|(index, _)| *index == at),
                            Pieces::InOrder => self.blocks.last(),
                            Pieces::AsClosed => self.blocks.get(at),
                        };
                        if let Some(call) = block.and_then(|(_, call)| *call) {
                            self.calls[call].text.push_str(&more);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// A block of Messages, whole or as it begins. What it begins with is taken by some, and what
    /// comes after it by others.
    fn block(&mut self, at: usize, block: &Json) {
        let mut call = None;
        match self.text(block, "type") {
            // Anthropic's `text_stream` gives pieces alone.
            "text" if self.stream && self.client.pieces == Pieces::InOrder => {}
            "text" => self.say(("text", 0, at, 0), self.text(block, "text")),
            "tool_use" => {
                let (tool, input) = (self.text(block, "name"), self.get(block, "input"));
                let begun = input.is_some_and(|input| input.children().next().is_some());
                if begun || !self.stream {
                    self.call(tool, input);
                }
                if self.stream {
                    let at = self.call(tool, None);
                    self.calls[at].is_only_pieces = begun;
                    call = Some(at);
                }
            }
            _ => {}
        }
        self.blocks.push((at, call));
    }

    fn responses(&mut self, event: &Event) {
        let data = &event.data;
        if !self.stream {
            return self.items(data, "output");
        }
        let item = self.number(data, "output_index", 0);
        let part = self.number(data, "content_index", 0);
        let as_closed = self.client.pieces == Pieces::AsClosed;
        match self.kind(event) {
            "response.created" | "response.in_progress" => {
                if let Some(response) = self.get(data, "response") {
                    self.items(response, "begun");
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                if let Some(response) = self.get(data, "response").filter(|_| as_closed) {
                    self.items(response, "closed");
                }
            }
            "response.output_item.added" => {
                if let Some(added) = self.get(data, "item") {
                    self.begun_item(item, added);
                }
            }
            "response.output_item.done" if !as_closed => {
                if let Some(done) = self.get(data, "item") {
                    self.item("done", item, done);
                }
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                let more = self.text(data, "delta").to_owned();
                if let Some(at) = self.begun(item) {
                    self.calls[at].text.push_str(&more);
                }
            }
            "response.function_call_arguments.done" | "response.custom_tool_call_input.done" => {
                let whole = self.get(data, "arguments").or_else(|| self.get(data, "input"));
                if let Some(tool) = self.begun(item).map(|at| self.calls[at].tool.clone()) {
                    let tool = self.get(data, "name").and_then(Json::as_text).unwrap_or(&tool).to_owned();
                    self.call(&tool, whole);
                }
            }
            "response.output_text.delta" => self.say(("text", 0, item, part), self.text(data, "delta")),
            "response.output_text.done" => self.say(("text done", 0, item, part), self.text(data, "text")),
            "response.refusal.delta" => self.say(("refusal", 0, item, part), self.text(data, "delta")),
            "response.refusal.done" => self.say(("refusal done", 0, item, part), self.text(data, "refusal")),
            "response.content_part.added" => self.part("part", item, part, self.get(data, "part")),
            "response.content_part.done" => self.part("part done", item, part, self.get(data, "part")),
            _ => {}
        }
    }

    /// The call that an item began.
    fn begun(&self, item: usize) -> Option<usize> {
        let mut begun = self.calls.iter().enumerate().filter(|(_, made)| made.slot.0 == "added");
        let found = match self.client.pieces {
            Pieces::ByIndex => begun.rfind(|(_, made)| made.slot.2 == item),
            Pieces::InOrder | Pieces::AsClosed => begun.next_back(),
        };
        found.map(|(at, _)| at)
    }

    fn begun_item(&mut self, at: usize, item: &Json) {
        let calls = self.calls.len();
        self.item("added", at, item);
        for made in &mut self.calls[calls..] {
            made.slot = ("added", 0, at);
        }
    }

    fn items(&mut self, response: &Json, says: &'static str) {
        self.list(response, "output").for_each(|(at, item)| self.item(says, at, item));
    }

    /// An item of Responses.
    fn item(&mut self, says: &'static str, at: usize, item: &Json) {
        let kind = self.text(item, "type");
        let arguments = match kind {
            "function_call" => "arguments",
            "custom_tool_call" => "input",
            "local_shell_call" | "shell_call" | "computer_call" => "action",
            "apply_patch_call" => "operation",
            "message" => {
                let parts: Vec<_> = self.list(item, "content").collect();
                return parts.into_iter().for_each(|(part, value)| self.part(says, at, part, Some(value)));
            }
            _ => return,
        };
        // Only a function and a custom tool have names; an item of any other kind is what it is.
        let tool = match kind {
            "function_call" | "custom_tool_call" => self.text(item, "name"),
            kind => kind,
        };
        self.call(tool, self.get(item, arguments));
    }

    fn part(&mut self, says: &'static str, item: usize, part: usize, value: Option<&Json>) {
        let Some(value) = value else { return };
        if self.shows(value, "output_text") {
            self.say((says, 0, item, part), self.text(value, "text"));
        }
        self.say((says, 1, item, part), self.text(value, "refusal"));
    }

    fn gemini(&mut self, piece: &Json) {
        for (at, candidate) in self.list(piece, "candidates") {
            let choice = self.choice(candidate, at);
            let Some(content) = self.get(candidate, "content") else { continue };
            for (part, value) in self.list(content, "parts") {
                // Google's libraries read either spelling.
                for variant in ["functionCall", "function_call"] {
                    if let Some(call) = self.get(value, variant) {
                        self.call(self.text(call, "name"), self.get(call, "args"));
                        self.partial(call);
                    }
                }
                let thinks = self.get(value, "thought") == Some(&Json::Scalar("true".to_owned()));
                if !thinks {
                    let part = if self.stream { 0 } else { part };
                    self.say(("text", choice, 0, part), self.text(value, "text"));
                }
            }
        }
    }

    /// Arguments of Gemini that come in pieces of their own, each at its path.
    fn partial(&mut self, call: &Json) {
        for (_, more) in self.list(call, "partialArgs") {
            let (slot, tool, said) =
                (("partial", 0, 0), self.text(call, "name"), self.text(more, "stringValue"));
            let at = self.calls.iter().rposition(|made| made.slot == slot);
            let at = at.unwrap_or_else(|| self.call(tool, None));
            self.calls[at].slot = slot;
            self.calls[at].text.push_str(said);
        }
    }
}
