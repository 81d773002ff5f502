//! Attributes of `leafgate-plugin`. They leave the function as it is, so that tests call it, and
//! put the contract's exports beside it.

mod arguments;
mod expand;

use proc_macro::TokenStream;

/// Makes a function the plugin's detector.
///
/// `fn name([state: &State,] leaf: &Leaf) -> Vec<Finding>`, or a `Result` of it. Arguments:
/// `labels = ["NAME", ...]`, required, and `prepare = path` of a function from the configuration to
/// the state.
#[proc_macro_attribute]
pub fn detector(arguments: TokenStream, function: TokenStream) -> TokenStream {
    expand::plugin(expand::PluginWorld::Detector, arguments.into(), function.into()).into()
}

/// Makes a struct or an enum what a plugin is configured with: serde reads it, keys that it does not
/// have are refused, and a JSON Schema describes it to the host. Attributes of serde may follow.
#[proc_macro_attribute]
pub fn config(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::config(&arguments.into(), &item.into()).into()
}

/// Makes a function the plugin's transformer.
///
/// `fn name([state: &State,] request: &Request) -> Vec<Edit>`, or a `Result` of it. Arguments, both
/// optional: `labels = ["NAME", ...]` for its redactions, and `prepare = path` of a function from
/// the configuration to the state.
#[proc_macro_attribute]
pub fn transformer(arguments: TokenStream, function: TokenStream) -> TokenStream {
    expand::plugin(expand::PluginWorld::Transformer, arguments.into(), function.into()).into()
}
