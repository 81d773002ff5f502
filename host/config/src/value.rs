//! Values of settings, and how they are written.

use std::fmt;
use std::time::Duration;

use leafgate_admin::shown_url;
use toml::de::DeValue;

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Switch,
    /// Any text.
    Text,
    /// A URL or a word. Of a URL, what may be a password or a key is shown to nobody.
    Url,
    /// A command. It may hold anything, and is shown to nobody.
    Command,
    /// Several texts.
    Texts,
    /// A path; in a file it is relative to that file's folder.
    Path,
    /// Several paths.
    Paths,
    /// A folder of rules, `default` or `none`.
    Policy,
    /// Bytes: a number, or a text with a unit, `32 MiB`.
    Size,
    /// A number from one on.
    Count,
    /// A number and a unit, `500ms`, `30s`, `5m`, `8h`.
    Time,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// A value.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// Of a switch.
    Switch(bool),
    /// Of a text, a path, a policy or a word.
    Text(String),
    /// Of texts or paths.
    Texts(Vec<String>),
    /// Of a size or a count.
    Number(u64),
    /// Of a time.
    Time(Duration),
}

/// Why something is no value of a setting. It says what is expected, and quotes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// What is expected.
    pub expected: String,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)
    }
}

impl std::error::Error for ValueError {}

/// A value may be a password, so its text is not printed by accident.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Switch(on) => write!(f, "Switch({on})"),
            Value::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Value::Texts(texts) => write!(f, "Texts({})", texts.len()),
            Value::Number(number) => write!(f, "Number({number})"),
            Value::Time(time) => write!(f, "Time({time:?})"),
        }
    }
}

/// Units of sizes, the longest first.
const SIZES: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

/// Units of times, each before those that it ends with.
const TIMES: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// Longest time. Nothing of a gate takes a week, and longer ones overflow clocks.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

impl Kind {
    /// Reads a value of a TOML file.
    ///
    /// # Errors
    /// When it is of another type, or out of range.
    pub fn read(self, value: &DeValue<'_>) -> Result<Value, ValueError> {
        match (self, value) {
            (Kind::Switch, DeValue::Boolean(on)) => Ok(Value::Switch(*on)),
            (Kind::Texts | Kind::Paths, DeValue::Array(texts)) => {
                let text = |text: &toml::Spanned<DeValue<'_>>| match text.get_ref() {
                    DeValue::String(text) if !text.is_empty() => Ok(text.to_string()),
                    _ => Err(self.error()),
                };
                texts.iter().map(text).collect::<Result<_, _>>().map(Value::Texts)
            }
            (Kind::Size | Kind::Count, DeValue::Integer(number)) => {
                let number = u64::from_str_radix(number.as_str(), number.radix());
                number.ok().filter(|number| *number > 0).map(Value::Number).ok_or_else(|| self.error())
            }
            (Kind::Switch | Kind::Count, DeValue::String(_)) => Err(self.error()),
            (_, DeValue::String(text)) => self.parse(text),
            _ => Err(self.error()),
        }
    }

    /// Reads a value of a flag or of the environment. Several texts stand between commas.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(self, text: &str) -> Result<Value, ValueError> {
        let value = match self {
            Kind::Switch => match text {
                "true" | "1" | "on" => Some(Value::Switch(true)),
                "false" | "0" | "off" => Some(Value::Switch(false)),
                _ => None,
            },
            Kind::Text | Kind::Url | Kind::Command | Kind::Path | Kind::Policy => {
                Some(Value::Text(text.to_owned())).filter(|_| !text.is_empty())
            }
            Kind::Texts | Kind::Paths => {
                let texts = text.split(',').map(str::trim).filter(|text| !text.is_empty());
                Some(Value::Texts(texts.map(str::to_owned).collect()))
            }
            Kind::Size => in_units(text, &SIZES, 1).map(Value::Number),
            Kind::Count => text.parse().ok().filter(|number| *number > 0).map(Value::Number),
            Kind::Time => {
                let time = in_units(text, &TIMES, 0).map(Duration::from_millis);
                time.filter(|time| *time <= LONGEST).map(Value::Time)
            }
            Kind::Word(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
        };
        value.ok_or_else(|| self.error())
    }

    fn error(self) -> ValueError {
        ValueError { expected: self.expected() }
    }

    /// Returns what a value looks like, in words.
    #[must_use]
    pub fn expected(self) -> String {
        match self {
            Kind::Switch => "`true` or `false`".to_owned(),
            Kind::Text => "a text that is not empty".to_owned(),
            Kind::Url => "a URL, or a word that stands for one".to_owned(),
            Kind::Command => "a command".to_owned(),
            Kind::Path => "a path".to_owned(),
            Kind::Policy => "a folder of rule files, `default` or `none`".to_owned(),
            Kind::Texts => "a list of texts".to_owned(),
            Kind::Paths => "a list of paths".to_owned(),
            Kind::Size => {
                "bytes, as a number from 1 on or with a unit: `256 KiB`, `32 MiB`, `1 GiB`".to_owned()
            }
            Kind::Count => "a number from 1 on".to_owned(),
            Kind::Time => "a number and a unit, a week at most: `500ms`, `30s`, `5m`, `8h`".to_owned(),
            Kind::Word(words) => format!("one of {}", words.join(", ")),
        }
    }

    /// Returns a value as TOML says it.
    #[must_use]
    pub fn show(self, value: &Value) -> String {
        match (self, value) {
            (Kind::Url, Value::Text(text)) => quoted(&shown_url(text)),
            (Kind::Command, Value::Text(_)) => quoted("…"),
            (_, Value::Text(text)) => quoted(text),
            (_, Value::Texts(texts)) => {
                format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
            }
            (Kind::Size, Value::Number(number)) => match in_unit(*number, &SIZES[..3]) {
                Some(size) => quoted(&size),
                None => number.to_string(),
            },
            (_, Value::Number(number)) => number.to_string(),
            (_, Value::Switch(on)) => on.to_string(),
            (_, Value::Time(time)) => {
                let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                let units = [TIMES[3], TIMES[2], TIMES[1], TIMES[0]];
                quoted(&in_unit(millis, &units).unwrap_or_default().replace(' ', ""))
            }
        }
    }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Reads a whole number and a unit. `bare` is what a number without one counts, 0 for nothing.
fn in_units(text: &str, units: &[(&str, u64)], bare: u64) -> Option<u64> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_').len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.replace('_', "").parse().ok()?;
    let unit = unit.trim_start();
    let size = match unit {
        "" => bare,
        unit => units.iter().find(|(name, _)| *name == unit)?.1,
    };
    number.checked_mul(size).filter(|value| *value > 0)
}

/// Returns a number in the largest unit that leaves no rest; the units are ordered from the largest.
fn in_unit(number: u64, units: &[(&str, u64)]) -> Option<String> {
    let (name, size) = units.iter().find(|(_, size)| number >= *size && number.is_multiple_of(*size))?;
    Some(format!("{} {name}", number / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read_with_their_units() {
        for (text, bytes) in [
            ("1", 1),
            ("32 MiB", 32 << 20),
            ("256KiB", 256 << 10),
            ("1_000 KB", 1_000_000),
            ("2GiB", 2 << 30),
        ] {
            assert_eq!(Kind::Size.parse(text), Ok(Value::Number(bytes)), "{text}");
        }
        for (text, millis) in [("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("8 h", 28_800_000)] {
            assert_eq!(Kind::Time.parse(text), Ok(Value::Time(Duration::from_millis(millis))), "{text}");
        }
        for text in ["", "0", "-1", "1.5 MiB", "MiB", "99999999999999 GiB", "1 mib"] {
            assert!(Kind::Size.parse(text).is_err(), "{text}");
        }
        for text in ["30", "0s", "8 days", "200h", "s"] {
            assert!(Kind::Time.parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_shown_is_read_again() {
        for (kind, text) in [
            (Kind::Size, "33554432"),
            (Kind::Size, "1000"),
            (Kind::Time, "90s"),
            (Kind::Time, "1500ms"),
            (Kind::Time, "2h"),
            (Kind::Switch, "false"),
            (Kind::Count, "7"),
            (Kind::Texts, "a,b \"c\""),
            (Kind::Text, "é\n\u{202e}"),
        ] {
            let value = kind.parse(text).unwrap();
            let written = format!("v = {}", kind.show(&value));
            let table =
                toml::de::DeTable::parse(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
            let read = kind.read(table.get_ref().values().next().unwrap().get_ref());
            assert_eq!(read, Ok(value), "{written}");
        }
        assert_eq!(Kind::Size.show(&Value::Number(32 << 20)), "\"32 MiB\"");
        assert_eq!(Kind::Time.show(&Value::Time(Duration::from_secs(90))), "\"90s\"");
    }

    #[test]
    fn a_password_is_neither_shown_nor_debugged() {
        let word = "hunter2";
        let value = Kind::Url.parse(&format!("http://ann:{word}@proxy.example:3128")).unwrap();
        assert_eq!(Kind::Url.show(&value), "\"http://…@proxy.example:3128\"");
        assert!(!format!("{value:?}").contains(word));
        let command = Kind::Command.parse(&format!("TOKEN={word} notify")).unwrap();
        assert_eq!(Kind::Command.show(&command), "\"…\"");
    }
}
