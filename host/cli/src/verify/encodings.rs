//! `verify --encodings`: the matrix of encodings, each contained by the policy or not.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use leafgate_gate::session_key;
use leafgate_policy::{Context, Policy};
use leafgate_tree::Format;
use leafgate_vault::{TokenKeys, Vault};
use leafgate_verify::encoding::{Beside, EncodingFate, SampleKind, TextEncoding, encodings};
use serde::Serialize;

use crate::print::{Cell, Exit, Printer, Style};
use crate::{home, request};

/// Kinds of secrets that are tried.
const KINDS: usize = SampleKind::ALL.len();

/// The output of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Matrix {
    generation: String,
    /// Every encoding that is promised is contained.
    clean: bool,
    contained: usize,
    encodings: Vec<EncodingRow>,
}

/// One encoding.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EncodingRow {
    encoding: &'static str,
    /// The decoders are meant to read it.
    promised: bool,
    /// No secret in it leaves, whatever stands beside it.
    contained: bool,
    /// By the kind of secret.
    secrets: BTreeMap<&'static str, SecretOutcomes>,
}

/// One kind of secret in one encoding.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
struct SecretOutcomes {
    alone: EncodingFate,
    beside_plain_copy: EncodingFate,
}

impl SecretOutcomes {
    fn is_contained(self) -> bool {
        self.alone.is_contained() && self.beside_plain_copy.is_contained()
    }

    fn words(self) -> String {
        match (self.alone.word(), self.beside_plain_copy.word()) {
            (alone, beside) if alone == beside => alone.to_owned(),
            (alone, beside) => format!("{alone}/{beside}"),
        }
    }
}

pub(super) fn run(policy: &Policy, printer: &mut Printer) -> anyhow::Result<Exit> {
    let keys = home::token_keys()?;
    let rows = encodings().iter().map(|encoding| row(policy, &keys, encoding));
    let rows: Vec<EncodingRow> = rows.collect::<anyhow::Result<_>>()?;
    let matrix = Matrix {
        generation: policy.generation_name(),
        clean: rows.iter().all(|row| row.contained || !row.promised),
        contained: rows.iter().filter(|row| row.contained).count(),
        encodings: rows,
    };
    printer.show(&matrix, print)?;
    Ok(if matrix.clean { Exit::Done } else { Exit::Unmet })
}

fn row(policy: &Policy, keys: &TokenKeys, encoding: &TextEncoding) -> anyhow::Result<EncodingRow> {
    let mut secrets = BTreeMap::new();
    for &kind in encoding.kinds {
        let alone = outcome(policy, keys, encoding, kind, Beside::Nothing)?;
        let beside_plain_copy = outcome(policy, keys, encoding, kind, Beside::PlainCopy)?;
        secrets.insert(kind.name(), SecretOutcomes { alone, beside_plain_copy });
    }
    let contained = secrets.values().all(|cell| cell.is_contained());
    Ok(EncodingRow { encoding: encoding.name, promised: encoding.promised, contained, secrets })
}

fn outcome(
    policy: &Policy,
    keys: &TokenKeys,
    encoding: &TextEncoding,
    kind: SampleKind,
    beside: Beside,
) -> anyhow::Result<EncodingFate> {
    let body = Bytes::from(encoding.request(kind, beside));
    let document = Arc::new(request::document(&body, Some(Format::OpenaiChat))?.0);
    let session = session_key(keys, &document);
    let context = Context { session: &session, ..Context::default() };
    let evaluation = policy.evaluate(document, &context, &Vault::new(keys.clone()));
    let held = evaluation.verdict.holds();
    Ok(encoding.outcome(kind, &evaluation.draft.render(), held))
}

fn print(matrix: &Matrix, printer: &mut Printer) -> anyhow::Result<()> {
    let (read, others): (Vec<&EncodingRow>, Vec<&EncodingRow>) =
        matrix.encodings.iter().partition(|row| row.promised);
    for (head, rows) in [("encodings that are undone", read), ("encodings that are not", others)] {
        let mut heads = [head; KINDS + 1];
        heads[1..].iter_mut().zip(SampleKind::ALL).for_each(|(head, kind)| *head = kind.name());
        let row = |row: &&EncodingRow| {
            let style = if row.contained { Style::Plain } else { Style::Error };
            std::array::from_fn(|place| match place.checked_sub(1).map(|kind| SampleKind::ALL[kind].name()) {
                None => Cell::new(style, row.encoding),
                Some(kind) => {
                    Cell::new(style, row.secrets.get(kind).map_or("-".to_owned(), |cell| cell.words()))
                }
            })
        };
        printer.table(heads, rows.iter().map(row))?;
    }
    printer
        .line("\"a/b\": a where the encoded secret stands alone, b where a plain copy stands beside it")?;
    let (contained, all) = (matrix.contained, matrix.encodings.len());
    printer.line(&format!("{contained} of {all} encodings are contained, alone and beside a plain copy"))?;
    Ok(())
}
