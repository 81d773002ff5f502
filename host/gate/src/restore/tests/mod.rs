//! Restoring, seen from a client: what it hears, over all APIs.

mod calls;
mod joins;
mod recordings;
mod speech;
mod streams;
mod whole;

use std::sync::Arc;

use bytes::Bytes;
use leafgate_tree::{Document, Format, Limits};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};

use super::{EventStream, Restoring};
use crate::session::{Hints, Sessions};

/// With everything that JSON must escape.
const VALUE: &str = "ann \"a\" o'n@example.org";

const APIS: [&str; 4] = ["chat", "responses", "messages", "gemini-stream"];

/// A session that knows [`VALUE`] by a token.
fn vault() -> (Vault, String) {
    let keys = TokenKeys::derive(&InstallationKey::from_bytes([3; 32]), &ClientIdentity::new("test"));
    let vault = Vault::new(keys);
    let token = vault.tokenize("EMAIL", VALUE).unwrap().to_string();
    (vault, token)
}

/// Restores a whole text.
fn restore(vault: &Vault, text: &str) -> String {
    let mut restorer = vault.restorer();
    restorer.push(text, &mut []) + &restorer.finish(&mut [])
}

/// Of an answer in several choices, which texts that a client joins stand in, too.
fn restoring(api: &str) -> Restoring {
    of_request(api, r#"{"n":2,"generationConfig":{"candidateCount":2}}"#)
}

fn of_request(api: &str, request: &str) -> Restoring {
    let request =
        Document::parse(Bytes::copy_from_slice(request.as_bytes()), Format::Generic, &Limits::default())
            .unwrap();
    let (vault, _) = vault();
    let sessions = Arc::new(Sessions::new(vault.keys().clone(), 1, usize::MAX));
    let thread = sessions.thread(&sessions.of(&request, &Hints::default()).key);
    Restoring::of(crate::apis::named(api), &request, vault, thread).unwrap()
}

/// The pieces that leave for the pieces that come.
fn through(restoring: Restoring, chunks: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut stream = EventStream::new(restoring);
    let mut out: Vec<_> =
        chunks.iter().map(|chunk| stream.push(Bytes::copy_from_slice(chunk)).to_vec()).collect();
    out.push(stream.finish().to_vec());
    out
}

fn joined(restoring: Restoring, stream: &str) -> String {
    String::from_utf8(through(restoring, &[stream.as_bytes()]).concat()).unwrap()
}

/// Cuts a stream at any places.
fn cut<'s>(stream: &'s [u8], cuts: &[usize]) -> Vec<&'s [u8]> {
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (stream.len() + 1)).chain([0, stream.len()]).collect();
    cuts.sort_unstable();
    cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]).collect()
}
