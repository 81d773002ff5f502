//! Leaves into JavaScript, answers out of it.
//!
//! JavaScript counts a text in units of UTF-16, the contract in bytes of UTF-8.

use leafgate_plugin::detect::{self, Confidence, Finding, LeafKind, Role, Span, ValueType};
use leafgate_plugin::runtime::RequestHead;
use leafgate_plugin::transform::{self, Action, Edit, NewSection, Redaction, Section, SectionKind, Target};
use rquickjs_core::{Array, Ctx, Exception, Function, IntoJs as _, Result, String as JsString, Value};

use crate::engine::Loaded;

pub(crate) fn detect(loaded: &Loaded<'_>, leaves: &[detect::Leaf]) -> Result<Vec<Finding>> {
    let ctx = &loaded.ctx;
    let function: Function<'_> = loaded.exported.get("detect")?;
    let make: Function<'_> = loaded.prelude.get("detectLeaf")?;
    let ask: Function<'_> = loaded.prelude.get("detect")?;
    let labels = loaded.labels.clone().into_js(ctx)?;
    let mut words = Words::new(ctx);
    let mut found = Vec::new();
    for leaf in leaves {
        let shown: Value<'_> = make.call((
            leaf.id,
            words.of(kind(leaf.kind))?,
            words.of(value(leaf.value))?,
            words.of(role(leaf.role))?,
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
    let mut words = Words::new(ctx);
    let (sections, leaves_shown) = shown(loaded, sections, leaves, &mut words)?;
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
    let edits: Vec<Said> =
        serde_json::from_str(&answer).map_err(|error| wrong(&format!("an edit is none: {error}")))?;
    edits.into_iter().map(|edit| edit.made(ctx, leaves)).collect()
}

/// Sections and leaves as the source sees them: a leaf holds its section, a section the one around
/// it.
fn shown<'js>(
    loaded: &Loaded<'js>,
    sections: &[Section],
    leaves: &[transform::Leaf],
    words: &mut Words<'js>,
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
            words.of(section_kind(section.kind))?,
            words.of(role(section.role))?,
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
            words.of(kind(leaf.kind))?,
            words.of(value(leaf.value))?,
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
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Said {
    leaf: Option<u32>,
    section: Option<u32>,
    set: Option<String>,
    redact: Option<Vec<(u32, u32, u32)>>,
    #[serde(default)]
    pin: bool,
    #[serde(default)]
    delete: bool,
    insert_before: Option<Message>,
    note: Option<String>,
    pause: Option<String>,
    block: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    role: RoleWord,
    text: String,
}

#[derive(Clone, Copy, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum RoleWord {
    System,
    User,
    Assistant,
    Tool,
    Other,
}

impl Said {
    fn made(self, ctx: &Ctx<'_>, leaves: &[transform::Leaf]) -> Result<Edit> {
        let wrong = |what: &str| Exception::throw_type(ctx, what);
        let target = match (self.leaf, self.section) {
            (Some(leaf), _) => Target::Leaf(leaf),
            (None, Some(section)) => Target::Section(section),
            (None, None) => Target::Request,
        };
        let action = if let Some(text) = self.set {
            Action::Set(text)
        } else if let Some(spans) = self.redact {
            let leaf = self.leaf.and_then(|id| leaves.get(id as usize));
            let leaf = leaf.ok_or_else(|| wrong("a redaction names no leaf"))?;
            let mut units = Units::new(&leaf.text);
            let redaction = |(start, end, label)| Ok(Redaction { at: units.span(ctx, start, end)?, label });
            Action::Redact(spans.into_iter().map(redaction).collect::<Result<_>>()?)
        } else if self.pin {
            Action::Pin
        } else if self.delete {
            Action::Delete
        } else if let Some(Message { role, text }) = self.insert_before {
            let role = match role {
                RoleWord::System => Role::System,
                RoleWord::User => Role::User,
                RoleWord::Assistant => Role::Assistant,
                RoleWord::Tool => Role::Tool,
                RoleWord::Other => Role::Other,
            };
            Action::InsertBefore(NewSection { role, text })
        } else if let Some(text) = self.note {
            Action::Note(text)
        } else if let Some(text) = self.pause {
            Action::Pause(text)
        } else if let Some(text) = self.block {
            Action::Block(text)
        } else {
            return Err(wrong("an edit does nothing"));
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

/// Words that many leaves share, made once for each call.
struct Words<'js> {
    ctx: Ctx<'js>,
    known: Vec<(&'static str, JsString<'js>)>,
}

impl<'js> Words<'js> {
    fn new(ctx: &Ctx<'js>) -> Self {
        Words { ctx: ctx.clone(), known: Vec::new() }
    }

    fn of(&mut self, word: &'static str) -> Result<JsString<'js>> {
        if let Some((_, known)) = self.known.iter().find(|(known, _)| std::ptr::eq(*known, word)) {
            return Ok(known.clone());
        }
        let made = JsString::from_str(self.ctx.clone(), word)?;
        self.known.push((word, made.clone()));
        Ok(made)
    }
}

/// The words of the contract, as the contract spells them.
macro_rules! words {
    ($(fn $name:ident($from:ident) { $($case:ident $word:literal)+ })+) => {
        $(fn $name(word: $from) -> &'static str {
            match word { $($from::$case => $word,)+ }
        })+
    };
}

words! {
    fn role(Role) {
        System "system" User "user" Assistant "assistant" Tool "tool" Other "other"
    }
    fn kind(LeafKind) {
        Text "text" ToolArguments "tool-arguments" ToolResult "tool-result" Reasoning "reasoning"
        ToolSchema "tool-schema" RequestOption "request-option" Metadata "metadata" Other "other"
    }
    fn value(ValueType) {
        Text "text" Number "number" Boolean "boolean" Null "null"
    }
    fn section_kind(SectionKind) {
        System "system" User "user" Assistant "assistant" Context "context" History "history"
        ToolCall "tool-call" ToolResult "tool-result" ContentPart "content-part" Prediction "prediction"
        RequestOption "request-option" Other "other"
    }
}
