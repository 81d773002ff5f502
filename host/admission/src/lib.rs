//! What a plugin's file must pass before anything of it is compiled, and what is read of the texts
//! that a plugin writes: signatures, scripts, its description.
//!
//! A file is read ([`Binary`]), told by its first bytes ([`identify`]), held beside its pin and its
//! signatures ([`check_pin`], [`check_signed`]) and admitted ([`admit`]): it imports only what the
//! contract offers, and its exports name one world. A core module becomes a component ([`wrap()`]),
//! and one that tells its state ([`Telling`]), so that it can start configured.
//!
//! All bytes here are an attacker's. So nothing of them is run, nothing panics on them, and a
//! [`Refusal`] is one line of bounded length without control characters.
//!
//! This crate knows no wasmtime: fuzz targets build it in a minute (`host/fuzz`).

mod anatomy;
mod contract;
mod description;
mod gate;
mod module;
mod refusal;
mod script;
mod signature;
mod telling;
mod wrap;

pub use anatomy::{Anatomy, FileLayer, read};
pub use contract::{CONTRACT, Contract, Unspoken, Version};
pub use description::described;
pub use gate::{Admitted, Binary, Exports, admit, check_pin, check_signed, contract, exports, identify};
pub use module::{Module, ModuleState, TELL, TELLS, Unseen};
pub use refusal::Refusal;
pub use script::{LARGEST, Script};
pub use signature::{BadSignatures, Signatures, SigningKey, VerifiedSignature};
pub use telling::{NoSnapshot, Telling};
pub use wrap::wrap;
