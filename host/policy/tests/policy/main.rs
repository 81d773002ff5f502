//! The policy as its users meet it: folders of rule files in, verdicts and bytes out. Plugins are a few lines of Rust here.

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
mod assembly;
mod decide;
mod diagnostics;
mod edit;
mod encoded;
mod examples;
mod excepted_recordings;
mod exceptions;
mod explain;
mod explain_request;
mod files;
mod findings;
mod flow;
mod forty;
mod insert;
mod known;
mod managed;
mod media;
mod memo;
mod mistakes;
mod monitor;
mod names;
mod never;
mod not;
mod options;
mod outgoing;
mod outside;
mod own;
mod properties;
mod recordings;
mod redact;
mod release;
mod remembered;
mod requests;
mod review;
mod route;
mod saved;
mod seams;
mod searched;
mod sections;
mod support;
mod tag;
mod tools;
mod transform;
mod veiled;
