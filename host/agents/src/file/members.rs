//! Values of a file, each with its line.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The text of a file.
pub(super) struct TeamText<'t>(&'t str);

/// The members of an object, in the order of the file.
pub(super) struct FileMembers<'t>(Vec<(String, &'t RawValue)>);

impl<'t> TeamText<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        TeamText(text)
    }

    /// The members of the whole file, or the line and the words of what is wrong with it.
    pub(super) fn root(&self) -> Result<FileMembers<'t>, (usize, String)> {
        serde_json::from_str(self.0).map_err(|error| {
            let what = if error.is_data() { "an object is expected" } else { "this is no JSON" };
            (error.line(), format!("{what} (column {})", error.column()))
        })
    }

    /// The line of a value, from 1.
    pub(super) fn line(&self, value: &RawValue) -> usize {
        let offset = (value.get().as_ptr() as usize).saturating_sub(self.0.as_ptr() as usize);
        1 + self.0.bytes().take(offset).filter(|byte| *byte == b'\n').count()
    }

    pub(super) fn members(&self, value: &'t RawValue) -> Option<FileMembers<'t>> {
        serde_json::from_str(value.get()).ok()
    }

    pub(super) fn elements(&self, value: &'t RawValue) -> Option<Vec<&'t RawValue>> {
        serde_json::from_str(value.get()).ok()
    }

    pub(super) fn string(&self, value: &RawValue) -> Option<String> {
        serde_json::from_str(value.get()).ok()
    }

    pub(super) fn number(&self, value: &RawValue) -> Option<u64> {
        serde_json::from_str(value.get()).ok()
    }

    pub(super) fn boolean(&self, value: &RawValue) -> Option<bool> {
        serde_json::from_str(value.get()).ok()
    }
}

impl<'t> FileMembers<'t> {
    /// A member; the last one where there are two, as parsers read it.
    pub(super) fn get(&self, key: &str) -> Option<&'t RawValue> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    pub(super) fn is_twice(&self, key: &str) -> bool {
        self.0.iter().filter(|(name, _)| name == key).count() > 1
    }

    /// All members, in the order of the file.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'t RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// Members beside those that are known.
    pub(super) fn unknown(&self, known: &[&str]) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str()).filter(|name| !known.contains(name))
    }
}

impl<'de> Deserialize<'de> for FileMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = FileMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FileMembers<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(FileMembers(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}
