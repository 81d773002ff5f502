//! OpenAI's embeddings. Their answers are numbers.

mod echo;

use leafgate_tree::Format;

use super::{Endpoint, Wants, openai};
use crate::apis::echo::Echoed;

pub(super) static EMBEDDINGS: Endpoint = Endpoint {
    serves: |_, path, _| openai::endpoint(path) == Some("embeddings"),
    format: Some(Format::Generic),
    with_model: openai::with_model,
    deployment: openai::model,
    wants: |_| Wants::Data,
    echo: |echo| Some(Echoed::Json(echo::whole(echo))),
    ..Endpoint::other("embeddings", &openai::OPENAI)
};
