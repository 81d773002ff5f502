//! The chat replay export of VS Code's chat debug view: prompts, each with a log of elements,
//! requests and tool calls. A request holds the raw messages that were sent.

use crate::loss::InputError;
use crate::node::JsonView;

/// Returns the messages of one request, from 1 or the last, with its number, and how many there
/// are.
pub(crate) fn request(
    root: JsonView<'_>,
    number: Option<usize>,
) -> Result<(JsonView<'_>, usize, usize), InputError> {
    let requests: Vec<_> = requests(root).collect();
    let number = number.unwrap_or(requests.len());
    match number.checked_sub(1).and_then(|index| requests.get(index)) {
        Some(&messages) => Ok((messages, number, requests.len())),
        None if requests.is_empty() => {
            Err(InputError::at(root, "the chat replay holds no request with messages"))
        }
        None => {
            Err(InputError::at(root, "the chat replay holds no request of this number; they count from 1"))
        }
    }
}

fn requests(root: JsonView<'_>) -> impl Iterator<Item = JsonView<'_>> {
    let logs = root.list("prompts").flat_map(|prompt| prompt.list("logs"));
    logs.filter_map(|log| log.path(&["requestMessages", "messages"])).filter(|messages| messages.is_array())
}
