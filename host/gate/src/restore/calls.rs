//! Values in what tools are called with: put back into the content that a known file editor writes
//! into a file, where the rules of the policy let a value return, and nowhere else.
//!
//! - The arguments of any other tool, and all other arguments of an editor, keep their tokens: a
//!   shell, a URL or an HTTP call would carry a value out. A command that is one heredoc into a file
//!   is an editor's content ([`heredoc`]).
//! - Which file is written decides, so arguments are read whole. Of a stream, everything leaves as it
//!   comes up to the first token of this session; what follows waits for the end of its call, and
//!   leaves in one event before that.
//! - What became of the tokens of each call is counted, once however often its arguments are said.
//! - Arguments that parsers read differently, and calls that break off, keep their tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use leafgate_answer::{Arguments, CallSaid, Form, Reading, TextPlace, Tool, parse};
use leafgate_tree::{Document, Draft, NodeId};
use leafgate_vault::{Vault, editor};

use super::speech::HeldText;
use super::{RESTORER, heredoc};

/// Longer arguments keep their tokens.
const MOST_ARGUMENTS: usize = 4 << 20;

/// So many calls an answer may have; those behind them keep their tokens.
const MOST_CALLS: usize = 512;

/// The calls of one answer.
pub(super) struct Calls {
    vault: Vault,
    open: BTreeMap<TextPlace, Call>,
    /// Calls whose tokens were counted.
    counted: BTreeSet<TextPlace>,
}

/// A call, while it comes in pieces.
struct Call {
    tool: String,
    /// What has come of its arguments.
    said: String,
    /// How much of that has left.
    left: usize,
    /// The event that ends in what waits.
    last: Option<Arc<Document>>,
    /// It is complete, or too long.
    over: bool,
}

impl Calls {
    pub(super) fn new(vault: Vault) -> Self {
        Calls { vault, open: BTreeMap::new(), counted: BTreeSet::new() }
    }

    /// Takes what an answer or an event says about a call. What waited and is due now is given to
    /// `before`.
    pub(super) fn hear(
        &mut self,
        draft: &mut Draft,
        place: TextPlace,
        said: CallSaid,
        before: impl FnMut(HeldText),
    ) {
        let document = draft.document().clone();
        match said {
            CallSaid::Begins(called) => self.begin(place, named(&document, called.tool)),
            CallSaid::More(leaf) => self.more(draft, place, leaf),
            CallSaid::Whole(_, Arguments { is_sealed: true, .. }) => {}
            CallSaid::Whole(called, Arguments { node, form, .. }) => {
                let tool = named(&document, called.tool);
                match (form, document.leaf(node)) {
                    (Form::Text | Form::JsonText, Some(leaf)) => {
                        let text = leaf.text();
                        let restored = self.arguments(&tool, text.expose());
                        self.count(place, text.expose(), restored.as_deref());
                        restored.into_iter().for_each(|restored| set(draft, node, &restored));
                    }
                    (Form::Json, _) | (_, None) => self.whole_object(draft, place, &tool, node),
                }
            }
            CallSaid::Again(leaf) => {
                let Some(text) = document.leaf(leaf).map(|leaf| leaf.text()) else { return };
                let tool = self.open.get(&place).map(|call| &*call.tool);
                if let Some(restored) = tool.and_then(|tool| self.arguments(tool, text.expose())) {
                    set(draft, leaf, &restored);
                }
            }
            CallSaid::End => self.end(|other| other == place, before),
        }
    }

    /// Restores arguments that are an object.
    fn whole_object(&mut self, draft: &mut Draft, place: TextPlace, tool: &str, arguments: NodeId) {
        let before = sum_below(draft, arguments, &|text| self.vault.tokens_in(text));
        let altered = sum_below(draft, arguments, &|text| self.vault.altered_in(text));
        self.object(draft, tool, arguments);
        if before + altered > 0 && self.counted.insert(place) {
            let kept = sum_below(draft, arguments, &|text| self.vault.tokens_in(text));
            self.vault.count(before - kept, kept, altered);
        }
    }

    fn begin(&mut self, place: TextPlace, tool: String) {
        if tool.is_empty() || !self.open.contains_key(&place) && self.open.len() >= MOST_CALLS {
            return;
        }
        self.open
            .entry(place)
            // Two names of one call are no call that anybody reads alike.
            .and_modify(|call| call.over |= call.tool != tool)
            .or_insert(Call { tool, said: String::new(), left: 0, last: None, over: false });
    }

    fn more(&mut self, draft: &mut Draft, place: TextPlace, leaf: NodeId) {
        let event = draft.document().clone();
        let (Some(call), Some(text)) = (self.open.get_mut(&place), event.leaf(leaf).map(|leaf| leaf.text()))
        else {
            return;
        };
        let text = text.expose();
        if call.over && call.left == call.said.len() {
            return;
        }
        call.said.push_str(text);
        call.over |= call.said.len() > MOST_ARGUMENTS;
        // What no editor is called with is read for its tokens to be counted.
        let passes = call.over || !writes_files(&call.tool);
        let waits = if passes { None } else { self.vault.first_token(&call.said, call.left) };
        let to = waits.unwrap_or(call.said.len());
        let leaves = &call.said[call.left..to];
        if leaves != text {
            set(draft, leaf, leaves);
        }
        call.left = to;
        call.last = (to < call.said.len()).then_some(event);
    }

    /// Ends calls: what waited is restored and given away.
    pub(super) fn end(&mut self, ends: impl Fn(TextPlace) -> bool, mut held: impl FnMut(HeldText)) {
        let ended: Vec<TextPlace> = self.open.keys().copied().filter(|&place| ends(place)).collect();
        for place in ended {
            // Its tool is remembered: some APIs say the arguments again.
            let Some(call) = self.open.get_mut(&place) else { continue };
            let (said, left) = (std::mem::take(&mut call.said), std::mem::take(&mut call.left));
            let (tool, last, over) =
                (call.tool.clone(), call.last.take(), std::mem::replace(&mut call.over, true));
            // What has left already cannot be said in another way.
            let restored =
                self.arguments(&tool, &said).filter(|text| !over && text.starts_with(&said[..left]));
            self.count(place, &said, restored.as_deref());
            let Some(last) = last else { continue };
            let text = restored.map(|text| text[left..].to_owned());
            held(HeldText { place, last, text: text.unwrap_or_else(|| said[left..].to_owned()) });
        }
    }

    /// Lets go of what waits as it came: the calls are not complete.
    pub(super) fn let_go(&mut self, mut held: impl FnMut(HeldText)) {
        for (place, mut call) in std::mem::take(&mut self.open) {
            if let Some(last) = call.last.take() {
                held(HeldText { place, last, text: call.said.split_off(call.left) });
            }
        }
    }

    /// Counts the tokens of a call.
    fn count(&mut self, place: TextPlace, said: &str, restored: Option<&str>) {
        if !said.is_empty() && self.counted.insert(place) {
            let all = self.vault.tokens_in(said);
            let kept = restored.map_or(all, |text| self.vault.tokens_in(text));
            self.vault.count(all.saturating_sub(kept), kept, self.vault.altered_in(said));
        }
    }

    /// Restores arguments that are a text: JSON, or a patch. `None` where they stay as they are.
    fn arguments(&self, tool: &str, text: &str) -> Option<String> {
        if !writes_files(tool) || text.len() > MOST_ARGUMENTS {
            return None;
        }
        let Ok(document) = parse(Bytes::copy_from_slice(text.as_bytes())) else {
            return editor::is_patch(tool)
                .then(|| self.patch(tool, text))
                .filter(|restored| restored != text);
        };
        let root = document.root();
        let mut draft = Draft::new(Arc::new(document));
        self.object(&mut draft, tool, root);
        draft.is_dirty().then(|| String::from_utf8_lossy(&draft.render()).into_owned())
    }

    /// Restores in the content fields of a call's arguments.
    fn object(&self, draft: &mut Draft, tool: &str, arguments: NodeId) {
        let document = draft.document().clone();
        let reading = Reading::of_arguments(&document);
        let Some(restored) = self.fields(&reading, tool, arguments) else { return };
        if reading.is_odd() {
            return;
        }
        for (leaf, text) in restored {
            set(draft, leaf, &text);
        }
    }

    fn fields(&self, reading: &Reading<'_>, tool: &str, arguments: NodeId) -> Option<Vec<(NodeId, String)>> {
        let text = |leaf| reading.leaf_text(leaf);
        if editor::is_patch(tool) {
            let input = reading.text(arguments, only(reading, arguments, editor::PATCHES)?)?;
            return Some(vec![(input, self.patch(tool, &text(input)?))]);
        }
        if heredoc::is_shell(tool) {
            let command = command(reading, arguments)?;
            return Some(vec![(command, self.heredoc(&text(command)?)?)]);
        }
        let named_by = only(reading, arguments, editor::PATHS)?;
        let path = text(reading.text(arguments, named_by)?)?;
        let editor = editor::editor_of(tool, named_by)?;
        let lists = editor.edits.map(|key| reading.elements(arguments, key)).unwrap_or_default();
        // What names a file of its own is no part of this one.
        let lists = lists.into_iter().filter(|&edit| !names_any(reading, edit, editor::PATHS));
        let holders = std::iter::once(arguments).chain(lists);
        let fields = holders.flat_map(|holder| editor.content.iter().map(move |key| (holder, *key)));
        let fields = fields.filter_map(|(holder, key)| reading.text(holder, key));
        let restored = fields.filter_map(|leaf| {
            let returned = self.vault.restore_into(&text(leaf)?, tool, &path);
            (returned.restored > 0).then(|| (leaf, returned.text.to_string()))
        });
        Some(restored.collect())
    }

    /// Restores in the lines of a command that does nothing but write them into a file: as an editor
    /// that writes this file, or as a patch that does.
    fn heredoc(&self, command: &str) -> Option<String> {
        let (into, lines) = heredoc::read(command)?;
        let content = &command[lines.clone()];
        let restored = match into {
            heredoc::Target::File(path) => self.vault.restore_into(content, "Write", path).text.to_string(),
            heredoc::Target::Patch => self.patch("apply_patch", content),
        };
        let end = lines.start + restored.len();
        let whole = [&command[..lines.start], &restored, &command[lines.end..]].concat();
        (restored != content && heredoc::still_is(&whole, into, &(lines.start..end))).then_some(whole)
    }

    /// Restores in a patch: in the part of each file by the rules for that file.
    ///
    /// Those who apply patches differ in what ends a line, and in whether a header may be indented. So
    /// a patch with any other end of a line stays as it is, and behind what may be a header for some
    /// of them no file is named.
    fn patch(&self, tool: &str, patch: &str) -> String {
        if has_odd_line_ends(patch) {
            return patch.to_owned();
        }
        let (mut restored, mut path) = (String::with_capacity(patch.len()), "");
        for line in patch.split_inclusive('\n') {
            path = header(line).unwrap_or(path);
            restored.push_str(&self.vault.restore_into(line, tool, path).text);
        }
        restored
    }
}

/// The tool of a call.
fn named(document: &Document, tool: Tool) -> String {
    match tool {
        Tool::Named(leaf) => document.leaf(leaf).map(|leaf| leaf.text().into_cow().into_owned()).unwrap_or_default(),
        Tool::Kind(kind) => kind.to_owned(),
        Tool::Unnamed => String::new(),
    }
}

/// Whether anything is restored in a tool's arguments at all.
fn writes_files(tool: &str) -> bool {
    editor::edits_files(tool) || heredoc::is_shell(tool)
}

/// The script that a shell is called with: a text, or the last of three words.
fn command(reading: &Reading<'_>, arguments: NodeId) -> Option<NodeId> {
    let key = only(reading, arguments, heredoc::COMMANDS)?;
    let node = reading.member(arguments, key)?;
    if !reading.is_list(node) {
        return reading.text(arguments, key);
    }
    let words = reading.elements_of(node);
    let texts: Vec<String> = words.iter().filter_map(|&word| reading.leaf_text(word)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    (texts.len() == words.len() && heredoc::is_script(&texts)).then(|| words.last().copied())?
}

/// The file that a header names whose part of a patch follows; `None` for lines of a file.
fn header(line: &str) -> Option<&str> {
    const NAMES: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];
    let is_blank = |c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}';
    if !line.trim_start_matches(is_blank).starts_with("***") || line.trim_end() == "*** End of File" {
        return None;
    }
    Some(NAMES.iter().find_map(|name| line.strip_prefix(name)).map_or("", str::trim))
}

/// What some take for the end of a line, other than a line feed with or without a carriage return.
fn has_odd_line_ends(text: &str) -> bool {
    let odd =
        |c: char| matches!(c, '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    text.contains(odd) || text.replace("\r\n", "").contains('\r')
}

/// The one of these members that an object has. Of several there is none.
fn only(reading: &Reading<'_>, object: NodeId, keys: &'static [&'static str]) -> Option<&'static str> {
    let mut named = keys.iter().filter(|key| reading.member(object, key).is_some());
    named.next().filter(|_| named.next().is_none()).copied()
}

fn names_any(reading: &Reading<'_>, object: NodeId, keys: &[&str]) -> bool {
    keys.iter().any(|key| reading.member(object, key).is_some())
}

/// Refused only for leaves that readers do not give; then the token stays.
fn set(draft: &mut Draft, leaf: NodeId, text: &str) {
    let _ = draft.set(leaf, text, &RESTORER);
}

/// Adds up what is counted in each text below a node.
fn sum_below(draft: &Draft, node: NodeId, count: &impl Fn(&str) -> usize) -> usize {
    let own = draft.document().leaf(node).map_or(0, |_| count(draft.text(node).expose()));
    draft.document().children(node).fold(own, |sum, child| sum + sum_below(draft, child, count))
}
