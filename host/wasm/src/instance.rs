//! One running instance: start it, arm its deadline, call it, and say what went wrong.
//!
//! An instance answers one call and is dropped. Guest code runs in this file only. Every failure of
//! it, from a start function that hangs to a trap in post-return, becomes a [`Fault`].

use std::sync::Arc;
use std::time::Duration;

use leafgate_admission::{Exports, ModuleState};
use leafgate_contract::{Fault, InvalidAnswer, PluginWords, World, one_line};
use wasmtime::component::{
    Component, ComponentExportIndex, ComponentNamedList, Instance, InstancePre, Lift, Lower, TypedFunc,
    WasmList,
};
use wasmtime::{Store, Trap};

use crate::aside::{TicksLeft, ran_on};
use crate::bindings::{detect, lifecycle, transform, types};
use crate::budget::CallBudget;
use crate::clock::CallPermit;
use crate::limits::LoaderLimits;
use crate::refusal::LoadRefusal;
use crate::runtime::Runtime;
use crate::slots::{CallSlot, CallSlots};
use crate::store::CallState;

/// How long a load waits for a permit while requests use them all.
const LOAD_PATIENCE: Duration = Duration::from_secs(60);

/// Compiled code of one file, ready to instantiate.
pub(crate) struct Compiled {
    pub(crate) world: World,
    instance: InstancePre<CallState>,
    functions: Functions,
    /// For the calls of requests, not for those of a load.
    slots: CallSlots,
}

/// The indices of the contract's functions.
struct Functions {
    describe: ComponentExportIndex,
    configure: ComponentExportIndex,
    /// The one function of the world.
    work: ComponentExportIndex,
}

/// What a plugin answers when it is asked to work.
pub(crate) type Worked<T> = Result<Vec<T>, types::Failure>;

/// A live instance. The store goes before the permit: its place in the pools must be free when the
/// next call starts.
pub(crate) struct RunningInstance<'a> {
    store: Store<CallState>,
    instance: Instance,
    compiled: &'a Compiled,
    limits: &'a LoaderLimits,
    armed: Armed,
    _permit: CallPermit<'a>,
    _slot: Option<CallSlot<'a>>,
}

/// The deadline under which guest code runs at the moment.
#[derive(Clone, Copy)]
struct Armed {
    deadline: Duration,
    /// The fault where the request's time ends before the call's own deadline.
    of_request: Option<u64>,
}

impl Compiled {
    /// Prepares a component that was admitted and compiled.
    ///
    /// # Errors
    /// More modules or memories than the pools allow, imports of other types, or exports without the
    /// contract's functions.
    pub(crate) fn new(
        runtime: &Runtime,
        component: &Component,
        exports: &Exports,
    ) -> Result<Self, LoadRefusal> {
        let failed = |error| LoadRefusal::Compile(format!("{error:#}"));
        let instance = runtime.linker.instantiate_pre(component).map_err(failed)?;
        let index = |interface: &str, function: &str| {
            let inside = component.get_export_index(None, interface);
            let found = inside.and_then(|inside| component.get_export_index(Some(&inside), function));
            found.ok_or_else(|| LoadRefusal::Exports(format!("`{interface}` has no `{function}`")))
        };
        let functions = Functions {
            describe: index(&exports.lifecycle, "describe")?,
            configure: index(&exports.lifecycle, "configure")?,
            work: index(&exports.work, exports.world.function())?,
        };
        let slots = CallSlots::new(runtime.limits.calls_per_plugin);
        Ok(Compiled { world: exports.world, instance, functions, slots })
    }
}

impl<'a> RunningInstance<'a> {
    /// Waits for a permit and instantiates, start functions included: for a load, or for a call of a
    /// request. That waits for a slot too, and all of it is on the request's budget.
    pub(crate) fn start(
        runtime: &'a Runtime,
        compiled: &'a Compiled,
        plugin: &Arc<str>,
        limits: &'a LoaderLimits,
        budget: Option<&CallBudget<'_>>,
    ) -> Result<Self, Fault> {
        let (slot, permit, armed) = match budget {
            None => {
                let busy = || Fault::Unavailable("too many calls of plugins run at the moment".to_owned());
                let permit = runtime.clock.permit(LOAD_PATIENCE).ok_or_else(busy)?;
                (None, permit, Armed { deadline: limits.start_deadline, of_request: None })
            }
            Some(budget) => {
                let late = || budget.out_of_time();
                let slot = compiled.slots.take(budget.time_left()).ok_or_else(late)?;
                let permit = runtime.clock.permit(budget.time_left()).ok_or_else(late)?;
                (Some(slot), permit, Armed::within(limits.start_deadline, budget))
            }
        };
        let log = runtime.log.as_ref().map(|sink| (Arc::clone(sink), Arc::clone(plugin)));
        let mut store = Store::new(&runtime.engine, CallState::new(limits, log));
        store.limiter(|state| state);
        store.set_hostcall_fuel(limits.description_bytes);
        store.epoch_deadline_callback(|mut store| Ok(ran_on(&mut store.data_mut().ticks)));
        set_deadline(&mut store, armed);
        match compiled.instance.instantiate(&mut store) {
            Ok(instance) => {
                Ok(RunningInstance { store, instance, compiled, limits, armed, _permit: permit, _slot: slot })
            }
            Err(error) => Err(guest_fault(&store, limits, armed, &error)
                .unwrap_or_else(|| Fault::Unavailable(format!("{error:#}")))),
        }
    }

    /// `lifecycle.describe`, under the deadline of the start.
    pub(crate) fn describe(&mut self) -> Result<lifecycle::Description, Fault> {
        self.call(self.compiled.functions.describe, ())
    }

    /// `lifecycle.configure`, under the deadline of the start. The inner error is the plugin's list
    /// of findings.
    pub(crate) fn configure(&mut self, config: &str) -> Result<Result<(), Vec<String>>, Fault> {
        self.call(self.compiled.functions.configure, (config,))
    }

    /// `detect.detect` or `transform.transform`, under a deadline of its own. [`Self::check_types`] says what they are
    /// given.
    pub(crate) fn work<P, A>(
        &mut self,
        given: P,
        deadline: Duration,
        budget: &CallBudget<'_>,
    ) -> Result<Worked<A>, Fault>
    where
        P: ComponentNamedList + Lower,
        (Worked<A>,): ComponentNamedList + Lift,
    {
        self.armed = Armed::within(deadline, budget);
        set_deadline(&mut self.store, self.armed);
        self.store.set_hostcall_fuel(budget.answer_bytes_left());
        self.call(self.compiled.functions.work, given)
    }

    /// Asks a function of an exported instance for the state of the module behind it.
    pub(crate) fn tell(&mut self, interface: &str, function: &str) -> Result<ModuleState, Fault> {
        // No more memory than the instance may have, and no more globals than a page holds.
        self.store.set_hostcall_fuel(self.limits.memory_bytes + (1 << 16));
        let inside = self.instance.get_export_index(&mut self.store, None, interface);
        let index = inside
            .and_then(|inside| self.instance.get_export_index(&mut self.store, Some(&inside), function));
        let index = index.ok_or_else(|| Fault::Unavailable("it tells nothing".to_owned()))?;
        let (memory, globals): (WasmList<u8>, Vec<u64>) = self.call(index, ())?;
        Ok(ModuleState { memory: memory.as_le_slice(&self.store).to_vec(), globals })
    }

    /// Checks that every function has the types of the contract, without calling any.
    pub(crate) fn check_types(&mut self) -> wasmtime::Result<()> {
        let functions = &self.compiled.functions;
        self.typed::<(), lifecycle::Description>(functions.describe)?;
        self.typed::<(&str,), Result<(), Vec<String>>>(functions.configure)?;
        match self.compiled.world {
            World::Detector => {
                self.typed::<(&[detect::Leaf<'_>],), Worked<detect::Finding>>(functions.work)?;
            }
            World::Transformer => {
                type Given<'a> =
                    (transform::Request<'a>, &'a [transform::Section<'a>], &'a [transform::Leaf<'a>]);
                self.typed::<Given<'_>, Worked<transform::Edit>>(functions.work)?;
            }
        }
        Ok(())
    }

    fn typed<P, A>(&mut self, index: ComponentExportIndex) -> wasmtime::Result<TypedFunc<P, (A,)>>
    where
        P: ComponentNamedList + Lower,
        (A,): ComponentNamedList + Lift,
    {
        self.instance.get_typed_func(&mut self.store, index)
    }

    fn call<P, A>(&mut self, index: ComponentExportIndex, params: P) -> Result<A, Fault>
    where
        P: ComponentNamedList + Lower,
        (A,): ComponentNamedList + Lift,
    {
        let function = self.typed::<P, A>(index).map_err(unfit)?;
        let answer = function.call(&mut self.store, params);
        self.lifted(answer).map(|(answer,)| answer)
    }

    /// A call's error is the guest's fault, or else its answer could not be read: a list that lies
    /// about its length, text that is no UTF-8, a case that does not exist, or more bytes than the
    /// fuel for reading them.
    fn lifted<T>(&self, answer: wasmtime::Result<T>) -> Result<T, Fault> {
        answer.map_err(|error| {
            guest_fault(&self.store, self.limits, self.armed, &error)
                .unwrap_or(Fault::Invalid(InvalidAnswer::Unreadable { limit: self.store.hostcall_fuel() }))
        })
    }
}

fn set_deadline(store: &mut Store<CallState>, armed: Armed) {
    let (ticks, first) = TicksLeft::of(armed.deadline);
    store.data_mut().ticks = ticks;
    store.set_epoch_deadline(first);
}

/// Returns the guest's fault, if the guest caused the error. A trap that follows denied memory is a
/// fault of memory.
fn guest_fault(
    store: &Store<CallState>,
    limits: &LoaderLimits,
    armed: Armed,
    error: &wasmtime::Error,
) -> Option<Fault> {
    if store.data().was_denied_memory() {
        return Some(Fault::Memory { limit: limits.memory_bytes });
    }
    error.downcast_ref::<Trap>().map(|trap| match trap {
        Trap::Interrupt => armed.fault(),
        Trap::UnreachableCodeReached if store.data().last_error().is_some() => {
            let said = store.data().last_error().unwrap_or_default();
            Fault::Panicked { message: PluginWords::new(said) }
        }
        trap => Fault::Trap { code: trap.to_string().trim_start_matches("wasm trap: ").to_owned() },
    })
}

fn unfit(error: wasmtime::Error) -> Fault {
    Fault::Unavailable(format!(
        "its exports are not those of the contract: {}",
        one_line(&format!("{error:#}"))
    ))
}

impl Armed {
    /// The call's own deadline, or what the request has left, whichever ends first.
    fn within(own: Duration, budget: &CallBudget<'_>) -> Self {
        let left = budget.time_left();
        match left < own {
            true => Armed { deadline: left, of_request: Some(budget.time_ms()) },
            false => Armed { deadline: own, of_request: None },
        }
    }

    fn fault(self) -> Fault {
        match self.of_request {
            Some(limit_ms) => Fault::RequestTime { limit_ms },
            None => {
                Fault::Deadline { limit_ms: u64::try_from(self.deadline.as_millis()).unwrap_or(u64::MAX) }
            }
        }
    }
}
