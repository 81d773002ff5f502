//! Where exceptions are written: policy folders, of which the gate itself opens none.

use leafgate_admin::ExceptionView;
use leafgate_policy::{NewException, Policy};

/// The folders of a gate's policies.
pub trait PolicyFiles: Send + Sync {
    /// Writes an exception into the policy of a named upstream, or into the gate's own. It stays where the
    /// policy loads with it. Where `works` is given, it must be false of the policy as it is and true of
    /// what was loaded. Returns the file that has it.
    ///
    /// # Errors
    /// Where it is not written: the files are as before then.
    fn except(
        &self,
        upstream: Option<&str>,
        exception: &NewException,
        works: Option<&dyn Fn(&Policy) -> bool>,
    ) -> Result<String, NotExcepted>;

    /// Says before anything is written whether an exception could be: in a folder that loads, and that
    /// does without it what `works` is true of.
    ///
    /// # Errors
    /// Where it could not be.
    fn check(&self, upstream: Option<&str>, works: &dyn Fn(&Policy) -> bool) -> Result<(), NotExcepted>;

    /// Returns the exceptions that stand in the files, in force or not.
    ///
    /// # Errors
    /// Where the files cannot be read.
    fn exceptions(&self) -> Result<Vec<ExceptionView>, NotExcepted>;

    /// Takes the exception with this id out of its file.
    ///
    /// # Errors
    /// Where there is none, or its file stays as it is.
    fn remove(&self, id: &str) -> Result<(), NotExcepted>;
}

/// Why an exception was not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotExcepted {
    /// The policy is no folder.
    #[error(
        "the gate was started with a policy that cannot be changed: start it without `--policy`, so that your own serves, or with a folder"
    )]
    BuiltIn,
    /// The rule lets the value pass already.
    #[error("the policy on disk lets this value pass already, from the next request on: nothing was written")]
    Already,
    /// The policy redacts the value all the same.
    #[error(
        "the rule would redact it all the same: what it found is more than this value, or stands in several places. Nothing was written"
    )]
    Idle,
    /// There is none of this id.
    #[error("no exception has this id: it was removed, or changed since it was listed")]
    Unknown,
    /// The policy does not load with it, or it cannot be written.
    #[error("{0}")]
    Failed(String),
}
