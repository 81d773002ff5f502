//! A plugin of a policy, whoever runs it.

use std::path::PathBuf;
use std::sync::Arc;

use leafgate_contract::Plugin;
use leafgate_detect::{DetectorId, Label};

use crate::index::{PluginIndex, indexed};

/// A plugin that a policy declares, loaded.
#[derive(Clone, Debug)]
pub struct LoadedPlugin {
    /// The name that rules use.
    pub name: Arc<str>,
    /// The file that it was loaded from.
    pub path: PathBuf,
    /// The plugin itself.
    pub plugin: Arc<dyn Plugin>,
    /// The detector that its findings name, by label.
    pub(crate) detectors: Vec<DetectorId>,
}

impl LoadedPlugin {
    /// The label that a finding names by its place.
    pub(crate) fn label(&self, place: usize) -> Label {
        self.plugin.description().labels[place].clone()
    }
}

indexed!(PluginIndex: LoadedPlugin);
