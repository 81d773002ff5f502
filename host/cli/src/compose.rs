//! `compose`: the request that a profile makes of one that a client sent.
//!
//! No rule has looked at it: what leaves a gate is what `apply` writes. So a secret of a context
//! file stands in this output as it stands in the file.

use anyhow::Context as _;
use leafgate_assemble::Step;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::options::ComposeArgs;
use crate::print::{Exit, Printer};
use crate::request::AskedRequest;
use crate::{home, policy, request};

/// The output of `--json`.
#[derive(Serialize)]
struct Composed<'a> {
    profile: &'a str,
    /// The exact text of the body.
    body: &'a str,
    sha256: String,
    steps: &'a [Step],
    /// Those of the steps that left something out.
    losses: Vec<&'a Step>,
}

pub(crate) fn run(args: &ComposeArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let policy = policy::load(&args.policy.source)?;
    let (document, _) = request::read(args.request.file.as_deref(), args.request.named_format())?;
    let mut asked = AskedRequest::new(args.request.path.as_ref(), &document, &home::token_keys()?);
    let made = asked.make(&policy, args.request.profile.as_deref(), &document)?;
    let made = made.with_context(|| match policy.assemblies().is_empty() {
        true => "the policy has no profile: write an `[[assemble]]` table",
        false => "no profile is for this request: choose one with --profile, or write a `match` for it",
    })?;
    let assembly = &made.profile;
    let body = made.document.source();
    let composed = Composed {
        profile: &assembly.id,
        body: std::str::from_utf8(body).context("the body is not UTF-8")?,
        sha256: base16ct::lower::encode_string(&Sha256::digest(body)),
        steps: &made.steps,
        losses: made.steps.iter().filter(|step| step.did.is_loss()).collect(),
    };
    printer.show(&composed, |composed, printer| {
        printer.bytes(composed.body.as_bytes())?;
        printer.error_line(&format!("leafgate: made by profile `{}` ({})", assembly.id, assembly.origin));
        composed.steps.iter().for_each(|step| printer.error_line(&format!("leafgate: {step}")));
        std::io::Result::Ok(())
    })
}
