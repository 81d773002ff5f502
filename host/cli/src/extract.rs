//! Packed files in requests: a gate has each read by this program once more, which has given up all that
//! it does not need before it reads.

use std::sync::Arc;

use leafgate_extract::{ChildExtractor, Extract, serve};

use crate::confine::this_program;
use crate::exit::Exit;

/// The one argument with which this program reads a file. No command has this name.
const EXTRACT: &str = "--extract-text";

/// Returns what reads files for a gate.
pub(crate) fn extractor() -> Arc<dyn Extract> {
    Arc::new(ChildExtractor::new(this_program(), vec![EXTRACT.into()]))
}

/// Reads a file from standard input if this process was started for that.
pub(crate) fn serve_if_asked() -> Option<Exit> {
    let mut arguments = std::env::args_os().skip(1);
    let is_asked = arguments.next().is_some_and(|first| first == EXTRACT) && arguments.next().is_none();
    is_asked.then(|| serve().map_or(Exit::Bad, |()| Exit::Done))
}
