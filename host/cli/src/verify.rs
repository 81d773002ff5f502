//! `verify`: proves on given requests that no planted secret gets through a policy.
//!
//! Each request is planted several times (see `leafgate_verify::plant`) and judged as by `apply`,
//! and the output is searched. A secret may be left in it only if the verdict holds the request
//! because of that very place, or if the short list of unsearched values names it. The positions
//! come from a walk of the JSON that shares no code with the gate's tree.

mod encodings;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use bytes::Bytes;
use clap::Args;
use leafgate_gate::session_key;
use leafgate_policy::{Context, Evaluation, Policy, Unredactable, Verdict};
use leafgate_tree::{Access, Document, Format, NodeId, Segment};
use leafgate_vault::{TokenKeys, Vault};
use leafgate_verify::canary::Family;
use leafgate_verify::fate::{Facts, FateCounts, Tally, fate};
use leafgate_verify::plant::{self, Pass, Planted};
use leafgate_verify::search::SentSearch;
use leafgate_verify::walk::PositionKind;
use serde::Serialize;

use crate::options::{self, PolicyArg};
use crate::print::{Cell, Exit, Printer, Style, counted};
use crate::{home, policy, request};

/// Leaks of one format that are printed. `--json` has all.
const SHOWN: usize = 20;

/// Replaces a key that holds a secret of the request's own.
const MASKED_KEY: &str = "[KEY]";

#[derive(Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    policy: PolicyArg,
    /// The format of the requests; without it, of each the one whose shape it has
    #[arg(long, value_name = "FORMAT", value_parser = options::formats())]
    format: Option<Format>,
    /// The kind of secret to plant, which the policy must look for
    #[arg(long, value_name = "KIND", default_value = "github", value_parser = options::one_of(Family::ALL, |kind| (kind.name(), "")))]
    canary: Family,
    /// Print which encodings of secrets the policy contains, instead of checking requests
    #[arg(long, conflicts_with_all = ["files", "format", "canary"])]
    encodings: bool,
    /// The requests; `-` reads standard input
    #[arg(value_name = "FILE", required_unless_present = "encodings")]
    files: Vec<PathBuf>,
}

pub(crate) fn run(args: &VerifyArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let policy = policy::load(&args.policy.source)?;
    if args.encodings {
        return encodings::run(&policy, printer);
    }
    let mut check =
        VerifyCheck { policy, keys: home::token_keys()?, family: args.canary, formats: BTreeMap::new() };
    for file in &args.files {
        check.file(file, args.format)?;
    }
    let verified = check.verified();
    printer.show(&verified, print)?;
    Ok(if verified.clean { Exit::Done } else { Exit::Unmet })
}

/// A verification in progress.
struct VerifyCheck {
    policy: Policy,
    keys: TokenKeys,
    family: Family,
    formats: BTreeMap<&'static str, Tally>,
}

impl VerifyCheck {
    fn file(&mut self, path: &Path, format: Option<Format>) -> anyhow::Result<()> {
        let name = path.display().to_string();
        let (document, _) = request::read(Some(path), format)?;
        // A planted request no longer has the shape by which its format is detected.
        let (format, is_raw) = (document.format(), document.is_raw());
        let mut tally = self.formats.remove(format.name()).unwrap_or_default();
        tally.files += 1;
        let before = tally.leaks.len();
        let mut planted_so_far = 0;
        for &pass in Pass::ALL {
            let planted = planted(document.source(), is_raw, pass, self.family, planted_so_far)?;
            planted_so_far += planted.plants.len() as u64;
            let document = match is_raw {
                true => Document::raw(Bytes::from(planted.body.clone())),
                false => request::document(&Bytes::from(planted.body.clone()), Some(format))?.0,
            };
            self.pass(&name, pass, &planted, document, &mut tally);
        }
        if tally.leaks.len() > before {
            let keys = self.secret_keys(document);
            tally.leaks[before..].iter_mut().for_each(|leak| mask(&mut leak.position.pointer, &keys));
        }
        self.formats.insert(format.name(), tally);
        Ok(())
    }

    /// Judges one planted request, and decides the result for each secret.
    fn pass(&self, name: &str, pass: Pass, planted: &Planted, document: Document, tally: &mut Tally) {
        let search = SentSearch::new(self.family, planted.plants.iter().map(|plant| plant.canary.as_str()));
        let document = Arc::new(document);
        let holders = holders(&document, &search);
        let evaluation = self.judge(&document);
        let held: BTreeSet<Unredactable> = match evaluation.verdict {
            Verdict::Forward | Verdict::Route(_) => BTreeSet::new(),
            Verdict::Pause(_) | Verdict::Block(_) => evaluation.recall.unredactable().collect(),
        };
        let seen = search.find(&evaluation.draft.render());
        for (place, plant) in planted.plants.iter().enumerate() {
            let holder = holders.get(&place);
            let facts = holder.map_or_else(Facts::default, |holder| facts(holder, &document, &held));
            let seen = seen.get(&place).copied();
            tally.add(name, pass, plant, fate(plant, self.family, facts, seen), seen);
        }
    }

    fn judge(&self, document: &Arc<Document>) -> Evaluation {
        let session = session_key(&self.keys, document);
        let context = Context { session: &session, ..Context::default() };
        self.policy.evaluate(Arc::clone(document), &context, &Vault::new(self.keys.clone()))
    }

    /// Returns the keys of a request before planting that no pointer may spell.
    fn secret_keys(&self, document: Document) -> Vec<String> {
        let document = Arc::new(document);
        let evaluation = self.judge(&document);
        let keys = evaluation.recall.unredactable().filter(|place| place.in_key);
        keys.filter_map(|place| match document.segment(place.node)? {
            Segment::Key(key) => Some(key.replace('~', "~0").replace('/', "~1")),
            Segment::Index(_) => None,
        })
        .collect()
    }

    fn verified(self) -> VerifyOutcome {
        let planted = self.formats.values().map(Tally::planted).sum();
        let leaked = self.formats.values().map(|tally| tally.leaks.len()).sum();
        VerifyOutcome {
            generation: self.policy.generation_name(),
            canary: self.family.name(),
            clean: leaked == 0,
            planted,
            leaked,
            formats: self.formats,
        }
    }
}

/// Returns a body with secrets in it. A body that is no JSON has a single position.
fn planted(body: &Bytes, is_raw: bool, pass: Pass, family: Family, first: u64) -> anyhow::Result<Planted> {
    if is_raw {
        return Ok(plant::plant_raw(&String::from_utf8_lossy(body), family, first));
    }
    let text = std::str::from_utf8(body).context("JSON is UTF-8")?;
    plant::plant(text, pass, family, first).context("the gate reads a body as JSON that is none")
}

fn mask(pointer: &mut String, keys: &[String]) {
    if !keys.is_empty() {
        let segments = pointer
            .split('/')
            .map(|segment| if keys.iter().any(|key| key == segment) { MASKED_KEY } else { segment });
        *pointer = segments.collect::<Vec<_>>().join("/");
    }
}

/// Returns how the gate takes the value or the key that holds a secret.
fn facts(holder: &Unredactable, document: &Document, held: &BTreeSet<Unredactable>) -> Facts {
    let access = document.leaf(holder.node).filter(|_| !holder.in_key).map(|leaf| leaf.access());
    Facts {
        held: held.contains(holder),
        opaque: access == Some(Access::Opaque),
        fixed: matches!(access, Some(Access::Protected | Access::Frozen)),
        known: true,
    }
}

/// Finds the leaf or key of each secret.
fn holders(document: &Document, search: &SentSearch<'_>) -> BTreeMap<usize, Unredactable> {
    let mut holders = BTreeMap::new();
    let mut look = |text: &str, node: NodeId, in_key: bool| {
        let found = search.find(text.as_bytes()).into_keys();
        holders.extend(found.map(|place| (place, Unredactable { node, in_key })));
    };
    document.leaves().for_each(|leaf| look(leaf.text().expose(), leaf.id(), false));
    document.keys().for_each(|key| look(key.text.expose(), key.node, true));
    holders
}

/// The output of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VerifyOutcome {
    generation: String,
    canary: &'static str,
    clean: bool,
    planted: usize,
    leaked: usize,
    formats: BTreeMap<&'static str, Tally>,
}

fn print(verified: &VerifyOutcome, printer: &mut Printer) -> anyhow::Result<()> {
    let heads = ["position", "planted", "redacted", "held", "in media", "no prefix", "leaked"];
    for (format, tally) in &verified.formats {
        printer.text(Style::Strong, &format!("{format}: {}\n", counted(tally.files, "request")))?;
        let row = |(what, counts): (&PositionKind, &FateCounts)| {
            let FateCounts { redacted, held, media, no_prefix, leaked } = *counts;
            let numbers = [counts.total(), redacted, held, media, no_prefix, leaked].map(Cell::from);
            let [planted, redacted, held, media, no_prefix, leaked] = numbers;
            [what.word().into(), planted, redacted, held, media, no_prefix, leaked]
        };
        printer.table(heads, tally.positions.iter().map(row))?;
        for leak in tally.leaks.iter().take(SHOWN) {
            let place = format!("{} {} {}", leak.file, leak.position.what, leak.position.pointer);
            let again = match leak.position.occurrence {
                0 => String::new(),
                again => format!(" (occurrence {})", again + 1),
            };
            printer.text(Style::Error, &format!("  leak: {place}{again}\n"))?;
            printer.line(&format!(
                "        pass `{}`, found {}; {}",
                leak.pass.name(),
                leak.seen.words(),
                leak.leak.words()
            ))?;
        }
        if tally.leaks.len() > SHOWN {
            printer.line(&format!("  and {} more; --json lists all", tally.leaks.len() - SHOWN))?;
        }
    }
    let (planted, canary) = (verified.planted, verified.canary);
    let result = match verified.leaked {
        0 => format!("clean: of {planted} planted {canary} secrets none gets through unseen"),
        leaked => format!("{leaked} of {planted} planted {canary} secrets would leave"),
    };
    Ok(printer.line(&result)?)
}
