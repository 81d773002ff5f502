//! The commands of the line mode: one line, one command.

use leafgate_admin::{SavedScope, SetSaved, TurnMode};

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LineCommand {
    List,
    /// Without a name: the present turn again.
    Show(Option<String>),
    Open(PartNumber),
    Edit(PartNumber),
    /// The redaction of this number.
    Release(usize),
    /// The redaction of this number, from now on.
    Except {
        redaction: usize,
        until: String,
        reason: String,
    },
    Delete(usize),
    Restore(usize),
    Undo,
    Redo,
    Reset,
    Diff,
    Payload,
    Metadata,
    /// The person's edits of the present turn.
    Save(SavedScope),
    /// What is saved, once this is done to it.
    Saved(SavedOrder),
    /// The next turn pauses, so that its edits are saved.
    Capture,
    Agents,
    Why,
    /// Before this section.
    Insert(usize),
    /// These sections first, in this order.
    Pin(Vec<usize>),
    /// Without one: the mode in force.
    Mode(Option<TurnMode>),
    Sessions,
    /// The session at this place of the list.
    Select(usize),
    Follow(bool),
    Resume,
    Cancel,
    Help,
    Quit,
}

/// What is done to saved edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SavedOrder {
    List,
    /// The saved edit at this place of the list.
    Remove(usize),
    Clear,
    Set(SetSaved),
}

/// A section, or a leaf in it, both counted from 1 as they are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartNumber {
    pub(super) section: usize,
    pub(super) leaf: Option<usize>,
}

/// Why a line is no command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CommandError {
    #[error("no command `{0}`: `help` lists them")]
    Unknown(String),
    #[error("`{0}` needs {1}")]
    Needs(&'static str, &'static str),
    #[error("`{0}` takes nothing behind it")]
    TooMuch(&'static str),
}

/// The help page of the line mode.
pub(super) const HELP: &[&str] = &[
    "list            the turns that wait, numbered",
    "show [N]        turn N of the list, or the present one again; show all prints what is folded too",
    "open N          section N as numbered leaves; open N.M prints leaf M of it in full",
    "edit N.M        set a leaf: its new text follows, then a line with a single dot",
    "                (a line that begins with a dot is written with two)",
    "insert N        put a message of yours before section N: its text follows as behind edit",
    "delete N        leave section N out; restore N puts it back",
    "release N       take redaction N back: its value leaves, with this request alone. `open N.M`",
    "                numbers those of a leaf, and says which ones you may release",
    "except N T WHY  let the value of redaction N leave from now on, as far as its rule goes, until T:",
    "                a last day (2027-03-31), a span (30d, 2w), or never. It goes into the policy",
    "undo, redo      take the last edit back, make it again (redactions stay)",
    "reset           take all edits back",
    "pin [N...]      these sections first, in this order, and no others that you pinned",
    "why             all places that hold it, and what plugins say",
    "diff            what came against what would leave",
    "payload         the very body that resume sends",
    "metadata        what is known about the request beside what it says",
    "save SCOPE      save your edits for later turns of this session, this workspace, or global",
    "saved           the saved edits, numbered; saved remove N, and saved clear for all of the scope",
    "saved scope S   where edits are saved: session, workspace, global. saved sections N: how many",
    "                sections a capture shows first, 1 to 10",
    "capture         the next turn waits, and your edits of it are saved when it is sent",
    "resume          send exactly what was shown last",
    "cancel          send nothing; the client gets an error",
    "mode [MODE]     which turns wait although no rule asks: off, interceptOnce (the next one),",
    "                interceptAlways, autoOverride",
    "sessions        the conversations, numbered; select N looks at one and stays with it",
    "agents          what agents asked that others started, newest first",
    "follow on|off   whether the newest conversation becomes the active one",
    "help            this list",
    "quit            leave; turns keep waiting until their time is up",
];

impl LineCommand {
    /// Reads a line. Returns `None` if it is empty.
    pub(super) fn parse(line: &str) -> Result<Option<LineCommand>, CommandError> {
        let mut words = line.split_whitespace();
        let Some(word) = words.next() else { return Ok(None) };
        let rest = words.next();
        let bare = |command, word| match rest {
            None => Ok(command),
            Some(_) => Err(CommandError::TooMuch(word)),
        };
        let command = match word {
            "list" => bare(LineCommand::List, "list")?,
            "show" => LineCommand::Show(rest.map(str::to_owned)),
            "open" => LineCommand::Open(target(rest).ok_or(NEEDS_ANY)?),
            "edit" => {
                let needs = CommandError::Needs(
                    "edit",
                    "a leaf, like `edit 3.2`: `open 3` numbers the leaves of section 3",
                );
                LineCommand::Edit(target(rest).filter(|target| target.leaf.is_some()).ok_or(needs)?)
            }
            "delete" => LineCommand::Delete(section(rest).ok_or(CommandError::Needs("delete", NUMBER))?),
            "restore" => LineCommand::Restore(section(rest).ok_or(CommandError::Needs("restore", NUMBER))?),
            "release" => {
                let number = rest.and_then(|word| word.parse().ok());
                LineCommand::Release(number.ok_or(CommandError::Needs("release", REDACTION))?)
            }
            "except" => except(rest, words).ok_or(CommandError::Needs("except", EXCEPTION))?,
            "undo" => bare(LineCommand::Undo, "undo")?,
            "redo" => bare(LineCommand::Redo, "redo")?,
            "reset" => bare(LineCommand::Reset, "reset")?,
            "diff" => bare(LineCommand::Diff, "diff")?,
            "payload" => bare(LineCommand::Payload, "payload")?,
            "metadata" => bare(LineCommand::Metadata, "metadata")?,
            "save" => LineCommand::Save(rest.and_then(scope).ok_or(NEEDS_SCOPE)?),
            "saved" => LineCommand::Saved(saved(rest, words.next()).ok_or(NEEDS_SAVED)?),
            "capture" => bare(LineCommand::Capture, "capture")?,
            "agents" => bare(LineCommand::Agents, "agents")?,
            "why" => bare(LineCommand::Why, "why")?,
            "insert" => LineCommand::Insert(section(rest).ok_or(CommandError::Needs("insert", NUMBER))?),
            "pin" => LineCommand::Pin(numbers(rest.into_iter().chain(words))?),
            "mode" => {
                LineCommand::Mode(rest.map(|name| TurnMode::from_name(name).ok_or(NEEDS_MODE)).transpose()?)
            }
            "sessions" => bare(LineCommand::Sessions, "sessions")?,
            "select" => LineCommand::Select(section(rest).ok_or(CommandError::Needs(
                "select",
                "the number of a conversation: `sessions` prints them",
            ))?),
            "follow" => LineCommand::Follow(match rest {
                Some("on") => true,
                Some("off") => false,
                _ => return Err(CommandError::Needs("follow", "`on` or `off`")),
            }),
            "resume" => bare(LineCommand::Resume, "resume")?,
            "cancel" => bare(LineCommand::Cancel, "cancel")?,
            "help" => bare(LineCommand::Help, "help")?,
            "quit" => bare(LineCommand::Quit, "quit")?,
            other => return Err(CommandError::Unknown(other.to_owned())),
        };
        Ok(Some(command))
    }
}

const REDACTION: &str = "the number of a redaction: `open 3.2` numbers those of leaf 3.2";
const EXCEPTION: &str = "the number of a redaction, a time and why, like `except 1 30d our own address`";
const NUMBER: &str = "the number of a section: `show` prints them";
const NEEDS_ANY: CommandError =
    CommandError::Needs("open", "a section like `open 3`, or a leaf like `open 3.2`");

const NEEDS_MODE: CommandError =
    CommandError::Needs("mode", "one of off, interceptOnce, interceptAlways, autoOverride");

const NEEDS_SCOPE: CommandError = CommandError::Needs("save", "one of session, workspace, global");

const NEEDS_SAVED: CommandError = CommandError::Needs(
    "saved",
    "nothing, `remove N` with a number that `saved` prints, `clear`, `scope` with session, workspace or global, \
     or `sections` with 1 to 10",
);

fn saved(what: Option<&str>, of: Option<&str>) -> Option<SavedOrder> {
    let set = |set| Some(SavedOrder::Set(set));
    match (what, of) {
        (None, _) => Some(SavedOrder::List),
        (Some("clear"), None) => Some(SavedOrder::Clear),
        (Some("remove"), of) => section(of).map(SavedOrder::Remove),
        (Some("scope"), Some(name)) => set(SetSaved { scope: Some(scope(name)?), ..SetSaved::default() }),
        (Some("sections"), of) => set(SetSaved { preview_limit: Some(section(of)?), ..SetSaved::default() }),
        _ => None,
    }
}

fn scope(name: &str) -> Option<SavedScope> {
    let scopes = [SavedScope::Session, SavedScope::Workspace, SavedScope::Global];
    scopes.into_iter().find(|scope| scope.name() == name)
}

fn except<'w>(number: Option<&str>, mut words: impl Iterator<Item = &'w str>) -> Option<LineCommand> {
    let redaction = number?.parse().ok()?;
    let until = words.next()?.to_owned();
    let reason = words.collect::<Vec<_>>().join(" ");
    (!reason.is_empty()).then_some(LineCommand::Except { redaction, until, reason })
}

fn numbers<'w>(words: impl Iterator<Item = &'w str>) -> Result<Vec<usize>, CommandError> {
    words.map(|word| section(Some(word)).ok_or(CommandError::Needs("pin", NUMBER))).collect()
}

fn section(word: Option<&str>) -> Option<usize> {
    word?.parse().ok().filter(|&number| number > 0)
}

fn target(word: Option<&str>) -> Option<PartNumber> {
    match word?.split_once('.') {
        Some((at, leaf)) => {
            Some(PartNumber { section: section(Some(at))?, leaf: Some(section(Some(leaf))?) })
        }
        None => Some(PartNumber { section: section(word)?, leaf: None }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_section_or_a_leaf() {
        let open = |section, leaf| Ok(Some(LineCommand::Open(PartNumber { section, leaf })));
        assert_eq!(LineCommand::parse("open 3"), open(3, None));
        assert_eq!(LineCommand::parse(" open  3.12 "), open(3, Some(12)));
        for line in ["open", "open 0", "open 3.0", "open 3.", "open x", "open -1"] {
            assert_eq!(LineCommand::parse(line), Err(NEEDS_ANY), "{line}");
        }
        assert!(LineCommand::parse("edit 3").is_err());
    }

    #[test]
    fn what_follows_a_bare_command_is_refused() {
        assert_eq!(LineCommand::parse("resume now"), Err(CommandError::TooMuch("resume")));
        assert_eq!(LineCommand::parse("  "), Ok(None));
    }

    #[test]
    fn pins_are_numbers_in_an_order_and_modes_have_names() {
        assert_eq!(LineCommand::parse("pin 5 2"), Ok(Some(LineCommand::Pin(vec![5, 2]))));
        assert_eq!(LineCommand::parse("pin"), Ok(Some(LineCommand::Pin(Vec::new()))));
        assert!(LineCommand::parse("pin 5 x").is_err());
        assert_eq!(
            LineCommand::parse("mode interceptOnce"),
            Ok(Some(LineCommand::Mode(Some(TurnMode::InterceptOnce))))
        );
        assert_eq!(LineCommand::parse("mode sometimes"), Err(NEEDS_MODE));
        assert_eq!(LineCommand::parse("follow off"), Ok(Some(LineCommand::Follow(false))));
        assert!(LineCommand::parse("follow").is_err());
        assert_eq!(LineCommand::parse("save global"), Ok(Some(LineCommand::Save(SavedScope::Global))));
        for no_scope in ["save", "save project", "save Session"] {
            assert_eq!(LineCommand::parse(no_scope), Err(NEEDS_SCOPE), "{no_scope}");
        }
    }
}
