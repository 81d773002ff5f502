//! Policies of any size, to see how cost grows with the number of rules.

/// The text that the one rule with something to do finds, in a policy of four rules or more.
pub const FOUND: &str = "CASE-0003-17";

/// Returns a rule file in which a tenth of the rules replaces by a regular expression, and of the
/// others a third blocks by tool, a third by what a text holds, and a third goes by path.
///
/// However many there are, they do the same to a request: [`FOUND`] is replaced, and none of the
/// others finds what it looks for.
#[must_use]
pub fn many(count: usize) -> String {
    let rule = |number: usize| {
        let rest = match (number % 10, number % 9) {
            (3, _) => format!(
                "match = {{ kind = [\"text\", \"tool-result\"] }}\naction = \"rewrite\"\n\
                 replace = {{ pattern = 'CASE-{number:04}-[0-9]+', with = 'the case' }}"
            ),
            (_, 0 | 3 | 6) => format!("match = {{ tool = \"tool_{number}\" }}\naction = \"block\""),
            (_, 1 | 4 | 7) => format!(
                "match = {{}}\nwhen = 'leaf.text.contains(\"customer-{number:04}\")'\naction = \"block\""
            ),
            (_, 2) => format!("match = {{ path = \"metadata.field_{number}\" }}\naction = \"pause\""),
            (_, 5) => {
                format!(
                    "match = {{ path = \"messages[*].note_{number}\" }}\naction = \"rewrite\"\nset = \"\""
                )
            }
            _ => format!("match = {{ path = \"**.internal_{number}\" }}\naction = \"pin\""),
        };
        format!("[[rule]]\nid = \"rule-{number}\"\n{rest}\n\n")
    };
    (0..count).map(rule).collect()
}
