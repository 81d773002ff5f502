//! `requires`: which versions of the program a rule file is written for.
//!
//! A file that an older program understood in part would guard less than it says, so it is refused.

use leafgate_diagnostic::Complaints;
use semver::{Version, VersionReq};

use super::raw::{RawFile, words_of};

const HINT: &str = "write it like `requires = [\"leafgate >= 0.3\"]`";

/// Reports each requirement that this program does not meet.
pub(crate) fn check(raw: &RawFile, complaints: &mut Complaints<'_>) {
    for (text, span) in words_of(&raw.requires) {
        let (name, versions) = text.split_at(text.find([' ', '<', '>', '=', '~', '^']).unwrap_or(text.len()));
        let read = VersionReq::parse(versions.trim());
        match (name, read) {
            ("leafgate", Ok(wanted)) if wanted.matches(&own()) => {}
            ("leafgate", Ok(_)) => {
                let message = format!("this file needs {text}, and this is leafgate {}", own());
                complaints.error(
                    span,
                    message,
                    "install another version, or take out what the file needs it for",
                );
            }
            ("leafgate", Err(error)) => {
                complaints.error(span, format!("no versions can be read from `{text}`: {error}"), HINT);
            }
            (other, _) => complaints.error(span, format!("nothing here is called `{other}`"), HINT),
        }
    }
}

fn own() -> Version {
    Version::parse(env!("CARGO_PKG_VERSION")).expect("Cargo checks the version of a package")
}
