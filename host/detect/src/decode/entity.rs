//! HTML entities: numbers, and the names of what stands in secrets and around them.

/// Names without `&` and `;`. Letters and digits have no names, so these and the numbers are all
/// that can spell a secret.
#[rustfmt::skip]
const NAMED: [(&str, char); 56] = [
    ("amp", '&'), ("AMP", '&'), ("lt", '<'), ("LT", '<'), ("gt", '>'), ("GT", '>'), ("quot", '"'), ("QUOT", '"'),
    ("apos", '\''), ("nbsp", '\u{a0}'), ("NonBreakingSpace", '\u{a0}'), ("shy", '\u{ad}'), ("ZeroWidthSpace", '\u{200b}'),
    ("NoBreak", '\u{2060}'), ("zwnj", '\u{200c}'), ("zwj", '\u{200d}'), ("lrm", '\u{200e}'), ("rlm", '\u{200f}'),
    ("lowbar", '_'), ("UnderBar", '_'), ("sol", '/'), ("bsol", '\\'), ("colon", ':'), ("semi", ';'), ("equals", '='),
    ("period", '.'), ("comma", ','), ("hyphen", '\u{2010}'), ("dash", '\u{2010}'), ("num", '#'), ("dollar", '$'),
    ("percnt", '%'), ("plus", '+'), ("lpar", '('), ("rpar", ')'), ("ast", '*'), ("midast", '*'), ("commat", '@'),
    ("lsqb", '['), ("lbrack", '['), ("rsqb", ']'), ("rbrack", ']'), ("lcub", '{'), ("lbrace", '{'), ("rcub", '}'),
    ("rbrace", '}'), ("Hat", '^'), ("grave", '`'), ("verbar", '|'), ("vert", '|'), ("excl", '!'), ("quest", '?'),
    ("Tab", '\t'), ("NewLine", '\n'), ("ensp", '\u{2002}'), ("emsp", '\u{2003}'),
];

/// Longest name in the table.
const LONGEST: usize = 16;

/// Reads the entity that begins at an ampersand; returns its character and the length of its
/// spelling.
pub(super) fn character(bytes: &[u8]) -> Option<(char, usize)> {
    match bytes {
        [b'&', b'#', b'x' | b'X', digits @ ..] => numbered(digits, 16, 3),
        [b'&', b'#', digits @ ..] => numbered(digits, 10, 2),
        [b'&', name @ ..] => named(name),
        _ => None,
    }
}

/// Browsers read a number to its last digit, with a semicolon behind it or without.
fn numbered(digits: &[u8], base: u32, before: usize) -> Option<(char, usize)> {
    const MOST_DIGITS: usize = 10;
    let is_digit = |byte: &&u8| char::from(**byte).is_digit(base);
    let count = digits.iter().take(MOST_DIGITS).take_while(is_digit).count();
    let value = u32::from_str_radix(std::str::from_utf8(&digits[..count]).ok()?, base).ok()?;
    let closed = usize::from(digits.get(count) == Some(&b';'));
    Some((char::from_u32(value)?, before + count + closed))
}

fn named(name: &[u8]) -> Option<(char, usize)> {
    let length = name.iter().take(LONGEST + 1).position(|byte| !byte.is_ascii_alphabetic())?;
    if name[length] != b';' {
        return None;
    }
    let (_, character) = NAMED.iter().find(|(known, _)| known.as_bytes() == &name[..length])?;
    Some((*character, length + 2))
}
