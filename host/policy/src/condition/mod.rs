//! `when`: a CEL expression over the request and one leaf.
//!
//! The expression is split at its top-level `&&`. Terms that name no leaf are evaluated once per
//! request; when one of them is false, no leaf is looked at. The answer is that of CEL: `&&` does
//! not care about order, and where a term of the request fails and none is false, the whole expression
//! is evaluated for each leaf after all.
//!
//! No message from here quotes the leaf: the interpreter's own errors may, so only their kind is
//! reported.

mod check;
mod facts;
mod required;
mod terms;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use cel::common::ast::IdedExpr;
use cel::common::types::{CelBool, CelString, STRING_TYPE};
use cel::common::value::CowVal;
use cel::{Context, Env, ExecutionError, Value};
use leafgate_detect::{Confidence, DetectorId, Label};
use leafgate_diagnostic::TextFault;
use regex::Regex;

use check::{Checker, Literals, negates_text};
use facts::{Budget, Facts, OVER_BUDGET};
pub(crate) use facts::{FactArguments, FactPlace, FindingFact, LeafFacts, RequestFacts};
pub(crate) use terms::{Left, Term};

use crate::literal::Required;

/// Longest expression, in bytes; many times what a rule needs.
const MAX_SOURCE: usize = 4096;
/// Compiled regular expressions of `matches` that one thread keeps.
const MAX_CACHED_REGEXES: usize = 64;

/// A compiled `when`.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// The expression as it is written.
    pub(crate) source: String,
    whole: Arc<IdedExpr>,
    terms: Arc<[Term]>,
    /// What stands in it as literals.
    pub(crate) literals: Arc<Literals>,
    asks_for_tokens: bool,
}

/// Why a condition does not hold: the first of its terms that is false, by its place; or the reason why
/// nobody can tell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unmet {
    Term(usize),
    Failed(ConditionError),
}

/// The part of a condition that the request alone decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForRequest {
    /// No leaf can satisfy it.
    Never,
    /// Every leaf does: it names none.
    Always,
    /// The terms that name a leaf decide.
    LeafTerms,
    /// A term of the request failed: the whole expression decides.
    Whole,
}

/// Why an expression gave no answer. Its text never quotes the leaf.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(crate) enum ConditionError {
    #[error("`when` failed: {0}")]
    Failed(String),
    #[error("`when` gave no true or false")]
    NotBool,
    #[error("`when` looks at more than its budget allows")]
    OverBudget,
}

static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut env = Env::stdlib();
    cel::extensions::strings(&mut env).expect("the standard library declares none of these");
    env.add_overload("matches", "matches_string_string", vec![STRING_TYPE, STRING_TYPE], matches)
        .and_then(|()| {
            env.add_member_overload(
                "matches",
                "string_matches_string",
                STRING_TYPE,
                vec![STRING_TYPE],
                matches,
            )
        })
        .expect("built without the interpreter's own `matches`");
    Arc::new(env)
});

impl Condition {
    /// Compiles an expression; `findings` says whether `leaf.findings` exists in the rule's phase.
    pub(crate) fn compile(source: &str, findings: bool) -> Result<Self, Vec<TextFault>> {
        if source.len() > MAX_SOURCE {
            let message = format!("an expression of more than {MAX_SOURCE} bytes");
            return Err(vec![TextFault::new(0..source.len(), message, "split the rule")]);
        }
        let program = ENVIRONMENT.compile(source).map_err(|errors| syntax_faults(source, &errors))?;
        let offset_of = |id| span_of(source, program.source_info().offset_for(id));
        let mut checker = Checker::new(source, &offset_of, findings);
        checker.check(program.expression());
        let Checker { faults, asks_for_tokens, literals, .. } = checker;
        if !faults.is_empty() {
            return Err(faults);
        }
        let condition = Condition {
            source: source.to_owned(),
            whole: Arc::new(program.expression().clone()),
            terms: terms::split(source, program.expression(), &offset_of).into(),
            literals: Arc::new(literals),
            asks_for_tokens,
        };
        condition.try_out().map_err(|fault| vec![fault])?;
        Ok(condition)
    }

    /// Returns what a request leaves unmet of it: a term that is false decides, one that fails does not.
    pub(crate) fn unmet_by_request(&self, request: &RequestFacts<'_>) -> Option<Unmet> {
        self.unmet_by(&[false], request, None)
    }

    /// Returns why it does not hold for a leaf; `None` where it holds.
    pub(crate) fn unmet_by_leaf(&self, request: &RequestFacts<'_>, leaf: LeafFacts<'_>) -> Option<Unmet> {
        // Those of the request first: one of them that is false decides for all leaves.
        self.unmet_by(&[false, true], request, Some(leaf))
    }

    /// Returns why the terms do not hold that name a leaf, or none. As in CEL, a term that is false decides,
    /// whichever other one fails.
    fn unmet_by(
        &self,
        which: &[bool],
        request: &RequestFacts<'_>,
        leaf: Option<LeafFacts<'_>>,
    ) -> Option<Unmet> {
        let mut failed = None;
        for &of_leaf in which {
            let terms = self.terms.iter().enumerate().filter(|(_, term)| term.names_leaf == of_leaf);
            for (place, term) in terms {
                match run(&term.expression, request, leaf.filter(|_| of_leaf)) {
                    Ok(true) => {}
                    Ok(false) => return Some(Unmet::Term(place)),
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
        }
        failed.map(Unmet::Failed)
    }

    /// Its terms, in order.
    pub(crate) fn terms(&self) -> impl Iterator<Item = &Term> {
        self.terms.iter()
    }

    /// Returns a term as it is written.
    pub(crate) fn term(&self, place: usize) -> &str {
        self.terms.get(place).map_or(&self.source, |term| &self.source[term.at.clone()])
    }

    fn of_leaf(&self) -> impl Iterator<Item = &IdedExpr> {
        self.terms.iter().filter(|term| term.names_leaf).map(|term| &term.expression)
    }

    /// Runs the expression once over an invented leaf: what has the wrong type there has it
    /// everywhere.
    fn try_out(&self) -> Result<(), TextFault> {
        let document = leafgate_tree::Document::raw(bytes::Bytes::from_static(b"text"));
        let named = Label::new("LABEL").ok().zip(DetectorId::new("pack/name").ok());
        let findings: Vec<FindingFact> = named
            .map(|(label, detector)| FindingFact { label, detector, confidence: Confidence::High })
            .into_iter()
            .collect();
        let leaf = LeafFacts {
            place: FactPlace::Node(&document, document.root()),
            text: "text",
            kind: "text",
            value: "text",
            role: "user",
            section: "user",
            tool: "tool",
            arguments: FactArguments::Unknown,
            key: "key",
            findings: &findings,
        };
        let (message, hint) = match run(&self.whole, &RequestFacts::default(), Some(leaf)) {
            Err(ConditionError::NotBool) => (
                "the expression must give true or false".to_owned(),
                "ask something: `leaf.text.contains(\"x\")`, `request.tools > 2`",
            ),
            Err(ConditionError::Failed(why)) if why.starts_with(WRONG_TYPES) => (
                why,
                "texts go with texts, numbers with numbers: `leaf.kind == \"text\"`, `leaf.text.size() > 9`",
            ),
            _ => return Ok(()),
        };
        Err(TextFault::new(0..self.source.len(), message, hint))
    }

    /// Evaluates the terms that name no leaf.
    pub(crate) fn for_request(&self, request: &RequestFacts<'_>) -> ForRequest {
        match self.unmet_by_request(request) {
            Some(Unmet::Term(_)) => ForRequest::Never,
            Some(Unmet::Failed(_)) => ForRequest::Whole,
            None if self.is_of_request() => ForRequest::Always,
            None => ForRequest::LeafTerms,
        }
    }

    /// Evaluates what is left for one leaf.
    pub(crate) fn for_leaf(
        &self,
        decided: ForRequest,
        request: &RequestFacts<'_>,
        leaf: LeafFacts<'_>,
    ) -> Result<bool, ConditionError> {
        match decided {
            ForRequest::Never => Ok(false),
            ForRequest::Always => Ok(true),
            ForRequest::Whole => run(&self.whole, request, Some(leaf)),
            ForRequest::LeafTerms => match self.unmet_by(&[true], request, Some(leaf)) {
                None => Ok(true),
                Some(Unmet::Term(_)) => Ok(false),
                Some(Unmet::Failed(error)) => Err(error),
            },
        }
    }

    /// Evaluates an expression that names no leaf.
    pub(crate) fn of_request(&self, request: &RequestFacts<'_>) -> Result<bool, ConditionError> {
        run(&self.whole, request, None)
    }

    /// Returns literals of which a leaf's text holds one wherever the terms that name a leaf are
    /// not false; `None` where no literals decide that.
    pub(crate) fn required(&self) -> Option<Required> {
        required::by_terms(self.of_leaf())
    }

    /// Returns true where some texts are spared because of something that they hold.
    pub(crate) fn spares_texts(&self) -> bool {
        self.of_leaf().any(negates_text)
    }

    /// Returns true where the expression may ask for the estimate of tokens.
    pub(crate) fn asks_for_tokens(&self) -> bool {
        self.asks_for_tokens
    }

    /// Returns true where the expression names no leaf.
    pub(crate) fn is_of_request(&self) -> bool {
        self.of_leaf().next().is_none()
    }
}

/// Returns every name and function that expressions may use.
#[cfg(test)]
pub(crate) fn names() -> Vec<String> {
    let below = |object: &'static str, fields: facts::Fields| {
        fields.iter().map(move |(field, _)| format!("{object}{field}"))
    };
    below("request.", facts::REQUEST_FIELDS)
        .chain(below("leaf.", facts::LEAF_FIELDS))
        .chain(below("", facts::FINDING_FIELDS))
        .chain(check::FUNCTIONS.iter().map(ToString::to_string))
        .collect()
}

fn run(
    expression: &IdedExpr,
    request: &RequestFacts<'_>,
    leaf: Option<LeafFacts<'_>>,
) -> Result<bool, ConditionError> {
    #[cfg(test)]
    evaluated::add();
    let budget = Budget::for_text(leaf.map_or(0, |leaf| leaf.text.len()));
    let facts = Facts::new(request, leaf, &budget);
    let mut context = Context::with_env(Arc::clone(&ENVIRONMENT));
    context.set_variable_resolver(&facts);
    let value = Value::resolve_val(expression, &context).map_err(|error| told_by_kind(&error))?;
    value.downcast_ref::<CelBool>().map(|answer| *answer.inner()).ok_or(ConditionError::NotBool)
}

/// Counts the terms that are evaluated, for tests.
#[cfg(test)]
pub(crate) mod evaluated {
    use std::cell::Cell;

    thread_local! {
        static TERMS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn add() {
        TERMS.set(TERMS.get() + 1);
    }

    /// Returns what was counted since it was last asked.
    pub(crate) fn take() -> usize {
        TERMS.take()
    }
}

const WRONG_TYPES: &str = "types do not fit";

/// The interpreter's error without the values that it may quote.
fn told_by_kind(error: &ExecutionError) -> ConditionError {
    ConditionError::Failed(match error {
        ExecutionError::FunctionError { function, .. } if function == OVER_BUDGET => {
            return ConditionError::OverBudget;
        }
        ExecutionError::FunctionError { function, .. } => format!("`{function}` failed"),
        ExecutionError::NoSuchOverload(overload) => {
            // The interpreter writes `_>_` for an operator between two values.
            let types: Vec<&str> = overload.argument_types().iter().map(|name| plain_type(name)).collect();
            format!("{WRONG_TYPES}: `{}` of {}", overload.function().trim_matches('_'), types.join(" and "))
        }
        ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnexpectedType { .. }
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::UnsupportedTargetType { .. } => WRONG_TYPES.to_owned(),
        ExecutionError::IndexOutOfBounds(_) => "an index is out of bounds".to_owned(),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "division by zero".to_owned()
        }
        ExecutionError::Overflow(..) => "a number overflows".to_owned(),
        ExecutionError::NoSuchKey(_) => "a name is missing".to_owned(),
        _ => "the expression cannot be evaluated".to_owned(),
    })
}

/// A type in the words of those who write rules.
fn plain_type(name: &str) -> &str {
    match name {
        "string" => "a text",
        "int" | "uint" | "double" => "a number",
        "bool" => "true or false",
        "list" => "a list",
        "map" => "a table",
        other => other,
    }
}

/// Words of other languages, and what CEL writes for them.
const FOREIGN: &[(&str, &str)] =
    &[("and", "&&"), ("or", "||"), ("not", "!"), ("AND", "&&"), ("OR", "||"), ("NOT", "!")];

/// A text, which is passed over; a word; what ends in `=`, which is one sign with it; and a lone `=`.
static WORDS_AND_SIGNS: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#""[^"]*"?|'[^']*'?|(?<word>[A-Za-z0-9_.]+)|[=!<>]=+|(?<assigns>=)"#;
    Regex::new(pattern).expect("a test finds words with it")
});

/// The first word of another language outside of texts, or a lone `=`.
fn foreign(source: &str) -> Option<TextFault> {
    WORDS_AND_SIGNS.captures_iter(source).find_map(|found| {
        if let Some(assigns) = found.name("assigns") {
            let message = "CEL assigns nothing with `=`";
            return Some(TextFault::new(assigns.range(), message, "`==` compares"));
        }
        let word = found.name("word")?;
        let (foreign, cel) = FOREIGN.iter().find(|(foreign, _)| *foreign == word.as_str())?;
        let (message, hint) = (format!("CEL has no `{foreign}`"), format!("write `{cel}`"));
        Some(TextFault::new(word.range(), message, hint))
    })
}

fn syntax_faults(source: &str, errors: &cel::ParseErrors) -> Vec<TextFault> {
    if let Some(fault) = foreign(source) {
        return vec![fault];
    }
    let fault = |error: &cel::ParseError| {
        let at = offset_of_position(source, error.pos);
        let message = error.msg.lines().next().unwrap_or("cannot be read").to_owned();
        let hint = match at >= source.len() {
            true => "it ends too early: close what is open",
            false => "conditions are CEL: `leaf.text.contains(\"x\") && request.tools > 2`",
        };
        TextFault::new(at..at + 1, format!("not CEL: {message}"), hint)
    };
    // The parser recovers and complains again; the first complaint is the one that helps.
    errors.errors.first().map(fault).into_iter().collect()
}

fn offset_of_position(source: &str, (line, column): (isize, isize)) -> usize {
    let line = usize::try_from(line - 1).unwrap_or(0);
    let start: usize = source.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = &source[start.min(source.len())..];
    let column = usize::try_from(column - 1).unwrap_or(0);
    start + rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at)
}

/// The interpreter counts bytes, and its ranges include their last one.
fn span_of(source: &str, offsets: Option<(u32, u32)>) -> Range<usize> {
    let Some((start, stop)) = offsets else { return 0..source.len() };
    source.floor_char_boundary(start as usize)..source.ceil_char_boundary(stop as usize + 1)
}

thread_local! {
    static REGEXES: RefCell<HashMap<String, Regex>> = RefCell::default();
}

/// `matches(text, pattern)`, searched anywhere in the text. The interpreter's own compiles the
/// pattern for every leaf.
fn matches<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let text = |at: usize| arguments.get(at).and_then(|value| value.downcast_ref::<CelString<'_>>());
    let (Some(subject), Some(pattern)) = (text(0), text(1)) else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    REGEXES.with_borrow_mut(|cache| {
        if !cache.contains_key(pattern.inner()) {
            if cache.len() >= MAX_CACHED_REGEXES {
                cache.clear();
            }
            let regex = Regex::new(pattern.inner())
                .map_err(|_| ExecutionError::function_error("matches", "not a regular expression"))?;
            cache.insert(pattern.inner().to_owned(), regex);
        }
        Ok(CowVal::owned(CelBool::from(cache[pattern.inner()].is_match(subject.inner()))))
    })
}
