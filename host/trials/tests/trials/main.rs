//! Tests of a policy as their authors meet them: rule files and tests in, outcomes and files out.

#![allow(missing_docs, reason = "a test binary has no public items")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

/// A snapshot file that holds what people see and nothing else.
macro_rules! snapshot {
    ($shown:expr $(,)?) => {
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!($shown);
        })
    };
}

mod answers;
mod outcomes;
mod recipes;
mod reference;
