//! The host's side of `wit/plugin.wit`, and the words that both sides share.
//!
//! Arguments are borrowed from the request: the only copy of a leaf's text is the one into guest
//! memory.

use leafgate_contract as policy;

#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "generated from wit/plugin.wit, which documents itself"
)]
mod generated {
    // One world of all interfaces, so that the types they share are generated once. The types are
    // all that is used: which functions a plugin has, and under which version, is looked up by
    // `instance`.
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "
            package leafgate:host;
            world plugin {
                import leafgate:plugin/host@0.1.0;
                export leafgate:plugin/lifecycle@0.1.0;
                export leafgate:plugin/detect@0.1.0;
                export leafgate:plugin/transform@0.1.0;
            }
        ",
        ownership: Borrowing { duplicate_if_necessary: true },
    });
}

pub(crate) use generated::exports::leafgate::plugin::{detect, lifecycle, transform};
pub(crate) use generated::leafgate::plugin::{host, types};

/// Translates one closed enum into another with the same cases, both ways where needed.
macro_rules! same_words {
    ($(fn $name:ident($from:ty) -> $to:ty { $($case:ident)+ })+) => {
        $(pub(crate) fn $name(word: $from) -> $to {
            match word { $(<$from>::$case => <$to>::$case,)+ }
        })+
    };
}

same_words! {
    fn role(policy::Role) -> types::Role { System User Assistant Tool Other }
    fn role_back(types::Role) -> policy::Role { System User Assistant Tool Other }
    fn leaf_kind(policy::LeafKind) -> types::LeafKind {
        Text ToolArguments ToolResult Reasoning ToolSchema RequestOption Metadata Other
    }
    fn section_kind(policy::SectionKind) -> types::SectionKind {
        System User Assistant Context History ToolCall ToolResult ContentPart Prediction RequestOption Other
    }
    fn value_type(policy::ValueType) -> types::ValueType { Text Number Boolean Null }
    fn log_level(host::Level) -> crate::store::LogLevel { Debug Info Warn Error }
    fn confidence(detect::Confidence) -> leafgate_detect::Confidence { Low Medium High }
}
