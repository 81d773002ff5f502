//! One form for letters that people take for the same: lower case, without accents.
//!
//! A text is folded while it is read, never as a whole: a leaf may be megabytes long, and spans
//! must point into the original.

/// Base letters of U+00C0 to U+017F; a dot where there is none.
const LATIN: &[u8; 192] = b"aaaaaa.ceeeeiiiidnooooo.ouuuuy..aaaaaa.ceeeeiiiidnooooo.ouuuuy.y\
    aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkkkllllll.\
    .llnnnnnn.nnoooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

/// Base letters of U+1E00 to U+1EFF, most of them Vietnamese.
const LATIN_ADDITIONAL: &[u8; 256] = b"aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm\
    mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv\
    wwwwwwwwwwxxxxyyzzzzzzhtwy......aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee\
    eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy......";

/// A place in a text, between two folded letters. Copying it is how the search goes back.
#[derive(Clone, Copy)]
pub(crate) struct FoldCursor<'t> {
    text: &'t str,
    /// End of the last character read, with the accents that follow it.
    at: usize,
    /// Second letter of a ligature whose first one was just read.
    second: Option<char>,
}

impl<'t> FoldCursor<'t> {
    pub(crate) fn new(text: &'t str, at: usize) -> Self {
        FoldCursor { text, at, second: None }
    }

    /// Byte offset, where it lies between two characters.
    pub(crate) fn boundary(&self) -> Option<usize> {
        self.second.is_none().then_some(self.at)
    }

    /// The text from here on.
    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The same place further on by a number of bytes that ends between two characters.
    pub(crate) fn skip(self, bytes: usize) -> Self {
        FoldCursor::new(self.text, self.at + bytes)
    }

    /// The next folded letter and the place behind it.
    pub(crate) fn next(mut self) -> Option<(char, Self)> {
        if let Some(second) = self.second.take() {
            return Some((second, self));
        }
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        let (first, second) = fold(next);
        self.second = second;
        if self.text.as_bytes().get(self.at).is_none_or(u8::is_ascii) {
            return Some((first, self));
        }
        while let Some(mark) = self.rest().chars().next().filter(|&mark| is_accent(mark)) {
            self.at += mark.len_utf8();
        }
        Some((first, self))
    }
}

/// Combining diacritical marks, which follow the letter that they belong to.
pub(crate) fn is_accent(character: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&character)
}

/// A letter in lower case without its accent; a ligature gives two.
fn fold(character: char) -> (char, Option<char>) {
    if character.is_ascii() {
        return (character.to_ascii_lowercase(), None);
    }
    match character {
        'ß' | 'ẞ' => ('s', Some('s')),
        'æ' | 'Æ' => ('a', Some('e')),
        'œ' | 'Œ' => ('o', Some('e')),
        'þ' | 'Þ' => ('t', Some('h')),
        'ĳ' | 'Ĳ' => ('i', Some('j')),
        'ø' | 'Ø' => ('o', None),
        'ŋ' | 'Ŋ' => ('n', None),
        _ => (base(character).unwrap_or_else(|| lower(character)), None),
    }
}

fn base(character: char) -> Option<char> {
    let place = character as usize;
    let letter = match place {
        0xc0..0x180 => LATIN.get(place - 0xc0),
        0x1e00..0x1f00 => LATIN_ADDITIONAL.get(place - 0x1e00),
        _ => None,
    };
    letter.copied().filter(|&letter| letter != b'.').map(char::from)
}

/// The first character of the lower case: enough to compare by, and one for one.
fn lower(character: char) -> char {
    // Kana, Han and Hangul have one case, and no table need say so.
    if matches!(character, '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}') {
        return character;
    }
    character.to_lowercase().next().unwrap_or(character)
}

/// The letters of a word of a configured name.
pub(crate) fn folded(word: &str) -> String {
    let letters = std::iter::successors(FoldCursor::new(word, 0).next(), |(_, cursor)| cursor.next());
    letters.map(|(letter, _)| letter).collect()
}

/// The same with umlauts written out, as German and Scandinavian names are where the keyboard has
/// none.
pub(crate) fn transliterated(word: &str) -> String {
    let mut written = String::with_capacity(word.len() + 4);
    for letter in word.chars() {
        match letter {
            'ä' | 'Ä' => written.push_str("ae"),
            'ö' | 'Ö' | 'ø' | 'Ø' => written.push_str("oe"),
            'ü' | 'Ü' => written.push_str("ue"),
            'å' | 'Å' => written.push_str("aa"),
            _ => written.push(letter),
        }
    }
    folded(&written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_lie_where_they_should() {
        assert_eq!(folded("ÀÿŁłŽžſ"), "ayllzzs");
        assert_eq!(folded("ḀỳẲẴỹ"), "ayaay");
        assert_eq!(folded("×÷"), "×÷");
    }

    #[test]
    fn what_is_taken_for_one_case_has_one() {
        for letter in ('\u{3040}'..='\u{9fff}').chain('\u{ac00}'..='\u{d7a3}') {
            assert!(letter.to_lowercase().eq([letter]), "{letter}");
        }
    }

    #[test]
    fn ligatures_and_marks_change_the_number_of_letters() {
        assert_eq!(folded("Æsir"), "aesir");
        assert_eq!(folded("Groß"), "gross");
        assert_eq!(folded("e\u{301}\u{323}a"), "ea");
        assert_eq!(transliterated("Jörg Åse"), "joerg aase");
    }
}
