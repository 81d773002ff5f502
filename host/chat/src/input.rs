//! The kind of a file, and the messages in it.

use leafgate_tree::Document;

use crate::export;
use crate::loss::{InputError, Losses};
use crate::node::JsonView;
use crate::raw::{self, RawMessage, RawRole};
use crate::{openai, replay};

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputShape {
    /// `Raw.ChatMessage[]`, or an object with it as `messages`.
    Raw,
    /// The parts of one raw message, without the message.
    RawParts,
    /// OpenAI chat messages, or a request body with them.
    OpenaiChat,
    /// A chat replay: what VS Code's chat debug view exports.
    Replay,
    /// A VS Code chat export.
    Export,
}

/// The messages of a file.
pub struct Messages {
    /// The kind of file.
    pub shape: InputShape,
    /// Its messages, in order.
    pub messages: Vec<RawMessage>,
    /// What could not be read as a raw message.
    pub losses: Losses,
    /// The number of the request in a replay, and how many there are.
    pub request: Option<(usize, usize)>,
}

/// Returns the kind of a file.
///
/// # Errors
/// None of the known shapes. The error lists them.
pub fn shape(document: &Document) -> Result<InputShape, InputError> {
    let root = JsonView::root(document);
    if root.is_array() {
        return shape_of_messages(root);
    }
    if root.get("requests").is_some_and(JsonView::is_array) {
        return Ok(InputShape::Export);
    }
    if root.get("prompts").is_some_and(JsonView::is_array) {
        return Ok(InputShape::Replay);
    }
    match root.get("messages") {
        Some(messages) if messages.is_array() => shape_of_messages(messages),
        _ => Err(InputError::at(
            root,
            "neither raw messages, OpenAI chat messages, a chat replay nor a chat export: \
             `messages`, `prompts` or `requests`, an array, is missing",
        )),
    }
}

/// The first message or part decides. An empty list is an empty list of raw messages.
fn shape_of_messages(messages: JsonView<'_>) -> Result<InputShape, InputError> {
    let Some(first) = messages.items().next() else { return Ok(InputShape::Raw) };
    match first.get("role") {
        Some(role) if role.is_number() => Ok(InputShape::Raw),
        Some(role) if role.text().is_some() => Ok(InputShape::OpenaiChat),
        None if first.get("type").is_some_and(JsonView::is_number) => Ok(InputShape::RawParts),
        _ => Err(InputError::at(first, "a message must be an object with a `role`, a number or a word")),
    }
}

/// Reads the messages of a file of any kind. Of a replay, reads the numbered request, from 1, or
/// the last.
///
/// # Errors
/// The file has no known shape, breaks the schema of its shape, or has no such request.
pub fn messages(document: &Document, request: Option<usize>) -> Result<Messages, InputError> {
    let shape = shape(document)?;
    let root = JsonView::root(document);
    if request.is_some() && shape != InputShape::Replay {
        return Err(InputError::at(root, "only a chat replay holds requests by number"));
    }
    let mut losses = Losses::default();
    let mut chosen = None;
    let messages = match shape {
        InputShape::Raw => each(list(root, &mut losses), &mut losses, raw::message)?,
        InputShape::OpenaiChat => each(list(root, &mut losses), &mut losses, openai::message)?,
        InputShape::RawParts => {
            let content = raw::parts(list(root, &mut losses), &mut losses)?;
            vec![RawMessage::new(root.pointer(), RawRole::User, content)]
        }
        InputShape::Replay => {
            let (messages, number, count) = replay::request(root, request)?;
            chosen = Some((number, count));
            each(messages, &mut losses, raw::message)?
        }
        InputShape::Export => export::messages(root, &mut losses),
    };
    Ok(Messages { shape, messages, losses, request: chosen })
}

/// Returns the list of messages in an array or in an object. Other members of the object are not
/// converted.
fn list<'d>(root: JsonView<'d>, losses: &mut Losses) -> JsonView<'d> {
    losses.note_others(root, &["messages"], "only messages are converted");
    root.get("messages").unwrap_or(root)
}

fn each(
    list: JsonView<'_>,
    losses: &mut Losses,
    read: fn(JsonView<'_>, &mut Losses) -> Result<Option<RawMessage>, InputError>,
) -> Result<Vec<RawMessage>, InputError> {
    list.items().filter_map(|node| read(node, losses).transpose()).collect()
}

/// Returns the list of raw messages of a file without other content, as it is spelled.
pub fn verbatim_messages(document: &Document) -> Option<&str> {
    let root = JsonView::root(document);
    (shape(document) == Ok(InputShape::Raw)).then(|| root.get("messages").unwrap_or(root).verbatim())
}
