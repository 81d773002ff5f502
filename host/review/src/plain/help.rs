//! What the commands of the line mode are, and what is wrong with a line that is none.

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

/// The commands that take something, and what.
const NEEDS: &[(&str, &str)] = &[
    ("show", "the number of a turn: `list` prints them"),
    ("open", "a section like `open 3`, or a leaf like `open 3.2`"),
    ("edit", "a leaf, like `edit 3.2`: `open 3` numbers the leaves of section 3"),
    ("insert", SECTION),
    ("delete", SECTION),
    ("restore", SECTION),
    ("release", "the number of a redaction: `open 3.2` numbers those of leaf 3.2"),
    ("except", "the number of a redaction, a time and why, like `except 1 30d our own address`"),
    ("save", "one of session, workspace, global"),
    (
        "saved",
        "nothing, `remove N` with a number that `saved` prints, `clear`, `scope` with session, workspace or global, \
         or `sections` with 1 to 10",
    ),
    ("mode", "one of off, interceptOnce, interceptAlways, autoOverride"),
    ("select", "the number of a conversation: `sessions` prints them"),
    ("follow", "`on` or `off`"),
];

const SECTION: &str = "the number of a section: `show` prints them";

/// Says why a line with this first word is no command.
pub(super) fn usage(word: &str) -> String {
    match NEEDS.iter().find(|(command, _)| *command == word) {
        Some((_, needs)) => format!("`{word}` needs {needs}"),
        None if is_bare(word) => format!("`{word}` takes nothing behind it"),
        None => format!("no command `{word}`: `help` lists them"),
    }
}

/// Whether it is a command that takes nothing: the help page names it alone.
fn is_bare(word: &str) -> bool {
    let names = HELP.iter().filter_map(|line| line.split("  ").next());
    names.flat_map(|names| names.split(", ")).any(|name| name == word)
}
