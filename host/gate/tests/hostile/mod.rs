//! Hostile answers on their way through the gate, and what models of clients find in what left.

mod models;
mod rig;
