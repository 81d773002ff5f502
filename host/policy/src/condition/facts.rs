//! The variables of a `when` expression: `request` and `leaf`, handed to the interpreter without
//! copying text.
//!
//! Every look is charged to a [`Budget`], because an expression like
//! `leaf.findings.exists(f, leaf.text.contains(f.label))` costs findings times text, and both come
//! from the sender of the request. The budget counts looks and bytes, never time, so the same
//! request always ends the same way.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use cel::ExecutionError;
use cel::common::traits::Indexer;
use cel::common::types::{CelBool, CelInt, CelList, CelString, DYN_TYPE, Type};
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use leafgate_detect::{Confidence, DetectorId, Label};
use leafgate_tree::{Document, Format, LeafKind, NodeId, Role, SectionKind, ValueType};

use crate::Context;
use crate::said::Said;

/// The one name below `request` that costs a walk over it.
pub(super) const TOKENS: &str = "tokens";

/// The values that a fact can have.
#[derive(Clone, Copy)]
pub(super) enum Values {
    /// Any text.
    Open,
    /// One of these texts.
    Closed(&'static [&'static str]),
    /// True or false.
    Truth,
    /// A whole number.
    Number,
    /// What has no literal to be compared with.
    List,
}

/// The names below an object, and what stands under each.
pub(super) type Fields = &'static [(&'static str, Values)];

/// How often one evaluation may look at a fact.
const LOOKS: u64 = 10_000;
/// Bytes that one evaluation may look at, beside [`READINGS`] of the leaf's own text.
const BYTES: u64 = 16 << 20;
/// How often an expression may read even the longest leaf as a whole.
const READINGS: u64 = 64;

/// Facts about the request as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestFacts<'a> {
    /// What is known beside its body.
    pub(crate) context: Context<'a>,
    pub(crate) format: &'static str,
    pub(crate) model: String,
    /// What else the body names as a model.
    pub(crate) other_models: Vec<String>,
    pub(crate) stream: bool,
    /// The folder that its client works in; empty where no rule asks.
    pub(crate) project: String,
    pub(crate) endpoint: Cow<'a, str>,
    /// Of the body.
    pub(crate) bytes: usize,
    /// An estimate; 0 where no rule asks for it.
    pub(crate) tokens: usize,
    pub(crate) messages: usize,
    pub(crate) tools: usize,
    /// What it has under the names that selectors ask for.
    pub(crate) said: Said,
}

/// One finding, as `leaf.findings` shows it: never the text that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FindingFact {
    pub(crate) label: Label,
    pub(crate) detector: DetectorId,
    pub(crate) confidence: Confidence,
}

/// Where a leaf stands.
#[derive(Clone, Copy)]
pub(crate) enum FactPlace<'a> {
    /// In the received document. Its path is written only where an expression asks for it.
    Node(&'a Document, NodeId),
    /// In a message that was put in.
    Named { path: &'a str, pointer: &'a str },
}

/// What the tool was called with whose call or result a leaf stands in.
#[derive(Clone, Copy, Default)]
pub(crate) enum FactArguments<'a> {
    /// Nobody knows, or there is no call.
    #[default]
    Unknown,
    /// They stand in the received document.
    Node(&'a Document, NodeId),
    /// The call is the server's, and of it a file is known.
    File(&'a str),
}

/// Facts about one leaf.
#[derive(Clone, Copy, derive_more::Debug)]
#[debug("leaf of {} bytes", self.text.len())]
pub(crate) struct LeafFacts<'a> {
    pub(crate) place: FactPlace<'a>,
    pub(crate) text: &'a str,
    pub(crate) kind: &'static str,
    pub(crate) value: &'static str,
    pub(crate) role: &'static str,
    pub(crate) section: &'static str,
    pub(crate) tool: &'a str,
    pub(crate) arguments: FactArguments<'a>,
    pub(crate) key: &'a str,
    pub(crate) findings: &'a [FindingFact],
}

/// The rest that one evaluation may look at.
#[derive(Debug)]
pub(crate) struct Budget {
    looks: AtomicU64,
    bytes: AtomicU64,
}

impl Budget {
    pub(crate) fn for_text(len: usize) -> Self {
        let bytes = BYTES.max(READINGS.saturating_mul(len as u64));
        Budget { looks: AtomicU64::new(LOOKS), bytes: AtomicU64::new(bytes) }
    }

    fn charge(&self, bytes: usize) -> Result<(), ExecutionError> {
        // `Relaxed`: one thread evaluates; the interpreter only demands that its values could cross
        // threads.
        let take = |from: &AtomicU64, amount: u64| {
            from.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(amount)).is_ok()
        };
        if take(&self.looks, 1) && take(&self.bytes, bytes as u64) {
            return Ok(());
        }
        Err(ExecutionError::function_error(OVER_BUDGET, "the expression looks at too much"))
    }
}

/// The name of the function that an exhausted budget is reported under.
pub(crate) const OVER_BUDGET: &str = "budget";

/// The variables of one evaluation.
pub(crate) struct Facts<'a> {
    request: &'a RequestFacts<'a>,
    leaf: Option<LeafFacts<'a>>,
    budget: &'a Budget,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(
        request: &'a RequestFacts<'a>,
        leaf: Option<LeafFacts<'a>>,
        budget: &'a Budget,
    ) -> Self {
        Facts { request, leaf, budget }
    }
}

impl VariableResolver for Facts<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let of = match variable {
            "request" => FactObject::Request(self.request),
            "leaf" => FactObject::Leaf(self.leaf?),
            _ => return None,
        };
        Some(CowVal::owned(FactVal { of, budget: self.budget }))
    }
}

/// A value that has named members; looks at texts and at findings are charged.
#[derive(Clone, Copy, Debug)]
struct FactVal<'a> {
    of: FactObject<'a>,
    budget: &'a Budget,
}

#[derive(Clone, Copy, Debug)]
enum FactObject<'a> {
    Request(&'a RequestFacts<'a>),
    Leaf(LeafFacts<'a>),
    Finding(&'a FindingFact),
}

impl<'a> FactVal<'a> {
    fn member<'v>(&self, name: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        'a: 'v,
    {
        let name = name_of(name)?;
        match self.of {
            FactObject::Request(facts) => member_of_request(facts, self.budget, name),
            FactObject::Leaf(facts) => member_of_leaf(facts, self.budget, name),
            FactObject::Finding(facts) => member_of_finding(facts, self.budget, name),
        }
    }
}

fn text<'v>(text: impl Into<Cow<'v, str>>, budget: &Budget) -> Result<Box<dyn Val + 'v>, ExecutionError> {
    let text = text.into();
    budget.charge(text.len())?;
    Ok(Box::new(CelString::from(text)))
}

fn number<'v>(number: usize) -> Result<Box<dyn Val + 'v>, ExecutionError> {
    Ok(Box::new(CelInt::from(i64::try_from(number).unwrap_or(i64::MAX))))
}

fn truth<'v>(truth: bool) -> Result<Box<dyn Val + 'v>, ExecutionError> {
    Ok(Box::new(CelBool::from(truth)))
}

/// Declares the members of an object, each with its values and how it is read.
macro_rules! members {
    ($(#[$about:meta])* $fields:ident, $member:ident of $of:ty, |$facts:ident, $budget:ident| {
        $($name:literal: $values:expr => $value:expr,)*
    }) => {
        $(#[$about])*
        pub(super) const $fields: Fields = &[$(($name, $values),)*];

        fn $member<'v>($facts: $of, $budget: &'v Budget, name: &str) -> Result<Box<dyn Val + 'v>, ExecutionError> {
            match name {
                $($name => $value,)*
                _ => Err(ExecutionError::no_such_key(name)),
            }
        }
    };
}

members! {
    /// The names below `request`.
    REQUEST_FIELDS, member_of_request of &'v RequestFacts<'v>, |facts, budget| {
        "format": Values::Closed(Format::NAMES) => text(facts.format, budget),
        "model": Values::Open => text(&facts.model, budget),
        "stream": Values::Truth => truth(facts.stream),
        "session": Values::Open => text(facts.context.session, budget),
        "agent": Values::Open => text(facts.context.agent.unwrap_or_default(), budget),
        "subagent": Values::Truth => truth(facts.context.subagent.unwrap_or_default()),
        "upstream": Values::Open => text(facts.context.upstream.unwrap_or_default(), budget),
        "endpoint": Values::Open => text(&*facts.endpoint, budget),
        "bytes": Values::Number => number(facts.bytes),
        "tokens": Values::Number => number(facts.tokens),
        "messages": Values::Number => number(facts.messages),
        "tools": Values::Number => number(facts.tools),
    }
}

members! {
    /// The names below `leaf`.
    LEAF_FIELDS, member_of_leaf of LeafFacts<'v>, |facts, budget| {
        "text": Values::Open => text(facts.text, budget),
        "kind": Values::Closed(LeafKind::NAMES) => text(facts.kind, budget),
        "role": Values::Closed(Role::NAMES) => text(facts.role, budget),
        "section": Values::Closed(SectionKind::NAMES) => text(facts.section, budget),
        "tool": Values::Open => text(facts.tool, budget),
        "arguments": Values::Open => match facts.arguments {
            FactArguments::Unknown => text("", budget),
            FactArguments::File(file) => text(file, budget),
            FactArguments::Node(document, node) => match document.settable(node) {
                Some(leaf) => text(leaf.text().into_cow(), budget),
                None => text(String::from_utf8_lossy(document.spelling_of(node)), budget),
            },
        },
        "key": Values::Open => text(facts.key, budget),
        "path": Values::Open => match facts.place {
            FactPlace::Node(document, node) => text(document.display_path(node), budget),
            FactPlace::Named { path, .. } => text(path, budget),
        },
        "pointer": Values::Open => match facts.place {
            FactPlace::Node(document, node) => text(document.pointer(node), budget),
            FactPlace::Named { pointer, .. } => text(pointer, budget),
        },
        "value": Values::Closed(ValueType::NAMES) => text(facts.value, budget),
        "findings": Values::List => findings(facts.findings, budget),
    }
}

members! {
    /// The names below each of `leaf.findings`.
    FINDING_FIELDS, member_of_finding of &'v FindingFact, |facts, budget| {
        "label": Values::Open => text(facts.label.as_str(), budget),
        "confidence": Values::Closed(Confidence::NAMES) => text(facts.confidence.as_str(), budget),
        "detector": Values::Open => text(facts.detector.as_str(), budget),
    }
}

fn findings<'v>(found: &'v [FindingFact], budget: &'v Budget) -> Result<Box<dyn Val + 'v>, ExecutionError> {
    budget.charge(size_of_val(found))?;
    let value = |facts| Box::new(FactVal { of: FactObject::Finding(facts), budget }) as Box<dyn Val + 'v>;
    Ok(Box::new(CelList::from(found.iter().map(value).collect::<Vec<_>>())))
}

impl<'a> Val for FactVal<'a> {
    fn get_type(&self) -> &Type {
        &DYN_TYPE
    }

    fn cel_type() -> &'static Type {
        &DYN_TYPE
    }

    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(*self)
    }
}

impl<'a> Indexer for FactVal<'a> {
    fn get<'b, 'v>(&'b self, name: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        self.member(name).map(CowVal::Owned)
    }

    fn steal<'v>(self: Box<Self>, name: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        self.member(name)
    }
}

fn name_of(name: &dyn Val) -> Result<&str, ExecutionError> {
    match name.downcast_ref::<CelString<'_>>() {
        Some(name) => Ok(name.inner()),
        None => Err(ExecutionError::UnexpectedType {
            got: name.get_type().name().to_owned(),
            want: "string".into(),
        }),
    }
}
