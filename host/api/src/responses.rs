//! Items of Responses.

/// A call that the client answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallItem {
    /// Its kind.
    pub kind: &'static str,
    /// The member with its arguments.
    pub arguments: &'static str,
    /// What the events about its arguments begin with.
    pub event: &'static str,
    /// The kind of its result.
    pub result: &'static str,
}

/// A call of a function, whose arguments are JSON.
pub const FUNCTION: CallItem = CallItem {
    kind: "function_call",
    arguments: "arguments",
    event: "response.function_call_arguments",
    result: "function_call_output",
};

/// A call of a custom tool, whose input is any text.
pub const CUSTOM: CallItem = CallItem {
    kind: "custom_tool_call",
    arguments: "input",
    event: "response.custom_tool_call_input",
    result: "custom_tool_call_output",
};

impl CallItem {
    /// Returns what is known of items of a kind; `None` where no client answers them with a result.
    pub fn of_kind(kind: &str) -> Option<CallItem> {
        [FUNCTION, CUSTOM].into_iter().find(|call| call.kind == kind)
    }

    /// Returns the call that events are about which begin so.
    pub fn of_event(begins: &str) -> Option<CallItem> {
        [FUNCTION, CUSTOM].into_iter().find(|call| call.event == begins)
    }
}

/// Returns whether items of a kind are results of calls that the client answers.
pub fn is_result(kind: &str) -> bool {
    [FUNCTION, CUSTOM].iter().any(|call| call.result == kind)
}

/// Calls that the client answers by their kind, which is all the name that they have, and the member that says what.
pub const NAMELESS: [(&str, &str); 4] = [
    ("local_shell_call", "action"),
    ("shell_call", "action"),
    ("computer_call", "action"),
    ("apply_patch_call", "operation"),
];

/// Returns whether items of a kind are calls, whoever answers them.
pub fn is_call(kind: &str) -> bool {
    kind.ends_with("_call")
}
