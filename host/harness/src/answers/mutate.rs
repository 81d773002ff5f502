//! Changes of an answer after which readers disagree about it.

use super::{Answer, Frame, Part, Wording, Words, spoken};
use crate::Input;
use crate::clients::{Api, Json};

type Members = Vec<(String, Json)>;

/// Members by which calls and texts are found: what is changed most often.
const HOT: [&str; 32] = [
    "action",
    "arguments",
    "args",
    "call_id",
    "candidates",
    "choices",
    "content",
    "content_block",
    "content_index",
    "custom",
    "delta",
    "function",
    "functionCall",
    "function_call",
    "id",
    "index",
    "input",
    "item",
    "message",
    "name",
    "operation",
    "output",
    "output_index",
    "part",
    "partial_json",
    "parts",
    "refusal",
    "response",
    "role",
    "text",
    "tool_calls",
    "type",
];

/// Words of the APIs: kinds of events, items, blocks and deltas.
const KINDS: [&str; 31] = [
    "apply_patch_call",
    "content_block_delta",
    "content_block_start",
    "content_block_stop",
    "custom",
    "custom_tool_call",
    "error",
    "function",
    "function_call",
    "input_json_delta",
    "local_shell_call",
    "mcp_call",
    "message",
    "message_delta",
    "message_start",
    "message_stop",
    "output_text",
    "ping",
    "reasoning",
    "response.completed",
    "response.content_part.done",
    "response.created",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "server_tool_use",
    "text",
    "text_delta",
    "tool_use",
];

/// What stands before an event, or in the place of `data: `, or ends an event: lines that readers
/// read differently.
const ODD_LINES: [(&str, &str, &str); 22] = [
    ("", " data: ", "\n\n"),
    ("", "data:", "\n\n"),
    ("", "Data: ", "\n\n"),
    ("", "data : ", "\n\n"),
    ("", "\u{feff}data: ", "\n\n"),
    ("", "\tdata:\t", "\n\n"),
    ("", "", "\n\n"),
    ("", ": ", "\n\n"),
    ("", ": \u{2028}data: ", "\n\n"),
    ("", ": \u{85}data: ", "\n\n"),
    ("", ": \u{b}data: ", "\n\n"),
    ("", ": \u{c}data: ", "\n\n"),
    ("", "id: \u{2029}data: ", "\n\n"),
    ("", "retry: 1\rdata: ", "\r\r"),
    ("", "data: ", "\n"),
    ("", "data: ", "\r\n\r\n"),
    ("", "data: ", ""),
    ("data\n", "data: ", "\n\n"),
    ("data: {}\n", "data: ", "\n\n"),
    ("event: ping\n", "data: ", "\n\n"),
    ("data: [DONE]\n\n", "data: ", "\n\n"),
    ("", "data: ", "\nevent: error\n\n"),
];

/// A hostile answer of an API, made of choices, and what was done to make it. Of recorded ones some
/// may be taken.
#[must_use]
pub fn hostile(api: Api, words: &Words, recorded: &[Answer], input: &mut Input<'_>) -> (Answer, Vec<String>) {
    let mut making = Making { words, input, steps: Vec::new() };
    let mut answer = making.base(api, recorded);
    for _ in 0..=making.input.choose(3) {
        making.change(&mut answer);
    }
    (answer, making.steps)
}

struct Making<'m, 'i> {
    words: &'m Words,
    input: &'m mut Input<'i>,
    steps: Vec<String>,
}

impl<'m> Making<'m, '_> {
    fn one_of<'o, T>(&mut self, of: &'o [T]) -> Option<&'o T> {
        of.get(self.input.choose(of.len()))
    }

    fn wording(&mut self) -> &'m Wording {
        if self.input.choose(2) == 0 { &self.words.bad } else { &self.words.fine }
    }

    /// What is changed: usually something that passes, made up.
    fn base(&mut self, api: Api, recorded: &[Answer]) -> Answer {
        if self.input.choose(4) == 3
            && let Some(recording) = self.one_of(recorded)
        {
            let mut answer = recording.clone();
            answer
                .frames
                .iter_mut()
                .for_each(|frame| twist(&mut frame.data, "", &self.words.fine, Twist::Tools));
            self.steps.push("recorded".to_owned());
            return answer;
        }
        let stream = self.input.choose(2) == 1;
        let (fine, bad) = (&self.words.fine, &self.words.bad);
        let text = format!("{}{}", fine.text.0, fine.text.1);
        let says = Part::Says(&text);
        let calls = Part::Calls(&fine.tool, &fine.arguments);
        let halves = [Part::Says(&bad.text.0), Part::Says(&bad.text.1)];
        let ways: [&[Part<'_>]; 6] =
            [&[says, calls], &[calls], &[says], &[calls, calls], &halves, &[halves[0], calls, halves[1]]];
        let (parts, piece) = (ways[self.input.choose(ways.len())], [1000, 3, 9][self.input.choose(3)]);
        self.steps.push(format!("{parts:?} in pieces of {piece}"));
        spoken(api, stream, parts, piece)
    }

    fn change(&mut self, answer: &mut Answer) {
        let changes: [fn(&mut Self, &mut Answer); 9] = [
            Self::twin,
            Self::variant,
            Self::again,
            Self::replace,
            Self::respell,
            Self::number,
            Self::reorder,
            Self::lines,
            Self::name,
        ];
        // Twins, variants and contradictions have most ways to be hostile.
        let at = self.input.choose(changes.len() + 6);
        let at = if at < changes.len() { at } else { at % 3 };
        changes[at](self, answer);
    }

    fn frame<'a>(&mut self, answer: &'a mut Answer) -> Option<(usize, &'a mut Frame)> {
        let at = self.input.choose(answer.frames.len());
        Some((at, answer.frames.get_mut(at)?))
    }

    /// One object of an event and one of its members, usually one that matters.
    fn member<'a>(&mut self, answer: &'a mut Answer) -> Option<(&'a mut Members, usize)> {
        let (_, frame) = self.frame(answer)?;
        let mut found = Vec::new();
        let mut objects = 0;
        each_object(&frame.data, &mut |members| {
            found.extend((0..members.len()).map(|member| (objects, member)));
            objects += 1;
        });
        let mut hot = Vec::new();
        let mut at = 0;
        each_object(&frame.data, &mut |members| {
            let is_hot = |(_, (key, _)): &(usize, &(String, Json))| HOT.contains(&key.as_str());
            hot.extend(members.iter().enumerate().filter(is_hot).map(|(member, _)| (at, member)));
            at += 1;
        });
        let among = if self.input.choose(5) == 4 || hot.is_empty() { &found } else { &hot };
        let &(object, member) = self.one_of(among)?;
        Some((nth_object(&mut frame.data, &mut { object })?, member))
    }

    /// A member once more: under its key or a like one, before it or behind it.
    fn twin(&mut self, answer: &mut Answer) {
        let Some((members, at)) = self.member(answer) else { return };
        let (key, value) = members[at].clone();
        let twin = match self.input.choose(5) {
            0 => key.clone(),
            _ => self.spelling(&key),
        };
        let other = match self.input.choose(7) {
            0 => Json::Null,
            1 => Json::Object(Vec::new()),
            2 => Json::text(""),
            3 => value.clone(),
            _ => twisted(&value, &key, self.wording()),
        };
        let behind = self.input.choose(2) == 0;
        if self.input.choose(3) == 2 {
            members[at].1 = twisted(&value, &key, &self.words.bad);
        }
        self.steps
            .push(format!("twin `{twin}` {} `{key}`: {other}", if behind { "behind" } else { "before" }));
        members.insert(at + usize::from(behind), (twin, other));
    }

    /// A key as some take it for the same.
    fn spelling(&mut self, key: &str) -> String {
        let capital = || {
            let (first, rest) = key.split_at(key.chars().next().map_or(0, char::len_utf8));
            first.to_uppercase() + rest
        };
        match self.input.choose(5) {
            0 => capital(),
            1 => key.to_uppercase(),
            2 => key.replace('s', "ſ").replace('k', "\u{212a}"),
            3 if key.contains('_') => {
                let mut words = key.split('_');
                let first = words.next().unwrap_or_default().to_owned();
                words.fold(first, |camel, word| {
                    let (head, rest) = word.split_at(word.len().min(1));
                    camel + &head.to_uppercase() + rest
                })
            }
            3 => key.chars().fold(String::new(), |snake, c| match c.is_uppercase() {
                true => format!("{snake}_{}", c.to_lowercase()),
                false => format!("{snake}{c}"),
            }),
            _ => key.to_owned(),
        }
    }

    /// A member that stands for the same as one that is there, or renames it.
    fn variant(&mut self, answer: &mut Answer) {
        let wording = self.wording();
        let text = || Json::Text(format!("{}{}", wording.text.0, wording.text.1));
        let spelled = Json::text(&wording.arguments);
        let object = || Json::read(&wording.arguments).unwrap_or(Json::Null);
        let tool = || Json::text(&wording.tool);
        let members = |members: &[(&str, Json)]| {
            Json::Object(members.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
        };
        let function = members(&[("name", tool()), ("arguments", spelled.clone())]);
        let custom = members(&[("name", tool()), ("input", spelled.clone())]);
        let called = members(&[("name", tool()), ("args", object())]);
        let of_type =
            |kind: &str, more: &[(&str, Json)]| members(&[&[("type", Json::text(kind))], more].concat());
        let item = of_type(
            "function_call",
            &[("call_id", Json::text("c")), ("name", tool()), ("arguments", spelled.clone())],
        );
        let said = of_type("output_text", &[("text", text())]);
        let block = of_type("tool_use", &[("id", Json::text("t")), ("name", tool()), ("input", object())]);
        let call = members(&[
            ("index", Json::Scalar("0".into())),
            ("id", Json::text("c")),
            ("function", function.clone()),
        ]);
        let message = members(&[("content", text()), ("tool_calls", Json::List(vec![call.clone()]))]);
        let ways: Vec<(&str, Json)> = vec![
            ("custom", Json::Null),
            ("custom", Json::Object(Vec::new())),
            ("custom", custom),
            ("function", Json::Null),
            ("function", function.clone()),
            ("function_call", function),
            ("function_call", called.clone()),
            ("functionCall", called),
            ("tool_calls", Json::List(vec![call])),
            ("message", message.clone()),
            ("delta", message),
            ("delta", text()),
            ("content", text()),
            ("content", Json::List(vec![said.clone(), block.clone()])),
            ("output", Json::List(vec![item.clone()])),
            ("item", item),
            ("part", said),
            ("content_block", block),
            ("name", tool()),
            ("text", text()),
            ("arguments", spelled.clone()),
            ("partial_json", spelled),
            ("input", object()),
            ("args", object()),
            ("refusal", text()),
            ("type", Json::text(KINDS[self.input.choose(KINDS.len())])),
            ("index", Json::Scalar("1".into())),
            ("id", Json::text("another")),
        ];
        let (key, value) = ways[self.input.choose(ways.len())].clone();
        let Some((members, at)) = self.member(answer) else { return };
        self.steps.push(format!("`{key}` beside `{}`: {value}", members[at].0));
        members.insert(at, (key.to_owned(), value));
    }

    /// An event once more, in other words, anywhere: also behind the end.
    fn again(&mut self, answer: &mut Answer) {
        if !answer.stream {
            return self.element(answer);
        }
        let (frames, wording) = (answer.frames.len(), self.wording());
        let Some((at, frame)) = self.frame(answer) else { return };
        let mut other = frame.clone();
        twist(&mut other.data, "", wording, Twist::All);
        let to = match self.input.choose(4) {
            0 => at,
            1 => at + 1,
            2 => frames,
            _ => self.input.choose(frames + 1),
        };
        self.steps.push(format!("event {at} again as {to}: {}", other.data));
        answer.frames.insert(to, other);
    }

    /// An element of a list once more.
    fn element(&mut self, answer: &mut Answer) {
        let wording = self.wording();
        let Some((members, at)) = self.member(answer) else { return };
        let lists: Vec<usize> = (0..members.len())
            .filter(|&at| matches!(&members[at].1, Json::List(list) if !list.is_empty()))
            .collect();
        let at = lists.first().copied().unwrap_or(at);
        let (key, Json::List(list)) = &mut members[at] else { return };
        let Some(mut other) = list.get(self.input.choose(list.len())).cloned() else { return };
        twist(&mut other, key, wording, Twist::All);
        self.steps.push(format!("one more in `{key}`: {other}"));
        list.insert(self.input.choose(list.len() + 1), other);
    }

    /// A value in other words or of another type.
    fn replace(&mut self, answer: &mut Answer) {
        let Some((members, at)) = self.member(answer) else { return };
        let (key, value) = members[at].clone();
        let other = match self.input.choose(6) {
            0 => Json::List(vec![twisted(&value, &key, &self.words.bad)]),
            1 => Json::Text(twisted(&value, &key, &self.words.bad).to_string()),
            2 => Json::text(KINDS[self.input.choose(KINDS.len())]),
            _ => twisted(&value, &key, self.wording()),
        };
        self.steps.push(format!("`{key}` is {other}"));
        members[at].1 = other;
    }

    /// A key in another spelling.
    fn respell(&mut self, answer: &mut Answer) {
        let Some((members, at)) = self.member(answer) else { return };
        let key = members[at].0.clone();
        let other = self.spelling(&key);
        members[at].1 = twisted(&members[at].1, &key, self.wording());
        self.steps.push(format!("`{key}` as `{other}`"));
        members[at].0 = other;
    }

    /// Another index, or another id.
    fn number(&mut self, answer: &mut Answer) {
        let Some((_, frame)) = self.frame(answer) else { return };
        let value =
            ["0", "1", "7", "\"0\"", "1e0", "-1", "null", "\"call_0\"", "\"call_1\""][self.input.choose(9)];
        let mut changed = 0;
        set_numbers(&mut frame.data, &Json::read(value).unwrap_or(Json::Null), &mut changed);
        self.steps.push(format!("{changed} numbers are {value}"));
    }

    fn reorder(&mut self, answer: &mut Answer) {
        let frames = answer.frames.len();
        if frames < 2 {
            return;
        }
        let (from, to) = (self.input.choose(frames), self.input.choose(frames));
        let frame = answer.frames.remove(from);
        if self.input.choose(3) > 0 {
            answer.frames.insert(to, frame);
        }
        self.steps.push(format!("event {from} goes to {to}, or nowhere"));
    }

    /// Lines that some read and some do not.
    fn lines(&mut self, answer: &mut Answer) {
        if !answer.stream {
            return self.twin(answer);
        }
        let wording = self.wording();
        let (before, field, end) = ODD_LINES[self.input.choose(ODD_LINES.len())];
        let Some((at, frame)) = self.frame(answer) else { return };
        let mut other =
            Frame { before: before.into(), field: field.into(), end: end.into(), ..frame.clone() };
        twist(&mut other.data, "", wording, Twist::All);
        self.steps.push(format!("{before:?} {field:?} {end:?} at event {at}: {}", other.data));
        match self.input.choose(2) {
            0 => answer.frames.insert(at, other),
            _ => answer.frames[at] = other,
        }
    }

    /// Another name of an event.
    fn name(&mut self, answer: &mut Answer) {
        if !answer.stream {
            return self.variant(answer);
        }
        let (wording, name) =
            (self.wording(), KINDS[self.input.choose(KINDS.len() + 1).min(KINDS.len() - 1)]);
        let is_none = self.input.choose(4) == 3;
        let Some((at, frame)) = self.frame(answer) else { return };
        frame.name = (!is_none).then(|| name.to_owned());
        twist(&mut frame.data, "", wording, Twist::All);
        self.steps.push(format!("event {at} is called {:?}", frame.name));
    }
}

/// How much is put into other words.
#[derive(Clone, Copy, PartialEq)]
enum Twist {
    /// Everything.
    All,
    /// The names of tools.
    Tools,
}

fn twisted(value: &Json, key: &str, wording: &Wording) -> Json {
    let mut value = value.clone();
    twist(&mut value, key, wording, Twist::All);
    value
}

/// Puts a value into other words, by the key of each of its members.
fn twist(value: &mut Json, key: &str, wording: &Wording, what: Twist) {
    let says = match (key, what) {
        ("name", _) => Some(wording.tool.clone()),
        ("arguments" | "partial_json" | "input", Twist::All) => Some(wording.arguments.clone()),
        ("text" | "content" | "delta" | "refusal" | "reasoning_content", Twist::All) => {
            Some(format!("{}{}", wording.text.0, wording.text.1))
        }
        _ => None,
    };
    match value {
        Json::Text(text) => *text = says.unwrap_or_else(|| std::mem::take(text)),
        Json::Object(_) if matches!(key, "input" | "args" | "action" | "operation") && what == Twist::All => {
            *value = Json::read(&wording.arguments).unwrap_or(Json::Null);
        }
        Json::Object(members) => members.iter_mut().for_each(|(key, value)| twist(value, key, wording, what)),
        Json::List(elements) => elements.iter_mut().for_each(|element| twist(element, key, wording, what)),
        Json::Null | Json::Scalar(_) => {}
    }
}

fn each_object(value: &Json, give: &mut impl FnMut(&Members)) {
    if let Json::Object(members) = value {
        give(members);
    }
    value.children().for_each(|child| each_object(child, give));
}

/// The object of this number, counted as [`each_object`] gives them.
fn nth_object<'j>(value: &'j mut Json, left: &mut usize) -> Option<&'j mut Members> {
    match value {
        Json::Object(_) if *left == 0 => match value {
            Json::Object(members) => Some(members),
            _ => None,
        },
        Json::Object(members) => {
            *left -= 1;
            members.iter_mut().find_map(|(_, value)| nth_object(value, left))
        }
        Json::List(elements) => elements.iter_mut().find_map(|element| nth_object(element, left)),
        Json::Null | Json::Scalar(_) | Json::Text(_) => None,
    }
}

fn set_numbers(value: &mut Json, to: &Json, changed: &mut usize) {
    match value {
        Json::Object(members) => {
            for (key, value) in members {
                let is_number = matches!(key.as_str(), "index" | "output_index" | "content_index");
                let is_name = matches!(key.as_str(), "id" | "call_id" | "item_id");
                let is_one = if matches!(to, Json::Text(text) if text != "0") { is_name } else { is_number };
                if is_one {
                    *value = to.clone();
                    *changed += 1;
                } else {
                    set_numbers(value, to, changed);
                }
            }
        }
        Json::List(elements) => elements.iter_mut().for_each(|element| set_numbers(element, to, changed)),
        Json::Null | Json::Scalar(_) | Json::Text(_) => {}
    }
}
