//! What a plugin says about itself (`lifecycle.describe`), checked.

use leafgate_contract::{Description, one_line};
use leafgate_detect::Label;

use crate::refusal::Refusal;

/// Checks what a plugin said, its labels apart from the rest. They become parts of tokens, so their form is
/// fixed; name, version and summary become a line each.
///
/// # Errors
/// A description without a name, with more labels than `most_labels`, or with one that is none.
pub fn described(said: Description, labels: &[String], most_labels: usize) -> Result<Description, Refusal> {
    if said.name.is_empty() {
        return Err(Refusal::Description("the name is empty".to_owned()));
    }
    if labels.len() > most_labels {
        return Err(Refusal::Description(format!("more than {most_labels} labels")));
    }
    let label = |(place, text): (usize, &String)| {
        let message = format!("label {place} of its list is not of the form [A-Z][A-Z0-9]{{1,15}}");
        Label::new(text).map_err(|_| Refusal::Description(message))
    };
    let labels = (1..).zip(labels).map(label).collect::<Result<_, _>>()?;
    let [name, version, summary] = [&said.name, &said.version, &said.summary].map(|text| one_line(text));
    Ok(Description { name, version, summary, labels, ..said })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_a_line_for_each_thing() {
        let summary = "one\n\u{1b}[2Jtwo".to_owned();
        let said = Description { name: "n".to_owned(), summary, ..Description::default() };
        assert_eq!(described(said.clone(), &[], 1).unwrap().summary, r"one\n\u{1b}[2Jtwo");
        assert!(described(Description::default(), &[], 1).is_err(), "without a name");
        for (labels, told) in [(["A", "B"], "more than 1"), (["NAME", "name"], "label 2 of")] {
            let most = if told.starts_with('m') { 1 } else { 2 };
            let refused = described(said.clone(), &labels.map(str::to_owned), most).unwrap_err();
            assert!(refused.to_string().contains(told), "{refused}");
        }
    }
}
