//! Checks whether VS Code would import a file, and whether the import would show anything.
//!
//! The editor's test has changed twice (`isExportableSessionData` of `chatModel.ts`) and looks at
//! two members only, so a file may pass it and show nothing.

use leafgate_tree::Document;
use leafgate_words::words;
use serde::Serialize;

use super::{answer, question, response};
use crate::loss::Loss;
use crate::node::JsonView;

/// Whether each version would import a file, and what would be missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportCheck {
    /// Whether any version would import the file.
    pub importable: bool,
    /// One for each test that the editor has had, oldest first.
    pub imports: Vec<Import>,
    /// The parts that would not be shown.
    pub useless: Vec<Loss>,
}

/// The result of one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Import {
    /// The test.
    pub test: ImportTest,
    /// Why the file is refused. `None` if it passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<&'static str>,
}

words! {
    /// The tests that the editor has had.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ImportTest {
        /// Versions that exported the asking user: `requesterUsername` is a string.
        Early = "early versions (`requesterUsername` is a string)",
        /// Versions in between: the file is an object.
        Middle = "versions in between (an object)",
        /// Current versions: `requests` is an array and `responderUsername` a string.
        Current = "current versions (`requests` is an array, `responderUsername` a string)",
    }
    /// Returns the versions that have it, and its condition.
    pub fn description = 0;
}

impl ImportTest {
    fn refuses(self, root: JsonView<'_>) -> Option<&'static str> {
        let lacks_text = |key: &str| root.get(key).and_then(JsonView::text).is_none();
        let lacks_requests = !root.get("requests").is_some_and(JsonView::is_array);
        match self {
            _ if !root.is_object() => Some("the file is no object"),
            ImportTest::Early if lacks_text("requesterUsername") => Some("`requesterUsername` is no string"),
            ImportTest::Current if lacks_requests => Some("`requests` is no array"),
            ImportTest::Current if lacks_text("responderUsername") => {
                Some("`responderUsername` is no string")
            }
            _ => None,
        }
    }
}

/// Checks a file.
#[must_use]
pub fn check(document: &Document) -> ImportCheck {
    let root = JsonView::root(document);
    let import = |test: ImportTest| Import { test, refused: test.refuses(root) };
    let imports: Vec<_> = ImportTest::ALL.iter().copied().map(import).collect();
    let importable = imports.iter().any(|import| import.refused.is_none());
    ImportCheck { importable, imports, useless: useless(root) }
}

fn useless(root: JsonView<'_>) -> Vec<Loss> {
    let at = |node: JsonView<'_>, reason| Loss { pointer: node.pointer(), reason };
    let Some(requests) = root.get("requests").filter(|requests| requests.is_array()) else {
        return vec![at(root, "no `requests`: the chat is empty")];
    };
    if requests.items().next().is_none() {
        return vec![at(requests, "no request in it: the chat is empty")];
    }
    requests.items().filter_map(|request| Some(at(request, useless_request(request)?))).collect()
}

fn useless_request(request: JsonView<'_>) -> Option<&'static str> {
    if !request.is_object() {
        return Some("a request must be an object; the import fails on it");
    }
    let asked = question(request);
    let is_answered = response(request).any(|part| answer::kind(part) != answer::AnswerPartKind::Internal);
    match (asked.as_deref(), is_answered) {
        (None, _) if request.get("message").is_none() => {
            Some("no `message`: whatever else is in it, the editor shows no question")
        }
        (None | Some(""), false) => Some("neither question nor answer"),
        (None | Some(""), true) => Some("no question"),
        (Some(_), false) => Some("no answer"),
        (Some(_), true) => None,
    }
}
