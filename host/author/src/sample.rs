//! A plugin asked about texts as if a small request held them: for measuring, and for tests.

use leafgate_contract::{Fault, LeafKind, Plugin, PluginEdit, World};

use crate::cases::{self, GivenLeaf, GivenText};

/// A small request: texts of a user for a detector, results of a tool for a transformer.
pub struct Sample(GivenText);

impl Sample {
    /// Puts each text into a leaf.
    pub fn new(world: World, texts: &[&str]) -> Self {
        let (kind, tool) = match world {
            World::Detector => (LeafKind::Text, None),
            World::Transformer => (LeafKind::ToolResult, Some("run".to_owned())),
        };
        let leaf = |&text: &&str| GivenLeaf {
            text: text.to_owned(),
            kind: Some(kind),
            tool: tool.clone(),
            ..GivenLeaf::default()
        };
        let [format, model, session] = ["openai-chat", "m", "s"].map(str::to_owned);
        Sample(GivenText {
            format,
            model,
            session,
            subagent: false,
            leaves: texts.iter().map(leaf).collect(),
        })
    }

    /// Asks a plugin of this world, whatever it answers.
    ///
    /// # Errors
    /// The fault of the plugin.
    pub fn ask(&self, plugin: &dyn Plugin) -> Result<(), Fault> {
        match plugin.world() {
            World::Detector => cases::detect(plugin, &self.0).map(drop),
            World::Transformer => cases::transform(plugin, &self.0).map(drop),
        }
    }
}

/// Returns the edits that a transformer proposes where texts are results of a tool.
///
/// # Errors
/// The fault of the plugin, which does not answer a part.
pub fn transform(plugin: &dyn Plugin, texts: &[&str]) -> Result<Vec<PluginEdit>, Fault> {
    cases::transform(plugin, &Sample::new(World::Transformer, texts).0)
}
