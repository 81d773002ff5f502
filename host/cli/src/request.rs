//! A request from a file or standard input, judged as the gate would judge it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use leafgate_gate::{GateLimits, session_key};
use leafgate_policy::{Context, Evaluation};
use leafgate_tree::{Document, Format, Limits};
use leafgate_vault::Vault;

use crate::args::{PolicyArg, RequestArgs};
use crate::{home, policy};

/// A request and what the policy made of it.
pub(crate) struct Judged {
    pub(crate) document: Arc<Document>,
    pub(crate) evaluation: Evaluation,
    /// Name of the policy's generation.
    pub(crate) generation: String,
}

/// Reads and judges a request.
pub(crate) fn judge(policy: &PolicyArg, request: &RequestArgs) -> anyhow::Result<Judged> {
    let policy = policy::load(&policy.source)?;
    let document = Arc::new(read(request)?);
    let keys = home::token_keys()?;
    let session = session_key(&keys, &document);
    let context = Context { session: &session, ..Context::default() };
    let evaluation = policy.evaluate(Arc::clone(&document), &context, &Vault::new(keys));
    Ok(Judged { document, evaluation, generation: policy.generation_name() })
}

fn read(request: &RequestArgs) -> anyhow::Result<Document> {
    let path = request.file.as_deref().filter(|path| *path != Path::new("-"));
    let name = path.map_or_else(|| "standard input".to_owned(), |path| path.display().to_string());
    let body = match path {
        Some(path) => File::open(path).and_then(bounded),
        None => bounded(io::stdin().lock()),
    };
    let body = body.with_context(|| format!("cannot read {name}"))?;
    let format = Format::from_name(&request.format).context("unknown format")?;
    Document::parse(body.into(), format, &Limits::default())
        .with_context(|| format!("cannot use {name} as a request"))
}

/// As much as the gate would read, and not a byte more: an endless pipe ends here too.
fn bounded(source: impl Read) -> io::Result<Vec<u8>> {
    let most = GateLimits::default().body;
    let mut body = Vec::new();
    source.take(most as u64 + 1).read_to_end(&mut body)?;
    if body.len() > most {
        return Err(io::Error::other(format!(
            "it is larger than {most} bytes, the most that the gate reads"
        )));
    }
    Ok(body)
}
