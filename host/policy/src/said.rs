//! What rules ask of a request by name, its headers and options, and what it says under these names.
//!
//! A header or an option that many rules name is looked up once: a policy knows the names beforehand
//! ([`Asked`]), and a request says what it has under them ([`Said`]).

use std::collections::{BTreeMap, BTreeSet};

use leafgate_tree::{Document, Segment};

use crate::outside::{Outside, Part};

/// The names of headers and options that any rule of a policy asks for.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) headers: BTreeSet<String>,
    pub(crate) options: BTreeSet<String>,
    /// Whether any condition asks for the estimate of tokens, which costs a walk over all leaves.
    pub(crate) tokens: bool,
    /// Whether any condition may ask what a tool was called with.
    pub(crate) arguments: bool,
    /// Whether any rule asks for the folder that a client works in.
    pub(crate) project: bool,
}

/// What a request has under the names that were asked for. A name that it lacks is missing.
#[derive(Clone, Default, derive_more::Debug)]
#[debug("{} headers, {} options", self.headers.len(), self.options.len())]
pub(crate) struct Said {
    pub(crate) headers: BTreeMap<String, Vec<String>>,
    pub(crate) options: BTreeMap<String, Vec<String>>,
}

impl Said {
    pub(crate) fn of(asked: &Asked, document: &Document, outside: &[Outside]) -> Self {
        let mut said = Said::default();
        for Outside { part, text } in outside {
            if let Part::Header { name } = part
                && asked.headers.contains(name)
            {
                said.headers.entry(name.clone()).or_default().push(text.clone());
            }
        }
        for name in &asked.options {
            let values = option_values(document, name);
            if !values.is_empty() {
                said.options.insert(name.clone(), values);
            }
        }
        said
    }
}

/// Returns what a body has under the keys of an option: the text of a string, the spelling of a
/// number, nothing of an object or a list. A key that stands twice has both values: servers differ
/// in which of them they read.
fn option_values(document: &Document, name: &str) -> Vec<String> {
    let mut at = vec![document.root()];
    for key in name.split('.') {
        let members = at.iter().flat_map(|&object| document.children(object));
        at = members
            .filter(|&member| matches!(document.segment(member), Some(Segment::Key(of)) if of == key))
            .collect();
    }
    let text = |node| match document.leaf(node) {
        Some(leaf) => leaf.text().into_cow().into_owned(),
        None => String::new(),
    };
    at.into_iter().map(text).collect()
}
