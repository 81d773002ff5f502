//! The engine that runs JavaScript plugins: QuickJS behind the contract of plugins.
//!
//! It is built once (`cargo xtask javascript`) and ships inside the host. Its configuration is an
//! [`Envelope`]: the source of a plugin, its file's name and its own configuration. With an empty
//! configuration it only starts up: that state is what every instance begins with.
//!
//! It exports both worlds; what the source exports decides which of them the host calls. Nothing
//! that a plugin does here reaches further than its instance, so nothing is defended from it but the
//! form of its answers.

mod bridge;
mod engine;
mod place;

use leafgate_plugin::detect::{Failure, Finding};
use leafgate_plugin::runtime::{Description, Detect, Lifecycle, RequestHead, Transform};
use leafgate_plugin::transform::{Attribute, Edit, Section};
use leafgate_plugin::{detect, transform};

/// What the host hands over as the configuration of the engine.
#[derive(serde::Deserialize)]
struct Envelope {
    /// The file's name, as errors say it.
    name: String,
    source: String,
    /// The plugin's own configuration, as JSON text; empty where it is only looked at.
    config: String,
}

struct Engine;

impl Lifecycle for Engine {
    /// Before `configure` it says which engine this is, after it what the source says.
    fn describe() -> Description {
        let said = engine::about();
        let world = match (said.detect, said.transform) {
            (true, false) => "detector",
            (false, true) => "transformer",
            (true, true) => "both",
            (false, false) => "none",
        };
        Description {
            name: said.name,
            version: said.version,
            summary: said.summary,
            labels: said.labels,
            config_schema: said.schema,
            attributes: vec![Attribute { name: "world".to_owned(), value: world.to_owned() }],
        }
    }

    /// The first finding says whose mistake it is: `source` or `config`.
    fn configure(config: String) -> Result<(), Vec<String>> {
        engine::start();
        if config.is_empty() {
            return Ok(());
        }
        let envelope: Envelope =
            serde_json::from_str(&config).map_err(|error| vec!["source".to_owned(), error.to_string()])?;
        engine::load(&envelope)
    }
}

impl Detect for Engine {
    fn detect(leaves: Vec<detect::Leaf>) -> Result<Vec<Finding>, Failure> {
        engine::run("detect", |loaded| bridge::detect(loaded, &leaves))
    }
}

impl Transform for Engine {
    fn transform(
        head: RequestHead,
        sections: Vec<Section>,
        leaves: Vec<transform::Leaf>,
    ) -> Result<Vec<Edit>, Failure> {
        engine::run("transform", |loaded| bridge::transform(loaded, &head, &sections, &leaves))
    }
}

#[allow(unsafe_code, reason = "exported functions are unsafe attributes; the generated code upholds the ABI")]
const _: () = {
    leafgate_plugin::bindings::lifecycle::export!(Engine with_types_in leafgate_plugin::bindings::lifecycle);
    leafgate_plugin::bindings::detect::export!(Engine with_types_in leafgate_plugin::bindings::detect);
    leafgate_plugin::bindings::transform::export!(Engine with_types_in leafgate_plugin::bindings::transform);
};

/// QuickJS asks for the time when it starts. There is none: a plugin has no clock.
#[unsafe(no_mangle)]
extern "C" fn __rquickjs_host_now_us() -> f64 {
    0.0
}
