//! Hostile answers: made up or recorded, and changed in the ways in which readers of answers differ.
//!
//! [`hostile`] makes one of choices; [`table`] has those that were found by hand, for real clients
//! too. What they try to get to a client is said twice, as a rule lets it pass and as it does not
//! ([`Words`]).

mod mutate;
mod spoken;
pub mod table;

pub use mutate::hostile;
pub use spoken::{Part, Voice, spoken};

use crate::clients::{Api, Json, named_events};
use crate::recordings;

/// The tool that no client may see called.
pub const TOOL: &str = "Bash";

/// The word that no client may see, in a text or in what a tool is called with.
pub const WORD: &str = "heron-7731";

/// What answers say.
#[derive(Clone, Debug)]
pub struct Wording {
    /// The name of a tool.
    pub tool: String,
    /// What a tool is called with, a JSON object.
    pub arguments: String,
    /// A text, in two halves.
    pub text: (String, String),
}

/// What answers say where a rule lets it pass, and where it does not.
#[derive(Clone, Debug)]
pub struct Words {
    /// What passes.
    pub fine: Wording,
    /// What does not.
    pub bad: Wording,
}

impl Words {
    /// Those with [`TOOL`] and [`WORD`].
    pub fn plain() -> Self {
        let wording = |tool: &str, arguments: &str, left: &str, right: &str| Wording {
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
            text: (left.to_owned(), right.to_owned()),
        };
        let (left, right) = WORD.split_at(4);
        Words {
            fine: wording("Read", r#"{"path":"notes.txt"}"#, "All is ", "well."),
            bad: wording(TOOL, &format!(r#"{{"command":"echo {WORD}"}}"#), left, right),
        }
    }
}

/// An answer in its pieces.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Whose it is.
    pub api: Api,
    /// Whether it is an event stream.
    pub stream: bool,
    /// Its events, or the one piece of JSON that it is.
    pub frames: Vec<Frame>,
}

/// An event as it is spelled.
#[derive(Clone, Debug)]
pub struct Frame {
    /// What stands before it.
    pub before: String,
    /// The name that it bears.
    pub name: Option<String>,
    /// How its data begins.
    pub field: String,
    /// Its data.
    pub data: Json,
    /// How it ends.
    pub end: String,
}

impl Frame {
    /// An event as servers spell it.
    pub fn of(name: Option<&str>, data: Json) -> Self {
        let (before, field, end) = (String::new(), "data: ".to_owned(), "\n\n".to_owned());
        Frame { before, name: name.map(str::to_owned), field, data, end }
    }
}

impl Answer {
    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let event = |frame: &Frame| {
            let Frame { before, name, field, data, end } = frame;
            let name = name.as_ref().map(|name| format!("event: {name}\n")).unwrap_or_default();
            format!("{before}{name}{field}{data}{end}")
        };
        match self.stream {
            true => self.frames.iter().map(event).collect::<String>().into(),
            false => self.frames.iter().map(|frame| frame.data.to_string()).collect::<String>().into(),
        }
    }
}

/// Recorded answers of an API, up to the size that is worth changing thousands of times.
pub fn recorded(api: Api) -> Vec<Answer> {
    const LONGEST: usize = 12 * 1024;
    let mut answers = Vec::new();
    for (ending, stream) in [(".response.json", false), (".response.sse", true)] {
        for file in recordings::read(api.name(), ending).into_iter().filter(|file| file.body.len() <= LONGEST)
        {
            let text = String::from_utf8_lossy(&file.body).into_owned();
            let mut frames: Vec<Frame> = match stream {
                true => named_events(&text)
                    .into_iter()
                    .map(|(name, data)| Frame::of(name.as_deref(), data))
                    .collect(),
                false => Json::read(&text).map(|data| Frame::of(None, data)).into_iter().collect(),
            };
            if stream && text.contains("[DONE]") {
                frames.push(Frame::of(None, Json::Scalar("[DONE]".to_owned())));
            }
            answers.push(Answer { api, stream, frames });
        }
    }
    answers
}
