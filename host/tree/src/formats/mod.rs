//! The wire formats: one file each, each a row of the same facts.
//!
//! A format says which parts of a body are sections, what each leaf is and who may change it, how a body is told from others, what its
//! API demands of an edited request, and how a message is put in. Whatever the rest of the crate needs to know of a format is a field
//! of [`Spec`]. No other file names one.
//!
//! Two formats may read one body alike, as a chat of plain texts: then they need not be told apart.

mod chat;
mod gemini;
mod generic;
mod messages;
mod raw;
mod responses;
mod shape;
mod vscode_chat;

use leafgate_api::Api;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::index::Index;
use crate::kinds::{ContentKind, Role};
use crate::node::{JsonKind, NodeId};
use crate::project::{Projection, Projector};
use crate::section::Section;

leafgate_words::words! {
    /// The wire format of a request, in the order in which bodies that fit several are decided.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Format {
        /// OpenAI `POST /v1/chat/completions`.
        OpenaiChat = "openai-chat",
        /// OpenAI `POST /v1/responses`.
        OpenaiResponses = "openai-responses",
        /// Anthropic `POST /v1/messages` and `count_tokens`.
        AnthropicMessages = "anthropic-messages",
        /// prompt-tsx `Raw.ChatMessage[]`.
        Raw = "raw",
        /// A VS Code chat export.
        VscodeChat = "vscode-chat",
        /// Gemini `generateContent`, `streamGenerateContent` and `countTokens`.
        Gemini = "gemini",
        /// JSON that no other format maps, or text that is no JSON.
        Generic = "generic",
    }
    /// The word for it in rule files, CEL and the plugin contract.
    pub fn name = 0;
}

/// What one format knows.
pub(crate) struct Spec {
    /// The API that takes requests of the format; `None` where nobody is sent them, or anybody.
    pub(crate) api: Option<Api>,
    /// Other words that people use for the format.
    pub(crate) aliases: &'static [&'static str],
    /// How much a body looks like one of this format; `None` where what the API demands is missing.
    pub(crate) likeness: fn(&Index) -> Option<Likeness>,
    /// Whether bodies of the format have an outermost value of this kind. All others are named as generic JSON.
    pub(crate) reads: fn(JsonKind) -> bool,
    /// Names the sections of a body, and says what each leaf is and who may change it.
    pub(crate) project: fn(&mut Projector<'_>),
    /// Finds the name of the model asked for.
    pub(crate) model: fn(&Index) -> Option<NodeId>,
    /// Whether the body asks for a stream of events.
    pub(crate) streams: fn(&Index) -> bool,
    /// The key of what a message says.
    pub(crate) content_key: &'static str,
    /// The keys of the body under which the user speaks where there are no messages.
    pub(crate) prompt_keys: &'static [&'static str],
    /// What the API demands of an edited request.
    pub(crate) rules: Rules,
    /// Finds the leaf by which a call and its result know each other.
    pub(crate) pairing: fn(&Index, &Section) -> Option<NodeId>,
    /// Whether the request goes on from an answer that the server keeps, whose calls wait for their results.
    pub(crate) continues_stored: fn(&Index) -> bool,
    /// Finds the leaves that name a tool which the model must call.
    pub(crate) chosen_tools: fn(&Index) -> Vec<NodeId>,
    /// The keys of the body that mean nothing without tools: first that of the list of tools. Empty where nothing is sent.
    pub(crate) tool_options: &'static [&'static str],
    /// Finds the member that holds the whole request; `None` where that is the body itself.
    pub(crate) wrapper: fn(&Index) -> Option<NodeId>,
    /// The JSON of a message of text that is put in: before its role, between that and the text, and behind.
    pub(crate) message: [&'static str; 3],
    /// Whether system text stands beside the messages only.
    pub(crate) system_beside: bool,
}

/// How much a body looks like one of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Likeness {
    /// Any JSON fits.
    Fallback,
    /// What the API demands is there.
    Plausible,
    /// Something is there that this API alone offers.
    Certain,
}

/// What an API demands of the messages of an edited request.
pub(crate) struct Rules {
    /// The spellings of a message's `role`, and who speaks then; empty where it may be anything.
    pub(crate) roles: &'static [(&'static str, Role)],
    /// What a part of content holds by its `type`; `None` where parts have no type.
    pub(crate) part_kind: Option<fn(Option<&str>) -> ContentKind>,
    /// Whether a text of a message may be empty.
    pub(crate) empty_text: bool,
    /// Whether the first message must be the user's.
    pub(crate) user_first: bool,
    /// Whether messages that call tools are refused without a list of tools.
    pub(crate) calls_need_tools: bool,
    /// Said where deletions leave an answer of the model as the last message.
    pub(crate) assistant_last: &'static str,
}

/// What most formats say. Nothing of it is named, paired, deleted or put in: a format that is sent says how that is done.
const USUAL: Spec = Spec {
    api: None,
    aliases: &[],
    likeness: |_| None,
    reads: |root| root == JsonKind::Object,
    project: |_| {},
    model: model_member,
    streams: stream_member,
    content_key: "content",
    prompt_keys: &[],
    rules: Rules {
        roles: &[],
        part_kind: None,
        empty_text: true,
        user_first: false,
        calls_need_tools: false,
        // The model would go on from its own answer.
        assistant_last: "what the user said last was deleted, so the model would answer itself",
    },
    pairing: |_, _| None,
    continues_stored: |_| false,
    chosen_tools: |_| Vec::new(),
    tool_options: &[],
    wrapper: |_| None,
    message: [r#"{"role":""#, r#"","content":""#, r#""}"#],
    system_beside: false,
};

/// How a message of text is spelled that is put in: its JSON up to the text, and behind.
#[derive(Clone)]
pub(crate) struct MessageSpelling {
    pub(crate) before: String,
    pub(crate) after: &'static str,
}

impl Spec {
    /// Says how a message of text is spelled that is put in, or why none can be.
    pub(crate) fn message(&self, role: Role) -> Result<MessageSpelling, &'static str> {
        let spelled = self.rules.roles.iter().find(|(_, of)| *of == role);
        let [start, middle, after] = self.message;
        match (role, spelled) {
            _ if self.rules.roles.is_empty() => Err("this format has no messages that are sent"),
            (Role::System, _) if self.system_beside => {
                Err("the API takes system text beside the messages only")
            }
            (Role::System | Role::User | Role::Assistant, Some((word, _))) => {
                Ok(MessageSpelling { before: format!("{start}{word}{middle}"), after })
            }
            _ => Err("results belong to calls, and other roles are unknown"),
        }
    }
}

impl Format {
    /// What the format's file says.
    pub(crate) fn spec(self) -> &'static Spec {
        match self {
            Format::OpenaiChat => &chat::FORMAT,
            Format::OpenaiResponses => &responses::FORMAT,
            Format::AnthropicMessages => &messages::FORMAT,
            Format::Raw => &raw::FORMAT,
            Format::VscodeChat => &vscode_chat::FORMAT,
            Format::Gemini => &gemini::FORMAT,
            Format::Generic => &generic::FORMAT,
        }
    }

    /// Returns the API that takes requests of the format; `None` where nobody is sent them, or anybody.
    pub fn api(self) -> Option<Api> {
        self.spec().api
    }

    /// Other words for it, which [`Format::from_word`] takes as well.
    pub fn aliases(self) -> &'static [&'static str] {
        self.spec().aliases
    }

    /// The format that a word means: its name or an alias, of which [`Format::from_name`] knows none.
    pub fn from_word(word: &str) -> Option<Format> {
        let means = |format: &Format| format.name() == word || format.aliases().contains(&word);
        Format::ALL.iter().copied().find(means)
    }

    /// The format whose shape a body has; of several the first.
    pub(crate) fn of_shape(body: &Index) -> Format {
        let all = Format::ALL.iter().copied().map(|format| ((format.spec().likeness)(body), format));
        all.reduce(|best, next| if next.0 > best.0 { next } else { best })
            .map_or(Format::Generic, |(_, format)| format)
    }

    /// What the format says about every value of a body.
    pub(crate) fn projection(self, body: &Index) -> Projection {
        let spec =
            if (self.spec().reads)(body.kind(body.root())) { self.spec() } else { Format::Generic.spec() };
        let mut projector = Projector::new(body, spec.content_key);
        (spec.project)(&mut projector);
        projector.finish()
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Words of a file are not quoted.
        let word = String::deserialize(deserializer)?;
        Format::from_word(&word).ok_or_else(|| serde::de::Error::custom("no such format"))
    }
}

/// The member `model` of a body.
fn model_member(body: &Index) -> Option<NodeId> {
    body.member(body.root(), "model").filter(|&model| body.scalar(model).is_some())
}

/// Whether a body says `"stream": true`.
fn stream_member(body: &Index) -> bool {
    body.member(body.root(), "stream").is_some_and(|stream| body.kind(stream) == JsonKind::True)
}

/// The member of a call or a result that holds its id, under the first of these keys.
fn id_member(body: &Index, section: &Section, keys: &[&str]) -> Option<NodeId> {
    let id = section.call_id.as_deref()?;
    let mut members = keys.iter().filter_map(|key| body.member(section.node, key));
    members.find(|&member| body.content_text(member) == id)
}

/// The leaves at these pointers.
fn at_pointers(body: &Index, pointers: &[&str]) -> Vec<NodeId> {
    pointers.iter().filter_map(|pointer| body.resolve(pointer).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_means_one_format() {
        let words = |format: &Format| [&[format.name()], format.aliases()].concat();
        let all: Vec<&str> = Format::ALL.iter().flat_map(words).collect();
        for (at, word) in all.iter().enumerate() {
            assert!(!all[..at].contains(word), "{word} means two formats");
        }
        for format in Format::ALL {
            assert!(words(format).iter().all(|word| Format::from_word(word) == Some(*format)));
            assert!(format.api().is_none_or(|api| api.name() == format.name()), "{format} has two names");
        }
    }

    #[test]
    fn a_message_can_be_put_in_for_each_role_that_rules_know_or_the_reason_is_said() {
        for (format, role) in
            Format::ALL.iter().flat_map(|format| Role::ALL.iter().map(move |role| (format, role)))
        {
            match format.spec().message(*role) {
                Ok(spelling) => {
                    let message = format!("{}x{}", spelling.before, spelling.after);
                    assert!(
                        serde_json::from_str::<serde_json::Value>(&message).is_ok(),
                        "{format} {role}: {message}"
                    );
                }
                Err(why) => assert!(!why.is_empty()),
            }
        }
    }
}
