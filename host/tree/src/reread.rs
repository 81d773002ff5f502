//! The request as it would leave, read anew, and where each of its values comes from.
//!
//! The index of the received body cannot show what an edit made of the structure: a JSON text that was set as a whole, a message
//! that was put in, a model or a tool that has another name now. Whoever decides about what would leave asks this document instead.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::document::Document;
use crate::draft::{Added, Draft};
use crate::error::ParseError;
use crate::node::{Flags, NodeId};
use crate::scan::Limits;

/// Where a value of a [`Reread`] comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is this value of the received body, with whatever text it has now.
    Received(NodeId),
    /// It lies in the new text of this value of the received body, which spells a document now.
    Within(NodeId),
    /// It belongs to the message of this number that was put in.
    Inserted(usize),
}

/// A rendered draft, read as a document of the same format.
#[derive(Debug)]
pub struct Reread {
    document: Arc<Document>,
    /// By node of the document.
    origins: Vec<Origin>,
}

impl Reread {
    /// The request as it would leave.
    pub fn document(&self) -> &Arc<Document> {
        &self.document
    }

    /// Where a value of it comes from.
    pub fn origin(&self, node: NodeId) -> Origin {
        self.origins[node.index()]
    }

    /// The values and where they come from, in body order.
    pub fn origins(&self) -> impl Iterator<Item = (NodeId, Origin)> + '_ {
        self.origins.iter().enumerate().map(|(at, &origin)| (NodeId::from_index(at), origin))
    }
}

impl Draft {
    /// Renders the draft and reads the bytes as a document of the same format.
    ///
    /// # Errors
    /// Where the bytes exceed a limit, which an edit may have brought about.
    pub fn reread(&self, limits: &Limits) -> Result<Reread, ParseError> {
        let bytes = self.render();
        let mut document = match self.document().is_raw() {
            true => Document::raw(bytes),
            false => Document::parse(bytes, self.document().format(), limits)?,
        };
        let origins = Matching::new(self, &document).run();
        document.classify_like(self.document(), |node| match origins[node.index()] {
            Origin::Received(from) => Some(from),
            Origin::Within(_) | Origin::Inserted(_) => None,
        });
        Ok(Reread { document: Arc::new(document), origins })
    }
}

/// A walk through the received body and the bytes that would leave, side by side.
struct Matching<'d> {
    draft: &'d Draft,
    now: &'d Document,
    /// What was put in, by the value that it stands in, in the order in which it leaves.
    added: BTreeMap<NodeId, Vec<&'d Added>>,
    origins: Vec<Origin>,
    /// Pairs of values that correspond and whose content has not been compared yet.
    open: Vec<(NodeId, NodeId)>,
}

impl<'d> Matching<'d> {
    fn new(draft: &'d Draft, now: &'d Document) -> Self {
        let root = draft.document().root();
        let origins = vec![Origin::Within(root); now.node_count()];
        Matching { draft, now, added: draft.added_by_container(), origins, open: vec![(root, now.root())] }
    }

    fn run(mut self) -> Vec<Origin> {
        while let Some((received, now)) = self.open.pop() {
            self.pair(received, now);
        }
        self.origins
    }

    fn pair(&mut self, received: NodeId, now: NodeId) {
        let (parts, children) = (self.parts(received), self.now.children(now).count());
        if self.draft.is_written(received) || parts.len() != children {
            self.assign(now, Origin::Within(received));
            self.origins[now.index()] = Origin::Received(received);
            return;
        }
        self.origins[now.index()] = Origin::Received(received);
        if self.now.node(now).flags.has(Flags::EMBEDS) {
            // The root of an embedded document has no path of its own: it counts as its string.
            self.origins[now.index() + 1] = Origin::Received(received);
        }
        let children = self.now.children(now);
        for (part, child) in parts.into_iter().zip(children) {
            match part {
                Origin::Received(part) => self.open.push((part, child)),
                other => self.assign(child, other),
            }
        }
    }

    fn assign(&mut self, node: NodeId, origin: Origin) {
        self.origins[self.now.subtree(node)].fill(origin);
    }

    /// What stands in a received container now: its values but for those left out, and what was put in.
    fn parts(&self, container: NodeId) -> Vec<Origin> {
        let children = self.draft.document().children(container);
        let children = children.filter(|child| !self.draft.deleted.contains(child));
        let mut added = self.added.get(&container).into_iter().flatten().peekable();
        let origin = |added: &&Added| {
            added.message().map_or(Origin::Within(container), |message| Origin::Inserted(message.number))
        };
        let mut parts = Vec::new();
        for child in children {
            while let Some(before) = added.next_if(|added| added.is_before(child)) {
                parts.push(origin(before));
            }
            parts.push(Origin::Received(child));
        }
        parts.extend(added.map(origin));
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Author, Format, Role, SectionId};

    const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b",
        "tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\":[1,2]}"}}]},
        {"role":"tool","tool_call_id":"1","content":"c"},{"role":"user","content":"d"}]}"#;

    fn draft() -> Draft {
        let document = Document::parse(BODY.into(), Format::OpenaiChat, &Limits::default()).unwrap();
        Draft::new(Arc::new(document))
    }

    fn message(draft: &Draft, place: usize) -> SectionId {
        let node = draft.document().resolve(&format!("/messages/{place}")).unwrap();
        let at = draft.document().sections().iter().position(|section| section.node == node);
        SectionId::from_index(at.unwrap())
    }

    /// Where the value at a pointer comes from, as a pointer into the received body.
    fn origin(draft: &Draft, pointer: &str) -> String {
        let reread = draft.reread(&Limits::default()).unwrap();
        let node = reread.document().resolve(pointer).unwrap();
        match reread.origin(node) {
            Origin::Received(node) => draft.document().pointer(node),
            Origin::Within(node) => format!("within {}", draft.document().pointer(node)),
            Origin::Inserted(place) => format!("inserted {place}"),
        }
    }

    #[test]
    fn every_value_of_an_unedited_request_is_itself() {
        let draft = draft();
        let reread = draft.reread(&Limits::default()).unwrap();
        assert!(reread.origins().all(|(node, origin)| match origin {
            Origin::Received(from) => {
                from == node || reread.document().segment(node).is_none()
            }
            _ => false,
        }));
    }

    #[test]
    fn deletions_and_insertions_move_the_values_behind_them() {
        let mut draft = draft();
        draft.insert(message(&draft, 3), Role::User, "new", &Author::Person).unwrap();
        draft.delete(message(&draft, 0), &Author::Person).unwrap();
        assert_eq!(origin(&draft, "/messages/0/content"), "/messages/1/content");
        assert_eq!(origin(&draft, "/messages/2/content"), "inserted 0");
        assert_eq!(origin(&draft, "/messages/3/content"), "/messages/3/content");
        let last = message(&draft, 3);
        draft.delete(last, &Author::Person).unwrap();
        assert_eq!(origin(&draft, "/messages/2/content"), "inserted 0");
    }

    #[test]
    fn what_a_new_text_spells_lies_within_its_string() {
        let mut draft = draft();
        let arguments = "/messages/1/tool_calls/0/function/arguments";
        let inner = format!("{arguments}/x/1");
        assert_eq!(origin(&draft, &inner), inner);
        let node = draft.document().resolve(&inner).unwrap();
        draft.set(node, "3", &Author::Person).unwrap();
        assert_eq!(origin(&draft, &inner), inner);
        let node = draft.document().resolve(arguments).unwrap();
        draft.set(node, r#"{"x":[1,2],"y":"z"}"#, &Author::Person).unwrap();
        assert_eq!(origin(&draft, arguments), arguments);
        assert_eq!(origin(&draft, &format!("{arguments}/y")), format!("within {arguments}"));
        assert_eq!(origin(&draft, &format!("{arguments}/x/0")), format!("within {arguments}"));
        let content = draft.document().resolve("/messages/0/content").unwrap();
        draft.set(content, r#"{"q":1}"#, &Author::Person).unwrap();
        assert_eq!(origin(&draft, "/messages/0/content/q"), "within /messages/0/content");
    }
}
