//! What the attributes expand to calls. Not for authors, and not stable.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

pub use crate::bindings::detect::exports::leafgate::plugin::detect::Guest as Detect;
pub use crate::bindings::lifecycle::exports::leafgate::plugin::lifecycle::{Description, Guest as Lifecycle};
pub use crate::bindings::transform::exports::leafgate::plugin::transform::{
    Guest as Transform, Request as RequestHead,
};
use crate::detect::{Failure, Finding, Leaf};
use crate::transform::{self, Edit, Request, Section};

/// Configuration of a plugin whose function takes none: an empty table.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoConfig {}

/// What a function may return: the items, or a failure instead of them.
pub trait Answer<T> {
    /// The items or the failure.
    ///
    /// # Errors
    /// The function's own.
    fn answer(self) -> Result<Vec<T>, Failure>;
}

impl<T> Answer<T> for Vec<T> {
    fn answer(self) -> Result<Vec<T>, Failure> {
        Ok(self)
    }
}

impl<T> Answer<T> for Result<Vec<T>, Failure> {
    fn answer(self) -> Result<Vec<T>, Failure> {
        self
    }
}

/// What `prepare = ...` may return: the state, or why there can be none.
pub trait PreparedState<S> {
    /// The state or the reason.
    ///
    /// # Errors
    /// The reason, as one finding about the configuration.
    fn prepared(self) -> Result<S, String>;
}

impl<S> PreparedState<S> for S {
    fn prepared(self) -> Result<S, String> {
        Ok(self)
    }
}

impl<S, E: std::fmt::Display> PreparedState<S> for Result<S, E> {
    fn prepared(self) -> Result<S, String> {
        self.map_err(|error| error.to_string())
    }
}

/// Has a panic say where it was and why, before it traps: a trap alone says neither.
fn tell_panics() {
    #[cfg(target_arch = "wasm32")]
    std::panic::set_hook(Box::new(|panic| crate::log(crate::Level::Error, &panic.to_string())));
}

/// Reads the configuration and builds the state from it.
///
/// # Errors
/// One finding: serde's message, or the reason that `build` gave.
pub fn configure<C: DeserializeOwned, S, R: PreparedState<S>>(
    config: &str,
    build: impl FnOnce(C) -> R,
) -> Result<S, Vec<String>> {
    tell_panics();
    let config = serde_json::from_str(config).map_err(|error| vec![error.to_string()])?;
    build(config).prepared().map_err(|reason| vec![reason])
}

/// The type of a configuration, told by the function that takes it. The call
/// `(&ConfigOf::taken_by(f)).schema()` takes the first of the two traits below that fits, so a type
/// needs no schema.
pub struct ConfigOf<C>(PhantomData<C>);

impl<C> ConfigOf<C> {
    /// The type of the function's parameter.
    #[must_use]
    pub fn taken_by<R>(_: impl FnOnce(C) -> R) -> Self {
        ConfigOf(PhantomData)
    }
}

/// A configuration with a schema.
pub trait DescribedConfig {
    /// Its JSON Schema as text.
    fn schema(&self) -> Option<String>;
}

#[cfg(feature = "schema")]
impl<C: schemars::JsonSchema> DescribedConfig for ConfigOf<C> {
    fn schema(&self) -> Option<String> {
        serde_json::to_string(&schemars::schema_for!(C)).ok()
    }
}

/// A configuration that serde alone knows.
pub trait Undescribed {
    /// Nothing.
    fn schema(&self) -> Option<String>;
}

impl<C> Undescribed for &ConfigOf<C> {
    fn schema(&self) -> Option<String> {
        None
    }
}

/// Builds the answer to `describe`.
#[must_use]
pub fn describe(
    name: &str,
    version: &str,
    summary: &str,
    labels: &[&str],
    config_schema: Option<String>,
) -> Description {
    Description {
        name: name.to_owned(),
        version: version.to_owned(),
        summary: summary.to_owned(),
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
        config_schema,
        attributes: vec![],
    }
}

/// Runs a detector over all leaves of a call.
///
/// # Errors
/// The first failure; or that the host never called `configure`.
pub fn detect<S, R: Answer<Finding>>(
    state: Option<&S>,
    leaves: &[Leaf],
    function: impl Fn(&S, &Leaf) -> R,
) -> Result<Vec<Finding>, Failure> {
    let state = state.ok_or_else(not_configured)?;
    let mut findings = Vec::new();
    for leaf in leaves {
        findings.extend(function(state, leaf).answer()?);
    }
    Ok(findings)
}

/// Runs a transformer over one request.
///
/// # Errors
/// Its failure; or that the host never called `configure`.
pub fn transform<S, R: Answer<Edit>>(
    state: Option<&S>,
    head: RequestHead,
    sections: Vec<Section>,
    leaves: Vec<transform::Leaf>,
    function: impl Fn(&S, &Request) -> R,
) -> Result<Vec<Edit>, Failure> {
    let state = state.ok_or_else(not_configured)?;
    function(state, &Request::new(head, sections, leaves)).answer()
}

fn not_configured() -> Failure {
    Failure::Internal("called before `configure`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Config {
        size: u8,
    }

    #[test]
    fn a_typo_in_the_configuration_is_a_finding_with_the_field_that_was_meant() {
        let findings = configure(r#"{"sise": 1}"#, |config: Config| config).unwrap_err();
        assert_eq!(findings.len(), 1);
        assert!(findings[0].contains("`sise`") && findings[0].contains("`size`"), "{findings:?}");
    }

    #[cfg(feature = "schema")]
    #[test]
    fn a_configuration_is_described_where_its_type_has_a_schema() {
        /// What is sized.
        #[derive(schemars::JsonSchema)]
        #[expect(dead_code, reason = "only its schema is looked at")]
        struct Sized {
            /// How large.
            size: u8,
        }
        let schema = ConfigOf::taken_by(|sized: Sized| sized).schema().unwrap();
        let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
        assert_eq!(schema["properties"]["size"]["description"], "How large.");
        assert_eq!(schema["properties"]["size"]["maximum"], 255);
        assert_eq!((&ConfigOf::taken_by(|config: Config| config.size)).schema(), None);
        assert_eq!((&ConfigOf::taken_by(std::convert::identity::<NoConfig>)).schema(), None);
    }

    #[test]
    fn a_failed_preparation_is_a_finding_too() {
        let build =
            |config: Config| if config.size > 1 { Ok(config.size) } else { Err("size must be above 1") };
        assert_eq!(configure::<_, u8, _>(r#"{"size": 2}"#, build), Ok(2));
        assert_eq!(
            configure::<_, u8, _>(r#"{"size": 1}"#, build),
            Err(vec!["size must be above 1".to_owned()])
        );
    }

    #[test]
    fn a_plugin_without_configuration_accepts_none() {
        assert!(configure::<_, NoConfig, _>("{}", |config: NoConfig| config).is_ok());
        assert!(configure::<_, NoConfig, _>(r#"{"any": 1}"#, |config: NoConfig| config).is_err());
    }

    #[test]
    fn a_failure_on_one_leaf_is_the_answer() {
        let leaves = [Leaf::with_text("a"), Leaf::with_text("b")];
        let fail_on_b = |(): &(), leaf: &Leaf| match leaf.text.as_str() {
            "b" => Err(Failure::Unsupported("b".to_owned())),
            _ => Ok(vec![leaf.finding(0..1)]),
        };
        assert_eq!(detect(Some(&()), &leaves, fail_on_b), Err(Failure::Unsupported("b".to_owned())));
        assert_eq!(detect(Some(&()), &leaves[..1], fail_on_b).unwrap().len(), 1);
    }

    #[test]
    fn calls_before_configure_fail() {
        let none: Option<&()> = None;
        assert!(detect(none, &[], |_, _| Vec::<Finding>::new()).is_err());
    }
}
