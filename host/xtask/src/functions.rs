//! The tests in a source, read line by line and without a build.

/// A function with an attribute of a test above it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TestFunction<'a> {
    pub(crate) name: &'a str,
    /// It runs only where somebody asks for it.
    pub(crate) ignored: bool,
}

/// Returns the tests of a source, in order.
pub(crate) fn tests(source: &str) -> Vec<TestFunction<'_>> {
    let mut found = Vec::new();
    let (mut is_test, mut ignored) = (false, false);
    for line in source.lines() {
        match line.trim() {
            attribute if attribute.starts_with("#[") => {
                let path = attribute["#[".len()..].split(['(', ']', ' ']).next().unwrap_or_default();
                is_test |= path.rsplit("::").next() == Some("test");
                ignored |= path == "ignore";
            }
            // Comments and attributes over several lines stand between as well.
            other => {
                if let Some(name) = name(line).filter(|_| is_test) {
                    found.push(TestFunction { name, ignored });
                }
                if other.contains("fn ") || other.ends_with('}') {
                    (is_test, ignored) = (false, false);
                }
            }
        }
    }
    found
}

/// The name of the function that a line begins.
fn name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.strip_prefix("fn ")?.split('(').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_where_functions_begin() {
        assert_eq!(name("    fn invariant_3_no_leaf_unseen() {"), Some("invariant_3_no_leaf_unseen"));
        assert_eq!(name("async fn invariant_8_one_request(a: u8)"), Some("invariant_8_one_request"));
        assert_eq!(name("// fn invariant_9_is_told"), None);
    }

    #[test]
    fn a_function_counts_with_an_attribute_of_a_test_above_it() {
        let source = "#[test]\n#[ignore = \"long\"]\nfn a() {\n}\n\n#[tokio::test(start_paused = true)]\n/// Says.\nasync fn b() {\n}\n\n\
                      fn helper() {\n}\n#[cfg(test)]\nfn other() {}\n#[test]\nfn c() {}\n";
        let test = |name, ignored| TestFunction { name, ignored };
        assert_eq!(tests(source), [test("a", true), test("b", false), test("c", false)]);
    }
}
