//! How clients cut an event stream into events.

use super::{Json, Lines};

/// An event: its name where it bears one, and its data.
#[derive(PartialEq)]
pub(super) struct Event {
    pub(super) name: Option<String>,
    pub(super) data: Json,
}

/// An answer in one piece: a single event. Gemini's stream that is no event stream is a list of them.
pub(super) fn whole(answer: &str) -> Vec<Event> {
    let pieces = match Json::read(answer) {
        Some(Json::List(pieces)) => pieces,
        answer => answer.into_iter().collect(),
    };
    pieces.into_iter().map(|data| Event { name: None, data }).collect()
}

/// Cuts a stream as a client does.
pub(super) fn events(stream: &str, lines: Lines) -> Vec<Event> {
    match lines {
        Lines::Standard => standard(stream),
        Lines::Trimmed => loose(stream, &['\n', '\r']),
        Lines::Split => loose(stream, &ENDS),
    }
}

/// Where Python's `str.splitlines`, and libraries that use it, end a line.
const ENDS: [char; 10] =
    ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];

/// WHATWG HTML, 9.2.6: an event ends with an empty line, and what has no such end is no event. Its
/// data is on one line or on several.
fn standard(stream: &str) -> Vec<Event> {
    let (mut events, mut name, mut data) = (Vec::new(), None, Vec::new());
    let stream = stream.replace("\r\n", "\n").replace('\r', "\n");
    let whole = stream.rsplit_once('\n').map_or("", |(whole, _)| whole);
    for line in whole.split('\n') {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => data.push(value),
            "event" => name = Some(value.to_owned()),
            "" if line.is_empty() => {
                let (name, data) = (name.take(), std::mem::take(&mut data).join("\n"));
                events.extend(Json::read(&data).map(|data| Event { name, data }));
            }
            _ => {}
        }
    }
    events
}

/// Each line with JSON is an event, whatever stands around its field; names and blank lines are
/// remembered loosely.
fn loose(stream: &str, ends: &[char]) -> Vec<Event> {
    let (mut events, mut name) = (Vec::new(), None);
    for line in stream.split(ends) {
        let line = line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}' || c == '\0');
        let (field, value) = match line.split_once(':') {
            Some((field, value)) if !field.starts_with(['{', '[']) => (field.trim_end(), value.trim()),
            _ => ("data", line),
        };
        if field.eq_ignore_ascii_case("event") {
            name = Some(value.to_owned());
        } else if field.eq_ignore_ascii_case("data") {
            events.extend(Json::read(value).map(|data| Event { name: name.clone(), data }));
        } else if line.is_empty() {
            name = None;
        }
    }
    events
}
