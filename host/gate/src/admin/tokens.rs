//! How many tokens a turn is, and each of its sections, as it would leave.

use std::collections::{BTreeSet, HashMap};

use leafgate_admin::{EditableRequest, SectionView, TokenUse, TurnView};
use leafgate_tokenize::{Counter, ModelFacts, Tokenizer};
use leafgate_tree::Access;

/// What shows a turn, before its tokens are counted.
pub(super) trait CountedView {
    /// Counts them.
    fn count(&mut self, counter: &Counter);
}

impl CountedView for TurnView {
    fn count(&mut self, counter: &Counter) {
        let facts = counter.facts(&self.summary.model);
        self.tokens = Some(count(&mut self.sections, &self.pinned, facts, counter));
    }
}

impl CountedView for EditableRequest {
    fn count(&mut self, counter: &Counter) {
        let facts = counter.facts(&self.model);
        self.metadata.max_prompt_tokens = facts.prompt;
        self.tokens = Some(count(&mut self.sections, &self.pinned, facts, counter));
    }
}

/// Counts the tokens of sections, parents before their children, and gives what all come to.
fn count(sections: &mut [SectionView], pinned: &[String], facts: ModelFacts, counter: &Counter) -> TokenUse {
    let mut counts: Vec<u64> =
        sections.iter().map(|section| own_tokens(section, facts.tokenizer, counter)).collect();
    let places: HashMap<&str, usize> =
        sections.iter().enumerate().map(|(at, section)| (section.key.as_str(), at)).collect();
    let (pinned, mut used, mut of_pinned) = (pinned.iter().collect::<BTreeSet<_>>(), 0, 0);
    for (at, section) in sections.iter().enumerate().rev() {
        let parent = section.parent.as_deref().and_then(|parent| places.get(parent)).copied();
        if section.deleted {
            // Of what is left out, the whole counts what is in it.
            if let Some(parent) = parent.filter(|&parent| sections[parent].deleted) {
                counts[parent] += counts[at];
            }
            continue;
        }
        if pinned.contains(&section.key) {
            of_pinned += counts[at];
        }
        match parent {
            Some(parent) => counts[parent] += counts[at],
            None => used += counts[at],
        }
    }
    for (section, tokens) in sections.iter_mut().zip(counts) {
        section.token_count = Some(tokens);
        section.token_percent = (!section.deleted).then(|| percent(tokens, used));
    }
    TokenUse {
        used,
        max: facts.prompt,
        percent: facts.prompt.map(|max| percent(used, max)),
        budget: match facts.prompt {
            Some(max) => format!("{}% ({used}/{max})", percent(used, max)),
            None => "awaiting data".to_owned(),
        },
        tokenizer: facts.tokenizer.name().to_owned(),
        is_estimate: facts.tokenizer == Tokenizer::Estimate,
        pinned: of_pinned,
        pinned_percent: percent(of_pinned, used),
    }
}

/// Counts the texts of a section's own leaves. Media is billed in other ways.
fn own_tokens(section: &SectionView, tokenizer: Tokenizer, counter: &Counter) -> u64 {
    let texts = section.leaves.iter().filter(|leaf| leaf.access != Access::Opaque);
    texts.map(|leaf| counter.count(tokenizer, leaf.text.expose())).sum()
}

/// Returns a share in percent, rounded; nothing of nothing is nothing.
fn percent(part: u64, whole: u64) -> u64 {
    (part * 100 + whole / 2).checked_div(whole).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use leafgate_tokenize::Models;
    use leafgate_tree::{Author, Document, Draft, Format, Limits, SectionId};

    use super::*;
    use crate::admin::view;

    const BODY: &str = r#"{"model":"gpt-4o","messages":[{"role":"system","content":"Be brief, and be kind."},
{"role":"user","content":[{"type":"text","text":"What is in this picture of a river?"},
{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="}}]}]}"#;

    fn counted(
        model: &str,
        pinned: &[&str],
        change: impl FnOnce(&mut Draft),
    ) -> (Vec<SectionView>, TokenUse) {
        let document = Document::parse(BODY.into(), Format::OpenaiChat, &Limits::default()).unwrap();
        let mut draft = Draft::new(Arc::new(document));
        change(&mut draft);
        let counter = Counter::new(Models::default());
        let mut sections = view::sections(&draft, &[]);
        let pinned: Vec<String> = pinned.iter().map(|&key| key.to_owned()).collect();
        let used = count(&mut sections, &pinned, counter.facts(model), &counter);
        (sections, used)
    }

    fn of<'s>(sections: &'s [SectionView], key: &str) -> &'s SectionView {
        sections.iter().find(|section| section.key == key).unwrap_or_else(|| panic!("no section {key}"))
    }

    // S0-49, S0-82
    #[test]
    fn a_section_has_the_tokens_of_what_is_in_it_and_the_whole_those_of_all() {
        let (sections, used) = counted("gpt-4o", &["system-0"], |_| ());
        let tops = sections.iter().filter(|section| section.parent.is_none());
        assert_eq!(tops.map(|section| section.token_count.unwrap()).sum::<u64>(), used.used);
        for section in &sections {
            let inner = sections.iter().filter(|inner| inner.parent.as_deref() == Some(&section.key));
            assert!(
                inner.map(|inner| inner.token_count.unwrap()).sum::<u64>() <= section.token_count.unwrap()
            );
        }
        let said = Tokenizer::O200k.count("Be brief, and be kind.") as u64;
        let system = of(&sections, "system-0");
        // The role is a text too.
        assert_eq!(system.token_count, Some(said + Tokenizer::O200k.count("system") as u64));
        assert_eq!(
            (used.pinned, Some(used.pinned_percent)),
            (system.token_count.unwrap(), system.token_percent)
        );
        assert!(!used.is_estimate && used.tokenizer == "o200k_base" && used.max == Some(128_000));
        assert_eq!(used.budget, format!("0% ({}/128000)", used.used));
    }

    #[test]
    fn what_is_left_out_counts_for_itself_alone() {
        let (sections, all) = counted("gpt-4o", &[], |_| ());
        let question = of(&sections, "user-1").token_count.unwrap();
        let (sections, rest) = counted("gpt-4o", &[], |draft| {
            let mut sections = (0..draft.document().sections().len()).map(SectionId::from_index);
            let question = sections.find(|&section| draft.section_key(section) == "user-1").unwrap();
            draft.delete(question, &Author::Person).unwrap();
        });
        assert_eq!(rest.used, all.used - question);
        let left_out = of(&sections, "user-1");
        assert_eq!((left_out.token_count, left_out.token_percent), (Some(question), None));
    }

    // S0-83
    #[test]
    fn what_nobody_knows_is_an_estimate_without_a_budget() {
        let (_, used) = counted("house-model", &[], |_| ());
        assert!(used.is_estimate && used.used > 0);
        assert_eq!((used.max, used.percent, &*used.budget), (None, None, "awaiting data"));
    }

    #[test]
    fn shares_are_rounded_and_nothing_is_divided_by_nothing() {
        assert_eq!([percent(0, 0), percent(1, 200), percent(1, 201), percent(3, 3)], [0, 1, 0, 100]);
    }
}
