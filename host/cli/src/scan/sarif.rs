//! SARIF 2.1.0 (<https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>), without
//! snippets: they would hold what was found.

use std::fmt::Write as _;
use std::path::{Component, Path};

use leafgate_detect::{Confidence, DetectorInfo};
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

/// A path as a URI: relative as it was given, absolute as `file:`.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => continue,
            Component::RootDir | Component::Prefix(_) => {
                uri.push_str("file:///");
                continue;
            }
            Component::ParentDir | Component::Normal(_) => {}
        }
        if !uri.is_empty() && !uri.ends_with('/') {
            uri.push('/');
        }
        for byte in part.as_os_str().as_encoded_bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    uri.push(char::from(*byte));
                }
                _ => {
                    let _ = write!(uri, "%{byte:02X}");
                }
            }
        }
    }
    uri
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
