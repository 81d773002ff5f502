//! The terms of an expression, which stand between its outermost `&&`, and what each asks of a fact.

use std::ops::Range;

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};

use super::ENVIRONMENT;

/// One term.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    /// Its place in the source.
    pub(crate) at: Range<usize>,
    pub(super) expression: IdedExpr,
    pub(super) names_leaf: bool,
}

/// What a comparison leaves of a fact.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// A number from here to there.
    Between(i128, i128),
    Text(String),
}

/// Splits an expression. `offset_of` returns the place of a node.
pub(super) fn split(source: &str, whole: &IdedExpr, offset_of: &dyn Fn(u64) -> Range<usize>) -> Vec<Term> {
    let (mut terms, mut ends) = (Vec::new(), Vec::new());
    conjuncts(whole, &mut terms, &mut ends);
    let places = ends.iter().map(|&id| offset_of(id)).chain(std::iter::once(source.len()..source.len()));
    let mut from = 0;
    let place = |(expression, end): (&IdedExpr, Range<usize>)| {
        let written = without_lone_brackets(source[from..end.start.max(from)].trim());
        from = end.end;
        let start = written.as_ptr() as usize - source.as_ptr() as usize;
        Term {
            at: start..start + written.len(),
            expression: expression.clone(),
            names_leaf: expression.references().has_variable("leaf"),
        }
    };
    terms.into_iter().zip(places).map(place).collect()
}

/// Collects the terms in their order, and the nodes of the `&&` behind each but the last.
fn conjuncts<'e>(expression: &'e IdedExpr, terms: &mut Vec<&'e IdedExpr>, ends: &mut Vec<u64>) {
    match &expression.expr {
        Expr::Call(call) if call.func_name == operators::LOGICAL_AND && call.target.is_none() => {
            for (place, argument) in call.args.iter().enumerate() {
                ends.extend((place > 0).then_some(expression.id));
                conjuncts(argument, terms, ends);
            }
        }
        _ => terms.push(expression),
    }
}

/// Takes away the brackets that a term shares with others.
fn without_lone_brackets(mut written: &str) -> &str {
    loop {
        let (open, closed) = (written.matches('(').count(), written.matches(')').count());
        // A bracket in a text has no partner either.
        if open == closed || ENVIRONMENT.compile(written).is_ok() {
            return written;
        }
        let inner = if open > closed { written.strip_prefix('(') } else { written.strip_suffix(')') };
        let Some(inner) = inner else { return written };
        written = inner.trim();
    }
}

impl Term {
    /// Returns its value where it is `true` or `false`.
    pub(crate) fn constant(&self) -> Option<bool> {
        match &self.expression.expr {
            Expr::Literal(LiteralValue::Boolean(value)) => Some(*value.inner()),
            _ => None,
        }
    }

    /// Returns the fact that it compares with a literal, in whichever order, and what it leaves of it.
    pub(crate) fn comparison(&self) -> Option<(String, Left)> {
        let Expr::Call(call) = &self.expression.expr else { return None };
        let [left, right] = call.args.as_slice() else { return None };
        let (fact, literal, is_turned) = match (fact(left), fact(right)) {
            (Some(fact), None) => (fact, right, false),
            (None, Some(fact)) => (fact, left, true),
            _ => return None,
        };
        let left = match &literal.expr {
            Expr::Literal(LiteralValue::Int(number)) => {
                let number = i128::from(*number.inner());
                match (call.func_name.as_str(), is_turned) {
                    (operators::EQUALS, _) => Left::Between(number, number),
                    (operators::LESS, false) | (operators::GREATER, true) => {
                        Left::Between(i128::MIN, number - 1)
                    }
                    (operators::LESS_EQUALS, false) | (operators::GREATER_EQUALS, true) => {
                        Left::Between(i128::MIN, number)
                    }
                    (operators::GREATER, false) | (operators::LESS, true) => {
                        Left::Between(number + 1, i128::MAX)
                    }
                    (operators::GREATER_EQUALS, false) | (operators::LESS_EQUALS, true) => {
                        Left::Between(number, i128::MAX)
                    }
                    _ => return None,
                }
            }
            Expr::Literal(LiteralValue::String(text)) if call.func_name == operators::EQUALS => {
                Left::Text(text.inner().to_owned())
            }
            _ => return None,
        };
        Some((fact, left))
    }
}

/// Returns the name of a fact, or of its size, as it is written.
fn fact(expression: &IdedExpr) -> Option<String> {
    match &expression.expr {
        Expr::Select(_) => {
            let (of, field) = member_of(expression)?;
            matches!(of, "leaf" | "request").then(|| format!("{of}.{field}"))
        }
        Expr::Call(call) if call.func_name == "size" => {
            Some(format!("{}.size()", fact(operands(call).next()?)?))
        }
        _ => None,
    }
}

/// The member that is the text of the leaf.
pub(super) const TEXT: (&str, &str) = ("leaf", "text");

/// Returns the variable and its member that an expression is: `leaf` and `text` for `leaf.text`.
pub(super) fn member_of(expression: &IdedExpr) -> Option<(&str, &str)> {
    let Expr::Select(select) = &expression.expr else { return None };
    let Expr::Ident(variable) = &select.operand.expr else { return None };
    Some((variable, &select.field))
}

/// Returns what a call is about: what it is a member of, if it is one, and its arguments.
pub(super) fn operands(call: &CallExpr) -> impl Iterator<Item = &IdedExpr> {
    call.target.iter().map(|target| &**target).chain(&call.args)
}

impl Left {
    /// Returns what two comparisons leave of one fact; `None` where that is nothing.
    pub(crate) fn and(self, other: Left) -> Option<Left> {
        match (self, other) {
            (Left::Between(low, high), Left::Between(from, to)) => {
                let (low, high) = (low.max(from), high.min(to));
                (low <= high).then_some(Left::Between(low, high))
            }
            (Left::Text(one), Left::Text(other)) => (one == other).then_some(Left::Text(one)),
            // Of two types: the types do not fit, which is told elsewhere.
            (one, _) => Some(one),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Condition;

    fn terms(source: &str) -> Vec<String> {
        let condition =
            Condition::compile(source, true).unwrap_or_else(|faults| panic!("{source}: {faults:?}"));
        condition.terms().map(|term| source[term.at.clone()].to_owned()).collect()
    }

    #[test]
    fn terms_are_told_as_they_are_written() {
        let (a, b, c) = ("leaf.key == \"a && \\\" (b\"", "request.tools > 2", "(leaf.text == 'ü)' || true)");
        assert_eq!(terms(&format!("{a} && {b} && {c}")), [a, b, c]);
        assert_eq!(terms(&format!("( {b} && ({a} && {c}) ) && {b}")), [b, a, c, b]);
        assert_eq!(terms("leaf.text.matches(r'\\(') && true"), ["leaf.text.matches(r'\\(')", "true"]);
        assert_eq!(terms("leaf.key == '''it\'s && '''&&true"), ["leaf.key == '''it\'s && '''", "true"]);
    }
}
