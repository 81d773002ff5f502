//! OpenAI's chat completions, which most other vendors speak too.

use leafgate_answer::Api;
use leafgate_tree::Format;

use super::{Endpoint, Wants, openai};
use crate::session::NameHints;

pub(super) static CHAT: Endpoint = Endpoint {
    serves: |_, path, _| openai::endpoint(path) == Some("chat/completions"),
    format: Some(Format::OpenaiChat),
    with_model: openai::with_model,
    deployment: openai::model,
    wants: |_| Wants::Turn,
    answers: Some(Api::Chat),
    hints: |request| NameHints { name: None, wide: openai::wide(request) },
    echo: |echo| echo.spoken("chatcmpl-echo"),
    ..Endpoint::other("chat", &openai::OPENAI)
};
