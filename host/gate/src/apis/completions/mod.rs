//! OpenAI's text completions, from before there was chat. They belong to no conversation, so
//! nothing is restored in them.

mod echo;

use leafgate_tree::Format;

use super::{Endpoint, Wants, openai};
use crate::apis::echo::Echoed;

pub(super) static COMPLETIONS: Endpoint = Endpoint {
    serves: |_, path, _| openai::endpoint(path) == Some("completions"),
    format: Some(Format::Generic),
    with_model: openai::with_model,
    deployment: openai::model,
    wants: |_| Wants::Text,
    echo: |echo| {
        Some(if echo.streams { Echoed::Events(echo::events(echo)) } else { Echoed::Json(echo::whole(echo)) })
    },
    ..Endpoint::other("completions", &openai::OPENAI)
};
