//! Edits that a person saved, which `autoOverride` makes in later turns.

use leafgate_tree::{LeafKind, Role, SectionKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::mode::AutoState;
use crate::turn::{SectionView, ShownText, TurnSummary};

leafgate_words::words! {
    /// Which requests a saved edit is for. The first one wins where several edit the same place.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub enum SavedScope {
        /// Those of one conversation, as long as the gate knows it.
        #[default]
        Session = "session" / "Session",
        /// Those of gates that run for one folder.
        Workspace = "workspace" / "Workspace",
        /// The same, from a file of the folder that somebody trusts. The gate never writes it.
        Project = "project" / "Project",
        /// All.
        Global = "global" / "Global",
    }
    /// The word for it in JSON and on the command line.
    pub fn name = 0;
    /// What people read.
    pub fn label = 1;
}

leafgate_words::words! {
    /// What happens to a turn in which a saved edit does not fit.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub enum OnDrift {
        /// It is sent without the edit, and that is told.
        #[default]
        Skip = "skip" / "the turn is sent without it, and that is told",
        /// It waits for a person.
        Pause = "pause" / "the turn waits for a person",
    }
    /// The word for it in JSON and on the command line.
    pub fn name = 0;
    /// What people read.
    pub fn label = 1;
}

/// What a person can do about saved edits now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SavedAction {
    /// `POST /v1/saved/capture`: the next turn pauses, and what a person edits in it is saved.
    CaptureNewEdits,
    /// `PUT /v1/mode` with `interceptOnce`.
    PauseNextTurn,
    /// `POST /v1/saved/clear`.
    RemoveSavedEdits,
    /// `PUT /v1/saved` with `scope`.
    WhereToSaveEdits,
    /// `PUT /v1/saved` with `previewLimit`.
    SectionsToCapture,
}

/// What `autoOverride` does, for a banner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedStatus {
    /// `Auto-apply edits · <scope>`.
    pub title: String,
    /// `Applying (saved <time>)` or `Capturing next turn · showing first N sections`.
    pub subtitle: String,
    /// Where captured edits are saved.
    pub scope: SavedScope,
    /// How many sections a capture shows first.
    pub preview_limit: usize,
    /// What edits that are saved from now on want where they do not fit.
    pub on_drift: OnDrift,
    /// What can be done now.
    pub actions: Vec<SavedAction>,
    /// How many saved edits there are for the active conversation.
    pub edits: usize,
    /// How many of these did not fit the last time.
    pub drifted: usize,
}

/// All saved edits.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedList {
    /// What the mode does with them; `None` where the mode is not `autoOverride`, and no saved edit
    /// is made.
    pub auto: Option<AutoState>,
    /// What a banner shows.
    pub status: SavedStatus,
    /// The folder that the gate runs for.
    pub workspace: Option<String>,
    /// The edits: those that win first.
    pub edits: Vec<SavedEditView>,
    /// Files that are not used, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A saved edit.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedEditView {
    /// Its id. The same edit of the same place has the same in every scope.
    pub id: String,
    /// Its scope.
    pub scope: SavedScope,
    /// The conversation that it belongs to, opaque.
    pub session: Option<String>,
    /// `set`, `delete` or `insert`.
    pub action: String,
    /// `Edited · <scope> · saved <time>`: the title of what shows its diff.
    pub title: String,
    /// The format of the request that it was made in.
    pub format: String,
    /// Display path there.
    pub path: String,
    /// RFC 6901, into the received body.
    pub pointer: String,
    /// Role of the message there.
    pub role: Role,
    /// Kind of the section there.
    pub section: SectionKind,
    /// Kind of the leaf there.
    pub leaf: Option<LeafKind>,
    /// Keyed digest of what it replaces.
    pub replaces: String,
    /// What it wants where it does not fit.
    pub on_drift: OnDrift,
    /// When it was saved, as RFC 3339.
    pub updated_at: String,
    /// What it writes.
    pub text: Option<ShownText>,
    /// What became of it the last time, in this run of the gate.
    pub last: Option<SavedUse>,
}

/// What became of a saved edit in a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedUse {
    /// Whether its effect stood in the request.
    pub fits: bool,
    /// `made`, `unneeded`, `overruled`, `refused`, `otherFormat`, `otherText`, `gone` or `ambiguous`.
    pub outcome: String,
    /// Why it was not made, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The conversation of the request, opaque.
    pub session: String,
}

/// What a saved edit replaced the last time, beside what it writes.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedDiff {
    /// The edit.
    pub edit: SavedEditView,
    /// The text that it replaced, with masks for redacted values. `None` where it was made in no
    /// request of this run, since no file keeps it, or where it replaces none.
    pub before: Option<ShownText>,
    /// The text that it writes.
    pub after: Option<ShownText>,
}

/// Chooses how edits are saved. What is left out stays.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetSaved {
    /// Where captured edits are saved: `session`, `workspace` or `global`.
    pub scope: Option<SavedScope>,
    /// How many sections a capture shows first, 1 to 10.
    pub preview_limit: Option<usize>,
    /// What edits that are saved from now on want where they do not fit.
    pub on_drift: Option<OnDrift>,
}

/// Has the next turn pause, so that its edits are saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArmCapture {}

/// Removes all saved edits of a scope, those of every conversation for `session`, and has the next
/// turn pause where saved edits are applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClearSaved {
    /// The scope; without it, the one in which edits are saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<SavedScope>,
}

/// Saves the edits that a person made in a turn and that stand in it. The turn goes on waiting.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaptureTurn {
    /// Where; without it, where captured edits are saved.
    pub scope: Option<SavedScope>,
    /// What they want where they do not fit; without it, what was chosen for all.
    pub on_drift: Option<OnDrift>,
    /// Saves them nowhere, and answers with a file of them for a project, which has a key of its
    /// own. Takes no scope.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub export: bool,
}

/// What was saved of a turn.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapturedEdits {
    /// Where.
    pub scope: SavedScope,
    /// The edits.
    pub edits: Vec<SavedEditView>,
    /// The person's edits that cannot be saved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutEdit>,
    /// Why nothing was saved.
    pub not_saved: Option<String>,
    /// The file that was asked for, as TOML.
    pub file: Option<ShownText>,
}

/// An edit of a person that cannot be saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOutEdit {
    /// Display path in the received order.
    pub path: String,
    /// Why.
    pub why: String,
}

/// What a capture shows of a turn first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapturePreview {
    /// The first sections, each with those inside it.
    pub sections: Vec<SectionView>,
    /// How many more there are.
    pub more: usize,
}

/// A turn that was resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resumed {
    /// The turn.
    #[serde(flatten)]
    pub turn: TurnSummary,
    /// What was saved of it, where it waited to be captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured: Option<CapturedEdits>,
}
