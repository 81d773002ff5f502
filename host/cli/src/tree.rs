//! `tree`: a request as the gate sees it, section by section and leaf by leaf.
//!
//! Previews pass the policy's redaction first, and then the built-in detectors: a protected or
//! frozen leaf is not redacted in the request, but it is masked here. With `--policy none` nothing
//! is masked, as requested.

use leafgate_policy::PolicySource;
use leafgate_tree::{Access, ContentKind, Document, Draft, Leaf, Role, SectionId, display_mask};
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::masking;
use crate::options::TreeArgs;
use crate::print::{Exit, Printer, Row, Style};
use crate::request;

/// Characters of a preview.
const PREVIEW: usize = 60;

pub(crate) fn run(args: &TreeArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let judged = request::judge(&args.policy, &args.request)?;
    let masks = args.policy.source != PolicySource::None;
    let view = TreeView { draft: &judged.evaluation.draft, masks }.shown();
    printer.show(&view, print)?;
    judged.print_notes(printer);
    Ok(Exit::Done)
}

/// A request to show.
struct TreeView<'a> {
    draft: &'a Draft,
    masks: bool,
}

/// The output of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownTree {
    format: &'static str,
    model: Option<String>,
    /// Object keys, which are searched too and cannot be edited.
    keys: usize,
    /// Messages and content parts of kinds that the format does not know. They are walked like any
    /// other.
    unknown: usize,
    sections: Vec<ShownSection>,
    /// Leaves outside every section.
    leaves: Vec<TreeLeaf>,
}

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownSection {
    id: String,
    kind: &'static str,
    node_type: leafgate_tree::NodeType,
    label: String,
    role: Role,
    editable: bool,
    deletable: bool,
    parent_id: Option<String>,
    source_message_index: Option<usize>,
    content_index: Option<usize>,
    content_kind: Option<&'static str>,
    tool_call_index: Option<usize>,
    tool: Option<String>,
    raw_path: String,
    leaves: Vec<TreeLeaf>,
    #[serde(skip)]
    depth: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TreeLeaf {
    path: String,
    /// RFC 6901, into the received body.
    pointer: String,
    kind: &'static str,
    value_type: &'static str,
    access: &'static str,
    /// Characters of the received text.
    length: usize,
    preview: String,
}

impl TreeView<'_> {
    fn shown(&self) -> ShownTree {
        let document = self.document();
        let ids = (0..document.sections().len()).map(SectionId::from_index);
        let mut sections: Vec<_> = ids.map(|id| self.section(id)).collect();
        let mut outside = Vec::new();
        for leaf in document.leaves() {
            match leaf.section() {
                Some(id) => sections[id.index()].leaves.push(self.leaf(&leaf)),
                None => outside.push(self.leaf(&leaf)),
            }
        }
        let model = document.model().map(|model| self.masked("", &model));
        ShownTree {
            format: document.format().name(),
            model,
            keys: document.keys().count(),
            unknown: document.unknown_sections(),
            sections,
            leaves: outside,
        }
    }

    fn document(&self) -> &Document {
        self.draft.document()
    }

    fn section(&self, id: SectionId) -> ShownSection {
        let document = self.document();
        let section = document.section(id);
        let ancestors = document.way_out(section.parent);
        ShownSection {
            id: self.masked("", &self.draft.section_key(id)),
            kind: section.kind.name(),
            node_type: section.node_type,
            label: self.masked("", &self.draft.section_label(id)),
            role: section.role,
            editable: section.editable,
            deletable: section.deletable,
            parent_id: section.parent.map(|parent| self.masked("", &self.draft.section_key(parent))),
            source_message_index: section.message,
            content_index: section.content_index,
            content_kind: section.content_kind.map(ContentKind::name),
            tool_call_index: section.tool_call_index,
            tool: section.tool.as_deref().map(|tool| self.masked("", tool)),
            raw_path: self.masked("", &self.draft.display_path(section.node)),
            leaves: Vec::new(),
            depth: ancestors.count(),
        }
    }

    fn leaf(&self, leaf: &Leaf<'_>) -> TreeLeaf {
        TreeLeaf {
            path: self.masked("", &self.draft.display_path(leaf.id())),
            pointer: self.masked("", &self.draft.pointer(leaf.id())),
            kind: leaf.kind().name(),
            value_type: leaf.value_type().name(),
            access: leaf.access().name(),
            length: leaf.text().expose().chars().count(),
            preview: self.preview(leaf),
        }
    }

    fn preview(&self, leaf: &Leaf<'_>) -> String {
        if leaf.access() == Access::Opaque {
            return "(media)".to_owned();
        }
        let text = self.draft.masked_original(leaf.id(), display_mask);
        let text = self.masked(&leaf.key(), text.expose());
        match text.char_indices().nth(PREVIEW) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    fn masked(&self, key: &str, text: &str) -> String {
        if self.masks { masking::masked_beside(key, text) } else { text.to_owned() }
    }
}

fn print(view: &ShownTree, printer: &mut Printer) -> anyhow::Result<()> {
    let width = view.sections.iter().flat_map(|section| &section.leaves).chain(&view.leaves);
    let width = width.map(|leaf| leaf.path.chars().count()).max().unwrap_or(0).min(PREVIEW);
    for section in &view.sections {
        let indent = "  ".repeat(section.depth);
        let head = Row::of(&format!("{indent}{}", section.label), Style::Strong);
        printer.rows(&[head.and(&format!("  {}", section.id), Style::Dim)])?;
        print_leaves(&section.leaves, &format!("{indent}  "), width, printer)?;
    }
    print_leaves(&view.leaves, "", width, printer)?;
    if view.unknown > 0 {
        printer.text(
            Style::Dim,
            &format!("{} parts of kinds that {} does not know\n", view.unknown, view.format),
        )?;
    }
    Ok(())
}

fn print_leaves(
    leaves: &[TreeLeaf],
    indent: &str,
    width: usize,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    for leaf in leaves {
        let row = Row::of(&format!("{indent}{:width$}", leaf.path), Style::Plain);
        let row = row.and(&format!("  {} {} {}  ", leaf.kind, leaf.access, leaf.length), Style::Dim);
        printer.rows(&[row.and(&leaf.preview, Style::Plain)])?;
    }
    Ok(())
}
