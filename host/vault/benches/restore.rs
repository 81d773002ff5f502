//! What restoring costs, beside one search for a byte in the same text.
//!
//! `cargo bench -p leafgate-vault`. The text is 1 MB of prose, code and identifiers; "none" has no
//! token, "100" a hundred; "fragments" is the same as a stream in pieces of twelve bytes, about
//! what a model sends at a time.

use divan::{Bencher, black_box, counter::BytesCount};
use leafgate_vault::{ClientIdentity, FileName, InstallationKey, TokenKeys, Vault};

fn main() {
    divan::main();
}

/// A session with a thousand values under ten labels, and a text that names `tokens` of them,
/// evenly spread.
fn setup(tokens: usize) -> (Vault, String) {
    const LABELS: [&str; 10] =
        ["EMAIL", "CARD", "IBAN", "AWSKEY", "GITHUB", "JWT", "NAME", "PHONE", "PASSWORD", "SLACK"];
    const PROSE: &str = "The handler reads `user_id` and the session_token from request.headers, then it calls \
        fetch_all_rows(db_pool, max_rows) and writes what came back, 4096 bytes at most, to the log_file.\n";
    let vault =
        Vault::new(TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("bench")));
    let known: Vec<_> = (0..1000)
        .map(|n| vault.tokenize(LABELS[n % LABELS.len()], &format!("value {n}")).expect("80 bits differ"))
        .collect();
    let lines = (1 << 20) / PROSE.len();
    let mut text = String::with_capacity(1 << 21);
    for line in 0..lines {
        text.push_str(PROSE);
        if tokens > 0 && line % (lines / tokens) == 0 {
            text.push_str(known[line % known.len()].as_str());
            text.push(' ');
        }
    }
    (vault, text)
}

#[divan::bench]
fn memchr_alone(bencher: Bencher<'_, '_>) {
    let (_, text) = setup(0);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| memchr::memchr_iter(b'_', black_box(text.as_bytes())).count());
}

#[divan::bench(args = [0, 100])]
fn restore_text(bencher: Bencher<'_, '_>, tokens: usize) {
    let (vault, text) = setup(tokens);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| vault.restorer().push(black_box(&text), &mut []).len());
}

#[divan::bench(args = [0, 100])]
fn restore_into(bencher: Bencher<'_, '_>, tokens: usize) {
    let (vault, text) = setup(tokens);
    let files = [FileName::parse("notes").expect("one file")];
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| vault.restore_into(black_box(&text), "Write", &files).len());
}

#[divan::bench(args = [0, 100])]
fn restore_fragments(bencher: Bencher<'_, '_>, tokens: usize) {
    let (vault, text) = setup(tokens);
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let mut restorer = vault.restorer();
        let pieces = text.as_bytes().chunks(12).map(|piece| str::from_utf8(piece).expect("ASCII"));
        pieces.map(|piece| restorer.push(piece, &mut []).len()).sum::<usize>()
            + restorer.finish(&mut []).len()
    });
}

#[divan::bench(args = [0, 100])]
fn find(bencher: Bencher<'_, '_>, tokens: usize) {
    let (vault, text) = setup(tokens);
    bencher.counter(BytesCount::of_str(&text)).bench(|| vault.keys().find(black_box(&text)).len());
}

#[divan::bench]
fn token(bencher: Bencher<'_, '_>) {
    let (vault, _) = setup(0);
    bencher.bench(|| vault.keys().token("EMAIL", black_box("ann@example.org")));
}
