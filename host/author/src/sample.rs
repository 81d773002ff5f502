//! A plugin asked about texts as if a small request held them: for measuring, and for tests.

use leafgate_contract::{
    CheckedEdits, CheckedFindings, DetectLeaf, Fault, LeafKind, Plugin, PluginEdit, PluginFinding, Role,
    SectionKind, Spent, TransformLeaf, TransformRequest, TransformSection, ValueType, World,
};

/// Asks a plugin about texts, whatever it answers.
///
/// # Errors
/// The fault of the plugin.
pub fn ask(plugin: &dyn Plugin, texts: &[&str]) -> Result<(), Fault> {
    match plugin.world() {
        World::Detector => detect(plugin, texts).map(drop),
        World::Transformer => transform(plugin, texts).map(drop),
    }
}

/// Returns what a detector finds in texts of a user, a leaf each.
///
/// # Errors
/// The fault of the plugin, which does not answer a part.
pub fn detect(plugin: &dyn Plugin, texts: &[&str]) -> Result<Vec<PluginFinding>, Fault> {
    let (kind, value, role) = (LeafKind::Text, ValueType::Text, Role::User);
    let leaf = |&text| DetectLeaf { kind, value, role, tool: None, key: "content", text };
    let leaves: Vec<_> = texts.iter().map(leaf).collect();
    plugin.detect(&leaves, &Spent::default()).map(CheckedFindings::into_vec)
}

/// Returns the edits that a transformer proposes where texts are the leaves of one tool result.
///
/// # Errors
/// The fault of the plugin, which does not answer a part.
pub fn transform(plugin: &dyn Plugin, texts: &[&str]) -> Result<Vec<PluginEdit>, Fault> {
    let section = TransformSection {
        kind: SectionKind::ToolResult,
        role: Role::Tool,
        label: "Result",
        tool: Some("run"),
        parent: None,
        message: Some(0),
    };
    let leaf = |&text| TransformLeaf {
        section: 0,
        kind: LeafKind::ToolResult,
        value: ValueType::Text,
        pointer: "/messages/0/content",
        key: "content",
        text,
    };
    let leaves: Vec<_> = texts.iter().map(leaf).collect();
    let request = TransformRequest {
        format: "openai-chat",
        model: "m",
        session: "s",
        subagent: false,
        sections: &[section],
        leaves: &leaves,
    };
    plugin.transform(&request, &Spent::default()).map(CheckedEdits::into_vec)
}
