//! Which turns wait although no rule asks, and which conversations there are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::saved::SavedStatus;
use crate::turn::ShownText;

leafgate_words::words! {
    /// What happens to a turn that no rule holds.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub enum TurnMode {
        /// It is sent.
        #[default]
        Off = "off" / "Send normally" / "only rules pause",
        /// The next one waits, then the mode before this one is in force again.
        InterceptOnce = "interceptOnce" / "Pause next turn" / "then back to the mode before",
        /// Each one waits.
        InterceptAlways = "interceptAlways" / "Pause & review every turn" / "until another mode is chosen",
        /// Edits that a person saved are applied to it. It waits only where there is something to
        /// capture.
        AutoOverride = "autoOverride" / "Auto-apply saved edits" / "edits that you saved are applied",
    }
    /// The word for it in JSON, on the command line and in logs.
    pub fn name = 0;
    /// What people read.
    pub fn label = 1;
    /// What people read of it beside the others.
    pub fn about = 2;
}

/// What `autoOverride` does with the next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AutoState {
    /// It waits, so that a person makes the edits that are to be saved.
    Capturing,
    /// It is sent with the saved edits.
    Applying,
}

leafgate_words::words! {
    /// What kind of request a turn is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub enum TurnClass {
        /// A turn of the conversation that a person sees.
        #[default]
        Main = "main",
        /// A turn of an agent that another one started.
        Subagent = "subagent",
        /// What a client asks for itself: a title, its quota, a count of tokens.
        Side = "side",
    }
    /// Returns its word in APIs and logs.
    pub fn name = 0;
}

/// The mode in force, and what will pause.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModeView {
    /// The mode.
    pub mode: TurnMode,
    /// What people read: `Pause & review every turn`.
    pub label: String,
    /// For how many seconds the gate is switched off yet, so that everything passes as it comes.
    pub off_seconds: Option<u64>,
    /// The mode that the next start begins with. A single pause is for this run only.
    pub lasting: TurnMode,
    /// What `autoOverride` does with the next turn, where it is in force.
    pub auto: Option<AutoState>,
    /// What a banner shows where saved edits are applied.
    pub saved: Option<SavedStatus>,
    /// Turns that wait for a person.
    pub pending: usize,
    /// What will pause, and why: a sentence or two.
    pub text: String,
    /// What a list says in which no turn is.
    pub idle: Option<String>,
    /// Why the mode could not be kept for the next start. It is in force all the same.
    pub not_kept: Option<String>,
}

/// Has everything pass as it comes for a while, or the policy serve again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SwitchOff {
    /// For how long, at most an hour; 0 for not at all.
    pub seconds: u32,
}

/// Chooses a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetMode {
    /// The mode.
    pub mode: TurnMode,
}

/// The conversations, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionList {
    /// One line each.
    pub sessions: Vec<SessionView>,
    /// Whether the newest one becomes the active one.
    pub follow: bool,
}

/// A conversation in a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Its id, opaque.
    pub id: String,
    /// `<location> · <name> · …<end of its id>`.
    pub label: String,
    /// How the latest message of the user begins, on one line, as it left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<ShownText>,
    /// Whether it is the one that a person looks at.
    pub active: bool,
    /// How many turns it has had.
    pub requests: u64,
    /// How many of its requests wait for a person.
    pub pending: usize,
    /// How long ago the last one came, in milliseconds.
    pub silent_ms: u64,
}

/// The conversation that a person looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActiveSession {
    /// Its id, opaque.
    pub id: String,
    /// `<location> · <name> · …<end of its id>`.
    pub label: String,
}

/// Has the newest conversation be the active one, or the present one stay it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Follow {
    /// Whether to follow the newest.
    pub follow: bool,
}

/// Makes a conversation the active one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Select {}

#[cfg(test)]
mod tests {
    use super::*;

    // S0-50, S0-51
    #[test]
    fn each_has_a_word_and_a_label() {
        let words: Vec<_> = TurnMode::ALL.iter().map(|mode| (mode.name(), mode.label())).collect();
        assert_eq!(
            words,
            [
                ("off", "Send normally"),
                ("interceptOnce", "Pause next turn"),
                ("interceptAlways", "Pause & review every turn"),
                ("autoOverride", "Auto-apply saved edits"),
            ]
        );
        assert!(TurnMode::ALL.iter().all(|mode| TurnMode::from_name(mode.name()) == Some(*mode)));
        for word in ["", "Off", "intercept", "interceptalways"] {
            assert_eq!(TurnMode::from_name(word), None, "{word}");
        }
    }

    // S0-50
    #[test]
    fn a_mode_is_spelled_as_everywhere_and_nothing_else_is_one() {
        for &mode in TurnMode::ALL {
            let set: SetMode = serde_json::from_str(&format!(r#"{{"mode":"{}"}}"#, mode.name())).unwrap();
            assert_eq!(set.mode, mode);
        }
        for wrong in [r#"{"mode":"Off"}"#, r#"{"mode":""}"#, "{}", r#"{"mode":"off","for":"ever"}"#] {
            assert!(serde_json::from_str::<SetMode>(wrong).is_err(), "{wrong}");
        }
    }
}
