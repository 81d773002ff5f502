//! From a function to the exports of a world.
//!
//! The exports exist for `wasm32` only: natively their names would be taken for versioned symbols.
//! Everything else is compiled for every target, so that `cargo check` sees an author's mistakes.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Error, Expr, ExprLit, FnArg, ItemFn, Lit, LitStr, Meta, Result, Type};

use crate::arguments::MacroArguments;

/// Which attribute stands on the function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PluginWorld {
    Detector,
    Transformer,
}

/// The function itself, and beside it what exports it, or the error in its place.
pub(crate) fn plugin(world: PluginWorld, arguments: TokenStream, function: TokenStream) -> TokenStream {
    let expanded = syn::parse2::<ItemFn>(function.clone())
        .and_then(|item| exports(world, &syn::parse2(arguments)?, &item));
    let beside = expanded.unwrap_or_else(|error| error.to_compile_error());
    quote!(#function #beside)
}

/// The type with what reads it and what describes it, or the error in its place.
pub(crate) fn config(arguments: &TokenStream, item: &TokenStream) -> TokenStream {
    if !arguments.is_empty() {
        let error = Error::new_spanned(arguments, "`config` takes no arguments").to_compile_error();
        return quote!(#item #error);
    }
    quote! {
        #[derive(::leafgate_plugin::serde::Deserialize, ::leafgate_plugin::schemars::JsonSchema)]
        #[serde(crate = "::leafgate_plugin::serde", deny_unknown_fields)]
        #[schemars(crate = "::leafgate_plugin::schemars")]
        #item
    }
}

fn exports(world: PluginWorld, arguments: &MacroArguments, function: &ItemFn) -> Result<TokenStream> {
    if world == PluginWorld::Detector && arguments.labels.is_empty() {
        let message = "a detector names what it finds: `labels = [\"NAME\"]`";
        return Err(Error::new_spanned(&function.sig.ident, message));
    }
    let name = &function.sig.ident;
    let state = state_type(function)?;
    let call = match &state {
        Some(_) => quote!(#name),
        None => quote!(|_, input| #name(input)),
    };
    let state = state.map_or_else(|| quote!(::leafgate_plugin::runtime::NoConfig), |state| quote!(#state));
    let prepare = match &arguments.prepare {
        Some(path) => quote!(#path),
        None => quote!(::core::convert::identity::<#state>),
    };
    let lifecycle = lifecycle(&state, &prepare, &summary(&function.attrs), &arguments.labels);
    let (implementation, module) = match world {
        PluginWorld::Detector => (detect(&call), quote!(detect)),
        PluginWorld::Transformer => (transform(&call), quote!(transform)),
    };
    Ok(quote! {
        #[allow(dead_code, reason = "natively nothing calls the exports")]
        const _: () = {
            struct LeafgatePlugin;

            ::std::thread_local! {
                static STATE: ::core::cell::RefCell<::core::option::Option<#state>> =
                    const { ::core::cell::RefCell::new(::core::option::Option::None) };
            }

            #lifecycle

            #implementation

            #[cfg(target_arch = "wasm32")]
            #[allow(unsafe_code, reason = "exported functions are unsafe attributes; the generated code upholds the ABI")]
            const _: () = {
                ::leafgate_plugin::bindings::lifecycle::export!(
                    LeafgatePlugin with_types_in ::leafgate_plugin::bindings::lifecycle);
                ::leafgate_plugin::bindings::#module::export!(
                    LeafgatePlugin with_types_in ::leafgate_plugin::bindings::#module);
            };
        };
    })
}

fn detect(call: &TokenStream) -> TokenStream {
    quote! {
        impl ::leafgate_plugin::runtime::Detect for LeafgatePlugin {
            fn detect(
                leaves: ::std::vec::Vec<::leafgate_plugin::detect::Leaf>,
            ) -> ::core::result::Result<
                ::std::vec::Vec<::leafgate_plugin::detect::Finding>,
                ::leafgate_plugin::detect::Failure,
            > {
                STATE.with_borrow(|state| ::leafgate_plugin::runtime::detect(state.as_ref(), &leaves, #call))
            }
        }
    }
}

fn transform(call: &TokenStream) -> TokenStream {
    quote! {
        impl ::leafgate_plugin::runtime::Transform for LeafgatePlugin {
            fn transform(
                head: ::leafgate_plugin::runtime::RequestHead,
                sections: ::std::vec::Vec<::leafgate_plugin::transform::Section>,
                leaves: ::std::vec::Vec<::leafgate_plugin::transform::Leaf>,
            ) -> ::core::result::Result<
                ::std::vec::Vec<::leafgate_plugin::transform::Edit>,
                ::leafgate_plugin::transform::Failure,
            > {
                STATE.with_borrow(|state| {
                    ::leafgate_plugin::runtime::transform(state.as_ref(), head, sections, leaves, #call)
                })
            }
        }
    }
}

/// The type behind the first of two parameters; none where there is only the input.
fn state_type(function: &ItemFn) -> Result<Option<&Type>> {
    let signature = &function.sig;
    let first = match (signature.inputs.len(), signature.inputs.first()) {
        (1, _) => return Ok(None),
        (2, Some(FnArg::Typed(first))) => first,
        _ => {
            let message =
                "a plugin's function takes its input, and before it the configuration or prepared state";
            return Err(Error::new_spanned(&signature.inputs, message));
        }
    };
    match first.ty.as_ref() {
        Type::Reference(reference) if reference.mutability.is_none() => Ok(Some(&reference.elem)),
        other => Err(Error::new_spanned(
            other,
            "the state is borrowed: `&Config`. No state lives from call to call",
        )),
    }
}

/// Returns how the plugin describes itself, and takes its configuration.
fn lifecycle(state: &TokenStream, prepare: &TokenStream, summary: &str, labels: &[LitStr]) -> TokenStream {
    quote! {
        impl ::leafgate_plugin::runtime::Lifecycle for LeafgatePlugin {
            fn describe() -> ::leafgate_plugin::runtime::Description {
                let (name, version) = (::core::env!("CARGO_PKG_NAME"), ::core::env!("CARGO_PKG_VERSION"));
                #[allow(unused_imports, reason = "one of the two is used")]
                use ::leafgate_plugin::runtime::{DescribedConfig as _, Undescribed as _};
                let schema = (&::leafgate_plugin::runtime::ConfigOf::taken_by(#prepare)).schema();
                ::leafgate_plugin::runtime::describe(name, version, #summary, &[#(#labels),*], schema)
            }

            fn configure(
                config: ::std::string::String,
            ) -> ::core::result::Result<(), ::std::vec::Vec<::std::string::String>> {
                let state = ::leafgate_plugin::runtime::configure::<_, #state, _>(&config, #prepare)?;
                STATE.set(::core::option::Option::Some(state));
                ::core::result::Result::Ok(())
            }
        }
    }
}

/// The first line of the documentation, without its full stop.
fn summary(attributes: &[Attribute]) -> String {
    let lines =
        attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).filter_map(|attribute| {
            match &attribute.meta {
                Meta::NameValue(pair) => match &pair.value {
                    Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
                    _ => None,
                },
                _ => None,
            }
        });
    let mut lines = lines.filter(|line| !line.is_empty());
    lines.next().unwrap_or_default().trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(world: PluginWorld, arguments: &str, function: &str) -> String {
        plugin(world, arguments.parse().unwrap(), function.parse().unwrap()).to_string()
    }

    #[test]
    fn the_function_stays_as_it_is() {
        let function = "/// Finds it.\nfn f (leaf : & Leaf) -> Vec < Finding > { vec ! [] }";
        let expanded = expand(PluginWorld::Detector, r#"labels = ["NAME"]"#, function);
        let unchanged: TokenStream = function.parse().unwrap();
        assert!(expanded.starts_with(&unchanged.to_string()));
        assert!(expanded.contains(r#""Finds it""#));
    }

    #[test]
    fn mistakes_become_compile_errors_beside_the_function() {
        for (arguments, function, message) in [
            ("", "fn f(leaf: &Leaf) -> Vec<Finding> { vec![] }", "a detector names what it finds"),
            (r#"labels = ["NAME"]"#, "fn f() {}", "takes its input"),
            (r#"labels = ["NAME"]"#, "fn f(config: Config, leaf: &Leaf) {}", "the state is borrowed"),
            (r#"labels = ["NAME"]"#, "fn f(config: &mut Config, leaf: &Leaf) {}", "the state is borrowed"),
        ] {
            let expanded = expand(PluginWorld::Detector, arguments, function);
            assert!(expanded.contains("compile_error") && expanded.contains(message), "{expanded}");
        }
    }
}
