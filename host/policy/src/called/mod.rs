//! Which file a tool is called with: the one answer for what was read and for what is written.
//!
//! The vault remembers with a value of which file it was, and a value returns into a call's arguments
//! only where they write that file. So whoever leads the two answers apart carries a value out. A call
//! has an answer here only where every client reads the same one: each of its arguments is known, none
//! stands twice, in whatever spelling, and its names have one reading ([`FileName`]).

mod heredoc;
mod patch;

use std::ops::Range;
use std::sync::Arc;

use leafgate_tree::{Document, NodeId, Segment, ValueType};
use leafgate_vault::FileName;
use leafgate_vault::tools::{self, TOOLS, has};

/// A text among a call's arguments that will stand in files.
pub struct Content {
    /// Where it stands.
    pub node: NodeId,
    /// What it is.
    pub form: ContentForm,
}

/// How a text says what stands in which files.
#[derive(Clone)]
pub enum ContentForm {
    /// All of it stands in this file.
    Whole(Arc<[FileName]>),
    /// It is a patch, which names its files itself.
    Patch(PatchNames),
    /// It is a command of a shell.
    Command(PatchNames),
}

/// Where the names in a patch begin.
#[derive(Clone)]
pub enum PatchNames {
    /// Where those of other tools do.
    AsNamed,
    /// In this folder; `None` where nobody knows in which.
    Within(Option<FileName>),
}

/// A stretch of a content that will stand in files.
pub struct Stretch {
    /// Which bytes.
    pub at: Range<usize>,
    /// In which files it may come to stand: in all of them, as far as anybody knows.
    pub files: Arc<[FileName]>,
    /// The editor as which rules know who writes it, where that is another than the tool called.
    pub editor: Option<&'static str>,
    /// What must stand before each further line that is put into it.
    pub lead: &'static str,
}

/// Returns the name of the file that a tool reads, as it is spelled; `None` where it is not certain which one is meant.
pub fn file_read(tool: &str, document: &Document, arguments: NodeId) -> Option<String> {
    let members = Members::of(document, arguments)?;
    let (key, path) = members.only_one_of(&TOOLS.paths)?;
    let content = tools::editor_of(tool, key).map_or(&[][..], |editor| &editor.content);
    members.are_known(|other| other == key || has(content, other)).then_some(())?;
    members.text(path).filter(|name| FileName::parse(name).is_some())
}

/// Returns what a call puts into files, in the order of its arguments; nothing where that is not
/// certain.
pub fn written(tool: &str, document: &Document, arguments: NodeId) -> Vec<Content> {
    let found = Members::of(document, arguments).and_then(|members| {
        if tools::is_patch(tool) {
            return members.patch();
        }
        if tools::is_shell(tool) {
            return members.command();
        }
        match tools::editor_of_many(tool) {
            Some(editor) => members.edits_of_many(editor),
            None => members.edits(tool),
        }
    });
    found.unwrap_or_default()
}

/// Returns whether anything that a tool is called with can stand in a file.
pub fn may_write(tool: &str) -> bool {
    tools::edits_files(tool) || tools::is_shell(tool)
}

impl ContentForm {
    /// What a tool is called with that takes a patch and nothing else.
    pub fn of_text(tool: &str) -> Option<Self> {
        tools::is_patch(tool).then_some(ContentForm::Patch(PatchNames::AsNamed))
    }

    /// Returns what stands in which files; nothing where that is not certain.
    pub fn stretches(&self, text: &str) -> Vec<Stretch> {
        match self {
            ContentForm::Whole(files) => {
                vec![Stretch { at: 0..text.len(), files: Arc::clone(files), editor: None, lead: "" }]
            }
            ContentForm::Patch(names) => patch::read(text, names).unwrap_or_default(),
            ContentForm::Command(names) => heredoc::stretches(text, names).unwrap_or_default(),
        }
    }
}

impl PatchNames {
    fn parse(&self, name: &str) -> Option<FileName> {
        let name = FileName::parse(name)?;
        match self {
            PatchNames::AsNamed => Some(name),
            PatchNames::Within(folder) => name.within(folder.as_ref()),
        }
    }
}

/// The members of an object whose keys differ.
struct Members<'d> {
    document: &'d Document,
    all: Vec<(String, NodeId)>,
}

impl<'d> Members<'d> {
    fn of(document: &'d Document, object: NodeId) -> Option<Self> {
        /// More than any tool is called with.
        const MOST: usize = 64;
        let mut all: Vec<(String, NodeId)> = Vec::new();
        for node in document.children(object) {
            let Segment::Key(key) = document.segment(node)? else { return None };
            if all.len() == MOST || all.iter().any(|(other, _)| *other == key) {
                return None;
            }
            all.push((key.into_owned(), node));
        }
        Some(Members { document, all })
    }

    /// The only member that has one of these keys.
    fn only_one_of(&self, keys: &'static [String]) -> Option<(&'static str, NodeId)> {
        let found = |(key, node): &(String, NodeId)| {
            keys.iter().find(|wanted| *wanted == key).map(|wanted| (wanted.as_str(), *node))
        };
        let mut found = self.all.iter().filter_map(found);
        found.next().filter(|_| found.next().is_none())
    }

    /// Whether each member has a part that is known, or none in which file is meant. A key in another
    /// case is another key: some clients would take it for the same.
    fn are_known(&self, has_part: impl Fn(&str) -> bool) -> bool {
        self.all.iter().all(|(key, _)| has_part(key) || tools::is_beside(key))
    }

    fn get(&self, wanted: &str) -> Option<NodeId> {
        self.all.iter().find(|(key, _)| key == wanted).map(|(_, node)| *node)
    }

    fn text(&self, node: NodeId) -> Option<String> {
        text(self.document, node)
    }

    fn patch(&self) -> Option<Vec<Content>> {
        let (key, node) = self.only_one_of(&TOOLS.patches)?;
        self.are_known(|other| other == key).then_some(())?;
        Some(vec![Content { node, form: ContentForm::Patch(PatchNames::AsNamed) }])
    }

    /// The script that a shell is called with: a text, or the last of three words.
    fn command(&self) -> Option<Vec<Content>> {
        let (key, mut node) = self.only_one_of(&TOOLS.commands)?;
        let folder = self.only_one_of(&TOOLS.folders);
        let is_folder = |other: &str| folder.is_some_and(|(key, _)| key == other);
        self.are_known(|other| other == key || is_folder(other)).then_some(())?;
        let words: Vec<NodeId> = self.document.children(node).collect();
        if let Some(&last) = words.last() {
            let texts: Vec<String> = words.iter().filter_map(|&word| self.text(word)).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            (texts.len() == words.len() && heredoc::is_script(&texts)).then_some(())?;
            node = last;
        }
        let folder = match folder {
            Some((_, folder)) => Some(FileName::parse(&self.text(folder)?)?),
            None => None,
        };
        Some(vec![Content { node, form: ContentForm::Command(PatchNames::Within(folder)) }])
    }

    fn edits(&self, tool: &str) -> Option<Vec<Content>> {
        let (key, path) = self.only_one_of(&TOOLS.paths)?;
        let editor = tools::editor_of(tool, key)?;
        self.are_known(|other| {
            other == key || has(&editor.content, other) || editor.edits.as_deref() == Some(other)
        })
        .then_some(())?;
        let file: Arc<[FileName]> = [FileName::parse(&self.text(path)?)?].into();
        let mut contents = self.contents(editor, &file);
        for edit in self.list(editor)? {
            // What names a file of its own is no part of this one.
            edit.are_known(|other| has(&editor.content, other)).then_some(())?;
            contents.extend(edit.contents(editor, &file));
        }
        Some(contents)
    }

    fn edits_of_many(&self, editor: &'static tools::Editor) -> Option<Vec<Content>> {
        self.are_known(|other| editor.edits.as_deref() == Some(other)).then_some(())?;
        let mut contents = Vec::new();
        for edit in self.list(editor)? {
            edit.are_known(|other| other == editor.path || has(&editor.content, other)).then_some(())?;
            let file = [FileName::parse(&self.text(edit.get(&editor.path)?)?)?].into();
            contents.extend(edit.contents(editor, &file));
        }
        Some(contents)
    }

    /// The edits of an editor that takes several.
    fn list(&self, editor: &tools::Editor) -> Option<Vec<Members<'d>>> {
        let Some(list) = editor.edits.as_ref().and_then(|key| self.get(key)) else { return Some(Vec::new()) };
        self.document.children(list).map(|edit| Members::of(self.document, edit)).collect()
    }

    /// The texts of an editor's content.
    fn contents(&self, editor: &tools::Editor, file: &Arc<[FileName]>) -> Vec<Content> {
        let texts =
            editor.content.iter().filter_map(|key| Some((key, self.get(key)?))).flat_map(|(key, node)| {
                match tools::may_be_lines(key) {
                    true => std::iter::once(node).chain(self.document.children(node)).collect(),
                    false => vec![node],
                }
            });
        let content = |node| Content { node, form: ContentForm::Whole(Arc::clone(file)) };
        texts.filter(|&node| self.text(node).is_some()).map(content).collect()
    }
}

/// A value that is a text.
fn text(document: &Document, node: NodeId) -> Option<String> {
    let leaf = document.leaf(node).filter(|leaf| leaf.value_type() == ValueType::Text)?;
    Some(leaf.text().expose().to_owned())
}

#[cfg(test)]
mod tests;
