//! Rules about answers: what they may do there, and how they read a stream.
//!
//! A stream passes while it comes, so what a rule decides about it must be decided by a bounded
//! stretch of text. A rule that needs more waits for the whole answer, and has to say so.

use std::ops::Range;

use leafgate_diagnostic::keys::Table;
use regex_syntax::hir::{Class, Hir, HirKind};
use toml::Spanned;

use super::compile::Compiler;
use super::detectors::{Engines, OF_MANY_LINES, ONE_LINE};
use super::raw::{RawRule, said};
use crate::rule::{
    Action, Decide, Edit, On, OnError, OnUnredactable, Restore, Rewrite, Rule, Streaming, With,
};

/// Bytes of a text that stay behind where a rule does not say: longer than what people write with
/// blanks in it, such as a card number.
const LOOK_BEHIND: usize = 256;

/// What stands in the place of a value where a rule does not say. What an answer holds is not put
/// back later: a token would be a riddle.
pub(super) fn default_replacement(raw: &RawRule) -> With {
    if said(&raw.on) == Some(On::Response) { With::Mask } else { With::Token }
}

impl Compiler<'_, '_> {
    /// Reads `stream` and `look_behind`, whatever else is wrong with the rule.
    pub(super) fn streamed(&mut self, raw: &RawRule) -> Streaming {
        if let (Some(written), true) = (&raw.look_behind, raw.stream.is_some()) {
            let hint = "take one of the two out";
            let message = "a rule that waits for the whole answer looks behind nothing";
            self.complaints.error(written.span(), message, hint);
        }
        match raw.stream.is_some() || raw.broken.contains("stream") {
            true => Streaming::Buffer,
            false => Streaming::LookBehind(said(&raw.look_behind).unwrap_or(LOOK_BEHIND)),
        }
    }

    /// Checks a rule about answers, and returns how it reads a stream.
    pub(super) fn streaming(
        &mut self,
        rule: &Rule,
        raw: &RawRule,
        streamed: Streaming,
        header: Range<usize>,
    ) -> Streaming {
        match rule.on {
            On::Request => Streaming::Buffer,
            On::ToolCall => {
                self.of_the_answer(rule, raw);
                if !matches!(rule.action, Action::Decide(Decide::Pause(_) | Decide::Block)) {
                    let span = raw.action.as_ref().map_or(header, Spanned::span);
                    let message = format!("`{}` does not act on tool calls", rule.action_name.name());
                    self.complaints.error(span, message, "`on = \"tool-call\"` takes `pause` and `block`");
                }
                Streaming::Buffer
            }
            On::Response => {
                self.of_the_answer(rule, raw);
                self.acts_on_responses(rule, raw, &header);
                if let Streaming::LookBehind(bytes) = streamed
                    && let Some(why) = needs_all(rule, bytes, self.engines)
                {
                    let hint = "say `stream = \"buffer\"` to have a stream wait for its end";
                    self.complaints.error(header, format!("{why}, so the rule cannot run on a stream"), hint);
                }
                streamed
            }
        }
    }

    /// An answer is read in one form, and has no headers and options of a request.
    fn of_the_answer(&mut self, rule: &Rule, raw: &RawRule) {
        let Some(matches) = raw.matches.as_ref().map(Spanned::get_ref) else { return };
        for field in ["latest", "format", "header", "option"] {
            let Some(span) = matches.place(field) else { continue };
            let message = format!("`{field}` chooses requests, and the rule is `on = \"{}\"`", rule.on);
            let hint = "choose by kind, section, tool, path, model, agent, session, upstream, endpoint, stream or subagent";
            self.complaints.error(span, message, hint);
        }
    }

    fn acts_on_responses(&mut self, rule: &Rule, raw: &RawRule, header: &Range<usize>) {
        let at = |span: Option<Range<usize>>| span.unwrap_or_else(|| header.clone());
        match &rule.action {
            Action::Redact(redact) => {
                if redact.with == With::Token && redact.restore == Restore::On {
                    let hint = "say `with = \"mask\"`, or `restore = \"off\"`";
                    let message =
                        "the answer's tokens are restored after its rules, so this one would do nothing";
                    self.complaints.error(at(raw.with.as_ref().map(Spanned::span)), message, hint);
                }
                if raw.on_unredactable.is_some() && redact.on_unredactable == OnUnredactable::Pause {
                    let span = at(raw.on_unredactable.as_ref().map(Spanned::span));
                    self.never_waits(span, "on_unredactable");
                }
            }
            Action::Edit(Edit::Rewrite(Rewrite::Replace { .. })) | Action::Decide(Decide::Block) => {}
            Action::Classify(_)
            | Action::Pin(_)
            | Action::Edit(_)
            | Action::Decide(Decide::Pause(_) | Decide::Route(_) | Decide::Tag(_)) => {
                let span = at(raw.action.as_ref().map(Spanned::span));
                let message = format!("`{}` does not act on responses so", rule.action_name.name());
                let hint = "`on = \"response\"` takes `redact`, `rewrite` with `replace`, and `block`; \
                            a person is asked with `on = \"tool-call\"`";
                self.complaints.error(span, message, hint);
            }
        }
        if rule.on_error == OnError::Pause {
            self.never_waits(at(raw.on_error.as_ref().map(Spanned::span)), "on_error");
        }
    }

    fn never_waits(&mut self, span: Range<usize>, field: &str) {
        self.complaints.error(
            span,
            format!("`{field} = \"pause\"`: responses do not wait for people"),
            "say `block`",
        );
    }
}

/// Why a rule must see a whole text; `None` where so many bytes of one will do.
fn needs_all(rule: &Rule, bytes: usize, engines: &Engines) -> Option<String> {
    // Calls are waited for in any case.
    if rule.selector.is_of_calls() {
        return None;
    }
    if rule.when.as_ref().is_some_and(|when| !when.is_of_request()) {
        return Some("`when` asks about whole texts".to_owned());
    }
    match &rule.action {
        Action::Redact(redact) => {
            let long = engines.among(redact.engine, &OF_MANY_LINES);
            let without: Vec<String> = long.iter().map(|id| format!("\"!{id}\"")).collect();
            (!long.is_empty()).then(|| {
                format!(
                    "some of `detect` find what goes over many lines (`{ONE_LINE}`, or {}, leave it out)",
                    without.join(", ")
                )
            })
        }
        Action::Edit(Edit::Rewrite(Rewrite::Replace { pattern, .. })) => {
            let hir = regex_syntax::parse(pattern.as_str()).ok()?;
            let fits = hir.properties().maximum_len().is_some_and(|most| most <= bytes);
            match () {
                () if hir.properties().look_set().contains_anchor_haystack() => {
                    Some("the pattern asks where a text begins or ends".to_owned())
                }
                () if fits || is_unbroken(&hir) => None,
                () => Some(format!("the pattern can match more than {bytes} bytes with blanks among them")),
            }
        }
        Action::Decide(_) => Some("`block` asks about whole texts".to_owned()),
        Action::Classify(_) | Action::Pin(_) | Action::Edit(_) => None,
    }
}

/// Whether no match of a pattern holds a blank: what has none stays together in a stream.
fn is_unbroken(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(literal) => !literal.0.iter().any(u8::is_ascii_whitespace),
        HirKind::Class(Class::Unicode(class)) => {
            let blank = |range: &regex_syntax::hir::ClassUnicodeRange| {
                ['\t', '\n', '\r', ' '].iter().any(|&blank| range.start() <= blank && blank <= range.end())
            };
            !class.ranges().iter().any(blank)
        }
        HirKind::Class(Class::Bytes(_)) => false,
        HirKind::Repetition(repetition) => is_unbroken(&repetition.sub),
        HirKind::Capture(capture) => is_unbroken(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_unbroken),
    }
}
