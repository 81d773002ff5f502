//! What a plugin says about itself (`lifecycle.describe`), checked.

use std::sync::Arc;

use leafgate_contract::{Description, one_line};

use crate::refusal::Refusal;

/// What a plugin said about itself.
#[derive(Clone, Debug, Default)]
pub struct SaidDescription {
    /// Its own name.
    pub name: String,
    /// Its version, free text.
    pub version: String,
    /// One sentence.
    pub summary: String,
    /// Labels of its findings.
    pub labels: Vec<String>,
    /// JSON Schema of its configuration, as it wrote it.
    pub config_schema: Option<String>,
}

/// The checked answer of `describe`.
#[derive(Clone, Debug)]
pub struct Described {
    /// Name, version and summary are a line each.
    pub description: Description,
    /// As the plugin wrote it: for authors, who see that it is no schema where it is none.
    pub config_schema: Option<String>,
}

impl SaidDescription {
    /// Checks what was said. Labels become parts of tokens, so their form is fixed.
    ///
    /// # Errors
    /// A description without a name, with more labels than `most_labels`, or with one that is none.
    pub fn checked(self, most_labels: usize) -> Result<Described, Refusal> {
        if self.name.is_empty() {
            return Err(Refusal::Description("the name is empty".to_owned()));
        }
        if self.labels.len() > most_labels {
            return Err(Refusal::Description(format!("more than {most_labels} labels")));
        }
        if let Some(wrong) = self.labels.iter().position(|label| !is_label(label)) {
            let message = format!("label {} of its list is not of the form [A-Z][A-Z0-9]{{1,15}}", wrong + 1);
            return Err(Refusal::Description(message));
        }
        let [name, version, summary] = [&self.name, &self.version, &self.summary].map(|text| one_line(text));
        let labels = self.labels.into_iter().map(Arc::from).collect();
        let description = Description { name, version, summary, labels };
        Ok(Described { description, config_schema: self.config_schema })
    }
}

fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    (2..=16).contains(&bytes.len())
        && bytes[0].is_ascii_uppercase()
        && bytes.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_words_of_capitals_and_digits() {
        for label in ["AB", "NAME", "A1", "ABCDEFGHIJKLMNOP"] {
            assert!(is_label(label), "{label}");
        }
        for label in ["", "A", "1A", "name", "NA_ME", "ABCDEFGHIJKLMNOPQ", "ÄB"] {
            assert!(!is_label(label), "{label}");
        }
    }

    #[test]
    fn a_description_is_a_line_for_each_thing() {
        let summary = "one\n\u{1b}[2Jtwo".to_owned();
        let said = SaidDescription { name: "n".to_owned(), summary, ..SaidDescription::default() };
        assert_eq!(said.checked(1).unwrap().description.summary, r"one\n\u{1b}[2Jtwo");
        assert!(SaidDescription::default().checked(1).is_err(), "without a name");
    }
}
