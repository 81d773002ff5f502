//! Outcomes of rule tests as the XML that build servers read (JUnit's, as Jenkins and GitLab describe
//! it).

use std::fmt::Write as _;

use leafgate_trials::Difference;

use super::{RanTest, TO_DO, word};

/// Returns the whole file.
pub(super) fn document(ran: &[RanTest<'_>]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for of_file in ran.chunk_by(|one, other| one.test.file == other.test.file) {
        suite(of_file, &mut out);
    }
    out.push_str("</testsuites>\n");
    out
}

fn suite(ran: &[RanTest<'_>], out: &mut String) {
    let failures = ran.iter().filter(|ran| ran.outcome.fails()).count();
    let skipped = ran.iter().filter(|ran| word(&ran.outcome) == TO_DO).count();
    let file = escaped(ran.first().map_or("", |ran| &ran.test.file));
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "  <testsuite name=\"{file}\" tests=\"{}\" failures=\"{failures}\" skipped=\"{skipped}\">",
        ran.len()
    );
    ran.iter().for_each(|ran| case(ran, &file, out));
    out.push_str("  </testsuite>\n");
}

fn case(ran: &RanTest<'_>, file: &str, out: &mut String) {
    let (name, seconds) = (escaped(&ran.test.name), ran.outcome.took.as_secs_f64());
    let _ = write!(
        out,
        "    <testcase name=\"{name}\" classname=\"{file}\" file=\"{file}\" line=\"{}\" time=\"{seconds:.6}\"",
        ran.test.line
    );
    if word(&ran.outcome) == TO_DO {
        out.push_str("><skipped message=\"to do\"/></testcase>\n");
    } else if ran.outcome.fails() {
        let places: Vec<&str> = ran.outcome.differences.iter().map(|it| it.at.as_str()).collect();
        let grade = ran.outcome.grade;
        let _ =
            write!(out, "><failure type=\"{grade}\" message=\"{grade}: {}\">", escaped(&places.join(", ")));
        ran.outcome.differences.iter().for_each(|it| difference(it, out));
        out.push_str("</failure></testcase>\n");
    } else {
        out.push_str("/>\n");
    }
}

fn difference(difference: &Difference, out: &mut String) {
    let _ = writeln!(out, "{}", escaped(&difference.at));
    for (mark, text) in [('-', &difference.expected), ('+', &difference.found)] {
        for line in text.iter().flat_map(|text| text.lines()) {
            let _ = writeln!(out, "{mark} {}", escaped(line));
        }
    }
}

/// Escapes a text for XML 1.0, which has no way to spell most control characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' => out.push_str("&#9;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            control if control.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out_of_an_attribute() {
        assert_eq!(escaped("a\"><b>&\n\u{1b}"), "a&quot;&gt;&lt;b&gt;&amp;&#10;\u{fffd}");
    }
}
