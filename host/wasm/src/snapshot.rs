//! Pre-initialisation: the memory and the globals of a configured instance become those that every
//! instance starts with.
//!
//! `configure` runs once, under the limits that it always has, in a module that can also tell its
//! state. The state is written into the module as it came, and that is compiled again. It is told
//! before any leaf is shown, so it holds the configuration and nothing else.
//!
//! A file that is a component already, and a module with state that is not told, is configured for
//! each call, with the same results.

use leafgate_policy::plugin::Fault;
use wit_component::StringEncoding;
use wit_parser::Resolve;

use crate::admission::{self, Admitted, Binary};
use crate::anatomy::Layer;
use crate::instance::Running;
use crate::module::{Module, TELL, TELLS, Unseen};
use crate::refusal::Refusal;

/// Why a plugin is configured for each call, in words for its author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoSnapshot {
    #[error("the loader is set up so")]
    Unwanted,
    #[error("the file is a component already; a core module would be configured once")]
    Component,
    #[error("{0}")]
    Unseen(#[from] Unseen),
    #[error("its state cannot be told: {0}")]
    Untold(String),
    #[error("configured it is larger than {limit} bytes")]
    TooLarge { limit: usize },
}

/// A component that can tell its state, and the module that it was made of.
pub(crate) struct Telling<'m> {
    /// To be compiled in the place of the component itself.
    pub(crate) component: Vec<u8>,
    module: Module<'m>,
}

impl<'m> Telling<'m> {
    /// Makes an admitted module tell its state.
    pub(crate) fn new(binary: &'m Binary, admitted: &Admitted) -> Result<Self, NoSnapshot> {
        if admitted.layer == Layer::Component {
            return Err(NoSnapshot::Component);
        }
        let module = Module::read(&binary.bytes)?;
        let mut telling = module.telling()?;
        let failed = |error| NoSnapshot::Untold(format!("{error:#}"));
        declare(&mut telling).map_err(failed)?;
        let component = admission::wrap(&telling).map_err(untold)?;
        Ok(Telling { component, module })
    }

    /// Returns the component that starts as a configured instance of [`Telling::component`] is now,
    /// unless its module comes to more than so many bytes.
    pub(crate) fn snapshot(&self, configured: &mut Running<'_>, limit: usize) -> Result<Vec<u8>, NoSnapshot> {
        let state =
            configured.tell(TELLS, TELL).map_err(|fault: Fault| NoSnapshot::Untold(format!("it {fault}")))?;
        let module = self.module.starting_with(&state)?;
        match module.len() > limit {
            true => Err(NoSnapshot::TooLarge { limit }),
            false => admission::wrap(&module).map_err(untold),
        }
    }
}

fn untold(refusal: Refusal) -> NoSnapshot {
    NoSnapshot::Untold(refusal.to_string())
}

/// Adds the type of the function that tells the state. wit-component unites the worlds of a module.
fn declare(module: &mut Vec<u8>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let contract = format!(
        "package leafgate:snapshot@0.1.0;
         interface state {{ {TELL}: func() -> tuple<list<u8>, list<u64>>; }}
         world telling {{ export state; }}"
    );
    let mut resolve = Resolve::default();
    let package = resolve.push_str("snapshot.wit", &contract)?;
    let world = resolve.select_world(&[package], Some("telling"))?;
    wit_component::embed_component_metadata(module, &resolve, world, StringEncoding::UTF8, false)?;
    Ok(())
}
