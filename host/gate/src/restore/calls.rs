//! Values in what tools are called with: put back into the content that a known file editor writes
//! into a file, where the rules of the policy let a value return, and nowhere else.
//!
//! - The arguments of any other tool, and all other arguments of an editor, keep their tokens: a
//!   shell, a URL or an HTTP call would carry a value out. A command that is one heredoc into a file
//!   is an editor's content.
//! - Which file is written decides ([`called`]), so arguments are read whole. Of a stream, everything leaves as it
//!   comes up to the first token of this session; what follows waits for the end of its call, and
//!   leaves in one event before that.
//! - What became of the tokens of each call is counted, once however often its arguments are said.
//! - Arguments that parsers read differently, and calls that break off, keep their tokens.
//! - Values leave with the end of their call. What comes behind that and is odd may give the call another name for some
//!   client, so a stream does not go on with it ([`RestoredCalls::have_values`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use leafgate_answer::{Arguments, CallSaid, Form, TextPlace, parse};
use leafgate_policy::called::{self, ContentForm};
use leafgate_tree::{Document, Draft, NodeId};
use leafgate_vault::Vault;

use super::RESTORER;
use super::speech::HeldText;

/// Longer arguments keep their tokens.
const MOST_ARGUMENTS: usize = 4 << 20;

/// So many calls an answer may have; those behind them keep their tokens.
const MOST_CALLS: usize = 512;

/// The calls of one answer.
pub(super) struct RestoredCalls {
    vault: Vault,
    open: BTreeMap<TextPlace, RestoredCall>,
    /// Calls whose tokens were counted.
    counted: BTreeSet<TextPlace>,
    /// Values were put into one.
    pub(super) have_values: bool,
}

/// A call, while it comes in pieces.
struct RestoredCall {
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

impl RestoredCalls {
    pub(super) fn new(vault: Vault) -> Self {
        RestoredCalls { vault, open: BTreeMap::new(), counted: BTreeSet::new(), have_values: false }
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
            CallSaid::Begins(called) => self.begin(place, called.tool.name(&document)),
            CallSaid::More(leaf) => self.more(draft, place, leaf),
            CallSaid::Whole(_, Arguments { is_sealed: true, .. }) => {}
            CallSaid::Whole(called, Arguments { node, form, .. }) => {
                let tool = called.tool.name(&document);
                match (form, document.leaf(node)) {
                    (Form::Text | Form::JsonText, Some(leaf)) => {
                        let text = leaf.text();
                        let restored = self.arguments(&tool, text.expose());
                        self.count(place, text.expose(), restored.as_deref());
                        self.have_values |= restored.is_some();
                        restored.into_iter().for_each(|restored| set(draft, node, &restored));
                    }
                    (Form::Json, _) | (_, None) => self.whole_object(draft, place, &tool, node),
                }
            }
            CallSaid::Again(leaf) => {
                let Some(text) = document.leaf(leaf).map(|leaf| leaf.text()) else { return };
                let tool = self.open.get(&place).map(|call| &*call.tool);
                if let Some(restored) = tool.and_then(|tool| self.arguments(tool, text.expose())) {
                    self.have_values = true;
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
        self.have_values |= self.object(draft, tool, arguments);
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
            .or_insert(RestoredCall { tool, said: String::new(), left: 0, last: None, over: false });
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
        let passes = call.over || !called::may_write(&call.tool);
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
            self.have_values |= restored.is_some();
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
        if !called::may_write(tool) || text.len() > MOST_ARGUMENTS {
            return None;
        }
        let Ok(document) = parse(Bytes::copy_from_slice(text.as_bytes())) else {
            return self.put_back(tool, &ContentForm::of_text(tool)?, text);
        };
        let root = document.root();
        let mut draft = Draft::new(Arc::new(document));
        self.object(&mut draft, tool, root);
        draft.is_dirty().then(|| String::from_utf8_lossy(&draft.render()).into_owned())
    }

    /// Restores in what a call puts into files, and returns whether there was anything.
    fn object(&self, draft: &mut Draft, tool: &str, arguments: NodeId) -> bool {
        let (document, mut restores) = (draft.document().clone(), false);
        for content in called::written(tool, &document, arguments) {
            let Some(leaf) = document.leaf(content.node) else { continue };
            if let Some(restored) = self.put_back(tool, &content.form, leaf.text().expose()) {
                restores = true;
                set(draft, content.node, &restored);
            }
        }
        restores
    }

    /// Puts values back where a text stands in files to which they may return; `None` where none may.
    /// With the values in it, it must put the same into the same files: none of them ends a heredoc or
    /// begins the part of another file.
    fn put_back(&self, tool: &str, form: &ContentForm, text: &str) -> Option<String> {
        let stretches = form.stretches(text);
        let (mut out, mut from) = (String::with_capacity(text.len()), 0);
        for stretch in &stretches {
            out.push_str(&text[from..stretch.at.start]);
            let editor = stretch.editor.unwrap_or(tool);
            let part = &text[stretch.at.clone()];
            let returned = self.vault.restore_into(part, editor, &stretch.files);
            let more = returned.matches('\n').count() - part.matches('\n').count();
            match more {
                0 => out.push_str(&returned),
                _ => out.push_str(&with_lead(&returned, stretch.lead)),
            }
            from = stretch.at.end;
        }
        out.push_str(&text[from..]);
        let files = |stretches: Vec<called::Stretch>| {
            let mut files: Vec<_> = stretches.into_iter().map(|stretch| stretch.files).collect();
            files.dedup();
            files
        };
        (out != text && files(form.stretches(&out)) == files(stretches)).then_some(out)
    }
}

/// Returns the name of the file that a call reads; `None` where that is not certain.
pub(super) fn file_read(tool: &str, document: &Document, arguments: Arguments) -> Option<String> {
    let leaf = match arguments.form {
        Form::Json => return called::file_read(tool, document, arguments.node),
        Form::Text => return None,
        Form::JsonText => document.leaf(arguments.node)?,
    };
    let text = leaf.text();
    let read = parse(Bytes::copy_from_slice(text.expose().as_bytes())).ok()?;
    called::file_read(tool, &read, read.root())
}

/// Begins each further line with what begins the first one.
fn with_lead(lines: &str, lead: &str) -> String {
    let (lines, end) = lines.strip_suffix('\n').map_or((lines, ""), |lines| (lines, "\n"));
    lines.replace('\n', &format!("\n{lead}")) + end
}

/// Refused only for leaves that readers do not give; then the token stays.
pub(super) fn set(draft: &mut Draft, leaf: NodeId, text: &str) {
    let _ = draft.set(leaf, text, &RESTORER);
}

/// Adds up what is counted in each text below a node.
fn sum_below(draft: &Draft, node: NodeId, count: &impl Fn(&str) -> usize) -> usize {
    let own = draft.document().leaf(node).map_or(0, |_| count(draft.text(node).expose()));
    draft.document().children(node).fold(own, |sum, child| sum + sum_below(draft, child, count))
}
