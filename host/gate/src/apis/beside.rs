//! What requests beside conversations want to have, as far as their paths tell.
//!
//! The list is of what is known. Whatever is not on it may be answered with a model's words, as a kept answer or a new API is, and
//! rules about answers refuse it.

use super::{Wants, gemini, openai};

/// Whose answers hold no word of a model: lists and files of a provider, vectors, measures, and speech that says what was sent.
const DATA: [&str; 11] = [
    "audio/speech",
    "cachedContents",
    "embeddings",
    "files",
    "fine_tuning",
    "models",
    "moderations",
    "rerank",
    "responses/compact",
    "uploads",
    "vector_stores",
];

/// Whose answers are words that no client takes for calls: what was heard, and what an image was made from.
const TEXTS: [&str; 3] = ["audio/transcriptions", "audio/translations", "images"];

/// The methods of Code Assist that are about the user and not about a conversation.
const OF_USERS: [&str; 8] = [
    "fetchAdminControls",
    "getCodeAssistGlobalUserSetting",
    "listExperiments",
    "loadCodeAssist",
    "onboardUser",
    "recordCodeAssistMetrics",
    "retrieveUserQuota",
    "setCodeAssistGlobalUserSetting",
];

/// What a request wants that no endpoint serves.
pub(super) fn wants(path: &str) -> Wants {
    if let Some(method) = gemini::method(path) {
        return match method {
            method if OF_USERS.contains(&method) => Wants::Data,
            "embedContent" | "batchEmbedContents" => Wants::Data,
            "batchGenerateContent" => Wants::Later,
            _ => Wants::Other,
        };
    }
    let below_root = openai::endpoint(path).or_else(|| gemini::resource(path));
    let name = below_root.or_else(|| path.strip_prefix('/')).unwrap_or(path);
    // A batch holds turns, or names a file that does; what comes of it is such a file.
    if name.split('/').any(|part| part == "batches") {
        return Wants::Later;
    }
    let is_of = |names: &[&str]| names.iter().any(|one| is_below(name, one));
    match () {
        () if is_below(name, "files") && name.ends_with("/content") => Wants::Later,
        () if name.is_empty() || is_of(&DATA) => Wants::Data,
        () if is_of(&TEXTS) => Wants::Text,
        () => Wants::Other,
    }
}

/// Whether a path is another one or stands below it.
pub(super) fn is_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_paths_tell_of_their_answers() {
        for path in [
            "/",
            "/v1/models",
            "/models",
            "/v1/models/gpt-4.1",
            "/v1/files",
            "/v1/files/f",
            "/v1beta/files/f",
            "/v1/audio/speech",
            "/v1/embeddings",
            "/v1beta/models/m:embedContent",
            "/v1beta/cachedContents",
            "/v1/responses/compact",
            "/openai/files",
            "/v1internal:loadCodeAssist",
        ] {
            assert_eq!(wants(path), Wants::Data, "{path}");
        }
        for path in ["/v1/audio/transcriptions", "/v1/images/edits"] {
            assert_eq!(wants(path), Wants::Text, "{path}");
        }
        for path in [
            "/v1/batches",
            "/v1/batches/b/cancel",
            "/v1/messages/batches/b/results",
            "/v1/files/f/content",
            "/v1beta/models/m:batchGenerateContent",
        ] {
            assert_eq!(wants(path), Wants::Later, "{path}");
        }
        for path in [
            "/v1/responses/resp_1",
            "/v1/chat/completions/c",
            "/v1/threads/t/runs",
            "/v1/modelsx",
            "/v1beta/models/m:predict",
            "/v1/models/m:rawPredict",
            "/v1internal:generateChat",
            "/v1internal/event:receive",
            "/elsewhere",
        ] {
            assert_eq!(wants(path), Wants::Other, "{path}");
        }
    }
}
