//! What a header says about the form of a body.

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};

/// The essence of a media type, without parameters and in lower case (RFC 9110, 8.3.1); empty where none is said, or more than one.
pub(crate) fn essence(headers: &HeaderMap) -> String {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (types.next(), types.next()) else { return String::new() };
    let kind = kind.to_str().unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a body comes without a coding.
pub(crate) fn is_plain(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(CONTENT_ENCODING);
    codings.iter().all(|coding| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity"))
}

/// Whether a body is an event stream that can be read.
pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    is_plain(headers) && essence(headers) == "text/event-stream"
}

/// Whether a body is a JSON text that can be read.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    is_plain(headers) && essence(headers) == "application/json"
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(types: &[&'static str], codings: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        types.iter().for_each(|kind| drop(headers.append(CONTENT_TYPE, HeaderValue::from_static(kind))));
        codings
            .iter()
            .for_each(|coding| drop(headers.append(CONTENT_ENCODING, HeaderValue::from_static(coding))));
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
        assert_eq!(essence(&of(&[], &[])), "");
    }
}
