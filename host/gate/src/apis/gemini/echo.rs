//! How the built-in upstream answers as Gemini.

use leafgate_tokenize::estimate;
use serde_json::{Value, json};

use crate::echo::{Echo, fragments};
use crate::sse;

/// What the model says, in the form that was asked for.
pub(super) struct Spoken<'e> {
    pub(super) echo: &'e Echo<'e>,
    /// Whether answers are those of Code Assist.
    pub(super) wraps: bool,
}

impl Spoken<'_> {
    pub(super) fn whole(&self) -> Value {
        let mut answer = self.piece(self.echo.text);
        finish(&mut answer);
        self.wrapped(answer)
    }

    pub(super) fn events(&self) -> Vec<String> {
        let event = |data: &Value| {
            let mut out = String::new();
            sse::event(&mut out, None, data);
            out
        };
        self.pieces().iter().map(event).collect()
    }

    /// A stream without `alt=sse`.
    pub(super) fn array(&self) -> Value {
        self.pieces().into()
    }

    /// A guess that depends on the request alone.
    pub(super) fn count(&self) -> Value {
        json!({ "totalTokens": estimate(self.echo.text.len()) })
    }

    fn pieces(&self) -> Vec<Value> {
        let texts = fragments(self.echo.text).chain([""]);
        let mut pieces: Vec<_> = texts.map(|text| self.piece(text)).collect();
        if let Some(last) = pieces.last_mut() {
            finish(last);
        }
        pieces.into_iter().map(|piece| self.wrapped(piece)).collect()
    }

    /// The path names the model, or the body does.
    fn piece(&self, text: &str) -> Value {
        let model = if self.wraps { &self.echo.model } else { model(self.echo.path) };
        json!({
            "candidates": [{ "content": { "parts": [{ "text": text }], "role": "model" }, "index": 0 }],
            "modelVersion": model,
            "responseId": "echo",
        })
    }

    fn wrapped(&self, answer: Value) -> Value {
        if self.wraps { json!({ "response": answer, "traceId": "echo" }) } else { answer }
    }
}

fn finish(answer: &mut Value) {
    answer["candidates"][0]["finishReason"] = "STOP".into();
    answer["usageMetadata"] =
        json!({ "promptTokenCount": 0, "candidatesTokenCount": 0, "totalTokenCount": 0 });
}

/// The model that a path names.
fn model(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.split(':').next().unwrap_or_default()
}
