//! What a header says about the form of a body.

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};

/// The media type of a body (RFC 9110, 8.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediaType {
    /// No header says one.
    Missing,
    /// A type without its parameters, and the charset; in lower case.
    One {
        /// As `application/json`.
        essence: String,
        /// Without quotes.
        charset: Option<String>,
    },
    /// More than one header says one.
    Several,
}

impl MediaType {
    /// Reads the type that a header says.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut types = headers.get_all(CONTENT_TYPE).iter();
        let Some(first) = types.next() else { return MediaType::Missing };
        if types.next().is_some() {
            return MediaType::Several;
        }
        let first = first.to_str().unwrap_or_default().to_ascii_lowercase();
        let mut parts = first.split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default().to_owned();
        let charset = parts.find_map(|part| part.strip_prefix("charset="));
        MediaType::One { essence, charset: charset.map(|charset| charset.trim_matches('"').to_owned()) }
    }

    /// Returns whether it is this type, whatever its parameters.
    pub fn is(&self, this: &str) -> bool {
        matches!(self, MediaType::One { essence, .. } if essence == this)
    }
}

/// Whether a body comes without a coding.
pub fn is_plain(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(CONTENT_ENCODING);
    codings.iter().all(|coding| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity"))
}

/// Whether a body is an event stream that can be read.
pub fn is_event_stream(headers: &HeaderMap) -> bool {
    is_plain(headers) && MediaType::of(headers).is("text/event-stream")
}

/// Whether a body is a JSON text that can be read.
pub fn is_json(headers: &HeaderMap) -> bool {
    is_plain(headers) && MediaType::of(headers).is("application/json")
}

/// The form of an answer that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// One JSON value.
    Whole,
    /// A stream of events.
    Events,
}

impl AnswerForm {
    /// Returns the form that a header names; `None` for another one, and for a compressed answer.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        match () {
            () if is_json(headers) => Some(AnswerForm::Whole),
            () if is_event_stream(headers) => Some(AnswerForm::Events),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(types: &[&'static str], codings: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for kind in types {
            headers.append(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        for coding in codings {
            headers.append(CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
        headers
    }

    #[test]
    fn parameters_and_case_do_not_matter() {
        assert!(is_event_stream(&of(&["Text/Event-Stream ; charset=utf-8"], &["Identity"])));
        assert!(is_json(&of(&["application/json"], &[])));
    }

    #[test]
    fn what_is_said_twice_or_coded_is_not_read() {
        assert!(!is_json(&of(&["application/json", "text/event-stream"], &[])));
        assert!(!is_json(&of(&["application/json"], &["identity", "gzip"])));
        assert!(!is_event_stream(&of(&["text/event-streams"], &[])));
        assert_eq!(MediaType::of(&of(&[], &[])), MediaType::Missing);
    }
}
