//! What a plugin wrote, as one line of a message.

use std::fmt::Write as _;

/// Bytes of a plugin's own words in one message. An error of a script fits.
const LONGEST: usize = 500;

/// Returns what a plugin wrote as one line of bounded length, in which every character that could
/// begin a line, move the cursor or hide others is spelled as an escape.
///
/// Messages stand in logs and terminals, and whoever wrote the plugin must not write those.
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    for character in text.chars() {
        if line.len() >= LONGEST {
            line.push('…');
            break;
        }
        // Writing to a string cannot fail.
        let _ = match character {
            unseen if is_unseen(unseen) => write!(line, "{}", unseen.escape_default()),
            seen => write!(line, "{seen}"),
        };
    }
    line
}

/// Control characters, ends of lines, and what is drawn as nothing or turns the direction.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_forged_line_stays_in_its_own() {
        let forged = "x\u{1b}[2J\nerror: forged\u{202e}\u{2028}é";
        assert_eq!(one_line(forged), r"x\u{1b}[2J\nerror: forged\u{202e}\u{2028}é");
        let long = one_line(&"é".repeat(LONGEST));
        assert!(long.ends_with("é…") && long.len() == LONGEST + "…".len(), "{long}");
        assert_eq!(one_line(&"e".repeat(LONGEST)), "e".repeat(LONGEST));
    }

    proptest! {
        #[test]
        fn any_words_become_one_line(text in "(\\PC|[\\p{C}\\s]){0,40}") {
            prop_assert!(!one_line(&text).contains(is_unseen));
        }
    }
}
