//! How often bytes stand side by side in prose and code: a keyword is known by the rarest of its.

use std::collections::HashMap;

use crate::value::often_follows;

/// Words that prose and code repeat: three letters of one of them stand in nearly every text.
const COMMON: &str = "the and that this with from have not for are was were will would which their there \
    they then when where what can could should about after again all also any because been before being \
    between both but each even first here into its just know like line list made make many may more most \
    must need new next now number only other our over same see set some such take than them these those \
    through time two under until use used user uses using very want way well while who work you your \
    abstract action add address application array assert async await base block body bool boolean branch \
    break buffer build byte bytes call case catch change char check class client close code collection \
    command comment commit common component config const constant constructor container content context \
    continue control copy count create current data date debug default define delete description device \
    directory document each element else end entry enum environment equal error event example exception \
    exists expect expected export extends false field file final find float format function generate get \
    global group handle handler hash header height host http id implements import include index info \
    initial input insert instance int integer interface internal item iterator join json label language \
    length level library limit link load local location log logger long loop main manager map match max \
    member message method min mode model module mutable name namespace native network node none null \
    object offset open operation option order output override package page parameter parent parse part \
    path pattern point pointer port position private process program project property protected provide \
    public query random range raw read record reference register release remove render replace report \
    request require required reset resource response result return returns root route run schema scope \
    search section select self send separator server service session setting signature size sort source \
    split standard start state statement static status step stop store stream string struct style super \
    support switch system table target task template test text thread throw timeout title total trace \
    transform tree true tuple type undefined union unit update upload url usage util valid value variable \
    vector version view virtual void volume warning width window wrap write yield \
    api auth email key keys login password secret secrets token tokens";

/// How often three bytes stand side by side.
pub(crate) struct Frequencies {
    /// How often they do in the words that texts repeat.
    common: HashMap<[u8; 3], u64>,
}

impl Frequencies {
    /// Counts the words that texts repeat.
    pub(crate) fn new() -> Self {
        let mut common = HashMap::new();
        for word in COMMON.split_ascii_whitespace() {
            for three in format!(" {word} ").as_bytes().windows(3) {
                *common.entry([three[0], three[1], three[2]]).or_default() += 1;
            }
        }
        Self { common }
    }

    /// About how often three bytes in lower case stand side by side, in no unit.
    pub(crate) fn of(&self, three: [u8; 3]) -> u64 {
        /// How much rarer a pair of letters is that few words have.
        const SELDOM: u64 = 8;
        /// How much more often letters stand side by side in a word that texts repeat, or a blank
        /// beside its ends.
        const OFTEN: u64 = 64;
        /// The same of a sign beside its ends: what ends a word in code is one of many.
        const OFTEN_IN_CODE: u64 = 16;
        let pair = |two: &&[u8]| two.iter().all(u8::is_ascii_alphabetic) && !often_follows(two[0], two[1]);
        let seldom = three.windows(2).filter(pair).map(|_| SELDOM).product::<u64>();
        let words = three.map(|byte| if byte.is_ascii_alphanumeric() { byte } else { b' ' });
        let factor = if words == three { OFTEN } else { OFTEN_IN_CODE };
        let often = 1 + factor * self.common.get(&words).copied().unwrap_or_default();
        three.iter().map(|byte| u64::from(per_mille(*byte))).product::<u64>() * 1000 * often / seldom
    }
}

/// How many of a thousand bytes of prose and code are this one, or a little more.
fn per_mille(byte: u8) -> u8 {
    const LETTERS: &[u8; 26] =
        &[70, 13, 32, 34, 110, 20, 16, 34, 65, 2, 8, 38, 23, 64, 66, 23, 2, 58, 60, 82, 26, 9, 13, 5, 14, 2];
    match byte.to_ascii_lowercase() {
        letter @ b'a'..=b'z' => LETTERS[usize::from(letter - b'a')],
        b' ' => 150,
        b'_' | b'.' | b'"' | b'\n' => 20,
        b'-' | b'/' | b':' | b'=' | b',' | b'(' | b')' => 14,
        b'0'..=b'9' => 6,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_a_word_that_texts_repeat_are_no_rare_ones() {
        let frequencies = Frequencies::new();
        // The same letters in another order, which no such word has.
        assert!(frequencies.of(*b"pat") > frequencies.of(*b"tpa"));
        assert!(frequencies.of(*b"ghp") < frequencies.of(*b"the"));
    }
}
