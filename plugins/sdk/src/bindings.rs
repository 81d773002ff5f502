//! What `wit-bindgen` makes of `wit/plugin.wit`. The only module with `unsafe` code, all of it
//! generated.
//!
//! One small world per exported interface, because the generated export macros live at the root of
//! this crate and both public worlds export `lifecycle`. `wit-component` unites the worlds that a
//! plugin exports, which gives `detector` or `transformer`. The types that they share are generated
//! once, by `lifecycle`; the others refer to them.

#![allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    reason = "generated: the canonical ABI reads and writes linear memory, and the contract documents its types itself"
)]

pub mod lifecycle {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "package leafgate:sdk; world lifecycle { import leafgate:plugin/host@0.1.0; export leafgate:plugin/lifecycle@0.1.0; }",
        pub_export_macro: true,
        default_bindings_module: "leafgate_plugin::bindings::lifecycle",
        additional_derives: [PartialEq],
        generate_all,
    });
}

pub mod detect {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "package leafgate:sdk; world detect { export leafgate:plugin/detect@0.1.0; }",
        pub_export_macro: true,
        default_bindings_module: "leafgate_plugin::bindings::detect",
        additional_derives: [PartialEq],
        with: {
            "leafgate:plugin/types@0.1.0": crate::bindings::lifecycle::leafgate::plugin::types,
        },
    });
}

pub mod transform {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "package leafgate:sdk; world transform { export leafgate:plugin/transform@0.1.0; }",
        pub_export_macro: true,
        default_bindings_module: "leafgate_plugin::bindings::transform",
        additional_derives: [PartialEq],
        with: {
            "leafgate:plugin/types@0.1.0": crate::bindings::lifecycle::leafgate::plugin::types,
        },
    });
}
