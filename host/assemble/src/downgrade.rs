//! A request in a lesser form, for a provider that does not take it as it is.

use leafgate_api::Api;
use serde_json::value::RawValue;

use crate::assemble::parse;
use crate::error::AssembleError;
use crate::history::{PieceAuthor, arrange};
use crate::json::{Object, Raw, raw};
use crate::rejection::Refused;
use crate::tools;
use crate::wire::{RequestWire, wire};

/// What stands where an image was.
const LEFT_OUT: &str = "[image left out]";

/// Members about the answer as a stream.
const STREAM: [&str; 2] = ["stream", "stream_options"];

/// Returns a request without what was refused: each image becomes the words that it was left out, calls and results leave
/// with the tools, the answer comes in one piece, and `other` is asked in the place of the model. `None` where it has
/// nothing of the kind, and where nothing would be left to answer.
///
/// # Errors
/// [`AssembleError`] for a body that is none of its API.
pub fn downgrade(
    api: Api,
    body: &[u8],
    without: Refused,
    other: &str,
) -> Result<Option<Vec<u8>>, AssembleError> {
    let wire = wire(api);
    let mut body = parse(body, wire)?;
    let lesser = match without {
        Refused::Images => {
            let mut images = 0;
            for list in ["messages", "input", "contents"] {
                let changed = body.get(list).and_then(|held| without_images(held, wire, &mut images));
                if let Some(changed) = changed {
                    body.set(list, changed);
                }
            }
            images > 0
        }
        Refused::Tools => {
            let had = body.get("tools").is_some();
            let loose = wire.is_loose(&body);
            let history = arrange(wire.take(&mut body)?, false, loose, wire, &mut Vec::new());
            // A provider that may not answer a call has nothing to answer.
            if history.pieces.last().is_none_or(|piece| piece.by != PieceAuthor::User) {
                return Ok(None);
            }
            let system = (!history.system.is_empty()).then(|| history.system.join("\n\n"));
            let items = history.pieces.into_iter().flat_map(|piece| piece.items).collect();
            tools::drop_all(&mut body);
            wire.put(&mut body, system.as_deref(), items);
            had
        }
        Refused::Stream => {
            let streams = body.get("stream").is_some_and(|stream| stream.get() == "true");
            body.drop(&STREAM.map(str::to_owned));
            streams
        }
        Refused::Model => {
            let is_other = body.text("model").is_none_or(|model| model != other);
            wire.set_model(&mut body, other);
            is_other
        }
    };
    Ok(lesser.then(|| body.to_vec()))
}

/// A list of messages or parts with words in the place of each image; `None` where it has none.
fn without_images(list: &RawValue, wire: &dyn RequestWire, images: &mut usize) -> Option<Raw> {
    let mut elements: Vec<Raw> = serde_json::from_str(list.get()).ok()?;
    let before = *images;
    for element in &mut elements {
        let Ok(mut object) = serde_json::from_str::<Object>(element.get()) else { continue };
        if let Some(words) = wire.without_image(&object, LEFT_OUT) {
            *images += 1;
            *element = raw(&words);
            continue;
        }
        // Results of tools have parts of their own.
        for key in ["content", "output", "parts"] {
            let changed = object.get(key).and_then(|held| without_images(held, wire, images));
            if let Some(changed) = changed {
                object.set(key, changed);
                *element = raw(&object);
            }
        }
    }
    (*images > before).then(|| raw(&elements))
}
