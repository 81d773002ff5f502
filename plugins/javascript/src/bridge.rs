//! Leaves into JavaScript, answers out of it.
//!
//! JavaScript counts a text in units of UTF-16, the contract in bytes of UTF-8. Words of the contract are
//! their places in it here; the prelude spells them.

use leafgate_plugin::detect::{self, Confidence, Finding, Role, Span};
use leafgate_plugin::runtime::RequestHead;
use leafgate_plugin::transform::{self, Action, Edit, NewSection, Redaction, Section, Target};
use rquickjs_core::{Array, Ctx, Exception, Function, IntoJs as _, Result, Value};

use crate::engine::Loaded;

pub(crate) fn detect(loaded: &Loaded<'_>, leaves: &[detect::Leaf]) -> Result<Vec<Finding>> {
    let ctx = &loaded.ctx;
    let function: Function<'_> = loaded.exported.get("detect")?;
    let make: Function<'_> = loaded.prelude.get("detectLeaf")?;
    let ask: Function<'_> = loaded.prelude.get("detect")?;
    let labels = loaded.labels.clone().into_js(ctx)?;
    let mut found = Vec::new();
    for leaf in leaves {
        let shown: Value<'_> = make.call((
            leaf.id,
            leaf.kind as u32,
            leaf.value as u32,
            leaf.role as u32,
            leaf.tool.as_deref(),
            leaf.key.as_str(),
            leaf.text.as_str(),
        ))?;
        let answer: Vec<u32> = ask.call((function.clone(), shown, labels.clone()))?;
        let mut units = Units::new(&leaf.text);
        for finding in answer.chunks_exact(4) {
            let at = units.span(ctx, finding[0], finding[1])?;
            let confidence =
                [Confidence::Low, Confidence::Medium, Confidence::High][finding[3].min(2) as usize];
            found.push(Finding { leaf: leaf.id, at, label: finding[2], confidence });
        }
    }
    Ok(found)
}

pub(crate) fn transform(
    loaded: &Loaded<'_>,
    head: &RequestHead,
    sections: &[Section],
    leaves: &[transform::Leaf],
) -> Result<Vec<Edit>> {
    let ctx = &loaded.ctx;
    let function: Function<'_> = loaded.exported.get("transform")?;
    let ask: Function<'_> = loaded.prelude.get("transform")?;
    let (sections, leaves_shown) = shown(loaded, sections, leaves)?;
    let make: Function<'_> = loaded.prelude.get("request")?;
    let session = head.session.as_str();
    let request: Value<'_> = make.call((
        head.format.as_str(),
        head.model.as_str(),
        session,
        head.subagent,
        sections,
        leaves_shown,
    ))?;
    let answer: String = ask.call((function, request, loaded.labels.clone()))?;
    if answer.is_empty() {
        return Ok(vec![]);
    }
    let wrong = |what: &str| Exception::throw_type(ctx, what);
    let edits: Vec<SaidEdit> =
        serde_json::from_str(&answer).map_err(|error| wrong(&format!("an edit is none: {error}")))?;
    edits.into_iter().map(|edit| edit.made(ctx, leaves)).collect()
}

/// Sections and leaves as the source sees them: a leaf holds its section, a section the one around
/// it.
fn shown<'js>(
    loaded: &Loaded<'js>,
    sections: &[Section],
    leaves: &[transform::Leaf],
) -> Result<(Array<'js>, Array<'js>)> {
    let ctx = &loaded.ctx;
    let make_section: Function<'js> = loaded.prelude.get("section")?;
    let made = Array::new(ctx.clone())?;
    for (place, section) in sections.iter().enumerate() {
        // What is around a section stands before it.
        let parent = section.parent.filter(|parent| (*parent as usize) < place);
        let parent: Option<Value<'js>> = parent.map(|parent| made.get(parent as usize)).transpose()?;
        let one: Value<'js> = make_section.call((
            place,
            section.kind as u32,
            section.role as u32,
            section.label.as_str(),
            section.tool.as_deref(),
            parent,
            section.message,
        ))?;
        made.set(place, one)?;
    }
    let make_leaf: Function<'js> = loaded.prelude.get("leaf")?;
    let all = Array::new(ctx.clone())?;
    for (place, leaf) in leaves.iter().enumerate() {
        let section: Value<'js> = made.get(leaf.section as usize)?;
        let one: Value<'js> = make_leaf.call((
            leaf.id,
            section,
            leaf.kind as u32,
            leaf.value as u32,
            leaf.pointer.as_str(),
            leaf.key.as_str(),
            leaf.text.as_str(),
        ))?;
        all.set(place, one)?;
    }
    Ok((made, all))
}

/// An edit as the prelude writes it: one target at most, and one action.
#[derive(serde::Deserialize)]
struct SaidEdit {
    leaf: Option<u32>,
    section: Option<u32>,
    #[serde(flatten)]
    action: SaidAction,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
enum SaidAction {
    Set(String),
    Redact(Vec<(u32, u32, u32)>),
    Pin,
    Delete,
    /// The role by its place.
    InsertBefore(usize, String),
    Note(String),
    Pause(String),
    Block(String),
}

impl SaidEdit {
    fn made(self, ctx: &Ctx<'_>, leaves: &[transform::Leaf]) -> Result<Edit> {
        let wrong = |what: &str| Exception::throw_type(ctx, what);
        let target = match (self.leaf, self.section) {
            (Some(leaf), _) => Target::Leaf(leaf),
            (None, Some(section)) => Target::Section(section),
            (None, None) => Target::Request,
        };
        let action = match self.action {
            SaidAction::Set(text) => Action::Set(text),
            SaidAction::Redact(spans) => {
                let leaf = self.leaf.and_then(|id| leaves.get(id as usize));
                let leaf = leaf.ok_or_else(|| wrong("a redaction names no leaf"))?;
                let mut units = Units::new(&leaf.text);
                let redaction = |(start, end, label)| Ok(Redaction { at: units.span(ctx, start, end)?, label });
                Action::Redact(spans.into_iter().map(redaction).collect::<Result<_>>()?)
            }
            SaidAction::Pin => Action::Pin,
            SaidAction::Delete => Action::Delete,
            SaidAction::InsertBefore(role, text) => {
                let roles = [Role::System, Role::User, Role::Assistant, Role::Tool, Role::Other];
                let role = roles.get(role).copied().ok_or_else(|| wrong("a message has no such role"))?;
                Action::InsertBefore(NewSection { role, text })
            }
            SaidAction::Note(text) => Action::Note(text),
            SaidAction::Pause(text) => Action::Pause(text),
            SaidAction::Block(text) => Action::Block(text),
        };
        Ok(Edit { target, action })
    }
}

/// Places in a text, from units of UTF-16 to bytes. Findings mostly come in order, so it goes on
/// from the last place.
struct Units<'t> {
    text: &'t str,
    ascii: bool,
    unit: u32,
    byte: usize,
}

impl<'t> Units<'t> {
    fn new(text: &'t str) -> Self {
        Units { text, ascii: text.is_ascii(), unit: 0, byte: 0 }
    }

    fn span(&mut self, ctx: &Ctx<'_>, start: u32, end: u32) -> Result<Span> {
        let outside = || Exception::throw_range(ctx, "a span lies outside its text, or inside a character");
        if start > end {
            return Err(outside());
        }
        let start = self.byte(start).ok_or_else(outside)?;
        let end = self.byte(end).ok_or_else(outside)?;
        Ok(Span { start, end })
    }

    fn byte(&mut self, unit: u32) -> Option<u32> {
        if self.ascii {
            return (unit as usize <= self.text.len()).then_some(unit);
        }
        if unit < self.unit {
            (self.unit, self.byte) = (0, 0);
        }
        while self.unit < unit {
            let next = self.text[self.byte..].chars().next()?;
            self.unit += next.len_utf16() as u32;
            self.byte += next.len_utf8();
        }
        (self.unit == unit).then_some(self.byte as u32)
    }
}
