//! `explain`: what a policy does; and for one request what each rule made of it, and why.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use clap::Args;
use leafgate_gate::AskedPath;
use leafgate_tree::{Document, Format, NodeId};
use leafgate_vault::Vault;
use serde::Serialize;

use crate::options::{PolicyArg, formats};
use crate::print::{Exit, Printer};
use crate::request::AskedRequest;
use crate::{home, masking, policy, request};

#[derive(Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    policy: PolicyArg,
    /// A leaf of the request: what each rule made of it. Its path as `leafgate tree` prints it, or its
    /// pointer
    #[arg(long, value_name = "PATH", requires = "file")]
    leaf: Option<String>,
    /// The format of the request; without it, the one whose shape it has
    #[arg(long, value_name = "FORMAT", value_parser = formats(), requires = "file")]
    format: Option<Format>,
    /// The path that the request is sent to: of it rules know the endpoint, and the format, the model
    /// and the stream where it names them
    #[arg(long, value_name = "PATH", requires = "file")]
    path: Option<AskedPath>,
    /// The profile that makes the request, as a base URL chooses it; without it, the first one that is for
    /// the request
    #[arg(long, value_name = "ID", requires = "file")]
    profile: Option<String>,
    /// A request: what each rule made of it; `-` reads standard input. Without it, what the policy does
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(crate) fn run(args: &ExplainArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let loaded = policy::load(&args.policy.source)?;
    if let Some(file) = &args.file {
        let format = args.format.or_else(|| args.path.as_ref().and_then(AskedPath::format));
        let (document, _) = request::read(Some(file), format)?;
        let mut document = Arc::new(document);
        let keys = home::token_keys()?;
        let mut asked = AskedRequest::new(args.path.as_ref(), &document, &keys);
        if let Some(made) = asked.make(&loaded, args.profile.as_deref(), &document)? {
            printer.error_line(&format!(
                "leafgate: made by profile `{}` ({}): paths are those of what it makes",
                made.profile.id, made.profile.origin
            ));
            document = made.document;
        }
        let leaves = args.leaf.iter().map(|path| leaf(&document, path)).collect::<Result<Vec<_>, _>>()?;
        let (_, explanation) =
            loaded.explain_request(Arc::clone(&document), &asked.context(), &Vault::new(keys), &leaves);
        print(&explanation, printer)
    } else {
        print(&loaded.explain(), printer)
    }
}

fn print(explanation: &(impl Serialize + ToString), printer: &mut Printer) -> anyhow::Result<Exit> {
    printer.show(explanation, |explanation, printer| printer.line(explanation.to_string().trim_end()))
}

/// The leaf that a pointer or a path names.
fn leaf(document: &Document, path: &str) -> anyhow::Result<NodeId> {
    let named = |node: &NodeId| match path.starts_with('/') {
        true => document.pointer(*node) == path,
        false => document.display_path(*node) == path,
    };
    let found = document.leaves().map(|leaf| leaf.id()).find(named);
    match found {
        Some(node) => Ok(node),
        None => bail!(
            "the request has no leaf {}: `leafgate tree` prints the paths of its leaves",
            masking::masked(path)
        ),
    }
}
