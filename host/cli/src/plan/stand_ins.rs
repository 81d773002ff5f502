//! Values that stand in for those that the log does not have.
//!
//! A logged body has tokens and masks in the places of what was found. No policy would find these
//! again, so a plan over the log would not see that a rule is missing. Each is therefore replaced by an
//! example of the detector that found it: made up, of the right shape, and the same every time.

use std::collections::HashMap;

use leafgate_detect::{Engine, Input, all_detectors, explain};
use leafgate_store::RecordedEdit;
use leafgate_vault::TokenKeys;

/// The signs around the label of a mask.
const OPEN: char = '‹';
const CLOSE: char = '›';

/// Values by the detectors that find them.
pub(super) struct StandIns<'k> {
    keys: &'k TokenKeys,
    by_detector: HashMap<String, Option<String>>,
    /// Places that kept their token or mask.
    pub(super) without: usize,
}

impl<'k> StandIns<'k> {
    pub(super) fn new(keys: &'k TokenKeys) -> Self {
        StandIns { keys, by_detector: HashMap::new(), without: 0 }
    }

    /// Returns a logged body with values in the places of tokens and masks. `edits` say which detector
    /// found what.
    pub(super) fn fill(&mut self, body: &str, edits: &[RecordedEdit]) -> String {
        let mut places: Vec<(std::ops::Range<usize>, String)> = self
            .keys
            .find(body)
            .into_iter()
            .filter_map(|place| {
                let (label, _) = body[place.clone()].rsplit_once('_')?;
                Some((place.clone(), label.to_owned()))
            })
            .collect();
        places.extend(masks(body));
        places.sort_by_key(|(place, _)| place.start);
        let (mut filled, mut at) = (String::with_capacity(body.len()), 0);
        for (place, label) in places.into_iter() {
            let value = match place.start >= at {
                true => self.value(&label, edits),
                false => None,
            };
            let Some(value) = value else {
                self.without += 1;
                continue;
            };
            filled.push_str(&body[at..place.start]);
            filled.push_str(&value);
            at = place.end;
        }
        filled.push_str(&body[at..]);
        filled
    }

    fn value(&mut self, label: &str, edits: &[RecordedEdit]) -> Option<String> {
        let recorded = edits
            .iter()
            .find(|edit| edit.label.as_deref() == Some(label))
            .and_then(|edit| edit.detector.clone());
        let of_label = || {
            all_detectors().iter().find(|info| info.label.as_str() == label).map(|info| info.id.to_string())
        };
        let detector = recorded.or_else(of_label)?;
        self.by_detector.entry(detector).or_insert_with_key(|detector| example(detector)).clone()
    }
}

/// Returns what a detector finds in one of its own examples, if it can stand within a JSON string as it
/// is.
fn example(detector: &str) -> Option<String> {
    let engine = Engine::new(&[detector]).ok()?;
    explain(detector)?.examples.iter().find_map(|example| {
        let found = engine.scan(&Input::new(example)).into_iter().find(|found| !found.published)?;
        let value = &example[found.range];
        let plain = value.chars().all(|c| !c.is_control() && c != '"' && c != '\\');
        plain.then(|| value.to_owned())
    })
}

/// Returns the masks of a text, with their labels.
fn masks(text: &str) -> impl Iterator<Item = (std::ops::Range<usize>, String)> {
    text.match_indices(OPEN).filter_map(|(start, _)| {
        let rest = &text[start + OPEN.len_utf8()..];
        let end = rest.find(CLOSE)?;
        let label = &rest[..end];
        let is_label = !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        is_label.then(|| (start..start + OPEN.len_utf8() + end + CLOSE.len_utf8(), label.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use leafgate_vault::{ClientIdentity, InstallationKey};

    use super::*;

    fn keys() -> TokenKeys {
        TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("test"))
    }

    fn redacted(label: &str, detector: &str) -> RecordedEdit {
        RecordedEdit {
            kind: "redact".into(),
            path: String::new(),
            rule: "secrets".to_owned(),
            label: Some(label.into()),
            detector: Some(detector.to_owned()),
            length: None,
        }
    }

    #[test]
    fn tokens_and_masks_become_values_that_their_detectors_find() {
        let keys = keys();
        let token = keys.token("EMAIL", "ann@firma.de").to_string();
        let body = format!(r#"{{"a":"to {token}, ‹SECRET›","b":"‹4000 bytes of base64› ‹NOBODY›"}}"#);
        let edits = [redacted("EMAIL", "pii/email"), redacted("SECRET", "secrets/github-token")];
        let mut stand_ins = StandIns::new(&keys);
        let filled = stand_ins.fill(&body, &edits);
        for detector in ["pii/email", "secrets/github-token"] {
            let engine = Engine::new(&[detector]).unwrap();
            assert_eq!(engine.scan(&Input::new(&filled)).len(), 1, "{detector}");
        }
        assert!(!filled.contains(&token) && filled.contains("‹4000 bytes") && filled.contains("‹NOBODY›"));
        assert_eq!(stand_ins.without, 1);
        assert_eq!(stand_ins.fill(&body, &edits), filled, "the same every time");
    }

    #[test]
    fn most_detectors_have_a_stand_in() {
        let ids = all_detectors().iter().map(|info| info.id.to_string());
        let (with, without): (Vec<_>, Vec<_>) = ids.partition(|id| example(id).is_some());
        assert!(with.len() > 9 * without.len(), "without: {without:?}");
    }
}
