//! The words for what a section or a leaf is. They mirror the enums of `wit/plugin.wit`, and are kebab-case in rule files and CEL.

use serde::{Deserialize, Serialize};

leafgate_words::words! {
    /// Who speaks in a message.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Role {
        /// System and developer messages.
        System = "system",
        /// The person, or the client on their behalf.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// The result of a tool call.
        Tool = "tool",
        /// No message, or an unknown role.
        #[default]
        Other = "other",
    }
    /// The word for it in rule files, CEL and the plugin contract.
    pub fn name = 0;
}

leafgate_words::words! {
    /// What a section is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum SectionKind {
        /// A system or developer message.
        System = "system" / "System",
        /// A message of the user.
        User = "user" / "User",
        /// A message of the model.
        Assistant = "assistant" / "Assistant",
        /// Material that the client put in: files, directory maps.
        Context = "context" / "Context",
        /// Earlier turns, summarised.
        History = "history" / "History",
        /// A call of a tool.
        ToolCall = "tool-call" / "Tool call",
        /// A result of a tool.
        ToolResult = "tool-result" / "Tool result",
        /// One part of a message's content.
        ContentPart = "content-part" / "Content",
        /// Predicted output.
        Prediction = "prediction" / "Prediction",
        /// A member of the body beside the messages.
        RequestOption = "request-option" / "Option",
        /// Anything unknown.
        #[default]
        Other = "other" / "Message",
    }
    /// The word for it in rule files, CEL and the plugin contract.
    pub fn name = 0;
    /// What people read.
    pub(crate) fn title = 1;
}

impl SectionKind {
    /// What a message of a role is.
    pub const fn of_message(role: Role) -> Self {
        match role {
            Role::System => SectionKind::System,
            Role::User => SectionKind::User,
            Role::Assistant => SectionKind::Assistant,
            Role::Tool => SectionKind::ToolResult,
            Role::Other => SectionKind::Other,
        }
    }

    /// Whether it says whose words a section holds. The other kinds say what an API must find together.
    pub const fn is_of_words(self) -> bool {
        match self {
            SectionKind::System
            | SectionKind::User
            | SectionKind::Assistant
            | SectionKind::Context
            | SectionKind::History
            | SectionKind::ContentPart
            | SectionKind::Other => true,
            SectionKind::ToolCall
            | SectionKind::ToolResult
            | SectionKind::Prediction
            | SectionKind::RequestOption => false,
        }
    }
}

leafgate_words::words! {
    /// What a part of a message's content holds.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum ContentKind {
        /// Text.
        Text = "text",
        /// A picture.
        Image = "image",
        /// Sound.
        Audio = "audio",
        /// A file.
        Document = "document",
        /// What the model thought.
        Thinking = "thinking",
        /// The result of a tool call.
        ToolResult = "tool-result",
        /// What an endpoint put there for itself.
        Opaque = "opaque",
        /// The end of a prefix to cache.
        CacheBreakpoint = "cache-breakpoint",
        /// What the client warned of beside the model's words.
        Warning = "warning",
        /// What the client said about its progress.
        Progress = "progress",
        /// A kind that the format does not know.
        Other = "other",
    }
    /// The word for it in rule files, CEL and the plugin contract.
    pub fn name = 0;
}

leafgate_words::words! {
    /// What a leaf is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum LeafKind {
        /// Text of a message.
        Text = "text",
        /// Inside the arguments of a tool call.
        ToolArguments = "tool-arguments",
        /// Inside the result of a tool call.
        ToolResult = "tool-result",
        /// Reasoning of the model.
        Reasoning = "reasoning",
        /// Inside a tool definition.
        ToolSchema = "tool-schema",
        /// Inside a request option.
        RequestOption = "request-option",
        /// Ids, types, roles, names.
        Metadata = "metadata",
        /// Anything else.
        #[default]
        Other = "other",
    }
    /// The word for it in rule files, CEL and the plugin contract.
    pub fn name = 0;
}

leafgate_words::words! {
    /// The JSON type of a leaf.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum ValueType {
        /// A string.
        #[default]
        Text = "text",
        /// A number.
        Number = "number",
        /// `true` or `false`.
        Boolean = "boolean",
        /// `null`.
        Null = "null",
    }
    /// The word for it in rule files, CEL and the plugin contract.
    pub fn name = 0;
}
