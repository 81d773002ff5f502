//! A plugin of a policy, whoever runs it.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use leafgate_contract::Plugin;
use leafgate_detect::{Confidence, DetectorId, Finding};

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
    /// What it found, of which the label is named by its place.
    pub(crate) fn finding(&self, label: usize, range: Range<usize>, confidence: Confidence) -> Finding {
        let detector = self.detectors[label].clone();
        let label = self.plugin.description().labels[label].clone();
        Finding { range, label, detector, confidence, published: false }
    }
}

indexed!(PluginIndex: LoadedPlugin);
