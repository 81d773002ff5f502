//! SARIF 2.1.0 (<https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>), without
//! snippets: they would hold what was found.

use std::path::{Component, Path, PathBuf};

use leafgate_detect::{Confidence, DetectorInfo};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde_json::{Value, json};

use super::{ScanFinding, Scanned};

/// Returns one run with a rule for each detector that was used.
pub(super) fn log(scanned: &Scanned, detectors: Vec<&DetectorInfo>) -> Value {
    let rules: Vec<Value> = detectors.iter().map(|detector| rule(detector)).collect();
    let index =
        |found: &ScanFinding| detectors.iter().position(|detector| detector.id.as_str() == found.detector);
    let results: Vec<Value> = scanned.findings.iter().map(|found| result(found, index(found))).collect();
    let notifications: Vec<Value> =
        scanned.unread.iter().map(|why| json!({ "level": "error", "message": { "text": why } })).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "leafgate",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "invocations": [{
                "executionSuccessful": scanned.unread.is_empty(),
                "toolExecutionNotifications": notifications,
            }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(detector: &DetectorInfo) -> Value {
    json!({
        "id": detector.id.as_str(),
        "shortDescription": { "text": detector.description },
        "defaultConfiguration": { "level": level(detector.confidence) },
        "properties": { "tags": ["security", detector.pack] },
    })
}

fn level(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::High => "error",
        Confidence::Medium => "warning",
        Confidence::Low => "note",
    }
}

fn result(found: &ScanFinding, rule: Option<usize>) -> Value {
    let level = if found.published { "note" } else { level(found.confidence) };
    let what = if found.published { "a published example" } else { "found" };
    json!({
        "ruleId": found.detector,
        "ruleIndex": rule,
        "level": level,
        "message": { "text": format!("{}: {what} by {}", found.label, found.detector) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(&found.file) },
            "region": {
                "startLine": found.place.line,
                "startColumn": found.place.column,
                "endLine": found.place.end_line,
                "endColumn": found.place.end_column,
                "byteOffset": found.start,
                "byteLength": found.end - found.start,
            },
        } }],
    })
}

/// What stands for itself in a path of a URI (RFC 3986, section 2.3).
const UNRESERVED: AsciiSet =
    NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// A path as a URI: relative as it was given, absolute as `file:`.
fn uri(path: &str) -> String {
    let parts = Path::new(path).components().filter(|part| *part != Component::CurDir);
    let path: PathBuf = parts.collect();
    let scheme = if path.is_absolute() { "file://" } else { "" };
    format!("{scheme}{}", percent_encode(path.as_os_str().as_encoded_bytes(), &UNRESERVED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris() {
        assert_eq!(uri("./a b/c%.txt"), "a%20b/c%25.txt");
        assert_eq!(uri("../x"), "../x");
        assert_eq!(uri("/srv/é"), "file:///srv/%C3%A9");
    }
}
