//! How much a value looks like one that a generator made: one number out of what is cheap to see.
//!
//! Rules of thumb ([`crate::value`]) decide most values. Between a word with digits and a token with
//! few of them they do not, and there the measures count together: each says a little, and a
//! logistic regression over labelled values says how much. [`fit`] makes the weights, from half of
//! the labelled sources; its tests hold them to the other half.

#[cfg(test)]
mod fit;
mod weights;

use crate::value::Look;
use weights::{BIAS, WEIGHTS};

/// How many measures there are.
pub(crate) const MEASURES: usize = 11;

/// From here on a value under a secret's name is likely one: of the sources that the weights were
/// not made from, 49 of 50 secrets score higher, and one word of eight.
pub(crate) const LIKELY: f32 = -1.0;

/// No more of a value is measured.
const MEASURED: usize = 256;

/// Returns the log-odds that a value under a secret's name is one, rather than a word of code.
pub(crate) fn score(value: &str) -> f32 {
    of_measures(&measures(value))
}

fn of_measures(measures: &[f32; MEASURES]) -> f32 {
    measures.iter().zip(WEIGHTS).fold(BIAS, |sum, (measure, weight)| sum + measure * weight)
}

/// The measures of a value, each about 0 to 1.
fn measures(value: &str) -> [f32; MEASURES] {
    let value = &value[..value.floor_char_boundary(MEASURED)];
    let look = Look::of(value);
    let pairs = Pairs::of(value.as_bytes());
    let length = look.len.max(1) as f32;
    let share = |count: usize| count as f32 / length;
    let alphabet = alphabet(&look).min(look.len).max(2) as f32;
    // Too few pairs of letters say nothing: as many as random ones hit.
    let wordiness = if look.pairs < 3 { 0.27 } else { look.wordiness };
    [
        length.log2() / 8.0,
        look.entropy / alphabet.log2(),
        wordiness,
        share(look.switches),
        share(look.digits),
        share(look.len - look.letters() - look.digits),
        share(look.lower.min(look.upper)),
        share(pairs.longest_run),
        share(look.distinct),
        share(pairs.neighbours),
        share(pairs.steps),
    ]
}

/// How many different bytes the classes of a value have that occur in it.
fn alphabet(look: &Look) -> usize {
    let signs = look.len - look.letters() - look.digits;
    [(look.lower, 26), (look.upper, 26), (look.digits, 10), (signs, 4)]
        .iter()
        .map(|(count, size)| if *count > 0 { *size } else { 0 })
        .sum()
}

/// What stands side by side.
#[derive(Default)]
struct Pairs {
    /// The longest row of one byte.
    longest_run: usize,
    /// Keys that lie beside one another on a keyboard.
    neighbours: usize,
    /// Bytes that follow one another in the alphabet or among the digits, up or down.
    steps: usize,
}

impl Pairs {
    fn of(bytes: &[u8]) -> Self {
        let mut pairs = Self { longest_run: usize::from(!bytes.is_empty()), ..Self::default() };
        let mut run = 1;
        for two in bytes.windows(2) {
            let [a, b] = [two[0].to_ascii_lowercase(), two[1].to_ascii_lowercase()];
            run = if a == b { run + 1 } else { 1 };
            pairs.longest_run = pairs.longest_run.max(run);
            let of_a_kind = a.is_ascii_lowercase() == b.is_ascii_lowercase();
            let plain = a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric() && of_a_kind;
            pairs.steps += usize::from(plain && a.abs_diff(b) == 1);
            pairs.neighbours += usize::from(are_neighbours(a, b));
        }
        pairs
    }
}

/// Two keys of one row, side by side.
fn are_neighbours(a: u8, b: u8) -> bool {
    const KEYS: &[u8] = b" qwertyuiop asdfghjkl zxcvbnm ";
    let are_letters = a.is_ascii_lowercase() && b.is_ascii_lowercase();
    let is_beside = |at: usize| KEYS[at - 1] == b || KEYS[at + 1] == b;
    are_letters && KEYS.iter().position(|&key| key == a).is_some_and(is_beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_value_scores_above_a_word_of_code() {
        let generated = [
            "DjayBenyJrtpvydFCzAphcqc",
            "264wsere78gx89ir",
            "YYErhhUlMdopjKMv",
            "q7Zk29fLmXw84TbV",
            "WrMwQfoNaHTgXU5fZvRGAD",
        ];
        let words = [
            "AcceptanceTimeoutSeconds2",
            "sha256_base64_utf8",
            "exchangeAuthorizationAccessToken",
            "next-page-token-v2",
            "claude-3-5-sonnet-20241022",
            "ServiceAccountCredentials",
            "x86_64-unknown-linux-gnu",
        ];
        let least = generated.iter().map(|value| score(value)).fold(f32::MAX, f32::min);
        let most = words.iter().map(|value| score(value)).fold(f32::MIN, f32::max);
        assert!(least > LIKELY && LIKELY > most, "{least} {most}");
    }

    #[test]
    fn measures_of_any_text_are_numbers() {
        for value in ["", "a", "äöü€", "\u{0}", &"x".repeat(10_000), &"é".repeat(1000)] {
            assert!(measures(value).iter().all(|measure| measure.is_finite()), "{value:?}");
            assert!(score(value).is_finite());
        }
    }
}
