//! Which tokenizer a model has, and how many tokens its prompt may have.

use std::sync::LazyLock;

use crate::{PictureRule, Tokenizer};

/// The models that are built in.
static BUILT_IN: LazyLock<Vec<ModelRow>> = LazyLock::new(|| {
    let lines = include_str!("models.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| row(line).expect("a test reads the models that are built in")).collect()
});

/// How a name ends that asks for a model's window of a million tokens, as Claude Code spells it.
const MILLION: &str = "[1m]";

/// What such a window holds.
const MILLION_TOKENS: u64 = 1_000_000;

/// What is known of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelFacts {
    /// What cuts its texts.
    pub tokenizer: Tokenizer,
    /// The most tokens that its prompt may have, where that is known.
    pub prompt: Option<u64>,
    /// What its pictures come to.
    pub pictures: PictureRule,
}

/// The models that are known: those of the user before those that are built in.
#[derive(Clone, Debug, Default)]
pub struct Models {
    own: Vec<ModelRow>,
}

#[derive(Clone, Debug)]
struct ModelRow {
    /// A whole name, or how one begins and `*`.
    name: String,
    prompt: u64,
    tokenizer: Tokenizer,
}

/// A line about a model that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{line}` says nothing about a model: write NAME = TOKENS, or NAME = TOKENS TOKENIZER, as in \
`llama-4* = 131072` or `house/coder = 200000 o200k_base`; {why}"
)]
pub struct ModelError {
    line: String,
    why: &'static str,
}

impl Models {
    /// Adds lines of the user: `NAME = TOKENS` or `NAME = TOKENS TOKENIZER`. A `*` at the end of a name
    /// stands for the rest. The first line that fits a model counts.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn with(lines: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Models, ModelError> {
        let own = lines.into_iter().map(|line| {
            let line = line.as_ref();
            row(line).map_err(|why| ModelError { line: line.to_owned(), why })
        });
        Ok(Models { own: own.collect::<Result<_, _>>()? })
    }

    /// Returns what is known of a model, by the name that requests have for it. Where nobody knows the
    /// whole of `openai/gpt-4o` or `eu.anthropic.claude-opus-4-1`, what stands behind a `/` or a `.`
    /// decides.
    pub fn find(&self, model: &str) -> ModelFacts {
        let (model, is_million) = match model.strip_suffix(MILLION) {
            Some(model) => (model, true),
            None => (model, false),
        };
        let behind = model.match_indices(['/', '.']).map(|(at, _)| &model[at + 1..]);
        let names: Vec<&str> = std::iter::once(model).chain(behind).collect();
        let (prompt, tokenizer) = match (first(&self.own, &names), first(&BUILT_IN, &names)) {
            (Some(row), _) => (Some(row.prompt), row.tokenizer),
            (None, Some(row)) => (Some(if is_million { MILLION_TOKENS } else { row.prompt }), row.tokenizer),
            (None, None) => (None, Tokenizer::Estimate),
        };
        let pictures = names.iter().find_map(|name| PictureRule::of_model(name)).unwrap_or_default();
        ModelFacts { tokenizer, prompt, pictures }
    }

    /// Returns the same of a model whose client asks for a larger window in a header, as
    /// `anthropic-beta: context-1m-2025-08-07` does. A line of the user about the model counts first.
    pub fn find_with(&self, model: &str, betas: &str) -> ModelFacts {
        match betas.split(',').any(|beta| beta.trim().starts_with("context-1m")) {
            true => self.find(&format!("{}{MILLION}", model.trim_end_matches(MILLION))),
            false => self.find(model),
        }
    }
}

impl ModelRow {
    fn is_of(&self, model: &str) -> bool {
        self.name.strip_suffix('*').map_or(self.name == model, |begin| model.starts_with(begin))
    }
}

fn first<'r>(rows: &'r [ModelRow], names: &[&str]) -> Option<&'r ModelRow> {
    names.iter().find_map(|name| rows.iter().find(|row| row.is_of(name)))
}

fn row(line: &str) -> Result<ModelRow, &'static str> {
    let (name, rest) = line.split_once('=').ok_or("there is no `=`")?;
    let name = name.trim();
    let mut words = rest.split_whitespace();
    let prompt = words.next().and_then(|number| number.replace('_', "").parse().ok());
    let prompt = prompt.filter(|prompt| *prompt > 0).ok_or("TOKENS is a number from 1 on")?;
    let tokenizer = match words.next() {
        // Nothing is said, so what is built in may know.
        None => Models::default().find(name).tokenizer,
        Some(word) => {
            Tokenizer::from_name(word).ok_or("TOKENIZER is one of o200k_base, cl100k_base, estimate")?
        }
    };
    if name.is_empty() || name.strip_suffix('*').unwrap_or(name).contains('*') {
        return Err("NAME is a whole name, or the beginning of one and `*`");
    }
    match words.next() {
        None => Ok(ModelRow { name: name.to_owned(), prompt, tokenizer }),
        Some(_) => Err("there is more behind the tokenizer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(models: &Models, model: &str) -> (Tokenizer, Option<u64>) {
        let facts = models.find(model);
        (facts.tokenizer, facts.prompt)
    }

    #[test]
    fn a_longer_beginning_that_is_built_in_stands_before_a_shorter_one() {
        let all: Vec<&str> = BUILT_IN.iter().map(|row| row.name.strip_suffix('*').unwrap()).collect();
        for (at, first) in all.iter().enumerate() {
            assert!(!all[at + 1..].iter().any(|later| later.starts_with(first)), "{first}");
        }
    }

    #[test]
    fn the_longest_name_that_fits_decides() {
        let models = Models::default();
        for (model, tokenizer, prompt) in [
            ("gpt-4-0613", Tokenizer::Cl100k, 8_192),
            ("gpt-4-turbo-2024-04-09", Tokenizer::Cl100k, 128_000),
            ("gpt-4o-mini", Tokenizer::O200k, 128_000),
            ("openai/gpt-5-codex", Tokenizer::O200k, 272_000),
            ("claude-opus-4-1", Tokenizer::Estimate, 200_000),
            ("eu.anthropic.claude-opus-4-1-20250805-v1:0", Tokenizer::Estimate, 200_000),
            ("models/gemini-2.5-pro", Tokenizer::Estimate, 1_048_576),
        ] {
            assert_eq!(known(&models, model), (tokenizer, Some(prompt)), "{model}");
        }
        assert_eq!(known(&models, "house-model"), (Tokenizer::Estimate, None));
        assert_eq!(known(&models, ""), (Tokenizer::Estimate, None));
    }

    // S0-81
    #[test]
    fn what_the_user_says_comes_first() {
        let models =
            Models::with(["gpt-4o = 64_000", "house/* = 32000 o200k_base", "claude-*=1000000"]).unwrap();
        assert_eq!(known(&models, "gpt-4o"), (Tokenizer::O200k, Some(64_000)));
        assert_eq!(known(&models, "azure/gpt-4o"), (Tokenizer::O200k, Some(64_000)));
        assert_eq!(known(&models, "gpt-4o-mini"), (Tokenizer::O200k, Some(128_000)));
        assert_eq!(known(&models, "house/coder"), (Tokenizer::O200k, Some(32_000)));
        assert_eq!(known(&models, "claude-opus-4-1"), (Tokenizer::Estimate, Some(1_000_000)));
    }

    #[test]
    fn a_client_that_asks_for_a_million_has_it() {
        let models = Models::default();
        let of = |model: &str, betas: &str| models.find_with(model, betas).prompt;
        assert_eq!(of("claude-sonnet-4-5", ""), Some(200_000));
        assert_eq!(of("claude-sonnet-4-5", "files-api-2025-04-14, context-1m-2025-08-07"), Some(1_000_000));
        assert_eq!(of("claude-sonnet-4-5[1m]", ""), Some(1_000_000));
        assert_eq!(of("eu.anthropic.claude-sonnet-4-5-v1:0", "context-1m-2025-08-07"), Some(1_000_000));
        assert_eq!(of("house-model", "context-1m-2025-08-07"), None, "whose window nobody knows");
        let own = Models::with(["claude-sonnet-4-5 = 500000"]).unwrap();
        assert_eq!(own.find_with("claude-sonnet-4-5", "context-1m-2025-08-07").prompt, Some(500_000));
    }

    #[test]
    fn a_line_that_is_wrong_is_named_with_the_reason() {
        for (line, why) in [
            ("gpt-4o", "there is no `=`"),
            ("gpt-4o = many", "from 1 on"),
            ("gpt-4o = 0", "from 1 on"),
            ("gpt-4o = 9 p50k_base", "one of o200k_base"),
            ("a*b = 9", "and `*`"),
            (" = 9", "and `*`"),
            ("a = 9 estimate twice", "more behind"),
        ] {
            let error = Models::with([line]).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains(line), "{error}");
        }
    }
}
