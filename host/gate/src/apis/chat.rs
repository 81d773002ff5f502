//! OpenAI's chat completions, which most other vendors speak too.

use leafgate_answer::Api;
use leafgate_tree::{Document, Format};

use super::{Conversation, Endpoint, Wants, openai};
use crate::session::NameHints;

pub(super) static CHAT: Endpoint = Endpoint {
    serves: |_, path, _| openai::endpoint(path) == Some("chat/completions"),
    format: Some(Format::OpenaiChat),
    with_model: openai::with_model,
    deployment: openai::model,
    wants: |_| Wants::Turn,
    conversation: Some(&CONVERSATION),
    echo: |echo| Some(echo.spoken(Api::Chat, "chatcmpl-echo")),
    ..Endpoint::other("chat", &openai::OPENAI)
};

static CONVERSATION: Conversation = Conversation {
    streams: Document::streams,
    seals: |_| false,
    answers: Api::Chat,
    hints: |request| NameHints { name: None, wide: openai::wide(request) },
};
