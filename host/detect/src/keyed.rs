//! Assignments: where a text gives a name to a value, in whatever notation.
//!
//! Secrets without a form of their own are known by their name: `password = "…"`, `API_KEY: …`,
//! `--token …`, `<secret>…</secret>`, `{"client_secret": "…"}`, `set("apiToken", "…")`. This module
//! finds name and value around a literal that the prefilter saw, by a small hand-written parser: it
//! runs at every `key` and `token` of a source file, so it gives up at the first byte that does not
//! fit, looks at no more than [`MAX_NAME`] bytes before, and allocates nothing. A quoted value is
//! given whole: the quote of the next assignment ends it at the latest, so all of them together
//! cost one pass. A bare one is given as its first [`MAX_BARE`] bytes, because many names may share
//! its end (`token=token=…`); [`bare_end`] says where it really ends. Whether name and value are
//! worth a finding is the row's business, not its own.

use std::ops::Range;

/// Longer names than this are cut on the left.
const MAX_NAME: usize = 80;
/// What stands for a quote in an attribute.
const QUOTE: &[u8] = b"&quot;";
/// It does not close a value further away than this.
const MAX_ENTITY_VALUE: usize = 2048;
/// As much of a bare value as is given; what stands behind it is asked for when the value is worth
/// a finding.
pub(crate) const MAX_BARE: usize = 512;
/// How many words may stand between the name's first word and its value: `SECRET ACCESS KEY …`.
const MAX_WORDS: usize = 4;

/// What stands between name and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// `=`, `:`, `=>`, `:=` and their kin.
    Operator,
    /// `(` or `,`: the two stand in an argument list.
    Call,
    /// `==`, `!=`: the value is compared with, not assigned.
    Comparison,
    /// Nothing but blanks.
    Blank,
    /// A blank after a command-line flag: `--token x`.
    Flag,
    /// The word `is`.
    Is,
    /// The value is the last part of the name itself: `acme-SECRET-0123…`.
    Attached,
    /// The end of an opening tag.
    Tag,
    /// `=` behind a type.
    Typed,
}

/// A name and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// From the identifier's first byte to where the name ends.
    pub(crate) name: Range<usize>,
    /// Without quotes.
    pub(crate) value: Range<usize>,
    /// The value stood in quotes.
    pub(crate) quoted: bool,
    /// What stood between the two.
    pub(crate) join: Join,
}

/// Parses the assignment to the name in which the literal at `hit` stands.
pub(crate) fn assignment(text: &str, hit: Range<usize>) -> Option<Assignment> {
    let bytes = text.as_bytes();
    let ident_end = identifier_end(bytes, hit.end);
    if let Some(value) = attached_value(bytes, hit.start, hit.end, ident_end) {
        let name = name_start(bytes, hit.start)..hit.end;
        return Some(Assignment { name, value, quoted: false, join: Join::Attached });
    }
    let mut end = ident_end;
    for _ in 0..MAX_WORDS {
        match next_name_word(bytes, end) {
            Some(next) => end = next,
            None => break,
        }
    }
    let (join, after) = match paired(bytes, hit.start, end) {
        Some(after) => (Join::Operator, after),
        None => join(bytes, hit.start, end)?,
    };
    let (value, quoted) = value(bytes, after, join)?;
    Some(Assignment { name: whole_name_start(bytes, hit.start)..end, value, quoted, join })
}

fn is_ident(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn skip(bytes: &[u8], from: usize, limit: usize, what: impl Fn(u8) -> bool) -> usize {
    let end = bytes.len().min(from + limit);
    bytes[from..end].iter().position(|&b| !what(b)).map_or(end, |n| from + n)
}

fn identifier_end(bytes: &[u8], from: usize) -> usize {
    let end = skip(bytes, from, MAX_NAME, is_ident);
    // `config.token.value = …` goes on behind the dot; a full stop does not.
    match bytes.get(end..end + 2) {
        Some([b'.', next]) if next.is_ascii_alphabetic() => skip(bytes, end + 1, MAX_NAME, is_ident),
        _ => end,
    }
}

fn name_start(bytes: &[u8], from: usize) -> usize {
    let floor = from.saturating_sub(MAX_NAME);
    let part = |b: u8| is_ident(b) || b == b'.' || b == b'$';
    bytes[floor..from].iter().rposition(|&b| !part(b)).map_or(floor, |n| floor + n + 1)
}

/// Where a name of two words begins: `Private Key: …`, `Access Token = …`.
fn whole_name_start(bytes: &[u8], from: usize) -> usize {
    let start = name_start(bytes, from);
    let Some(gap) = start.checked_sub(1).filter(|&i| bytes[i] == b' ') else { return start };
    let floor = gap.saturating_sub(20);
    let word =
        bytes[floor..gap].iter().rposition(|b| !b.is_ascii_alphabetic()).map_or(floor, |n| floor + n + 1);
    if word < gap && start == from && bytes[start].is_ascii_alphabetic() { word } else { start }
}

/// `SECRET-0123456789abcdef…`: a long rest of the identifier, apart from its word by one sign, with
/// digits in it. As a part of a path (`/api-0123…`) it names a page or a file.
fn attached_value(bytes: &[u8], hit: usize, word_end: usize, ident_end: usize) -> Option<Range<usize>> {
    const LEAST: usize = 20;
    let rest = bytes.get(word_end + 1..ident_end)?;
    let apart = matches!(bytes[word_end], b'-' | b'_');
    let digits = rest.iter().filter(|b| b.is_ascii_digit()).count();
    // Names of many words (`secret-manager-for-the-2nd-cluster`) hold few digits.
    let in_path = name_start(bytes, hit).checked_sub(1).is_some_and(|i| bytes[i] == b'/');
    // `api_0123…(self)`, `api_0123….xml`: a function, a file.
    // `…_SEAL_KEY_3BD1C4BF-004E-…`: a name goes on with one sign.
    let is_name = bytes[word_end] == b'_' && rest.contains(&b'-');
    let in_code = is_name || bytes.get(ident_end) == Some(&b'(') || rest.contains(&b'.');
    (apart && !in_path && !in_code && rest.len() >= LEAST && digits * 5 >= rest.len())
        .then(|| word_end + 1..ident_end)
}

/// `name: DB_PASSWORD` and `value: …` on the next line, `{"name":"DB_PASSWORD","value":"…"}`,
/// `<add key="DB_PASSWORD" value="…"/>`: where the value begins of a name that is a value itself.
fn paired(bytes: &[u8], hit: usize, name_end: usize) -> Option<usize> {
    /// Quotes, a comma, a line break with its number and an indentation.
    const BETWEEN: usize = 48;
    const VALUE: &[u8] = b"value";
    let is_sign = |b: u8| is_blank(b) || matches!(b, b'"' | b'\'' | b'\\' | b',' | b'\n' | b'\r');
    let mut at = skip(bytes, name_end, BETWEEN, is_sign);
    // A line break may be spelled.
    if at > name_end && bytes[at - 1] == b'\\' && matches!(bytes.get(at), Some(b'n' | b'r')) {
        at = skip(bytes, at + 1, BETWEEN, |b| is_sign(b) || b == b'n');
    }
    let end = at + VALUE.len();
    if at == name_end || !bytes.get(at..end)?.eq_ignore_ascii_case(VALUE) {
        return None;
    }
    let closed = skip(bytes, end, 4, |b| matches!(b, b'"' | b'\'' | b'\\'));
    let sign = skip(bytes, closed, 4, is_blank);
    let joins = matches!(bytes.get(sign), Some(b':' | b'='));
    (joins && is_itself_a_value(bytes, hit)).then_some(sign + 1)
}

/// Words that lengthen a name across blanks; anything else ends it.
const NAME_WORDS: [&[u8]; 11] =
    [b"key", b"token", b"secret", b"access", b"private", b"api", b"apikey", b"id", b"code", b"auth", b"tok"];

fn next_name_word(bytes: &[u8], from: usize) -> Option<usize> {
    let start = skip(bytes, from, 4, is_blank);
    if start == from {
        return None;
    }
    let end = skip(bytes, start, 12, |b| b.is_ascii_alphabetic());
    let end_of_identifier = skip(bytes, end, MAX_NAME, is_ident);
    let word = &bytes[start..end];
    let digits_follow = end < end_of_identifier;
    (!digits_follow && NAME_WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))).then_some(end)
}

/// Reads what joins name and value; gives also where the value's quotes or first byte may be.
fn join(bytes: &[u8], hit: usize, name_end: usize) -> Option<(Join, usize)> {
    let closed = skip(bytes, name_end, 6, |b| matches!(b, b'"' | b'\'' | b'`' | b']' | b')' | b'\\' | b'*'));
    let closed = if bytes[closed..].starts_with(QUOTE) { closed + QUOTE.len() } else { closed };
    let at = skip(bytes, closed, 16, is_blank);
    let was_closed = closed > name_end;
    match *bytes.get(at)? {
        b'=' | b':' | b'?' | b'+' | b'.' | b'|' | b'!' | b'-' => operator(bytes, at),
        b',' if was_closed && !is_itself_a_value(bytes, hit) => Some((Join::Call, at + 1)),
        b',' if is_constant(bytes, hit, name_end) => Some((Join::Call, at + 1)),
        b'(' => Some((Join::Call, at + 1)),
        // `<password>x`, `<key name="k">x`, and the same with the sign escaped.
        b'>' | b'&' => Some((Join::Tag, at + sign_length(&bytes[at..], &[b">", b"&gt;"])?)),
        // What East Asian text writes for a colon or an equals sign.
        0xef if matches!(&bytes[at..], [0xef, 0xbc, 0x9a | 0x9d, ..]) => Some((Join::Operator, at + 3)),
        _ if at == closed => None,
        b'i' | b'l' if let Some(length) = sign_length(&bytes[at..], &IS) => Some((Join::Is, at + length)),
        _ if was_closed => None,
        _ => blank_or_typed(bytes, hit, at),
    }
}

/// What joins a name to its value in a sentence.
const IS: [&[u8]; 6] = [b"is ", b"is: ", b"ist ", b"ist: ", b"lautet ", b"lautet: "];

/// How long the sign is, of these, that a text begins with.
fn sign_length(rest: &[u8], signs: &[&[u8]]) -> Option<usize> {
    signs.iter().find(|sign| rest.starts_with(sign)).map(|sign| sign.len())
}

/// `"kind": "api-key", "next": …`: the name stands where a value does, so what follows is the next
/// member and not its own.
fn is_itself_a_value(bytes: &[u8], hit: usize) -> bool {
    let open = name_start(bytes, hit);
    let floor = open.saturating_sub(8);
    let signs = |b: &u8| matches!(b, b'"' | b'\'' | b'\\' | b' ');
    let before = bytes[floor..open].iter().rfind(|b| !signs(b));
    matches!(before, Some(b':' | b'='))
}

/// `setopt(handle, CURLOPT_USERPWD, "…")`: a constant in an argument list, and the next argument is
/// its value.
fn is_constant(bytes: &[u8], hit: usize, name_end: usize) -> bool {
    let name = &bytes[name_start(bytes, hit)..name_end];
    name.contains(&b'_') && name.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
}

fn operator(bytes: &[u8], at: usize) -> Option<(Join, usize)> {
    let end = skip(bytes, at, 5, |b| {
        matches!(b, b'=' | b':' | b'?' | b'+' | b'.' | b'|' | b'!' | b'-' | b'>' | b'~')
    });
    let sign = &bytes[at..end];
    let join = match sign {
        b"==" | b"===" | b"!=" | b"!==" => Join::Comparison,
        b"=" | b":" | b":=" | b"=>" | b"->" | b"?=" | b"+=" | b".=" | b"||=" | b"|=" | b"::=" | b":::="
        | b"=:" => Join::Operator,
        // `--` and `-` before a value in prose: `PASS - x`, and the value's own first sign: `=-x`.
        b"=-" | b":-" => return Some((Join::Operator, at + 1)),
        // Base64 begins with any of its signs.
        b"=+" | b"=++" | b"=--" | b"=+-" | b"=-+" => return Some((Join::Operator, at + 1)),
        _ => return None,
    };
    // `password: &str = "x"`, `token: string = "x"`: the type stands between.
    if sign == b":"
        && let Some(after) = typed(bytes, end)
    {
        return Some((Join::Typed, after));
    }
    Some((join, end))
}

/// Behind `:` or a blank: a type and then `=`.
fn typed(bytes: &[u8], from: usize) -> Option<usize> {
    let start = skip(bytes, from, 4, is_blank);
    let kind = |b: u8| {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'&' | b'<' | b'>' | b'[' | b']' | b'?' | b'*' | b':')
    };
    let end = skip(bytes, start, 40, kind);
    let sign = skip(bytes, end, 4, is_blank);
    let assigned = bytes.get(sign) == Some(&b'=') && bytes.get(sign + 1) != Some(&b'=');
    // A token may hold the sign too (`key: Izm=zqU…`); a type stands apart from it, or a literal
    // follows.
    let apart = sign > end || matches!(bytes.get(sign + 1), Some(b' ' | b'"' | b'\'' | b'`'));
    // `token: Nxs094M3ed2s1Re0= ` ends with the sign, and is no type.
    let digits = bytes[start..end].iter().filter(|b| b.is_ascii_digit()).count();
    (end > start && assigned && apart && digits < 5).then_some(sign + 1)
}

fn blank_or_typed(bytes: &[u8], hit: usize, at: usize) -> Option<(Join, usize)> {
    if let Some(after) = typed(bytes, at) {
        return Some((Join::Typed, after));
    }
    let start = name_start(bytes, hit);
    let flag = bytes.get(start) == Some(&b'-');
    Some((if flag { Join::Flag } else { Join::Blank }, at))
}

/// Reads the value: what stands in quotes, or everything up to where a bare word ends.
fn value(bytes: &[u8], from: usize, join: Join) -> Option<(Range<usize>, bool)> {
    let start = match join {
        Join::Tag => behind_breaks(bytes, from),
        _ => skip(bytes, from, 40, is_blank),
    };
    // `**API key:** …`: the stars end what is bold.
    let start = match &bytes[start..] {
        [b'*', b'*', b' ' | b'`', ..] => skip(bytes, start + 2, 4, is_blank),
        _ => start,
    };
    let start = string_prefix(bytes, start);
    let start = skip(bytes, start, 2, |b| matches!(b, b'(' | b'{'));
    let open = skip(bytes, start, 6, |b| matches!(b, b'\\' | b'"' | b'\'' | b'`'));
    let emptied = matches!(bytes[start..open], [a, b] if a == b && a != b'\\');
    if emptied {
        return None;
    }
    if open > start && bytes[open - 1] != b'\\' {
        return quoted(bytes, open, bytes[open - 1]);
    }
    if bytes[start..].starts_with(QUOTE) {
        let open = start + QUOTE.len();
        let rest = &bytes[open..bytes.len().min(open + MAX_ENTITY_VALUE)];
        let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        return match memchr::memmem::find(line, QUOTE) {
            Some(end) => (end > 0).then(|| (open..open + end, true)),
            None => bare(bytes, open, Join::Operator).map(|range| (range, true)),
        };
    }
    if let Some(open) = default_of_lookup(bytes, start) {
        return quoted(bytes, open, bytes[open - 1]);
    }
    // Where types are written, so are quotes around strings.
    let has_quotes = join == Join::Typed;
    bare(bytes, start, join).filter(|_| !has_quotes).map(|range| (range, false))
}

/// `getenv("NAME", "…")`, `os.environ.get('NAME', '…')`, `process.env.NAME || "…"`: where what
/// stands in for a variable of the environment begins.
fn default_of_lookup(bytes: &[u8], from: usize) -> Option<usize> {
    const LONGEST_NAME: usize = 64;
    let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.');
    let end = skip(bytes, from, LONGEST_NAME, is_part);
    if !bytes[from..end].windows(3).any(|part| part.eq_ignore_ascii_case(b"env")) {
        return None;
    }
    let blank = |at: usize| skip(bytes, at, 4, is_blank);
    let quote = |at: usize| bytes.get(at).filter(|byte| matches!(byte, b'"' | b'\''));
    let behind_name = match bytes.get(end)? {
        b'(' | b'[' => {
            let name = blank(end + 1);
            let close = *quote(name)?;
            let length = memchr::memchr(close, &bytes[name + 1..bytes.len().min(name + 1 + LONGEST_NAME)])?;
            name + 1 + length + 1
        }
        _ => end,
    };
    let sign = blank(skip(bytes, behind_name, 1, |b| b == b']'));
    let open = match &bytes[sign..] {
        [b',', ..] if bytes[end] == b'(' => blank(sign + 1),
        [b'|', b'|', ..] | [b'?', b'?', ..] => blank(sign + 2),
        _ => return None,
    };
    let emptied = bytes.get(open) == bytes.get(open + 1);
    quote(open).filter(|_| !emptied).map(|_| open + 1)
}

/// Where the text of an element begins: on its own line or not, also where line breaks are escaped
/// (`\n`, `\\n`) or lines have numbers.
fn behind_breaks(bytes: &[u8], from: usize) -> usize {
    const BREAKS: usize = 4;
    let mut at = skip(bytes, from, 40, is_blank);
    for _ in 0..BREAKS {
        let sign = skip(bytes, at, 4, |b| b == b'\\');
        at = match bytes.get(sign) {
            Some(b'\n' | b'\r') if sign == at => at + 1,
            Some(b'n' | b'r' | b't') if sign > at => sign + 1,
            _ => return at,
        };
        at = skip(bytes, behind_line_number(bytes, at), 40, is_blank);
    }
    at
}

/// `     2<tab>`, `2:`: a number with a colon stands at the line's beginning, because values may
/// begin like it.
fn behind_line_number(bytes: &[u8], at: usize) -> usize {
    let number = skip(bytes, at, 8, |b| b == b' ');
    let end = skip(bytes, number, 7, |b| b.is_ascii_digit());
    match &bytes[end..] {
        _ if end == number => at,
        [b'\t', ..] => end + 1,
        [b'\\', b't', ..] => end + 2,
        [0xe2, 0x86, 0x92, ..] | [0xe2, 0x94, 0x82, ..] => end + 3,
        [b':' | b'-', ..] if number == at => end + 1,
        _ => at,
    }
}

/// `b"…"`, `r'…'`, `@"…"`, `$"…"`: one or two letters before the quote.
fn string_prefix(bytes: &[u8], at: usize) -> usize {
    let end =
        skip(bytes, at, 2, |b| matches!(b, b'b' | b'r' | b'u' | b'f' | b'B' | b'R' | b'U' | b'L' | b'@'));
    if matches!(bytes.get(end), Some(b'"' | b'\'')) { end } else { at }
}

fn quoted(bytes: &[u8], open: usize, quote: u8) -> Option<(Range<usize>, bool)> {
    let Some(end) = memchr::memchr2(quote, b'\n', &bytes[open..]).filter(|n| bytes[open + n] == quote) else {
        // The quote is not closed on its line: the text was cut, or the quote was none.
        return bare(bytes, open, Join::Operator).map(|range| (range, true));
    };
    // The quote that ends a string inside a string is escaped: `\"…\"`.
    let mut close = open + end;
    while close > open && bytes[close - 1] == b'\\' {
        close -= 1;
    }
    (close > open).then_some((open..close, true))
}

fn bare(bytes: &[u8], start: usize, join: Join) -> Option<Range<usize>> {
    let end = bare_end_behind_entities(&bytes[..bytes.len().min(start + MAX_BARE)], start);
    // A call or an index is an expression, not a value.
    if matches!(bytes.get(end), Some(b'(' | b'[')) && join != Join::Is {
        return None;
    }
    if end - start == MAX_BARE {
        return Some(start..end);
    }
    let trimmed = bytes[start..end].iter().rposition(|b| !matches!(b, b'.' | b':'))?;
    Some(start..start + trimmed + 1)
}

/// Where a bare word ends: what a page spells twice (`&amp;lt;`) is a sign of the word, while
/// `&lt;` may begin a tag.
fn bare_end_behind_entities(bytes: &[u8], from: usize) -> usize {
    let mut end = bare_end(bytes, from);
    while let Some(length) = doubled_entity(&bytes[end..]) {
        end = bare_end(bytes, end + length);
    }
    end
}

/// How long the entity is that a text begins with and whose own ampersand is an entity.
fn doubled_entity(bytes: &[u8]) -> Option<usize> {
    const LONGEST: usize = 16;
    let name = bytes.strip_prefix(b"&amp;")?;
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
    let length = name.iter().take(LONGEST).take_while(|byte| is_part(byte)).count();
    (length > 1 && name.get(length) == Some(&b';')).then_some(bytes.len() - name.len() + length + 1)
}

/// Where the bare word ends that `from` stands in, however far that is.
pub(crate) fn bare_end(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().position(|&b| ends_bare(b)).map_or(bytes.len(), |n| from + n)
}

/// A table, because under attack this is asked for every byte of [`MAX_BARE`] at every name.
const ENDS_BARE: [bool; 256] = {
    let mut ends = [false; 256];
    let mut byte = 0;
    while byte < ends.len() {
        ends[byte] = byte <= 0x20 || byte == 0x7f;
        byte += 1;
    }
    let signs = b",;\"'`<>()[]}|&\\";
    let mut sign = 0;
    while sign < signs.len() {
        ends[signs[sign] as usize] = true;
        sign += 1;
    }
    ends
};

fn ends_bare(byte: u8) -> bool {
    ENDS_BARE[usize::from(byte)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, literal: &str) -> Option<(String, String, Join)> {
        let at = text.find(literal).unwrap();
        let found = assignment(text, at..at + literal.len())?;
        Some((text[found.name].to_owned(), text[found.value].to_owned(), found.join))
    }

    #[test]
    fn the_value_is_found_in_every_notation() {
        let cases = [
            (r#"password = "s3cr t""#, "pass", "password", "s3cr t", Join::Operator),
            ("API_KEY: abc-1;", "KEY", "API_KEY", "abc-1", Join::Operator),
            (r#"token = os.getenv("X_TOKEN", "abc")"#, "token", "token", "abc", Join::Operator),
            (r#"token: process.env.TOKEN || 'abc'"#, "token", "token", "abc", Join::Operator),
            (r#"token = ENV["TOKEN"] || "abc""#, "token", "token", "abc", Join::Operator),
            ("x --access-token abc \\", "token", "--access-token", "abc", Join::Flag),
            ("my Private Key: abc", "Key", "Private Key", "abc", Join::Operator),
            ("- name: DB_PASSWORD\n  value: \"abc\"", "PASS", "DB_PASSWORD", "abc", Join::Operator),
            (r#"- name: DB_PASSWORD\n  value: abc\n"#, "PASS", "DB_PASSWORD", "abc", Join::Operator),
            (r#"{"name":"DB_PASSWORD","value":"abc"}"#, "PASS", "DB_PASSWORD", "abc", Join::Operator),
            (r#"{\"name\": \"API_KEY\", \"value\": \"abc\"}"#, "KEY", "API_KEY", "abc", Join::Operator),
            (r#"<add key="ApiSecret" value="abc" />"#, "Secret", "ApiSecret", "abc", Join::Operator),
            ("**API key:** `abc`", "key", "API key", "abc", Join::Operator),
            ("das Passwort lautet: abc", "Pass", "das Passwort", "abc", Join::Is),
            ("SECRET_KEY=+/abc", "KEY", "SECRET_KEY", "+/abc", Join::Operator),
            (r#""client_secret":"abc","#, "secret", "client_secret", "abc", Join::Operator),
            (r#"{\"k\":\"{\\\"token\\\":\\\"abc\\\"}\"}"#, "token", "token", "abc", Join::Operator),
            ("<apiToken>\n    abc\n</apiToken>", "Token", "apiToken", "abc", Join::Tag),
            ("<apiToken>\n     2\t    abc\n</apiToken>", "Token", "apiToken", "abc", Join::Tag),
            ("<apiToken>\n2:    abc\n3:</apiToken>", "Token", "apiToken", "abc", Join::Tag),
            ("<apiToken>\n    123:abc\n</apiToken>", "Token", "apiToken", "123:abc", Join::Tag),
            (r"<apiToken>\r\n    abc\r\n</apiToken>", "Token", "apiToken", "abc", Join::Tag),
            (r"<apiToken>\\n    abc\\n</apiToken>", "Token", "apiToken", "abc", Join::Tag),
            (r#"setProperty("X_TOKEN", "abc")"#, "TOKEN", "X_TOKEN", "abc", Join::Call),
            (r#"var fooToken string = "abc""#, "Token", "fooToken", "abc", Join::Typed),
            (r#"const TOKEN: &str = "abc";"#, "TOKEN", "const TOKEN", "abc", Join::Typed),
            ("acme SECRET ACCESS KEY abc", "SECRET", "acme SECRET ACCESS KEY", "abc", Join::Blank),
            ("the password is 'abc'", "pass", "the password", "abc", Join::Is),
            ("x_TOKEN :::= \"abc\"", "TOKEN", "x_TOKEN", "abc", Join::Operator),
            (r#"setopt(c, API_USERPWD, "a:b")"#, "PWD", "API_USERPWD", "a:b", Join::Call),
            ("private-key: Izm=zqU1.b", "key", "private-key", "Izm=zqU1.b", Join::Operator),
            ("if password == 'abc':", "pass", "if password", "abc", Join::Comparison),
            ("$fooToken .= \"abc\"", "Token", "$fooToken", "abc", Join::Operator),
            ("\"password&quot;: &quot;abc&quot;", "pass", "password", "abc", Join::Operator),
            ("password: &quot;a&lt;b&quot;&lt;br&gt;", "pass", "password", "a&lt;b", Join::Operator),
            ("password: &quot;abc &lt;br&gt;\n&quot;", "pass", "password", "abc", Join::Operator),
            (
                "password: a&amp;lt;b&amp;#39;c&lt;br&gt;",
                "pass",
                "password",
                "a&amp;lt;b&amp;#39;c",
                Join::Operator,
            ),
            ("?password=abc&amp;user=x", "pass", "password", "abc", Join::Operator),
            (
                "acme-KEY-1123456789abcdef0123456789.",
                "KEY",
                "acme-KEY",
                "1123456789abcdef0123456789",
                Join::Attached,
            ),
            (
                "acme-KEY-0123456789abcdef0123456789",
                "KEY",
                "acme-KEY",
                "0123456789abcdef0123456789",
                Join::Attached,
            ),
        ];
        for (text, literal, name, value, join) in cases {
            assert_eq!(parsed(text, literal), Some((name.into(), value.into(), join)), "{text}");
        }
    }

    #[test]
    fn expressions_and_prose_have_no_value() {
        for (text, literal) in [
            ("token = get_token()", "token"),
            ("key = keys[0]", "key"),
            ("the key, as said", "key"),
            ("keys.len()", "key"),
            ("token", "token"),
            ("password = \"\"", "pass"),
            (r#"{"kind": "api-key", "next": 1}"#, "key"),
            ("https://x/api-0123456789abcdef0123456789", "api"),
            ("load(api_0123456789abcdef0123456789.xml)", "api"),
            ("set(token, \"x\")", "token"),
            ("- name: api-key\n  image: x", "key"),
            (r#"{"name":"token","next":1}"#, "token"),
        ] {
            assert_eq!(parsed(text, literal), None, "{text}");
        }
    }
}
