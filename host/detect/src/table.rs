//! Tables that stand beside the packs: what code goes by, as rows of data.

use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Deserializer};

/// Reads a table. It is part of the program, and tests read every one.
pub(crate) fn table<T: DeserializeOwned>(text: &str) -> T {
    toml::from_str(text).expect("tests read every table")
}

/// Reads texts that stand in parts.
pub(crate) fn joined<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let texts = Vec::<Vec<String>>::deserialize(deserializer)?;
    Ok(texts.iter().map(|parts| parts.concat()).collect())
}
