//! Where a searched text stands, how reports and holds name the place, and why nothing can be
//! replaced there.
//!
//! A key, and the name of a header or parameter, are text of the request too: one that holds a
//! finding is not spelled.

use leafgate_tree::{NodeId, PutOption};

use super::Run;
use crate::outside::Outside;

/// Where a text stands that redact rules search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Site {
    /// A leaf, or a string that spells a document and was set as a whole.
    Leaf(NodeId),
    /// The key of a member.
    Key(NodeId),
    /// The text around the border of adjacent parts, by its number in the search.
    Seam(usize),
    /// A message that was put in, by its number.
    Inserted(usize),
    /// A member that was put into the body, by its number among those that stand.
    Option(usize),
    /// A part of the request outside its body, or its name, by its number in the context.
    Outside { in_name: bool, number: usize },
    /// A text of a packed file in the body, by its number in the context.
    File(usize),
    /// A text that is not part of the request.
    #[default]
    Elsewhere,
}

impl Site {
    /// The value in the body that a person would look at.
    pub(super) fn node(self) -> Option<NodeId> {
        if let Site::Leaf(node) | Site::Key(node) = self { Some(node) } else { None }
    }

    /// Whether something can stand in the place of a part of a text there: what else is found holds the request.
    pub(super) fn is_replaced(self) -> bool {
        matches!(self, Site::Leaf(_) | Site::Seam(_) | Site::Inserted(_))
    }
}

/// Why a finding cannot be replaced.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
pub(crate) enum Why {
    /// Others look the member up by its key.
    #[display("in a key")]
    Key,
    /// The body is no JSON.
    #[display("in a body that is not JSON")]
    Raw,
    #[display("in a protected leaf")]
    Protected,
    #[display("in a frozen leaf")]
    Frozen,
    #[display("in media")]
    Media,
    #[display("in a number outside tool data")]
    NumberOutsideToolData,
    /// Only a part of a number was found.
    #[display("in a number that it is only a part of")]
    PartOfNumber,
    /// A rule pinned the leaf to another text than the one that was found in.
    #[display("in a pinned leaf")]
    Pinned,
    /// The draft refuses it.
    #[display("where nothing can be replaced")]
    Refused,
    /// A rule or somebody else put it there, as a value of its own.
    #[display("in an option that is put in")]
    Option,
    /// Path, query and headers are sent as they came.
    #[display("outside the body")]
    Outside,
    /// It is seen once escapes are undone that the tree did not walk.
    #[display("below nested escapes")]
    Escapes,
    /// It is seen only in the request as it would leave, read anew.
    #[display("in the request as it would leave")]
    Outgoing,
    /// It is seen once the text is decoded. The words say how it is encoded.
    #[display("{_0}")]
    Encoded(String),
    /// It stands in the text of a packed file. The words say what that is.
    #[display("in the text of {_0}")]
    File(&'static str),
}

impl Run<'_> {
    /// Returns the place as holds name it: an RFC 6901 pointer, or the name of a part outside the
    /// body.
    pub(super) fn place(&self, site: Site) -> String {
        match site {
            Site::Leaf(node) | Site::Key(node) => self.draft.pointer(node),
            Site::Inserted(number) => {
                let before = self.draft.inserted_at(number).map(|inserted| inserted.before);
                self.draft.pointer(before.unwrap_or(self.document.root()))
            }
            Site::Option(number) => {
                self.draft.options().nth(number).map(PutOption::pointer).unwrap_or_default()
            }
            Site::Outside { in_name, number } => self.outside_place(number, in_name),
            Site::Seam(_) | Site::File(_) | Site::Elsewhere => String::new(),
        }
    }

    fn outside_place(&self, number: usize, in_name: bool) -> String {
        let Some(Outside { part, .. }) = self.request.context.outside.get(number) else {
            return "a part outside the body".to_owned();
        };
        match (in_name, self.tainted_names.contains(&number)) {
            (true, _) => format!("the name of a {}", part.kind()),
            (false, true) => format!("a {}", part.kind()),
            (false, false) => part.to_string(),
        }
    }
}

/// Returns what is wrong at a place, for the operator: the label and the reason.
pub(super) fn complaint(site: Site, label: &str, why: &Why) -> String {
    match (site, why) {
        (Site::Outside { .. }, Why::Outside) => label.to_owned(),
        (Site::Key(_), Why::Encoded(how)) => format!("{label} {how} of a key"),
        (Site::Option(_), Why::Option) => format!("{label} {}", Why::Option),
        (Site::Option(_), why) => format!("{label} {why} of an option that is put in"),
        (Site::Inserted(_), why) => format!("{label} {why} of a message that is put in"),
        (_, why) => format!("{label} {why}"),
    }
}
