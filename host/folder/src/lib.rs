//! Which files of a policy folder count, and how they are read.
//!
//! The loader and the watch ask the same question of the same folder, so the answer stands here
//! once: what is loaded is watched, and what is not loaded is named. A policy folder is writable by
//! more people than the gate's operator, so nothing in it is trusted to be what its name says. A
//! file is opened without waiting and read only if it is a regular file, and never beyond a bound:
//! a named pipe would block the reader for ever, and a link to a device has no end.
//!
//! This crate knows neither rules nor components.
#![forbid(unsafe_code)]

mod list;
mod read;
mod stamp;

pub use list::{Listing, PassedOver, Reason, is_inside, is_plugin, lies_in, list, list_tests, tests_of};
pub use read::{ReadError, open, read, read_text};
pub use stamp::Stamp;
