//! `receipt`: the signed receipts of the log as a file, and whether such a file holds.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use leafgate_store::receipt::{self, Broken, VerifiedFile};
use serde_json::json;

use crate::log;
use crate::print::{Exit, Printer};
use crate::private;

#[derive(Subcommand)]
pub(crate) enum ReceiptCommand {
    /// Write the receipts of the log to a file that `verify` checks
    Export(ExportReceiptsArgs),
    /// Check a file of receipts: signatures, order, and that none is missing
    Verify(VerifyReceiptsArgs),
    /// Print the key that verifies this installation's receipts
    Key,
}

#[derive(Args)]
pub(crate) struct ExportReceiptsArgs {
    /// The file to write; - is standard output
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Only receipts from this number on
    #[arg(long, value_name = "ID", value_parser = log::number)]
    from: Option<i64>,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
}

#[derive(Args)]
pub(crate) struct VerifyReceiptsArgs {
    /// The file; - is standard input
    file: PathBuf,
    /// The key that must have signed it, as `leafgate receipt key` printed it there. Without it, the
    /// file's own key is believed, and printed
    #[arg(long, value_name = "HEX", value_parser = key)]
    key: Option<String>,
}

/// Digits of a key of Ed25519.
const KEY_DIGITS: usize = 64;

fn key(text: &str) -> Result<String, String> {
    let is_key = text.len() == KEY_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let wrong = || format!("a key has {KEY_DIGITS} hexadecimal digits, as `leafgate receipt key` prints it");
    is_key.then(|| text.to_ascii_lowercase()).ok_or_else(wrong)
}

pub(crate) fn run(command: &ReceiptCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    match command {
        ReceiptCommand::Export(args) => export(args, printer),
        ReceiptCommand::Verify(args) => verify(args, printer),
        ReceiptCommand::Key => {
            let key = log::keys()?.verifying_key();
            printer.tell(&json!({ "key": key }), &key)
        }
    }
}

fn export(args: &ExportReceiptsArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let log = log::open()?;
    let keys = log::keys()?;
    let mut written = Vec::new();
    let count = log.export_receipts(&keys, args.from, &mut written)?;
    if args.file == Path::new("-") {
        printer.bytes(&written)?;
    } else {
        let shown = args.file.display();
        let exported = private::export_to(&args.file, args.force)?.write_all(&written);
        exported.with_context(|| format!("cannot write {shown}"))?;
        printer.error_line(&format!("{count} receipts in {shown}"));
    }
    Ok(Exit::Done)
}

/// Exits with 1 where the file does not hold.
fn verify(args: &VerifyReceiptsArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let shown = args.file.display();
    let file: Box<dyn BufRead> = match args.file == Path::new("-") {
        true => Box::new(std::io::stdin().lock()),
        false => {
            Box::new(BufReader::new(File::open(&args.file).with_context(|| format!("cannot read {shown}"))?))
        }
    };
    match receipt::verify(file, args.key.as_deref()) {
        Ok(VerifiedFile { receipts, numbers, key, last }) => {
            let range = numbers.map(|(first, last)| format!(", {first} to {last}")).unwrap_or_default();
            printer.tell(
                &json!({ "holds": true, "receipts": receipts, "numbers": numbers, "key": key, "last": last }),
                &format!("{receipts} receipts{range}: all hold\nsigned by {key}\nthe last one is {last}"),
            )
        }
        Err(broken @ Broken::Io { .. }) => {
            Err(anyhow::Error::new(broken).context(format!("cannot read {shown}")))
        }
        Err(broken) => {
            if printer.is_json {
                printer.json(&json!({ "holds": false, "why": broken.to_string() }))?;
            }
            printer.error_line(&format!("leafgate: {shown}: {broken}"));
            Ok(Exit::Unmet)
        }
    }
}
