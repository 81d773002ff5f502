//! How many tokens of a model a text is, and how many its prompt may have. The only place where that is
//! known.
//!
//! A token is here what a model reads and a provider bills, and not the word that stands for a redacted
//! value.
//!
//! OpenAI's tokenizers are public, so for its models texts are counted as the model reads them. For all
//! others the count is an [`estimate`], and says so. Pictures are counted by their size, as their
//! provider publishes it ([`PictureRule`]). What an API puts between texts, and how it spells tools,
//! is not public.
//!
//! Counting costs time, so it never stands on the way of a request: who shows a request counts it
//! ([`Counter`]), and what was counted once is remembered.
//!
//! It does no I/O. A tokenizer is read out of the program when it is first asked for.

mod counter;
mod models;
mod picture;

pub use counter::Counter;
pub use models::{ModelError, ModelFacts, Models};
pub use picture::{Detail, PictureRule, PictureSize};

/// Bytes of text that count as one token where nothing better is known: about what English prose and
/// source code come to.
const BYTES_OF_A_TOKEN: usize = 4;

/// Bytes that a tokenizer is given at once. The library looks for words with an expression that goes
/// back, and gives up on a megabyte of blanks.
const STRETCH: usize = 16 * 1024;

/// Returns about how many tokens a text of this many bytes is, for any model.
pub const fn estimate(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_OF_A_TOKEN)
}

leafgate_words::words! {
    /// What cuts a text into tokens.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Tokenizer {
        /// OpenAI's since GPT-4o.
        O200k = "o200k_base",
        /// OpenAI's of GPT-4 and GPT-3.5, and of its embeddings.
        Cl100k = "cl100k_base",
        /// None that is public: the count is an [`estimate`].
        Estimate = "estimate",
    }
    /// Returns its name.
    pub fn name = 0;
}

impl Tokenizer {
    /// Counts the tokens of a text. A text longer than `STRETCH` is counted in stretches, so that
    /// what it costs grows with its length whoever wrote it; each border may count one token more.
    pub fn count(self, text: &str) -> usize {
        let tokenizer = match self {
            Tokenizer::O200k => tiktoken_rs::o200k_base_singleton(),
            Tokenizer::Cl100k => tiktoken_rs::cl100k_base_singleton(),
            Tokenizer::Estimate => return estimate(text.len()),
        };
        stretches(text, STRETCH).map(|stretch| tokenizer.encode_ordinary(stretch).len()).sum()
    }
}

/// Cuts a text into stretches of at most this many bytes, before a blank where one stands in the second
/// half.
fn stretches(mut text: &str, most: usize) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let end = match text.len() <= most {
            true => text.len(),
            false => {
                let blank = text.as_bytes()[most / 2..most].iter().rposition(|byte| *byte == b' ');
                blank.map_or_else(|| text.floor_char_boundary(most), |blank| most / 2 + blank)
            }
        };
        let stretch;
        (stretch, text) = text.split_at(end);
        (!stretch.is_empty()).then_some(stretch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of OpenAI's own library, tiktoken, for the same texts.
    // S0-85
    #[test]
    fn texts_are_counted_as_the_model_reads_them() {
        for (text, o200k, cl100k) in [
            ("", 0, 0),
            ("hello world", 2, 2),
            ("tiktoken is great!", 6, 6),
            ("antidisestablishmentarianism", 6, 6),
            ("2 + 2 = 4", 7, 7),
            ("お誕生日おめでとう", 8, 9),
        ] {
            assert_eq!(
                (Tokenizer::O200k.count(text), Tokenizer::Cl100k.count(text)),
                (o200k, cl100k),
                "{text}"
            );
        }
    }

    // S0-85
    #[test]
    fn an_estimate_is_a_quarter_of_the_bytes_rounded_up() {
        assert_eq!([0, 1, 4, 5, 4000].map(estimate), [0, 1, 1, 2, 1000]);
        assert_eq!(Tokenizer::Estimate.count("ééé"), 2);
    }

    #[test]
    fn no_text_is_too_much_for_a_tokenizer() {
        let size = 2 * STRETCH;
        for evil in [" ", "a", "\n\t ", "\u{1f4a9}", "aA", "()", "'", "\u{3000}"] {
            let text = format!("{}x", evil.repeat(size / evil.len()));
            for tokenizer in Tokenizer::ALL {
                assert!((1..=size + 1).contains(&tokenizer.count(&text)), "{evil:?}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn stretches_are_the_text(text in "[a-zé\u{3000} ]{0,300}", most in 4..50_usize) {
            let cut: Vec<&str> = stretches(&text, most).collect();
            proptest::prop_assert!(cut.iter().all(|stretch| (1..=most).contains(&stretch.len())));
            proptest::prop_assert_eq!(cut.concat(), text);
        }
    }

    #[test]
    fn a_long_text_is_counted_as_its_parts_are() {
        let sentence = " Nothing of this is more than a common sentence of some length.";
        let (one, times) = (Tokenizer::O200k.count(sentence), 2000);
        let all = Tokenizer::O200k.count(&sentence.repeat(times));
        assert!(all.abs_diff(one * times) < times / 100, "{all} of {}", one * times);
    }
}
