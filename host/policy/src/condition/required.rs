//! Which literals a leaf's text must hold for a term to be anything but false.
//!
//! A term that is a conjunction is false without the literals of one side, whatever the other side
//! says or however it fails; a disjunction is false without those of both. `!` asks the same about
//! being true. That is what CEL answers, so the interpreter need not be asked.
//!
//! Only terms that cannot exhaust their budget take part: those that read the text a few times, and
//! beside it words that are short. All others are evaluated for each leaf.

use cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};

use super::terms::{TEXT, member_of, operands};
use crate::literal::{Literal, Required, better, of_pattern};

/// How often a term may read the text: half of what its budget allows for any text.
const MAX_READINGS: usize = 32;

/// Facts of a leaf, and of the request, that are a few bytes long.
const SHORT: &[&str] = &[
    "kind", "role", "section", "value", "format", "stream", "subagent", "bytes", "tokens", "messages",
    "tools",
];

/// Returns literals of which the text holds one wherever a conjunction of these terms is not false.
pub(super) fn by_terms<'e>(terms: impl Iterator<Item = &'e IdedExpr>) -> Option<Required> {
    let bounded = terms.filter(|term| readings(term).is_some_and(|count| count <= MAX_READINGS));
    bounded.map(|term| unless(term, false)).fold(None, better)
}

/// Returns literals without which the expression gives `answer`, and does not fail.
fn unless(expression: &IdedExpr, answer: bool) -> Option<Required> {
    let Expr::Call(call) = &expression.expr else {
        return match &expression.expr {
            Expr::Literal(LiteralValue::Boolean(value)) if *value.inner() == answer => Some(Required::new()),
            _ => None,
        };
    };
    match (call.func_name.as_str(), &call.target, call.args.as_slice()) {
        (operators::LOGICAL_AND, None, [left, right]) => either_or_both(left, right, answer, !answer),
        (operators::LOGICAL_OR, None, [left, right]) => either_or_both(left, right, answer, answer),
        (operators::LOGICAL_NOT, None, [operand]) => unless(operand, !answer),
        (operators::EQUALS, None, [left, right]) if !answer => equal(left, right),
        (operators::NOT_EQUALS, None, [left, right]) if answer => equal(left, right),
        (operators::IN, None, [text, list]) if !answer => one_of(text, list),
        ("contains" | "startsWith" | "endsWith", Some(text), [literal]) if !answer => {
            let any_case = is_text(text)?;
            Some(vec![Literal::new(literal_text(literal)?.as_bytes(), any_case)?])
        }
        ("matches", Some(text), [pattern]) if !answer => of_pattern(literal_text(pattern)?, is_text(text)?),
        ("matches", None, [text, pattern]) if !answer => of_pattern(literal_text(pattern)?, is_text(text)?),
        _ => None,
    }
}

/// Returns what a connective of two operands gives its `answer` without: one operand is enough
/// where it `decides`, else both must give it.
fn either_or_both(left: &IdedExpr, right: &IdedExpr, answer: bool, decides: bool) -> Option<Required> {
    let (left, right) = (unless(left, answer), unless(right, answer));
    if decides {
        return better(left, right);
    }
    let (mut both, right) = (left?, right?);
    both.extend(right);
    both.sort_unstable();
    both.dedup();
    Some(both)
}

fn equal(left: &IdedExpr, right: &IdedExpr) -> Option<Required> {
    let (any_case, text) = match (is_text(left), is_text(right)) {
        (Some(any_case), None) => (any_case, literal_text(right)?),
        (None, Some(any_case)) => (any_case, literal_text(left)?),
        _ => return None,
    };
    Some(vec![Literal::new(text.as_bytes(), any_case)?])
}

fn one_of(text: &IdedExpr, list: &IdedExpr) -> Option<Required> {
    let any_case = is_text(text)?;
    let Expr::List(list) = &list.expr else { return None };
    let literal = |element| Literal::new(literal_text(element)?.as_bytes(), any_case);
    let mut required: Required = list.elements.iter().map(literal).collect::<Option<_>>()?;
    required.sort_unstable();
    required.dedup();
    Some(required)
}

fn literal_text(expression: &IdedExpr) -> Option<&str> {
    match &expression.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

/// Returns whether an expression gives the text of the leaf in another case; `None` where it gives
/// something else. A trimmed text holds nothing that the text does not hold.
fn is_text(expression: &IdedExpr) -> Option<bool> {
    match &expression.expr {
        Expr::Select(select) if !select.test => (member_of(expression)? == TEXT).then_some(false),
        Expr::Call(call) if call.args.is_empty() => {
            let any_case = is_text(call.target.as_ref()?)?;
            match call.func_name.as_str() {
                "trim" => Some(any_case),
                "lowerAscii" | "upperAscii" => Some(true),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns how often an expression reads the text; `None` where it reads something that may be
/// long, or loops.
fn readings(expression: &IdedExpr) -> Option<usize> {
    match &expression.expr {
        Expr::Literal(_) => Some(0),
        Expr::Select(_) => match member_of(expression)? {
            TEXT => Some(1),
            ("leaf" | "request", field) => SHORT.contains(&field).then_some(0),
            _ => None,
        },
        Expr::Call(call) => operands(call).map(readings).sum(),
        Expr::List(list) => list.elements.iter().map(readings).sum(),
        Expr::Unspecified | Expr::Comprehension(_) | Expr::Ident(_) | Expr::Map(_) | Expr::Struct(_) => None,
    }
}
