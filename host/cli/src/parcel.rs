//! `self verify`: whether a file of a release is the one that its sums name, and who has signed these.
//!
//! Sums stand in `SHA256SUMS` beside the file, as sha256sum(1) writes them, signatures in
//! `SHA256SUMS.sig`, as `leafgate plugin sign` does. Nothing is asked of a network.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use leafgate_contract::Signer;
use leafgate_wasm::Signatures;
use sha2::{Digest as _, Sha256};

use crate::print::{Exit, Printer};

#[derive(Subcommand)]
pub(crate) enum SelfCommand {
    /// See whether a file of a release is whole, and who signed its sums; exit code 1 where it is not
    Verify(VerifyParcelArgs),
}

#[derive(Args)]
pub(crate) struct VerifyParcelArgs {
    /// The file, as it was published
    file: PathBuf,
    /// The file of sums; `SHA256SUMS` beside it without
    #[arg(long)]
    sums: Option<PathBuf>,
    /// A key that must have signed the sums; one of several
    #[arg(long = "key", value_name = "KEY")]
    keys: Vec<Signer>,
}

pub(crate) fn run(SelfCommand::Verify(args): &SelfCommand, printer: &mut Printer) -> anyhow::Result<Exit> {
    let (said, holds) = verified(args)?;
    for line in said {
        printer.line(&line)?;
    }
    printer.flush()?;
    Ok(if holds { Exit::Done } else { Exit::Unmet })
}

/// Returns what is to be said of a file, and whether it is as its sums say and as it must be signed.
fn verified(args: &VerifyParcelArgs) -> anyhow::Result<(Vec<String>, bool)> {
    let name = args.file.file_name().and_then(|name| name.to_str());
    let name = name.with_context(|| format!("{} names no file", args.file.display()))?;
    let sums = args.sums.clone().unwrap_or_else(|| args.file.with_file_name("SHA256SUMS"));
    let shown = sums.display();
    let text = fs::read_to_string(&sums).with_context(|| format!("cannot read the sums {shown}"))?;
    let wanted = text.lines().find_map(|line| {
        let (sum, of) = line.split_once(' ')?;
        // A blank or, for binary files, a star; there is no other difference.
        (of.strip_prefix([' ', '*'])? == name).then_some(sum)
    });
    let Some(wanted) = wanted else { return Ok((vec![format!("{shown} has no sum of {name}")], false)) };
    let found = base16ct::lower::encode_string(&digest(&args.file)?);
    if !wanted.eq_ignore_ascii_case(&found) {
        return Ok((vec![format!("{name} is not what {shown} says: its sum is {found}")], false));
    }
    let by = Signatures::of(&sums)?.verify(&Sha256::digest(&text).into());
    let mut said = vec![format!("{name} is what {shown} says")];
    said.extend(by.signed.iter().map(|signer| format!("signed by {signer}")));
    said.extend(by.stale.iter().map(|signer| format!("{signer} has signed other sums")));
    let is_signed = by.signed.iter().any(|signer| args.keys.contains(signer));
    if !args.keys.is_empty() && !is_signed {
        said.push("none of these keys has signed it".to_owned());
    } else if by.signed.is_empty() {
        said.push("nobody has signed the sums".to_owned());
    }
    // Without a key it counts that nothing speaks against the sums.
    let holds = if args.keys.is_empty() { by.stale.is_empty() } else { is_signed };
    Ok((said, holds))
}

fn digest(path: &Path) -> anyhow::Result<[u8; 32]> {
    let cannot_read = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(cannot_read)?;
    let (mut digest, mut part) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut part).with_context(cannot_read)? {
            0 => return Ok(digest.finalize().into()),
            length => digest.update(&part[..length]),
        }
    }
}

#[cfg(test)]
mod tests {
    use leafgate_wasm::SigningKey;

    use super::*;

    #[test]
    fn a_file_is_held_against_its_sums_and_these_against_their_signatures() {
        let folder = tempfile::tempdir().unwrap();
        let [file, sums] = ["a.tar.gz", "SHA256SUMS"].map(|name| folder.path().join(name));
        fs::write(&file, "whole").unwrap();
        let line =
            |text: &str, name| format!("{}  {name}\n", base16ct::lower::encode_string(&Sha256::digest(text)));
        let listed = line("other", "a.tar") + &line("whole", "a.tar.gz");
        fs::write(&sums, &listed).unwrap();
        let [ours, theirs] = [1, 2].map(|seed| SigningKey::from_seed(&[seed; 32]).unwrap());
        let holds = |keys: &[&SigningKey]| {
            let keys = keys.iter().map(|key| key.signer()).collect();
            verified(&VerifyParcelArgs { file: file.clone(), sums: None, keys }).unwrap().1
        };
        assert!(holds(&[]) && !holds(&[&ours]));
        let mut signatures = Signatures::default();
        signatures.sign(&ours, &Sha256::digest(&listed).into());
        fs::write(Signatures::beside(&sums), signatures.to_text()).unwrap();
        assert!(holds(&[]) && holds(&[&theirs, &ours]) && !holds(&[&theirs]));
        // Sums that somebody changed, and a file.
        fs::write(&sums, line("whole", "a.tar.gz")).unwrap();
        assert!(!holds(&[]) && !holds(&[&ours]));
        fs::remove_file(Signatures::beside(&sums)).unwrap();
        assert!(holds(&[]));
        fs::write(&file, "changed").unwrap();
        assert!(!holds(&[]));
        fs::write(&sums, line("changed", "b.tar.gz")).unwrap();
        assert!(!holds(&[]));
    }
}
