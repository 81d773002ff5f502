//! Values of a file: objects with their members, and texts.

use jsonc_parser::ast::{Object, Value};

/// The members of an object, in the order of the file.
#[derive(Clone, Copy)]
pub(super) struct FileMembers<'v>(&'v Object<'v>);

impl<'v> FileMembers<'v> {
    pub(super) fn of(value: &'v Value<'v>) -> Option<Self> {
        value.as_object().map(FileMembers)
    }

    /// A member; the last one where there are two, as parsers read it.
    pub(super) fn get(self, key: &str) -> Option<&'v Value<'v>> {
        self.iter().filter(|(name, _)| *name == key).last().map(|(_, value)| value)
    }

    pub(super) fn is_twice(self, key: &str) -> bool {
        self.iter().filter(|(name, _)| *name == key).count() > 1
    }

    /// All members, in the order of the file.
    pub(super) fn iter(self) -> impl Iterator<Item = (&'v str, &'v Value<'v>)> {
        self.0.properties.iter().map(|member| (member.name.as_str(), &member.value))
    }

    /// Members beside those that are known.
    pub(super) fn unknown(self, known: &[&str]) -> impl Iterator<Item = &'v str> {
        self.iter().map(|(name, _)| name).filter(|name| !known.contains(name))
    }
}

/// Returns the text that a value is.
pub(super) fn string<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    value.as_string_lit().map(|string| &*string.value)
}
