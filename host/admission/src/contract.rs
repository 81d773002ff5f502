//! The versions of `leafgate:plugin` that this host speaks: one table, and every name that is
//! derived from it.
//!
//! Each interface of the contract bears its version, so a version is known before anything is
//! instantiated. Within a major version, 0 included, a minor version adds interfaces and changes
//! none. So a host of one minor version runs the plugins of every earlier one: it offers what they
//! import under the names that they import it by, and looks up what they export under their own
//! names.

use std::fmt;

const PACKAGE: &str = "leafgate:plugin/";

/// A minor version of the contract. Patches of it change no types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
#[display("{}.{}", self.major, self.minor)]
pub struct Version {
    /// Changes types.
    pub major: u64,
    /// Adds interfaces.
    pub minor: u64,
}

impl Version {
    /// Returns the full name of one of its interfaces.
    pub fn interface(self, name: &str) -> String {
        format!("{PACKAGE}{name}@{self}.0")
    }

    /// Reads `major.minor.patch`. A pre-release is no version of the contract.
    fn parse(text: &str) -> Option<Self> {
        let version = semver::Version::parse(text).ok()?;
        let is_released = version.pre.is_empty() && version.build.is_empty();
        is_released.then_some(Version { major: version.major, minor: version.minor })
    }
}

/// The versions that a host speaks, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct Contract(pub &'static [Version]);

/// The versions that this host speaks. A new minor version is a new row.
pub const CONTRACT: Contract = Contract(&[Version { major: 0, minor: 1 }]);

/// Why a version is not spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unspoken {
    /// The host is older than the plugin.
    TooNew,
    /// The plugin is older than the host goes back.
    TooOld,
    /// It names no released version.
    NoVersion,
}

impl Contract {
    /// Returns the versions, oldest first.
    pub fn versions(self) -> impl Iterator<Item = Version> {
        self.0.iter().copied()
    }

    /// Returns the spoken version that a text names.
    pub(crate) fn speaks(self, text: &str) -> Result<Version, Unspoken> {
        let version = Version::parse(text).ok_or(Unspoken::NoVersion)?;
        match () {
            () if self.0.contains(&version) => Ok(version),
            () if self.0.last().is_none_or(|newest| version > *newest) => Err(Unspoken::TooNew),
            () => Err(Unspoken::TooOld),
        }
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [only] => write!(f, "leafgate:plugin {only}"),
            [oldest, .., newest] => write!(f, "leafgate:plugin {oldest} to {newest}"),
            [] => f.write_str("no version of leafgate:plugin"),
        }
    }
}

/// `leafgate:plugin/<name>@<version>`, the name of an import or an export.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface<'a> {
    pub(crate) name: &'a str,
    /// "" where the name bears none.
    pub(crate) version: &'a str,
}

impl<'a> Interface<'a> {
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix(PACKAGE)?;
        let (name, version) = rest.split_once('@').unwrap_or((rest, ""));
        Some(Interface { name, version })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Contract = Contract(&[
        Version { major: 1, minor: 0 },
        Version { major: 1, minor: 1 },
        Version { major: 1, minor: 2 },
    ]);

    #[test]
    fn every_minor_version_of_the_major_one_is_spoken_and_any_patch() {
        for (text, minor) in [("1.0.0", 0), ("1.1.17", 1), ("1.2.3", 2)] {
            assert_eq!(HOST.speaks(text), Ok(Version { major: 1, minor }), "{text}");
        }
    }

    #[test]
    fn an_unspoken_version_says_which_side_is_older() {
        for text in ["1.3.0", "2.0.0", "1.10.0"] {
            assert_eq!(HOST.speaks(text), Err(Unspoken::TooNew), "{text}");
        }
        for text in ["0.9.0", "0.1.0"] {
            assert_eq!(HOST.speaks(text), Err(Unspoken::TooOld), "{text}");
        }
        for text in ["", "1", "1.1", "1.1.", "1.1.0.0", "1.1.0-rc.1", "+1.1.0", "a.b.c"] {
            assert_eq!(HOST.speaks(text), Err(Unspoken::NoVersion), "{text}");
        }
    }

    #[test]
    fn a_host_names_the_versions_that_it_speaks() {
        assert_eq!(CONTRACT.to_string(), "leafgate:plugin 0.1");
        assert_eq!(HOST.to_string(), "leafgate:plugin 1.0 to 1.2");
        assert_eq!(CONTRACT.0[0].interface("host"), "leafgate:plugin/host@0.1.0");
    }
}
