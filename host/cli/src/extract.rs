//! Packed files in requests: a gate has each read by this program once more, which has given up all that
//! it does not need before it reads.

use std::sync::Arc;

use leafgate_extract::{ChildExtractor, Extract};

use crate::confine::this_program;
use crate::exit::Exit;

/// The one argument with which this program reads a file. No command has this name.
pub(crate) const EXTRACT: &str = "--extract-text";

/// Returns what reads files for a gate.
pub(crate) fn extractor() -> Arc<dyn Extract> {
    Arc::new(ChildExtractor::new(this_program(), vec![EXTRACT.into()]))
}

/// Reads a file from standard input.
pub(crate) fn serve() -> Exit {
    leafgate_extract::serve().map_or(Exit::Bad, |()| Exit::Done)
}
