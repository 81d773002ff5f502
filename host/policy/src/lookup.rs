//! What rules look for, put together once for all rules of a policy, so that a request pays for
//! what is in it and not for how many rules there are.

use std::collections::{BTreeMap, HashMap};

use leafgate_glob::Glob;

use crate::index::RuleIndex;
use crate::literal::{Literal, Required, of_pattern};
use crate::needles::{Needle, Needles};
use crate::paths::SelectorPaths;
use crate::request::Reach;
use crate::rule::{Action, Edit, Phase, Rewrite, Rule};
use crate::said::Asked;
use crate::tool_names;

/// The rules of a policy by what they look for.
#[derive(Debug)]
pub(crate) struct Lookup {
    /// By phase, in file order; what normalises tools is the last of its phase.
    phases: [Vec<RuleIndex>; Phase::ALL.len()],
    /// The path patterns of all rules.
    pub(crate) paths: SelectorPaths,
    /// What all rules ask about a request by name.
    pub(crate) asked: Asked,
    tools: Tools,
    /// The literals of all rules.
    pub(crate) needles: Needles,
    /// By rule.
    wanted: Vec<Wanted>,
}

/// What a text must hold for a rule to be about it; `None` where no literals decide that. A text
/// needs one of them.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// For its condition to be anything but false.
    pub(crate) condition: Option<Box<[Needle]>>,
    /// For its pattern to match.
    pub(crate) pattern: Option<Box<[Needle]>>,
}

/// The rules that name tools.
#[derive(Debug, Default)]
struct Tools {
    /// By the name in lower case.
    names: HashMap<String, Vec<RuleIndex>>,
    globs: Vec<(RuleIndex, Glob)>,
    restricting: Vec<RuleIndex>,
}

impl Lookup {
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let numbered = || rules.iter().enumerate().map(|(index, rule)| (RuleIndex::new(index), rule));
        let mut phases: [Vec<RuleIndex>; Phase::ALL.len()] = Default::default();
        let mut tools = Tools::default();
        for (index, rule) in numbered() {
            phases[rule.action.phase() as usize].push(index);
            let of = &rule.selector.tools;
            of.any.iter().for_each(|tool| tools.add(index, tool));
            if of.any.is_empty() && !of.not.is_empty() {
                tools.globs.push((index, Glob::new("*")));
            }
            if !of.is_everything() && rule.selector.reach == Reach::Restricts {
                tools.restricting.push(index);
            }
        }
        // The list of tools is put in anew, and what would change it later would change nothing.
        let last =
            |index: &RuleIndex| matches!(rules[index.get()].action, Action::Edit(Edit::NormaliseTools));
        phases[Phase::Rewrite as usize].sort_by_key(last);
        let mut literals = LookupLiterals::default();
        let wanted = rules.iter().map(|rule| literals.of(rule)).collect();
        Lookup {
            phases,
            paths: SelectorPaths::new(rules.iter().map(|rule| &rule.selector)),
            asked: Asked {
                tokens: rules.iter().any(Rule::asks_for_tokens),
                arguments: rules
                    .iter()
                    .any(|rule| rule.when.as_ref().is_some_and(|when| when.source.contains("arguments"))),
                ..Asked::of_requests(rules.iter().map(|rule| &rule.selector.request))
            },
            tools,
            needles: Needles::new(literals.all),
            wanted,
        }
    }

    /// The rules of a phase, in file order.
    pub(crate) fn of_phase(&self, phase: Phase) -> &[RuleIndex] {
        self.phases.get(phase as usize).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn wanted(&self, rule: RuleIndex) -> &Wanted {
        &self.wanted[rule.get()]
    }

    /// Returns the rules that name a tool, some of them more than once, and some that leave it out.
    pub(crate) fn of_tool(&self, tool: &str) -> impl Iterator<Item = RuleIndex> {
        let named = self.tools.names.get(&tool.to_lowercase()).into_iter().flatten().copied();
        let globs = self.tools.globs.iter().filter(move |(_, glob)| tool_names::names(glob, tool));
        named.chain(globs.map(|&(rule, _)| rule))
    }

    /// Returns the rules that name tools and restrict: what may be of any tool is theirs, too.
    pub(crate) fn of_uncertain_tools(&self) -> &[RuleIndex] {
        &self.tools.restricting
    }
}

impl Tools {
    fn add(&mut self, rule: RuleIndex, tool: &Glob) {
        match tool.name() {
            Some(_) if tool_names::is_shell_word(tool) => {
                for name in tool_names::shells() {
                    self.names.entry(name.to_owned()).or_default().push(rule);
                }
            }
            Some(name) => self.names.entry(name.to_lowercase()).or_default().push(rule),
            None => self.globs.push((rule, tool.clone())),
        }
    }
}

/// The distinct literals of all rules.
#[derive(Default)]
struct LookupLiterals {
    all: Vec<Literal>,
    numbers: BTreeMap<Literal, Needle>,
}

impl LookupLiterals {
    fn of(&mut self, rule: &Rule) -> Wanted {
        let condition = rule.when.as_ref().and_then(|when| when.required());
        let pattern = match &rule.action {
            Action::Edit(Edit::Rewrite(Rewrite::Replace { pattern, .. })) => {
                of_pattern(pattern.as_str(), false)
            }
            Action::Edit(_)
            | Action::Classify(_)
            | Action::Redact(_)
            | Action::Pin(_)
            | Action::Decide(_) => None,
        };
        let mut numbered = |required: Required| required.into_iter().map(|it| self.number(it)).collect();
        Wanted { condition: condition.map(&mut numbered), pattern: pattern.map(&mut numbered) }
    }

    fn number(&mut self, literal: Literal) -> Needle {
        *self.numbers.entry(literal).or_insert_with_key(|literal| {
            self.all.push(literal.clone());
            Needle::new(self.all.len() - 1)
        })
    }
}
