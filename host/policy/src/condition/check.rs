//! Checks a `when` expression while a policy loads: its names, its functions, its comparisons, its
//! depth.
//!
//! The interpreter would report most of this at run time, for the first request that gets there. A
//! guard with a typo must not wait for that.

use std::ops::Range;

use cel::common::ast::{EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue, operators};
use leafgate_diagnostic::{TextFault, hint_for};
use regex::Regex;

use super::facts::{FINDING_FIELDS, Fields, LEAF_FIELDS, REQUEST_FIELDS, TOKENS, Values};
use super::terms::{TEXT, member_of, operands};
use crate::bounded::bad_regex;

/// Functions beside the operators. The interpreter's other extensions can grow text or lists and
/// are left out.
pub(super) const FUNCTIONS: &[&str] = &[
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "size",
    "lowerAscii",
    "upperAscii",
    "trim",
    "int",
    "uint",
    "double",
    "string",
    "bool",
    "type",
    "dyn",
];

/// Comprehensions inside comprehensions cost the product of their lists.
const MAX_NESTED_LOOPS: usize = 1;

/// A variable that a comprehension binds.
#[derive(Clone, Copy)]
struct CheckScope<'e> {
    name: &'e str,
    /// Whether it is one of `leaf.findings`: its members are checked too.
    is_finding: bool,
}

/// Literals of an expression that mean something beside other rules.
#[derive(Debug, Default)]
pub(crate) struct Literals {
    /// Patterns of `matches`.
    pub(crate) patterns: Vec<String>,
    /// Labels with which that of a finding is compared, and where they stand.
    pub(crate) labels: Vec<(String, Range<usize>)>,
}

/// Walks an expression and collects its faults.
pub(crate) struct Checker<'e> {
    source: &'e str,
    pub(crate) offset_of: &'e dyn Fn(u64) -> Range<usize>,
    pub(crate) faults: Vec<TextFault>,
    /// True where `leaf.findings` exists in the phase of the rule.
    pub(crate) findings: bool,
    /// Whether the expression may ask for the estimate of tokens.
    pub(crate) asks_for_tokens: bool,
    pub(crate) literals: Literals,
    scopes: Vec<CheckScope<'e>>,
    loops: usize,
}

impl<'e> Checker<'e> {
    pub(crate) fn new(source: &'e str, offset_of: &'e dyn Fn(u64) -> Range<usize>, findings: bool) -> Self {
        Checker {
            source,
            offset_of,
            faults: Vec::new(),
            findings,
            asks_for_tokens: false,
            literals: Literals::default(),
            scopes: Vec::new(),
            loops: 0,
        }
    }

    pub(crate) fn check(&mut self, expression: &'e IdedExpr) {
        match &expression.expr {
            Expr::Unspecified | Expr::Literal(_) => {}
            Expr::Ident(name) => {
                self.variable(expression.id, name);
                // Whatever is done with it may compute the name of a fact.
                self.asks_for_tokens |= name == "request";
            }
            Expr::Select(select) => {
                self.member(expression.id, &select.operand, &select.field);
                match &select.operand.expr {
                    Expr::Ident(name) => {
                        self.variable(select.operand.id, name);
                        self.asks_for_tokens |= name == "request" && select.field == TOKENS;
                    }
                    _ => self.check(&select.operand),
                }
            }
            Expr::Call(call) => {
                self.function(expression.id, &call.func_name);
                self.comparison(&call.func_name, &call.args);
                self.pattern(&call.func_name, call.args.last());
                self.index(&call.func_name, &call.args);
                operands(call).for_each(|operand| self.check(operand));
            }
            Expr::List(list) => list.elements.iter().for_each(|element| self.check(element)),
            Expr::Map(map) => map.entries.iter().for_each(|entry| self.entry(entry)),
            Expr::Struct(_) => {
                self.fault(
                    expression.id,
                    "messages cannot be built here",
                    "compare texts, numbers and lists",
                );
            }
            Expr::Comprehension(comprehension) => {
                self.check(&comprehension.iter_range);
                self.check(&comprehension.accu_init);
                self.loops += 1;
                if self.loops > MAX_NESTED_LOOPS {
                    let hint = "its cost would be the product of both lists; split the rule in two";
                    self.fault(expression.id, "a loop inside a loop", hint);
                }
                let depth = self.scopes.len();
                let is_finding = is_findings(&comprehension.iter_range);
                self.scopes.push(CheckScope { name: &comprehension.iter_var, is_finding });
                let others = comprehension.iter_var2.as_deref().into_iter().chain([&*comprehension.accu_var]);
                self.scopes.extend(others.map(|name| CheckScope { name, is_finding: false }));
                self.check(&comprehension.loop_cond);
                self.check(&comprehension.loop_step);
                self.check(&comprehension.result);
                self.scopes.truncate(depth);
                self.loops -= 1;
            }
        }
    }

    fn entry(&mut self, entry: &'e IdedEntryExpr) {
        match &entry.expr {
            EntryExpr::MapEntry(entry) => {
                self.check(&entry.key);
                self.check(&entry.value);
            }
            EntryExpr::StructField(field) => self.check(&field.value),
        }
    }

    fn variable(&mut self, id: u64, name: &str) {
        let bound = self.scopes.iter().any(|scope| scope.name == name);
        if !bound && !matches!(name, "leaf" | "request") && !name.starts_with('@') {
            let hint = hint_for(name, &["leaf", "request"]);
            self.fault(id, format!("unknown name `{name}`"), hint);
        }
    }

    fn member(&mut self, id: u64, operand: &IdedExpr, field: &str) {
        let Expr::Ident(object) = &operand.expr else { return };
        let Some(fields) = self.fields(object) else { return };
        if !fields.iter().any(|(name, _)| *name == field) {
            let known: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
            let message = format!("`{object}` has no `{field}`");
            self.fault_at(self.name_near(id, field), message, hint_for(field, &known));
        } else if object == "leaf" && field == "findings" && !self.findings {
            let hint = "rules that find run first: use `leaf.findings` in a rule of another action";
            self.fault_at(self.name_near(id, field), "a redact rule cannot ask what was found", hint);
        }
    }

    /// Returns what an object has; `None` where nobody can tell.
    fn fields(&self, object: &str) -> Option<Fields> {
        match self.scopes.iter().rev().find(|scope| scope.name == object) {
            Some(scope) => scope.is_finding.then_some(FINDING_FIELDS),
            None if object == "leaf" => Some(LEAF_FIELDS),
            None if object == "request" => Some(REQUEST_FIELDS),
            None => None,
        }
    }

    /// Checks `request["model"]` as `request.model`.
    fn index(&mut self, function: &str, arguments: &[IdedExpr]) {
        if let ("_[_]", [operand, name]) = (function, arguments)
            && let Expr::Literal(LiteralValue::String(field)) = &name.expr
        {
            self.member(name.id, operand, field.inner());
        }
    }

    fn function(&mut self, id: u64, name: &str) {
        let operator = name.starts_with(|c: char| !c.is_ascii_alphabetic());
        if !operator && !FUNCTIONS.contains(&name) {
            self.fault_at(
                self.name_near(id, name),
                format!("unknown function `{name}`"),
                hint_for(name, FUNCTIONS),
            );
        }
    }

    /// A comparison of a fact with a literal that it can never equal makes a rule that never acts,
    /// or one that always does.
    fn comparison(&mut self, function: &str, arguments: &'e [IdedExpr]) {
        let [left, right] = arguments else { return };
        match function {
            // Every fact may be compared with the empty text, to see if it is there at all.
            operators::NOT_EQUALS if is_empty_text(left) || is_empty_text(right) => {}
            operators::EQUALS | operators::NOT_EQUALS => {
                self.compared(left, right);
                self.compared(right, left);
            }
            operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS => {
                self.measured(left, right);
                self.measured(right, left);
            }
            operators::IN => {
                if let Expr::List(list) = &right.expr {
                    list.elements.iter().for_each(|element| self.compared(left, element));
                }
            }
            _ => {}
        }
    }

    fn compared(&mut self, fact: &IdedExpr, other: &IdedExpr) {
        let (Some((name, values)), Expr::Literal(literal)) = (self.fact(fact), &other.expr) else { return };
        if let (true, LiteralValue::String(label)) = (name.ends_with(".label"), literal) {
            let at = (self.offset_of)(other.id);
            self.literals.labels.push((label.inner().to_owned(), at.start + 1..at.end - 1));
        }
        let message = match (values, literal) {
            (Values::Open, LiteralValue::String(_))
            | (Values::Truth, LiteralValue::Boolean(_))
            | (Values::Number, LiteralValue::Int(_)) => return,
            (Values::Closed(known), LiteralValue::String(word)) if known.contains(&word.inner()) => return,
            (Values::Closed(known), LiteralValue::String(word)) => {
                let word = word.inner();
                let hint = hint_for(word, known);
                return self.fault(other.id, format!("`{name}` is never `{word}`"), hint);
            }
            (Values::Truth, _) => "true or false, and this is neither",
            (Values::Number, _) => "a whole number, and this is none",
            (Values::Open | Values::Closed(_) | Values::List, _) => "a text, and this is none",
        };
        let hint = match values {
            Values::Truth => format!("write `{name}` or `!{name}`"),
            Values::Number => format!("compare it with a whole number: `{name} > 100`"),
            Values::Open | Values::Closed(_) | Values::List => {
                format!("compare it with a text: `{name} == \"…\"`")
            }
        };
        self.fault(other.id, format!("`{name}` is {message}"), hint);
    }

    /// Only numbers are more or less than something.
    fn measured(&mut self, fact: &IdedExpr, other: &IdedExpr) {
        if let Some((_, Values::Number)) = self.fact(fact) {
            self.compared(fact, other);
        }
    }

    /// The name of a fact, and what it can be.
    fn fact(&self, expression: &IdedExpr) -> Option<(String, Values)> {
        let (object, field) = member_of(expression)?;
        let (name, values) = self.fields(object)?.iter().find(|(name, _)| *name == field)?;
        (!matches!(values, Values::List)).then(|| (format!("{object}.{name}"), *values))
    }

    /// `matches` takes a literal pattern: it can be checked now, and is compiled once instead of
    /// for every leaf.
    fn pattern(&mut self, function: &str, argument: Option<&IdedExpr>) {
        let Some(argument) = argument.filter(|_| function == "matches") else { return };
        let Expr::Literal(LiteralValue::String(pattern)) = &argument.expr else {
            let hint = "write the pattern into the expression: `leaf.text.matches(\"…\")`";
            return self.fault(argument.id, "the pattern of `matches` must be a literal text", hint);
        };
        self.literals.patterns.push(pattern.inner().to_owned());
        if let Err(error) = Regex::new(pattern.inner()) {
            self.fault(argument.id, bad_regex(&error), "the syntax is that of Rust's `regex`");
        }
    }

    /// Returns the range of a member's or a function's name: the interpreter places the one at its
    /// dot, the other at its parenthesis.
    fn name_near(&self, id: u64, name: &str) -> Range<usize> {
        let at = (self.offset_of)(id);
        let start = match self.source.as_bytes().get(at.start) {
            Some(b'(') => at.start.saturating_sub(name.len()),
            _ => at.start + self.source.get(at.start..).and_then(|rest| rest.find(name)).unwrap_or(0),
        };
        start..start + name.len()
    }

    fn fault_at(&mut self, at: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.faults.push(TextFault::new(at, message, hint));
    }

    fn fault(&mut self, id: u64, message: impl Into<String>, hint: impl Into<String>) {
        self.fault_at((self.offset_of)(id), message, hint);
    }
}

fn is_empty_text(expression: &IdedExpr) -> bool {
    matches!(&expression.expr, Expr::Literal(LiteralValue::String(text)) if text.inner().is_empty())
}

fn is_findings(expression: &IdedExpr) -> bool {
    matches!(&expression.expr, Expr::Select(select) if select.field == "findings")
}

/// Returns true where an expression is false for some texts because of something that they hold.
pub(crate) fn negates_text(expression: &IdedExpr) -> bool {
    let Expr::Call(call) = &expression.expr else { return false };
    match call.func_name.as_str() {
        operators::LOGICAL_NOT | operators::NOT_EQUALS => operands(call).any(reads_text),
        _ => operands(call).any(negates_text),
    }
}

fn reads_text(expression: &IdedExpr) -> bool {
    member_of(expression) == Some(TEXT)
        || matches!(&expression.expr, Expr::Call(call) if operands(call).any(reads_text))
}
