//! Teams of agents behind the gate, over sockets, before a model that is scripted by the name of the agent.

mod bounds;
mod counts;
mod live;
mod scenarios;
mod secrets;
mod stage;
