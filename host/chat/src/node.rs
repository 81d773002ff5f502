//! A read-only view of a JSON value, for readers that want members, elements and texts instead of
//! leaves.
//!
//! Strings are whole here: a JSON text inside a string is text, although the tree walks into it. Of
//! a duplicate key the last member counts, as for the JavaScript that writes and reads these files.

use std::borrow::Cow;

use leafgate_tree::{Document, NodeId, Segment, ValueType};

/// One value of a document.
#[derive(Clone, Copy)]
pub(crate) struct JsonView<'d> {
    document: &'d Document,
    pub(crate) id: NodeId,
}

impl<'d> JsonView<'d> {
    pub(crate) fn root(document: &'d Document) -> Self {
        JsonView { document, id: document.root() }
    }

    pub(crate) fn of(document: &'d Document, id: NodeId) -> Self {
        JsonView { document, id }
    }

    pub(crate) fn pointer(self) -> String {
        self.document.pointer(self.id)
    }

    /// Returns the value as it is spelled in the file.
    pub(crate) fn verbatim(self) -> &'d str {
        let bytes = &self.document.source()[self.document.body_span(self.id)];
        // A body that is not UTF-8 is refused before.
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    pub(crate) fn is_object(self) -> bool {
        self.document.settable(self.id).is_none() && self.verbatim().starts_with('{')
    }

    pub(crate) fn is_array(self) -> bool {
        self.document.settable(self.id).is_none() && self.verbatim().starts_with('[')
    }

    /// Returns the member of an object. `None` for everything else.
    pub(crate) fn get(self, key: &str) -> Option<JsonView<'d>> {
        self.members().filter(|(name, _)| name == key).last().map(|(_, member)| member)
    }

    /// Returns what stands behind members, each in the one before.
    pub(crate) fn path(self, keys: &[&str]) -> Option<JsonView<'d>> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Returns the members of an object. Empty for everything else.
    pub(crate) fn members(self) -> impl Iterator<Item = (Cow<'d, str>, JsonView<'d>)> {
        self.below().filter_map(move |child| match self.document.segment(child.id) {
            Some(Segment::Key(key)) => Some((key, child)),
            _ => None,
        })
    }

    /// Returns the elements of an array. Empty for everything else.
    pub(crate) fn items(self) -> impl Iterator<Item = JsonView<'d>> {
        self.below().filter(move |child| matches!(self.document.segment(child.id), Some(Segment::Index(_))))
    }

    fn below(self) -> impl Iterator<Item = JsonView<'d>> {
        let is_string = self.document.settable(self.id).is_some();
        let children = (!is_string).then(|| self.document.children(self.id));
        children.into_iter().flatten().map(move |id| JsonView { document: self.document, id })
    }

    /// Returns the text of a string.
    pub(crate) fn text(self) -> Option<Cow<'d, str>> {
        self.scalar(ValueType::Text)
    }

    /// Returns whether the string holds the escape of a lone surrogate, which no text can hold.
    pub(crate) fn has_half_character(self) -> bool {
        let spelled = self.verbatim();
        let is_spelled_so =
            || spelled.contains('\u{fffd}') || spelled.to_ascii_lowercase().contains("\\ufffd");
        self.text().is_some_and(|text| text.contains('\u{fffd}')) && !is_spelled_so()
    }

    /// Returns a whole number.
    pub(crate) fn integer(self) -> Option<i64> {
        let text = self.scalar(ValueType::Number)?;
        // JavaScript writes no fraction, but other writers may.
        text.parse().ok().or_else(|| {
            let number = text.parse::<f64>().ok()?;
            (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
        })
    }

    /// Returns which of these values a whole number counts, from 0.
    pub(crate) fn one_of<T: Copy>(self, values: &[T]) -> Option<T> {
        values.get(usize::try_from(self.integer()?).ok()?).copied()
    }

    pub(crate) fn is_number(self) -> bool {
        self.scalar(ValueType::Number).is_some()
    }

    pub(crate) fn boolean(self) -> Option<bool> {
        self.scalar(ValueType::Boolean).map(|word| word == "true")
    }

    pub(crate) fn is_null(self) -> bool {
        self.scalar(ValueType::Null).is_some()
    }

    fn scalar(self, kind: ValueType) -> Option<Cow<'d, str>> {
        let leaf = self.document.settable(self.id)?;
        (leaf.value_type() == kind).then(|| leaf.text().into_cow())
    }

    /// Returns the text of a string member, owned.
    pub(crate) fn get_text(self, key: &str) -> Option<String> {
        self.get(key)?.text().map(Cow::into_owned)
    }

    /// Returns a whole number that is a member.
    pub(crate) fn get_integer(self, key: &str) -> Option<i64> {
        self.get(key)?.integer()
    }

    /// Returns whether a member is `true`.
    pub(crate) fn is_true(self, key: &str) -> bool {
        self.get(key).and_then(JsonView::boolean) == Some(true)
    }

    /// Returns the elements of a member that is an array.
    pub(crate) fn list(self, key: &str) -> impl Iterator<Item = JsonView<'d>> + use<'d> {
        self.get(key).into_iter().flat_map(JsonView::items)
    }

    /// Returns a member that exists and is not null.
    pub(crate) fn get_some(self, key: &str) -> Option<JsonView<'d>> {
        self.get(key).filter(|member| !member.is_null())
    }
}
