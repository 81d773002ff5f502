//! One running instance: start it, arm its deadline, call it, and say what went wrong.
//!
//! An instance answers one call and is dropped. The whole life of a plugin's code on this host is in this file; whatever goes wrong in
//! it, a start function that hangs as much as a trap in post-return, comes out as a [`Fault`].

use std::sync::Arc;
use std::time::Duration;

use leafgate_policy::plugin::{Fault, InvalidAnswer, World};
use wasmtime::component::{Component, Instance, InstancePre};
use wasmtime::{Store, Trap};

use crate::bindings::{detect, lifecycle, transform};
use crate::clock::{Clock, Turn};
use crate::runtime::Runtime;
use crate::store::CallState;

/// Compiled code of one file, ready to instantiate.
pub(crate) struct Compiled {
    pub(crate) world: World,
    instance: InstancePre<CallState>,
    lifecycle: lifecycle::GuestIndices,
    role: Role,
}

/// Where the world's one function lies.
enum Role {
    Detector(detect::GuestIndices),
    Transformer(transform::GuestIndices),
}

/// A live instance. The store goes before the turn: its slot in the pools must be free when the next call starts.
pub(crate) struct Running<'a> {
    store: Store<CallState>,
    instance: Instance,
    compiled: &'a Compiled,
    runtime: &'a Runtime,
    armed: Duration,
    _turn: Turn<'a>,
}

impl Compiled {
    /// Compiles a component that passed the gate.
    ///
    /// # Errors
    /// wasmtime's: invalid code, a feature that is off, more modules or memories than the pools allow, or exports of other types.
    pub(crate) fn new(runtime: &Runtime, component: &[u8], world: World) -> wasmtime::Result<Self> {
        let component = Component::from_binary(&runtime.engine, component)?;
        let instance = runtime.linker.instantiate_pre(&component)?;
        let lifecycle = lifecycle::GuestIndices::new(&instance)?;
        let role = match world {
            World::Detector => Role::Detector(detect::GuestIndices::new(&instance)?),
            World::Transformer => Role::Transformer(transform::GuestIndices::new(&instance)?),
        };
        Ok(Compiled { world, instance, lifecycle, role })
    }
}

impl<'a> Running<'a> {
    /// Waits for a turn and instantiates, start functions included.
    pub(crate) fn start(
        runtime: &'a Runtime,
        compiled: &'a Compiled,
        plugin: &Arc<str>,
    ) -> Result<Self, Fault> {
        let limits = &runtime.limits;
        let turn = runtime.clock.turn(limits.concurrent_calls);
        let log = runtime.log.as_ref().map(|sink| (Arc::clone(sink), Arc::clone(plugin)));
        let mut store = Store::new(&runtime.engine, CallState::new(limits, log));
        store.limiter(|state| state);
        store.set_hostcall_fuel(limits.description_bytes);
        store.set_epoch_deadline(Clock::ticks(limits.start_deadline));
        let armed = limits.start_deadline;
        match compiled.instance.instantiate(&mut store) {
            Ok(instance) => Ok(Running { store, instance, compiled, runtime, armed, _turn: turn }),
            Err(error) => Err(guest_fault(&store, runtime, armed, &error)
                .unwrap_or_else(|| Fault::Unavailable(format!("{error:#}")))),
        }
    }

    /// `lifecycle.describe`, under the deadline of the start.
    pub(crate) fn describe(&mut self) -> Result<lifecycle::Description, Fault> {
        let guest = self.lifecycle()?;
        let answer = guest.call_describe(&mut self.store);
        self.lifted(answer)
    }

    /// `lifecycle.configure`, under the deadline of the start. The inner error is the plugin's list of findings.
    pub(crate) fn configure(&mut self, config: &str) -> Result<Result<(), Vec<String>>, Fault> {
        let guest = self.lifecycle()?;
        let answer = guest.call_configure(&mut self.store, config);
        self.lifted(answer)
    }

    /// `detect.detect`, under a deadline of its own.
    pub(crate) fn detect(
        &mut self,
        leaves: &[detect::Leaf<'_>],
        deadline: Duration,
    ) -> Result<Result<Vec<detect::Finding>, detect::Failure>, Fault> {
        self.arm(deadline);
        let Role::Detector(indices) = &self.compiled.role else {
            return Err(not_of_this_world());
        };
        let guest = indices.load(&mut self.store, &self.instance).map_err(unfit)?;
        let answer = guest.call_detect(&mut self.store, leaves);
        self.lifted(answer)
    }

    /// `transform.transform`, under a deadline of its own.
    pub(crate) fn transform(
        &mut self,
        request: transform::Request<'_>,
        sections: &[transform::Section<'_>],
        leaves: &[transform::Leaf<'_>],
        deadline: Duration,
    ) -> Result<Result<Vec<transform::Edit>, transform::Failure>, Fault> {
        self.arm(deadline);
        let Role::Transformer(indices) = &self.compiled.role else {
            return Err(not_of_this_world());
        };
        let guest = indices.load(&mut self.store, &self.instance).map_err(unfit)?;
        let answer = guest.call_transform(&mut self.store, request, sections, leaves);
        self.lifted(answer)
    }

    /// Checks that every function has the types of the contract, without calling any.
    pub(crate) fn check_types(&mut self) -> wasmtime::Result<()> {
        self.compiled.lifecycle.load(&mut self.store, &self.instance)?;
        match &self.compiled.role {
            Role::Detector(indices) => indices.load(&mut self.store, &self.instance).map(drop),
            Role::Transformer(indices) => indices.load(&mut self.store, &self.instance).map(drop),
        }
    }

    fn lifecycle(&mut self) -> Result<lifecycle::Guest, Fault> {
        self.compiled.lifecycle.load(&mut self.store, &self.instance).map_err(unfit)
    }

    fn arm(&mut self, deadline: Duration) {
        self.armed = deadline;
        self.store.set_epoch_deadline(Clock::ticks(deadline));
        self.store.set_hostcall_fuel(self.runtime.limits.answer_bytes);
    }

    /// A call's error is the guest's fault, or else its answer could not be read: a list that lies about its length, text that is no
    /// UTF-8, a case that does not exist, or more bytes than the fuel for reading them.
    fn lifted<T>(&self, answer: wasmtime::Result<T>) -> Result<T, Fault> {
        answer.map_err(|error| {
            guest_fault(&self.store, self.runtime, self.armed, &error)
                .unwrap_or(Fault::Invalid(InvalidAnswer::Unreadable { limit: self.store.hostcall_fuel() }))
        })
    }
}

/// What the guest did, if it was the guest that stopped: denied memory explains the trap after it, and a trap names itself.
fn guest_fault(
    store: &Store<CallState>,
    runtime: &Runtime,
    armed: Duration,
    error: &wasmtime::Error,
) -> Option<Fault> {
    if store.data().was_denied_memory() {
        let limit_mib = runtime.limits.memory_bytes as u64 >> 20;
        return Some(Fault::Memory { limit_mib });
    }
    error.downcast_ref::<Trap>().map(|trap| match trap {
        Trap::Interrupt => Fault::Deadline { limit_ms: u64::try_from(armed.as_millis()).unwrap_or(u64::MAX) },
        trap => Fault::Trap { code: trap.to_string().trim_start_matches("wasm trap: ").to_owned() },
    })
}

fn unfit(error: wasmtime::Error) -> Fault {
    Fault::Unavailable(format!("its exports are not those of the contract: {error:#}"))
}

fn not_of_this_world() -> Fault {
    Fault::Unavailable("it is asked for what plugins of the other world do".to_owned())
}
