//! `plugin key`, `sign` and `verify`: signatures of plugin files, and of the policy folders of operators, made
//! and checked without a network.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use leafgate_contract::{Signer, of_hex};
use leafgate_wasm::{LoaderLimits, Signatures, SigningKey};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::args::{KeyArgs, SignArgs, VerifySignatureArgs};
use crate::print::{Exit, Printer, Row, Style};
use crate::{managed, private};

/// What stands before the key in its file.
const KEY: &str = "leafgate-plugin-key ";

pub(super) fn key(args: &KeyArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).context("the system gives no random bytes")?;
    let key = SigningKey::from_seed(&seed).context("the system gives bad random bytes")?;
    let shown = args.file.display();
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&args.file);
    if file.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
        bail!("{shown} is there already, and a key is never replaced: choose another name");
    }
    let mut file = file.with_context(|| format!("cannot make {shown}"))?;
    let text = format!(
        "# Who has this signs plugins. Its public half is {}\n{KEY}{}\n",
        key.signer(),
        base16ct::lower::encode_string(&seed)
    );
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {shown}"))?;
    let signer = key.signer().to_string();
    printer.tell(&json!({ "key": signer }), &signer)
}

pub(super) fn sign(args: &SignArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let key = read_key(&args.key)?;
    let digest = digest(&args.plugin)?;
    let beside = Signatures::beside(&args.plugin);
    let mut signatures =
        Signatures::of(&args.plugin).with_context(|| format!("cannot add to {}", beside.display()))?;
    signatures.sign(&key, &digest);
    private::replace(&beside, signatures.to_text().as_bytes())
        .with_context(|| format!("cannot write {}", beside.display()))?;
    let signer = key.signer().to_string();
    let line = format!("{} is signed by {signer}", args.plugin.display());
    printer.tell(&json!({ "plugin": args.plugin.display().to_string(), "signer": signer }), &line)
}

pub(super) fn verify(args: &VerifySignatureArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let digest = digest(&args.plugin)?;
    let verified = Signatures::of(&args.plugin)?.verify(&digest);
    let counts = |signer: &Signer| args.keys.is_empty() || args.keys.contains(signer);
    let ok = verified.signed.iter().any(counts);
    let names = |signers: &[Signer]| signers.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (signed, stale) = (names(&verified.signed), names(&verified.stale));
    let sha256 = base16ct::lower::encode_string(&digest);
    let shown = json!({ "ok": ok, "sha256": sha256, "signed": signed, "stale": stale });
    printer.show(&shown, |_, printer| {
        for signer in &verified.signed {
            let (style, word) =
                if counts(signer) { (Style::Added, "signed  ") } else { (Style::Plain, "other   ") };
            printer.rows(&[Row::of(word, style).and(&signer.to_string(), Style::Plain)])?;
        }
        for signer in &verified.stale {
            let what = format!("{signer}: it has signed another file");
            printer.rows(&[Row::of("stale   ", Style::Error).and(&what, Style::Plain)])?;
        }
        match (ok, args.keys.is_empty()) {
            (true, _) => Ok(()),
            (false, true) => printer.line("nobody has signed it"),
            (false, false) => printer.line("none of these keys has signed it"),
        }
    })?;
    Ok(if ok { Exit::Done } else { Exit::Unmet })
}

fn digest(plugin: &Path) -> anyhow::Result<[u8; 32]> {
    if plugin.is_dir() {
        return managed::digest(plugin, None);
    }
    let bytes = leafgate_folder::read(plugin, LoaderLimits::default().file_bytes)
        .with_context(|| format!("cannot read {}", plugin.display()))?;
    Ok(Sha256::digest(&bytes).into())
}

/// Reads a key. Others who could read it could sign too.
fn read_key(path: &Path) -> anyhow::Result<SigningKey> {
    let shown = path.display();
    let metadata = fs::metadata(path).with_context(|| format!("cannot read the key {shown}"))?;
    let to_do = "run `chmod 600` on it, or make another one";
    private::ensure_mode(&metadata, 0o077, &format!("read the key {shown}"), to_do)?;
    let text = fs::read_to_string(path).with_context(|| format!("cannot read the key {shown}"))?;
    let digits = text.lines().find_map(|line| line.strip_prefix(KEY));
    let seed = digits.and_then(|digits| of_hex(digits.trim()));
    seed.and_then(|seed| SigningKey::from_seed(&seed))
        .with_context(|| format!("{shown} is no key: `leafgate plugin key FILE` makes one"))
}
