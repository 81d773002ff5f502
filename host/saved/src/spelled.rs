//! How a file spells what is no word of its own form, and what is said of a word that is none.

/// What is said of words that are none. They quote nothing.
pub(crate) const NO_ID: &str = "`id` is up to 64 letters, digits, `-` and `_`";
pub(crate) const NO_GUARD: &str = "`replaces` is 32 hexadecimal digits";
pub(crate) const NO_FORMAT: &str = "`format` is none that leafgate knows";

/// A format, by its name.
pub(crate) mod format {
    use leafgate_tree::Format;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(format: &Format, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(format.name())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Format, D::Error> {
        Format::from_word(&String::deserialize(from)?).ok_or_else(|| D::Error::custom(super::NO_FORMAT))
    }
}

/// A time of day, which TOML spells without quotes.
pub(crate) mod time {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::Error};
    use toml::value::Datetime;

    pub(crate) fn serialize<S: Serializer>(time: &str, to: S) -> Result<S::Ok, S::Error> {
        time.parse::<Datetime>().map_err(S::Error::custom)?.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        Datetime::deserialize(from).map(|time| time.to_string())
    }
}
