//! How a file spells what is no word of its own form, and what is said of a word that is none.

/// What is said of words that are none. They quote nothing.
pub(crate) const NO_ID: &str = "`id` is up to 64 letters, digits, `-` and `_`";
pub(crate) const NO_GUARD: &str = "`replaces` is 32 hexadecimal digits";
/// As `Format` says it.
pub(crate) const NO_FORMAT: &str = "no such format";

/// A time of day, which TOML spells without quotes.
pub(crate) mod time {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use toml::value::Datetime;

    pub(crate) fn serialize<S: Serializer>(time: &str, to: S) -> Result<S::Ok, S::Error> {
        let begin = || "1970-01-01T00:00:00Z".parse().expect("it is a time");
        time.parse::<Datetime>().unwrap_or_else(|_| begin()).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        Datetime::deserialize(from).map(|time| time.to_string())
    }
}
