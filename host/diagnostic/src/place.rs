//! Where a value stands in a TOML file, told by a pointer into what was read of it.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// Returns the range of the key and its value that an RFC 6901 pointer leads to, or of the item of a
/// list. The text is read anew: this is asked once something is wrong.
pub fn place_of(text: &str, pointer: &str) -> Option<Range<usize>> {
    let (table, _) = DeTable::parse_recoverable(text);
    let mut at = table.span();
    let mut value = DeValue::Table(table.into_inner());
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        let inner = match value {
            DeValue::Table(mut table) => {
                let (key, inner) = table.remove_entry(part.as_str())?;
                // A table of its own stands behind the key, or, in parts, anywhere.
                at = key.span().start..key.span().end.max(inner.span().end);
                inner
            }
            DeValue::Array(items) => {
                let place: usize = part.parse().ok()?;
                let inner = items.into_iter().nth(place)?;
                at = inner.span();
                inner
            }
            _ => return None,
        };
        value = inner.into_inner();
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_however_it_is_written() {
        let text = "a = 1\n[p.one]\nconfig = { names = [\"x\", \"yy\"], \"a/b\" = 2 }\n[p.two.config]\ndeep.er = 3\n[p.two.config.rows]\nk = 4\n[[t]]\nv = 5\n";
        for (pointer, expected) in [
            ("/a", "a = 1"),
            ("/p/one/config/names", "names = [\"x\", \"yy\"]"),
            ("/p/one/config/names/1", "\"yy\""),
            ("/p/one/config/a~1b", "\"a/b\" = 2"),
            ("/p/two/config/deep/er", "er = 3"),
            ("/p/two/config/rows/k", "k = 4"),
            ("/t/0/v", "v = 5"),
        ] {
            let at = place_of(text, pointer).unwrap_or_else(|| panic!("{pointer}"));
            assert_eq!(&text[at], expected, "{pointer}");
        }
        for nowhere in ["/b", "/a/b", "/p/one/config/names/2", "/p/one/config/names/x"] {
            assert_eq!(place_of(text, nowhere), None, "{nowhere}");
        }
    }
}
