//! Requests and answers on their way through the gate, over real sockets, before an upstream of the test's own that records what it gets.

mod adapted;
mod answers;
mod apis;
mod assembly;
mod bounds;
mod copilot;
mod downgrade;
mod faults;
mod files;
mod identity;
mod lifecycle;
mod logging;
mod models;
mod outside;
mod passing;
mod plain;
mod prompts;
mod recording;
mod refusals;
mod routed;
mod threads;
mod upstreams;
mod wherever;
