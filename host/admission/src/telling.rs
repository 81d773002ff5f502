//! [`Telling`]: a module that can tell its state, and starts with it later.
//!
//! The state is written into the module as it came, and that is wrapped again. It is told before
//! any leaf is shown, so it holds the configuration and nothing else.

use leafgate_contract::one_line;
use wit_component::StringEncoding;
use wit_parser::Resolve;

use crate::anatomy::FileLayer;
use crate::gate::{Admitted, Binary};
use crate::module::{Module, ModuleState, TELL, Unseen};
use crate::refusal::Refusal;
use crate::wrap::wrap;

/// Why a plugin is configured for each call, in words for its author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoSnapshot {
    /// A component has several modules, none of which is the plugin.
    #[error("the file is a component already; a core module would be configured once")]
    Component,
    /// The module has state that cannot be seen.
    #[error(transparent)]
    Unseen(#[from] Unseen),
    /// The state cannot be told, or not be written.
    #[error("its state cannot be told: {}", one_line(.0))]
    Untold(String),
    /// With its state the module is larger than a file may be.
    #[error("configured it is larger than {limit} bytes")]
    TooLarge {
        /// Largest file, in bytes.
        limit: usize,
    },
}

/// A component that can tell its state, and the module that it was made of.
pub struct Telling<'m> {
    /// To be compiled in the place of the component itself.
    pub component: Vec<u8>,
    module: Module<'m>,
}

impl<'m> Telling<'m> {
    /// Makes an admitted module tell its state.
    ///
    /// # Errors
    /// Why its state cannot be told.
    pub fn new(binary: &'m Binary, admitted: &Admitted) -> Result<Self, NoSnapshot> {
        if admitted.layer == FileLayer::Component {
            return Err(NoSnapshot::Component);
        }
        let module = Module::read(&binary.bytes)?;
        let mut telling = module.telling()?;
        let failed = |error| NoSnapshot::Untold(format!("{error:#}"));
        declare(&mut telling).map_err(failed)?;
        let component = wrap(&telling).map_err(untold)?;
        Ok(Telling { component, module })
    }

    /// Returns the component that starts with what an instance of [`Telling::component`] told,
    /// unless its module comes to more than so many bytes.
    ///
    /// # Errors
    /// Why the state cannot be written.
    pub fn starting_with(&self, state: &ModuleState, limit: usize) -> Result<Vec<u8>, NoSnapshot> {
        let module = self.module.starting_with(state)?;
        match module.len() > limit {
            true => Err(NoSnapshot::TooLarge { limit }),
            false => wrap(&module).map_err(untold),
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
    wit_component::embed_component_metadata(module, &resolve, world, StringEncoding::UTF8)?;
    Ok(())
}
