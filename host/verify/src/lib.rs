//! Plants a distinct secret at every position of a request, and looks for all of them in what would
//! leave.
//!
//! This checks "no leaf unseen" from outside. Its walk of the JSON ([`walk`]) shares no code with
//! the gate's own tree, and neither does its list of media. A caller plants ([`plant`]), applies a
//! policy to the planted bodies, reports the places that the policy holds, and gets the result for
//! each secret ([`fate`]).
//!
//! A second proof concerns encodings ([`encoding`]): secrets of several kinds, each spelled in many
//! ways, alone and beside a plain copy.
//!
//! What this crate must not do: read policies, know rules or detectors, or depend on
//! `leafgate-tree`.
//!
//! It reads JSON by code of its own, without a library, so that no fault is shared.

pub mod canary;
pub mod encoding;
pub mod fate;
pub mod plant;
pub mod search;
mod spelling;
pub mod walk;
