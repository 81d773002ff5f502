//! Receipts: what a gate did with each request, chained and signed.
//!
//! A receipt is a line of JSON that says what came, what was changed, who agreed to what, and what
//! left, by digests. It bears the SHA-256 of the receipt before it, and an Ed25519 signature by the
//! installation's key. A file of receipts begins with a head that names the key and the digest from
//! which its chain goes on: older receipts may have been removed with their requests. It ends with a
//! seal, signed as well, that says which receipts it was written with: what was cut off before or
//! behind is missed. No digest is of use to who lacks the key: an edit is often of a text that can be
//! guessed.
//!
//! What no file can show is that its log went on after it was written.
//!
//! Several gates may write one log: each looks up the last receipt within its transaction.

use std::io::{BufRead, Write};

use bytes::Bytes;
use leafgate_record::RequestRecord;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::keys::StoreKeys;
use crate::schema::millis;

/// The digest before the first receipt of a log.
pub(crate) const NONE: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What one request's receipt says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Receipt {
    /// Its number: the next one after the receipt before it.
    pub number: i64,
    /// When the request came, in milliseconds of Unix time.
    pub at: i64,
    /// The conversation, by its opaque key.
    pub session: String,
    /// The client program.
    pub agent: String,
    /// Where it went, as the record has it: a URL without what may be a key.
    pub upstream: String,
    /// The HTTP method.
    pub method: String,
    /// The path without its query.
    pub path: String,
    /// `forwarded`, or why it was not.
    pub verdict: String,
    /// SHA-256 of the policy that judged it.
    pub policy: String,
    /// The rules that matched.
    pub rules: Vec<String>,
    /// The keyed digest of the body as it came.
    pub received: String,
    /// How many edits and redactions stand in what left.
    pub edits: usize,
    /// The keyed digest of the list of these, as the log has it.
    pub edits_digest: String,
    /// Who let it go after it had waited: `user`, a person, or `timeout`, where a rule lets it go when
    /// nobody decides. The policy alone decided where this is not there.
    pub released_by: Option<String>,
    /// The keyed digest of what was shown and agreed to, destination and body.
    pub approved: Option<String>,
    /// The keyed digest of the body that left. None did where this is not there.
    pub sent: Option<String>,
    /// SHA-256 of the receipt before it.
    pub previous: String,
}

impl Receipt {
    /// Returns the receipt of a request, but for its place in the chain.
    pub(crate) fn of(record: &RequestRecord, keys: &StoreKeys, path: &str, edits: &str) -> Receipt {
        let received = keys.digest(&record.received);
        let sent = record.sent.as_ref().map(|sent| match is_one(sent, &record.received) {
            true => received.clone(),
            false => keys.digest(sent),
        });
        Receipt {
            number: 0,
            at: millis(record.at),
            session: record.session.to_string(),
            agent: record.agent.to_string(),
            upstream: record.upstream.to_string(),
            method: record.method.clone(),
            path: path.to_owned(),
            verdict: record.verdict.to_owned(),
            policy: base16ct::lower::encode_string(&record.policy.digest()),
            rules: record.rules.clone(),
            received,
            edits: record.edits.len(),
            edits_digest: keys.digest(edits.as_bytes()),
            released_by: record.approved.as_ref().map(|approval| approval.by.to_owned()),
            approved: record
                .approved
                .as_ref()
                .map(|approval| keys.digest(approval.digest.to_string().as_bytes())),
            sent,
            previous: String::new(),
        }
    }

    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers always serialise")
    }
}

/// Returns whether two bodies are one buffer, as they are where nothing was edited.
fn is_one(one: &Bytes, other: &Bytes) -> bool {
    one.as_ptr() == other.as_ptr() && one.len() == other.len()
}

/// Returns the SHA-256 of a text, in hexadecimal.
pub(crate) fn sha256(text: &str) -> String {
    base16ct::lower::encode_string(&Sha256::digest(text.as_bytes()))
}

/// The first line of a file of receipts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FileHead {
    leafgate: String,
    version: u32,
    public_key: String,
    previous: String,
}

/// A further line: what was signed, as it was signed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Signed {
    Receipt(String),
    Seal(String),
}

/// Any further line.
#[derive(Debug, Serialize, Deserialize)]
struct ReceiptLine {
    #[serde(flatten)]
    signed: Signed,
    signature: String,
}

/// Which receipts a file was written with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Seal {
    /// The numbers of the first and the last.
    numbers: Option<(i64, i64)>,
    /// SHA-256 of the receipt before the first.
    previous: String,
    /// SHA-256 of the last one.
    last: String,
}

/// What kind of file it is.
const KIND: &str = "receipts";

/// The version of the form.
const VERSION: u32 = 2;

/// Writes a file of receipts.
pub(crate) struct FileWriter<'w, W: Write> {
    out: &'w mut W,
    keys: &'w StoreKeys,
    seal: Seal,
}

impl<'w, W: Write> FileWriter<'w, W> {
    /// Begins a file whose first receipt goes on from this digest.
    pub(crate) fn begin(out: &'w mut W, keys: &'w StoreKeys, previous: &str) -> std::io::Result<Self> {
        let previous = previous.to_owned();
        let public_key = keys.verifying_key();
        let head = FileHead { leafgate: KIND.to_owned(), version: VERSION, public_key, previous };
        writeln!(out, "{}", serde_json::to_string(&head)?)?;
        let seal = Seal { numbers: None, last: head.previous.clone(), previous: head.previous };
        Ok(FileWriter { out, keys, seal })
    }

    /// Writes a receipt as it was signed.
    pub(crate) fn receipt(&mut self, number: i64, text: String, signature: &[u8]) -> std::io::Result<()> {
        self.seal.numbers = Some((self.seal.numbers.map_or(number, |(first, _)| first), number));
        self.seal.last = sha256(&text);
        self.line(Signed::Receipt(text), signature)
    }

    /// Ends the file.
    pub(crate) fn end(mut self) -> std::io::Result<()> {
        let text = serde_json::to_string(&self.seal)?;
        let signature = self.keys.signer.sign(text.as_bytes());
        self.line(Signed::Seal(text), signature.as_ref())
    }

    fn line(&mut self, signed: Signed, signature: &[u8]) -> std::io::Result<()> {
        let line = ReceiptLine { signed, signature: base16ct::lower::encode_string(signature) };
        writeln!(self.out, "{}", serde_json::to_string(&line)?)
    }
}

/// A file of receipts that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedFile {
    /// The key that signed all of them.
    pub key: String,
    /// How many there are.
    pub receipts: usize,
    /// The numbers of the first and the last.
    pub numbers: Option<(i64, i64)>,
    /// SHA-256 of the last receipt.
    pub last: String,
}

/// Why a file of receipts does not hold.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// It cannot be read.
    #[error("line {line}: cannot be read")]
    Io {
        /// Where, from 1.
        line: usize,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// What was done to it, with the line.
    #[error("{0}")]
    Forged(String),
}

fn forged(what: impl Into<String>) -> Broken {
    Broken::Forged(what.into())
}

fn no_head() -> Broken {
    forged("line 1 is no head of a file of receipts: export one with `leafgate receipt export`")
}

fn no_receipt(line: usize) -> Broken {
    forged(format!("line {line} is no receipt"))
}

fn range(numbers: Option<(i64, i64)>) -> String {
    numbers.map_or("no receipt".to_owned(), |(first, last)| format!("receipts {first} to {last}"))
}

/// Checks a file of receipts: each signature, and that each goes on from the one before. `expected`
/// is the key that must have signed them; without one, the file's own is believed.
///
/// # Errors
/// The first receipt that does not hold, and why.
pub fn verify(file: impl BufRead, expected: Option<&str>) -> Result<VerifiedFile, Broken> {
    let mut lines = file
        .lines()
        .zip(1..)
        .map(|(text, line)| text.map(|text| (text, line)).map_err(|source| unread(line, source)));
    let (first, _) = lines.next().ok_or_else(no_head)??;
    let head: FileHead = serde_json::from_str(&first).map_err(|_| no_head())?;
    if head.leafgate != KIND {
        return Err(no_head());
    }
    if head.version != VERSION {
        return Err(forged(format!(
            "line 1: the file is of version {}, and this program reads version {VERSION}",
            head.version
        )));
    }
    if let Some(expected) = expected.filter(|&expected| expected != head.public_key) {
        return Err(forged(format!(
            "line 1: the file names key {}, and not {expected}: it is another installation's, or forged",
            head.public_key
        )));
    }
    let key = base16ct::mixed::decode_vec(&head.public_key).map_err(|_| no_head())?;
    let key = UnparsedPublicKey::new(&ED25519, key);
    let last = head.previous.clone();
    let mut verified = VerifiedFile { key: head.public_key, receipts: 0, numbers: None, last };
    let mut is_sealed = false;
    while let Some(next) = lines.next() {
        let (text, line) = next?;
        if text.trim().is_empty() {
            continue;
        }
        if is_sealed {
            return Err(forged(format!(
                "line {line} stands behind the seal, which is the last line of a file"
            )));
        }
        let ReceiptLine { signed, signature } = serde_json::from_str(&text).map_err(|_| no_receipt(line))?;
        let signature = base16ct::mixed::decode_vec(&signature).map_err(|_| no_receipt(line))?;
        let is_signed = |text: &str| key.verify(text.as_bytes(), &signature).is_ok();
        match signed {
            Signed::Seal(seal) => {
                check_seal(&verified, head.previous.clone(), &seal, line, is_signed)?;
                is_sealed = true;
            }
            Signed::Receipt(receipt) => {
                let rest = lines.by_ref().map_while(Result::ok).filter_map(|(text, _)| number_of(&text));
                take(&mut verified, &receipt, line, is_signed, rest)?;
            }
        }
    }
    let last = || verified.numbers.map_or("its head".to_owned(), |(_, last)| last.to_string());
    match is_sealed {
        true => Ok(verified),
        false => {
            Err(forged(format!("the file ends without its seal: receipts behind {} were cut off", last())))
        }
    }
}

/// Checks that a file has what it was written with.
fn check_seal(
    verified: &VerifiedFile,
    previous: String,
    text: &str,
    line: usize,
    is_signed: impl Fn(&str) -> bool,
) -> Result<(), Broken> {
    if !is_signed(text) {
        return Err(changed(line, verified.numbers.map_or(0, |(_, last)| last)));
    }
    let seal: Seal = serde_json::from_str(text).map_err(|_| no_receipt(line))?;
    match seal == (Seal { numbers: verified.numbers, previous, last: verified.last.clone() }) {
        true => Ok(()),
        false => Err(forged(format!(
            "line {line}: the seal is of {}, and the file has {}",
            range(seal.numbers),
            range(verified.numbers)
        ))),
    }
}

fn changed(line: usize, number: i64) -> Broken {
    forged(format!(
        "line {line} (receipt {number}): the signature does not fit: it was changed after it was signed"
    ))
}

/// What is no text is no receipt, and can be read.
fn unread(line: usize, source: std::io::Error) -> Broken {
    match (source.kind(), line) {
        (std::io::ErrorKind::InvalidData, 1) => no_head(),
        (std::io::ErrorKind::InvalidData, _) => no_receipt(line),
        _ => Broken::Io { line, source },
    }
}

fn number_of(line: &str) -> Option<i64> {
    let line: ReceiptLine = serde_json::from_str(line).ok()?;
    let Signed::Receipt(text) = line.signed else { return None };
    Some(serde_json::from_str::<Receipt>(&text).ok()?.number)
}

/// Checks that a receipt is the next one.
fn follows(number: i64, before: i64, line: usize, mut rest: impl Iterator<Item = i64>) -> Result<(), Broken> {
    let first = before.saturating_add(1);
    // What stands further behind is not missing.
    if number < first || number > first && rest.any(|later| before < later && later < number) {
        return Err(forged(format!(
            "line {line}: receipt {number} stands behind {before}: the order was changed"
        )));
    }
    let missing = match number.saturating_sub(first) {
        0 => return Ok(()),
        1 => format!("{first} is"),
        _ => format!("{first} to {} are", number - 1),
    };
    Err(forged(format!("line {line}: receipt {number} follows {before}: {missing} missing")))
}

/// Takes the next receipt. `rest` are the numbers of those behind it.
fn take(
    verified: &mut VerifiedFile,
    text: &str,
    line: usize,
    is_signed: impl Fn(&str) -> bool,
    rest: impl Iterator<Item = i64>,
) -> Result<(), Broken> {
    let receipt: Receipt = serde_json::from_str(text).map_err(|_| no_receipt(line))?;
    let number = receipt.number;
    if !is_signed(text) {
        return Err(changed(line, number));
    }
    if let Some((_, before)) = verified.numbers {
        follows(number, before, line, rest)?;
    }
    if receipt.previous != verified.last {
        return Err(forged(format!(
            "line {line} (receipt {number}): it does not go on from the receipt before it, which is another one's"
        )));
    }
    verified.receipts += 1;
    verified.numbers = Some((verified.numbers.map_or(number, |(first, _)| first), number));
    verified.last = sha256(text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys};

    use super::*;

    fn keys(seed: u8) -> StoreKeys {
        let key = InstallationKey::from_bytes([seed; 32]);
        let tokens = TokenKeys::derive(&key, &ClientIdentity::new("test"));
        StoreKeys::derive(&key, tokens)
    }

    /// A file of receipts 3 to 7.
    fn file(keys: &StoreKeys) -> Vec<String> {
        let mut previous = sha256("the second");
        let mut out = Vec::new();
        let mut file = FileWriter::begin(&mut out, keys, &previous).unwrap();
        for number in 3..8 {
            let receipt = Receipt {
                number,
                at: 1,
                session: "s".into(),
                agent: "curl".into(),
                upstream: "echo:".into(),
                method: "POST".into(),
                path: "/v1/messages".into(),
                verdict: "forwarded".into(),
                policy: NONE.into(),
                rules: vec!["secrets".into()],
                received: NONE.into(),
                edits: 0,
                edits_digest: NONE.into(),
                released_by: None,
                approved: None,
                sent: Some(NONE.into()),
                previous,
            };
            let text = receipt.text();
            previous = sha256(&text);
            let signature = keys.signer.sign(text.as_bytes());
            file.receipt(number, text, signature.as_ref()).unwrap();
        }
        file.end().unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    /// Removes the first receipt, and has the head say that the chain begins behind it.
    fn without_the_first(lines: &mut Vec<String>) {
        let ReceiptLine { signed: Signed::Receipt(first), .. } =
            serde_json::from_str(&lines.remove(1)).unwrap()
        else {
            panic!("it is a receipt")
        };
        let mut head: FileHead = serde_json::from_str(&lines[0]).unwrap();
        head.previous = sha256(&first);
        lines[0] = serde_json::to_string(&head).unwrap();
    }

    fn verified(lines: &[String], expected: Option<&str>) -> Result<VerifiedFile, String> {
        verify(lines.join("\n").as_bytes(), expected).map_err(|error| error.to_string())
    }

    #[test]
    fn a_chain_that_was_left_alone_holds() {
        let keys = keys(1);
        let verified = verified(&file(&keys), Some(&keys.verifying_key())).unwrap();
        assert_eq!((verified.receipts, verified.numbers), (5, Some((3, 7))));
    }

    #[test]
    fn what_was_done_to_a_file_is_named() {
        let (own, other) = (keys(1), keys(2));
        let lines = file(&own);
        type Change = fn(&mut Vec<String>);
        let changed: [(Change, &str); 12] = [
            (|lines| drop(lines.remove(3)), "line 4: receipt 6 follows 4: 5 is missing"),
            (|lines| lines.swap(2, 3), "line 3: receipt 5 stands behind 3: the order was changed"),
            (|lines| lines.swap(4, 5), "line 5: receipt 7 stands behind 5: the order was changed"),
            (|lines| lines.push(lines[2].clone()), "line 8 stands behind the seal"),
            (
                |lines| lines.insert(6, lines[2].clone()),
                "line 7: receipt 4 stands behind 7: the order was changed",
            ),
            (|lines| drop(lines.pop()), "the file ends without its seal: receipts behind 7 were cut off"),
            (|lines| lines.truncate(4), "the file ends without its seal: receipts behind 5 were cut off"),
            (
                |lines| drop(lines.drain(4..6)),
                "line 5: the seal is of receipts 3 to 7, and the file has receipts 3 to 5",
            ),
            (without_the_first, "line 6: the seal is of receipts 3 to 7, and the file has receipts 4 to 7"),
            (|lines| lines[2] = lines[2].replace("curl", "codex"), "line 3 (receipt 4): the signature"),
            (|lines| lines[4].truncate(40), "line 5 is no receipt"),
            (|lines| drop(lines.remove(0)), "line 1 is no head"),
        ];
        for (change, expected) in changed {
            let mut lines = lines.clone();
            change(&mut lines);
            let error = verified(&lines, None).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        // The first one was removed: the head says where the chain begins.
        let mut cut = lines.clone();
        cut.remove(1);
        assert!(verified(&cut, None).unwrap_err().contains("does not go on"));
        let error = verified(&lines, Some(&other.verifying_key())).unwrap_err();
        assert!(error.contains("another installation's"), "{error}");
    }

    #[test]
    fn a_whole_file_of_another_key_verifies_only_where_no_key_is_asked_for() {
        let forged = file(&keys(2));
        assert!(verified(&forged, None).is_ok());
        assert!(verified(&forged, Some(&keys(1).verifying_key())).is_err());
    }
}
