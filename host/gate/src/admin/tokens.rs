//! How many tokens a turn is, and each of its sections, as it would leave.

use std::collections::{BTreeSet, HashMap};

use leafgate_admin::{EditableRequest, LeafView, SectionView, TokenUse, TurnView};
use leafgate_tokenize::{Counter, Detail, ModelFacts, PictureSize, Tokenizer};
use leafgate_tree::{Access, ContentKind, LeafKind, NodeType, file_head};

use super::whole::text_at;
use crate::outside;
use crate::pending::Snapshot;

/// Characters of base64 in which the size of a picture stands, behind what cameras write before it.
const PICTURE_HEAD: usize = 1024 * 1024;

/// The model that a turn asks, as it would leave, and what its client asks of it in `anthropic-beta`.
pub(super) struct AskedModel {
    pub(super) name: String,
    betas: String,
}

impl AskedModel {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let draft = &*snapshot.draft;
        let by_path = snapshot.guard.model_by_path(draft.document());
        let name = by_path.or_else(|| text_at(draft, "/model")).or_else(|| {
            // Of an answer, the model that its request asked.
            snapshot.guard.model.as_deref().map(str::to_owned)
        });
        // Elsewhere than with Anthropic it stands in the body.
        let in_body = (0..).map_while(|at| text_at(draft, &format!("/anthropic_beta/{at}")));
        let betas =
            std::iter::once(outside::header(&snapshot.guard.outside, "anthropic-beta")).chain(in_body);
        AskedModel { name: name.unwrap_or_default(), betas: betas.collect::<Vec<_>>().join(",") }
    }

    fn facts(&self, counter: &Counter) -> ModelFacts {
        counter.facts(&self.name, &self.betas)
    }
}

/// What shows a turn, before its tokens are counted.
pub(super) trait CountedView {
    /// Counts them.
    fn count(&mut self, asked: &AskedModel, counter: &Counter);
}

impl CountedView for TurnView {
    fn count(&mut self, asked: &AskedModel, counter: &Counter) {
        self.tokens = Some(count(&mut self.sections, &self.pinned, asked.facts(counter), counter));
    }
}

impl CountedView for EditableRequest {
    fn count(&mut self, asked: &AskedModel, counter: &Counter) {
        self.metadata.max_prompt_tokens = asked.facts(counter).prompt;
        self.turn.count(asked, counter);
    }
}

/// Tokens, and whether they are an estimate.
#[derive(Clone, Copy, Default)]
struct TokenSum {
    tokens: u64,
    is_estimate: bool,
}

impl TokenSum {
    fn add(&mut self, other: TokenSum) {
        self.tokens += other.tokens;
        self.is_estimate |= other.is_estimate;
    }
}

/// Counts the tokens of sections, parents before their children, and gives what all come to.
fn count(sections: &mut [SectionView], pinned: &[String], facts: ModelFacts, counter: &Counter) -> TokenUse {
    let section_counter = SectionCounter { facts, counter, detail: detail_of_all(sections) };
    let mut counts: Vec<TokenSum> = sections.iter().map(|section| section_counter.own(section)).collect();
    let places: HashMap<&str, usize> =
        sections.iter().enumerate().map(|(at, section)| (section.key.as_str(), at)).collect();
    let pinned = pinned.iter().collect::<BTreeSet<_>>();
    let (mut used, mut of_pinned) = (TokenSum::default(), 0);
    for (at, section) in sections.iter().enumerate().rev() {
        let parent = section.parent.as_deref().and_then(|parent| places.get(parent)).copied();
        let own = counts[at];
        if section.deleted {
            // Of what is left out, the whole counts what is in it.
            if let Some(parent) = parent.filter(|&parent| sections[parent].deleted) {
                counts[parent].add(own);
            }
            continue;
        }
        if pinned.contains(&section.key) {
            of_pinned += own.tokens;
        }
        match parent {
            Some(parent) => counts[parent].add(own),
            None => used.add(own),
        }
    }
    let TokenSum { tokens: used, is_estimate } = used;
    let whole = facts.prompt.unwrap_or(used);
    for (section, sum) in sections.iter_mut().zip(counts) {
        // Options are no part of the prompt.
        let counts = section.node_type != NodeType::RequestOption || sum.tokens > 0;
        section.token_count = counts.then_some(sum.tokens);
        section.token_percent = (counts && !section.deleted).then(|| percent(sum.tokens, whole));
        section.token_estimate = counts && sum.is_estimate;
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
        is_estimate,
        pinned: of_pinned,
        pinned_percent: percent(of_pinned, whole),
    }
}

/// How closely a Gemini request has all its pictures looked at.
fn detail_of_all(sections: &[SectionView]) -> Detail {
    let leaves = sections.iter().flat_map(|section| &section.leaves);
    let named = leaves.into_iter().find(|leaf| leaf.pointer.ends_with("generationConfig/mediaResolution"));
    named.map_or_else(Detail::default, |leaf| Detail::named(leaf.text.expose()))
}

/// Counts the own leaves of sections.
struct SectionCounter<'c> {
    facts: ModelFacts,
    counter: &'c Counter,
    /// How closely the model looks at pictures where a part says nothing.
    detail: Detail,
}

impl SectionCounter<'_> {
    fn own(&self, section: &SectionView) -> TokenSum {
        if section.content_kind == Some(ContentKind::Image) {
            let size = section.leaves.iter().find_map(picture_size);
            return self.picture(size, self.detail_of(section));
        }
        let mut sum = TokenSum::default();
        section.leaves.iter().for_each(|leaf| sum.add(self.leaf(leaf)));
        sum
    }

    fn leaf(&self, leaf: &LeafView) -> TokenSum {
        if leaf.kind == LeafKind::RequestOption {
            return TokenSum::default();
        }
        if leaf.access == Access::Opaque {
            return match picture_size(leaf) {
                Some(size) => self.picture(Some(size), self.detail),
                // Sound, films and files are counted by what is in them.
                None => TokenSum { tokens: 0, is_estimate: true },
            };
        }
        let tokens = self.counter.count(self.facts.tokenizer, leaf.text.expose());
        TokenSum { tokens, is_estimate: tokens > 0 && self.facts.tokenizer == Tokenizer::Estimate }
    }

    fn picture(&self, size: Option<PictureSize>, detail: Detail) -> TokenSum {
        let (tokens, is_estimate) = self.facts.pictures.count(size, detail);
        TokenSum { tokens, is_estimate }
    }

    fn detail_of(&self, section: &SectionView) -> Detail {
        let says = |leaf: &&LeafView| {
            ["/detail", "/mediaResolution", "/mediaResolution/level"]
                .iter()
                .any(|end| leaf.pointer.ends_with(end))
        };
        let said = section.leaves.iter().find(says);
        said.map_or(self.detail, |leaf| Detail::named(leaf.text.expose()))
    }
}

/// The size of the picture that a leaf spells, in base64 or a data URL.
fn picture_size(leaf: &LeafView) -> Option<PictureSize> {
    PictureSize::of(&file_head(leaf.text.expose(), PICTURE_HEAD)?)
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
        let used = count(&mut sections, &pinned, counter.facts(model, ""), &counter);
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
        assert_eq!(tops.filter_map(|section| section.token_count).sum::<u64>(), used.used);
        for section in sections.iter().filter(|section| section.node_type != NodeType::RequestOption) {
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
        assert_eq!(
            of(&sections, "requestOptions/model").token_count,
            None,
            "an option is no part of the prompt"
        );
        assert!(used.tokenizer == "o200k_base" && used.max == Some(128_000));
        // The picture, whose size nobody knows, is counted as one of a common size.
        assert!(used.is_estimate && used.used > 765);
        assert_eq!(used.budget, format!("1% ({}/128000)", used.used));
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

    /// Letters of base64 were counted, or nothing.
    // S0-81
    #[test]
    fn a_picture_counts_by_its_size_and_what_is_not_known_is_an_estimate() {
        let png = "iVBORw0KGgoAAAANSUhEUgAABAAAAAQACAYAAAB/";
        let url = format!("data:image/png;base64,{png}");
        let chat = |url: &str, more: &str| {
            format!(
                r#"{{"model":"m","messages":[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"{url}"{more}}}}}]}}]}}"#
            )
        };
        let responses = format!(
            r#"{{"model":"m","input":[{{"role":"user","content":[{{"type":"input_image","image_url":"{url}","detail":"low"}}]}}]}}"#
        );
        let image = format!(
            r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{png}"}}}}"#
        );
        let messages = format!(r#"{{"model":"m","messages":[{{"role":"user","content":[{image}]}}]}}"#);
        let result = format!(
            r#"{{"model":"m","messages":[{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"n","input":{{}}}}]}},
{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":[{image}]}}]}}]}}"#
        );
        let gemini = format!(
            r#"{{"contents":[{{"role":"user","parts":[{{"inlineData":{{"mimeType":"image/png","data":"{png}"}}}}]}}],"generationConfig":{{"mediaResolution":"MEDIA_RESOLUTION_LOW"}}}}"#
        );
        let counter = Counter::new(Models::default());
        for (format, body, model, tokens, is_estimate) in [
            (Format::OpenaiChat, chat(&url, ""), "gpt-4o", 765, false),
            (Format::OpenaiChat, chat(&url, r#","detail":"low""#), "gpt-4o", 85, false),
            (Format::OpenaiChat, chat("https://example.org/a.png", ""), "gpt-4o", 765, true),
            (Format::OpenaiResponses, responses, "gpt-5", 70, false),
            (Format::AnthropicMessages, messages, "claude-sonnet-4-5", 1399, true),
            (Format::AnthropicMessages, result, "claude-sonnet-4-5", 1399, true),
            (Format::Gemini, gemini, "gemini-2.5-pro", 64, true),
        ] {
            let document = Document::parse(body.into(), format, &Limits::default()).unwrap();
            let mut sections = view::sections(&Draft::new(Arc::new(document)), &[]);
            let used = count(&mut sections, &[], counter.facts(model, ""), &counter);
            // Roles, ids and names are the rest.
            assert!((tokens..tokens + 24).contains(&used.used), "{model}: {} of {tokens}", used.used);
            assert_eq!(used.is_estimate, is_estimate, "{model}");
        }
    }

    #[test]
    fn shares_are_of_what_the_prompt_may_have() {
        let (sections, used) = counted("gpt-4", &[], |_| ());
        let question = of(&sections, "user-1");
        assert_eq!(question.token_percent, Some(percent(question.token_count.unwrap(), 8_192)));
        assert_eq!(used.percent, Some(percent(used.used, 8_192)));
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
