//! Values of settings, and how they are written.

use std::time::Duration;

use leafgate_admin::shown_url;
use leafgate_diagnostic::number::{NumberRange, in_millis, in_unit, in_units, shown_time};
use serde::Deserialize;
use toml::de::DeValue;

/// What a setting takes.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// A folder of rules, `own`, `default` or `none`.
    Policy,
    /// Bytes: a number, or a text with a unit, `32 MiB`.
    Size(NumberRange),
    /// A number.
    Count(NumberRange),
    /// A number and a unit, `500ms`, `30s`, `5m`, `8h`; its bounds are milliseconds.
    Time(NumberRange),
    /// One of these words.
    Word(Vec<String>),
}

/// A value, made of what a value of its kind is. It may be a password, so its text is not printed by accident.
#[derive(Clone, PartialEq, Eq, derive_more::Debug, derive_more::From)]
pub enum Value {
    /// Of a switch.
    #[from]
    Switch(bool),
    /// Of a text, a path, a policy or a word.
    #[from(&str)]
    #[debug("Text({} bytes)", _0.len())]
    Text(String),
    /// Of texts or paths.
    #[from]
    #[debug("Texts({})", _0.len())]
    Texts(Vec<String>),
    /// Of a size or a count.
    Number(u64),
    /// Of a time.
    #[from]
    Time(Duration),
}

/// Why something is no value of a setting. It says what is expected, and quotes nothing.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
#[display("expected {}", self.expected)]
pub struct ValueError {
    /// What is expected.
    pub expected: String,
}

impl std::error::Error for ValueError {}

impl Value {
    /// Returns it as texts.
    pub(crate) fn texts(&self) -> Vec<String> {
        match self {
            Value::Switch(on) => vec![on.to_string()],
            Value::Text(text) => vec![text.clone()],
            Value::Texts(texts) => texts.clone(),
            Value::Number(number) => vec![number.to_string()],
            Value::Time(time) => vec![time.as_millis().to_string()],
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

impl Kind {
    /// Reads a value of a TOML file.
    ///
    /// # Errors
    /// When it is of another type, or out of range.
    pub fn read(&self, value: &DeValue<'_>) -> Result<Value, ValueError> {
        match (self, value) {
            (Kind::Switch, DeValue::Boolean(on)) => Ok(Value::Switch(*on)),
            (Kind::Texts | Kind::Paths, DeValue::Array(texts)) => {
                let text = |text: &toml::Spanned<DeValue<'_>>| match text.get_ref() {
                    DeValue::String(text) if !text.is_empty() => Ok(text.to_string()),
                    _ => Err(self.error()),
                };
                texts.iter().map(text).collect::<Result<_, _>>().map(Value::Texts)
            }
            (Kind::Size(bounds) | Kind::Count(bounds), DeValue::Integer(number)) => {
                let number = u64::from_str_radix(number.as_str(), number.radix());
                let number = number.ok().filter(|number| bounds.allow(*number));
                number.map(Value::Number).ok_or_else(|| self.error())
            }
            (Kind::Switch | Kind::Count(_), DeValue::String(_)) => Err(self.error()),
            (_, DeValue::String(text)) => self.parse(text),
            _ => Err(self.error()),
        }
    }

    /// Reads a value of a flag or of the environment. Several texts stand between commas.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(&self, text: &str) -> Result<Value, ValueError> {
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
            Kind::Size(bounds) => {
                in_units(text, &SIZES, 1).filter(|size| bounds.allow(*size)).map(Value::Number)
            }
            Kind::Count(bounds) => {
                text.parse().ok().filter(|number| bounds.allow(*number)).map(Value::Number)
            }
            Kind::Time(bounds) => {
                let millis = in_millis(text).filter(|millis| bounds.allow(*millis));
                millis.map(|millis| Value::Time(Duration::from_millis(millis)))
            }
            Kind::Word(words) => words.iter().any(|word| word == text).then(|| Value::Text(text.to_owned())),
        };
        value.ok_or_else(|| self.error())
    }

    fn error(&self) -> ValueError {
        ValueError { expected: self.expected() }
    }

    /// Returns what a value looks like, in words.
    pub fn expected(&self) -> String {
        match self {
            Kind::Switch => "`true` or `false`".to_owned(),
            Kind::Text => "a text that is not empty".to_owned(),
            Kind::Url => "a URL, or a word that stands for one".to_owned(),
            Kind::Command => "a command".to_owned(),
            Kind::Path => "a path".to_owned(),
            Kind::Policy => "a folder of rule files, `own`, `default` or `none`".to_owned(),
            Kind::Texts => "a list of texts".to_owned(),
            Kind::Paths => "a list of paths".to_owned(),
            Kind::Size(bounds) => {
                let bounds =
                    bounds.said(|size| in_unit(size, &SIZES[..3]).unwrap_or_else(|| size.to_string()));
                format!("bytes {bounds}, as a number or with a unit: `256 KiB`, `32 MiB`, `1 GiB`")
            }
            Kind::Count(bounds) => format!("a number {}", bounds.said(|number| number.to_string())),
            Kind::Time(bounds) => {
                let bounds = bounds.said(shown_time);
                format!("a number and a unit, {bounds}: `500ms`, `30s`, `5m`, `8h`")
            }
            Kind::Word(words) => format!("one of {}", words.join(", ")),
        }
    }

    /// Returns a value as TOML says it.
    pub fn show(&self, value: &Value) -> String {
        match (self, value) {
            (Kind::Url, Value::Text(text)) => quoted(&shown_url(text)),
            (Kind::Command, Value::Text(_)) => quoted("…"),
            (_, Value::Text(text)) => quoted(text),
            (_, Value::Texts(texts)) => {
                format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
            }
            (Kind::Size(_), Value::Number(number)) => match in_unit(*number, &SIZES[..3]) {
                Some(size) => quoted(&size),
                None => number.to_string(),
            },
            (_, Value::Number(number)) => number.to_string(),
            (_, Value::Switch(on)) => on.to_string(),
            (_, Value::Time(time)) => {
                quoted(&shown_time(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
            }
        }
    }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Kind = Kind::Size(NumberRange::ANY);
    const COUNT: Kind = Kind::Count(NumberRange::ANY);
    const TIME: Kind = Kind::Time(NumberRange::between(1, 7 * 24 * 3600 * 1000));

    #[test]
    fn sizes_and_times_are_read_with_their_units() {
        for (text, bytes) in [
            ("1", 1),
            ("32 MiB", 32 << 20),
            ("256KiB", 256 << 10),
            ("1_000 KB", 1_000_000),
            ("2GiB", 2 << 30),
        ] {
            assert_eq!(SIZE.parse(text), Ok(Value::Number(bytes)), "{text}");
        }
        for (text, millis) in [("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("8 h", 28_800_000)] {
            assert_eq!(TIME.parse(text), Ok(Value::Time(Duration::from_millis(millis))), "{text}");
        }
        for text in ["", "0", "-1", "1.5 MiB", "MiB", "99999999999999 GiB", "1 mib"] {
            assert!(SIZE.parse(text).is_err(), "{text}");
        }
        for text in ["30", "0s", "8 days", "200h", "s"] {
            assert!(TIME.parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_beyond_its_bounds_is_refused_and_they_are_said() {
        for (kind, good, bad, expected) in [
            (Kind::Size(NumberRange::from(1 << 20)), "1 MiB", "1048575", "bytes from 1 MiB on"),
            (Kind::Count(NumberRange::between(1, 100)), "100", "101", "a number from 1 to 100"),
            (TIME, "168h", "169h", "from 1ms to 168h:"),
        ] {
            assert!(kind.parse(good).is_ok(), "{good}");
            let said = kind.parse(bad).unwrap_err().to_string();
            assert!(said.contains(expected), "{said}");
        }
        let table = toml::de::DeTable::parse("v = 101").unwrap();
        let value = table.get_ref().values().next().unwrap().get_ref();
        assert!(Kind::Count(NumberRange::between(1, 100)).read(value).is_err());
    }

    #[test]
    fn what_is_shown_is_read_again() {
        for (kind, text) in [
            (SIZE, "33554432"),
            (SIZE, "1000"),
            (TIME, "90s"),
            (TIME, "1500ms"),
            (TIME, "2h"),
            (Kind::Switch, "false"),
            (COUNT, "7"),
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
        assert_eq!(SIZE.show(&Value::Number(32 << 20)), "\"32 MiB\"");
        assert_eq!(TIME.show(&Value::Time(Duration::from_secs(90))), "\"90s\"");
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
