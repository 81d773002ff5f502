//! Changes of JSON with comments, as VS Code writes its settings: a member is set or taken away, and
//! comments, order and members beside it stay.

use anyhow::{Context, anyhow};
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use leafgate_agents::as_vscode_writes;

/// A text, read.
pub(super) struct Jsonc(CstRootNode);

impl Jsonc {
    /// Reads a text.
    ///
    /// # Errors
    /// When it is no JSON, comments and trailing commas apart. The error names the line and quotes
    /// nothing.
    pub(super) fn parse(text: &str) -> anyhow::Result<Jsonc> {
        let root = CstRootNode::parse(text, &as_vscode_writes());
        root.map(Jsonc).map_err(|error| anyhow!("line {} is no JSON", error.line_display()))
    }

    /// Returns the objects of a list; none of a text that has only white space and comments.
    pub(super) fn objects(&self) -> anyhow::Result<Vec<CstObject>> {
        let Some(root) = self.0.value() else { return Ok(Vec::new()) };
        let list = root.as_array().context("it is no list (`[ … ]`)")?;
        Ok(objects(list.elements()))
    }

    /// Returns the member at a path.
    pub(super) fn get(&self, path: &[&str]) -> Option<CstObjectProp> {
        let (name, above) = path.split_last()?;
        let object = match above {
            [] => self.0.object_value(),
            above => self.get(above)?.object_value(),
        };
        member(&object?, name)
    }

    /// Sets a member to a text, and returns what stood there as it was spelled. A new one stands last.
    ///
    /// # Errors
    /// When something on the way is no object.
    pub(super) fn set(&self, path: &[&str], text: &str) -> anyhow::Result<Option<String>> {
        if let Some(there) = self.get(path) {
            return Ok(Some(replaced(&there, text.into())));
        }
        let no_object = "what should be an object (`{ … }`) is something else";
        let mut object = self.0.object_value_or_create().context(no_object)?;
        let (name, above) = path.split_last().context("nothing is set at no path")?;
        for name in above {
            let inner = member(&object, name)
                .unwrap_or_else(|| object.append(name, CstInputValue::Object(Vec::new())));
            object = inner.object_value().context(no_object)?;
        }
        object.append(name, text.into());
        Ok(None)
    }

    /// Puts back what stood in the place of a member; returns whether that still has the text that was set.
    pub(super) fn unset(&self, path: &[&str], text: &str, before: Option<&str>) -> bool {
        let Some(there) = self.get(path).filter(|there| string(there).as_deref() == Some(text)) else {
            return false;
        };
        match before {
            Some(spelled) => drop(replaced(&there, spelling(spelled))),
            None => there.remove(),
        }
        true
    }

    /// Removes a member whose object has nothing in it, not even a comment.
    pub(super) fn remove_blank(&self, path: &[&str]) {
        let Some(there) = self.get(path) else { return };
        let object = there.object_value().map(|object| object.to_string());
        if object.is_some_and(|object| object.trim_matches(['{', '}']).trim().is_empty()) {
            there.remove();
        }
    }

    /// Returns the text as it is now.
    pub(super) fn text(&self) -> String {
        self.0.to_string()
    }
}

/// Sets a member to another value, and returns the one before as it was spelled.
pub(super) fn replaced(member: &CstObjectProp, value: CstInputValue) -> String {
    let before = member.value().map(|value| value.to_string()).unwrap_or_default();
    member.set_value(value);
    before
}

/// Returns a value that is written as it is spelled here: so are numbers.
pub(super) fn spelling(spelled: &str) -> CstInputValue {
    CstInputValue::Number(spelled.to_owned())
}

/// Returns the text of a member, if it is one.
pub(super) fn string(member: &CstObjectProp) -> Option<String> {
    member.value()?.as_string_lit()?.decoded_value().ok()
}

/// Returns the objects among some values.
pub(super) fn objects(values: Vec<CstNode>) -> Vec<CstObject> {
    values.into_iter().filter_map(|value| value.as_object()).collect()
}

/// Returns a member of an object by its name; of several the last, which counts.
pub(super) fn member(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    object.properties().into_iter().rfind(|member| member.decoded_name().as_deref() == Some(name))
}
