//! How much of the recordings each format makes sections of, protects, freezes and leaves unscanned: printed, held against a snapshot
//! (`counts.txt`, `counts-examples.txt`), and against floors that come from an independent walk of the same bytes.
//!
//! A change of a projection changes the snapshot. `LEAFGATE_WRITE_COUNTS=1 cargo nextest run -p leafgate-tree -E 'binary(tree)'`
//! writes it anew; the difference then says in a review what the change does.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use leafgate_harness::recordings::{self, Recording};
use leafgate_tree::{Access, Document, Format, Limits};
use leafgate_verify::plant::is_media;
use leafgate_verify::walk::{self, PositionKind};

/// Leaves in a hundred that a format may keep from rules and plugins: ids, discriminators, signatures. More would be a table that
/// protects what people write. Recordings of APIs are short and rich in both.
const MOST_FIXED: usize = 65;

/// Leaves from which on a share of them says something.
const ENOUGH_LEAVES: usize = 100;

/// Texts of one format that may lie beyond the caps, so that nobody walks the documents that they spell. They are scanned unescaped, and
/// what is found there holds the request, where a walked document would be redacted.
const MOST_BEYOND_CAPS: usize = 5;

/// What one format makes of its recordings.
#[derive(Default)]
struct Tally {
    files: usize,
    leaves: usize,
    keys: usize,
    beyond_caps: usize,
    outside: usize,
    unknown: usize,
    access: BTreeMap<&'static str, usize>,
    sections: BTreeMap<&'static str, usize>,
}

/// What the independent walk finds in the same bytes.
#[derive(Default, Debug, PartialEq, Eq)]
struct Walked {
    leaves: usize,
    keys: usize,
    media: usize,
}

/// `None` for what is no JSON.
fn walked(body: &[u8]) -> Option<Walked> {
    let mut walked = Walked::default();
    let body = std::str::from_utf8(body).ok()?;
    walk::rewrite(body, &mut |place| {
        walked.leaves += usize::from(place.position.what.is_leaf());
        walked.keys += usize::from(place.position.what == PositionKind::Key);
        walked.media += usize::from(place.position.what == PositionKind::Text && is_media(place.text));
        None
    })
    .ok()?;
    Some(walked)
}

impl Tally {
    fn add(&mut self, document: &Document) {
        self.files += 1;
        self.keys += document.keys().count();
        self.unknown += document.unknown_sections();
        for leaf in document.leaves() {
            self.leaves += 1;
            self.outside += usize::from(leaf.section().is_none());
            self.beyond_caps += usize::from(leaf.beyond_caps());
            *self.access.entry(leaf.access().name()).or_default() += 1;
        }
        for section in document.sections() {
            *self.sections.entry(section.kind.name()).or_default() += 1;
        }
    }

    fn access(&self, access: Access) -> usize {
        self.access.get(access.name()).copied().unwrap_or(0)
    }

    fn show(&self, format: Format, text: &mut String) {
        let Tally { files, leaves, keys, beyond_caps, outside, unknown, .. } = self;
        let list = |counts: &BTreeMap<&str, usize>| {
            counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
        };
        let sections: usize = self.sections.values().sum();
        let _ = writeln!(text, "{format}: {files} files");
        let _ = writeln!(text, "  {leaves} leaves: {}; {outside} outside every section", list(&self.access));
        let _ = writeln!(text, "  {keys} keys; {beyond_caps} documents beyond the caps");
        let _ = writeln!(text, "  {sections} sections: {}; {unknown} of unknown kind", list(&self.sections));
    }
}

#[test]
fn counts_of_the_recordings() {
    counts(recordings::recorded(), "counts.txt");
}

/// Formats that have no recordings are counted in requests of our own.
#[test]
fn counts_of_the_examples() {
    let examples = recordings::examples().into_iter();
    counts(examples.filter(|one| one.format == Format::Gemini).collect(), "counts-examples.txt");
}

fn counts(recordings: Vec<Recording>, snapshot: &str) {
    let mut tallies: BTreeMap<Format, Tally> = BTreeMap::new();
    let mut media: BTreeMap<Format, usize> = BTreeMap::new();
    for Recording { name, body, format } in recordings {
        let document = Document::parse(body.clone().into(), format, &Limits::default()).expect("a JSON body");
        let walked = walked(&body).expect("a JSON body");
        // The floor: every leaf and every key that stands in the bytes, file by file. Beyond the caps a text stands for what it spells.
        let (mut leaves, mut keys) = (document.leaves().count(), document.keys().count());
        for text in document.leaves().filter(|leaf| leaf.beyond_caps()).map(|leaf| leaf.text()) {
            if let Some(spelled) = self::walked(text.expose().as_bytes()) {
                leaves += spelled.leaves - 1;
                keys += spelled.keys;
            }
        }
        assert_eq!((leaves, keys), (walked.leaves, walked.keys), "leaves and keys of {name}");
        *media.entry(format).or_default() += walked.media;
        tallies.entry(format).or_default().add(&document);
    }
    if tallies.is_empty() {
        return;
    }
    for (format, tally) in &tallies {
        // The ceilings: what is not scanned is media, and most leaves are everybody's.
        assert!(tally.access(Access::Opaque) <= media[format], "{format} hides what is no media");
        let fixed = tally.access(Access::Protected) + tally.access(Access::Frozen);
        assert!(tally.beyond_caps <= MOST_BEYOND_CAPS, "{format} leaves documents unwalked");
        assert!(
            tally.leaves < ENOUGH_LEAVES || fixed * 100 <= tally.leaves * MOST_FIXED,
            "{format} keeps {fixed} leaves of {}",
            tally.leaves
        );
    }
    let mut text = String::new();
    tallies.iter().for_each(|(format, tally)| tally.show(*format, &mut text));
    compare(&text, snapshot);
}

#[expect(clippy::print_stdout, reason = "the counts are there to be read")]
fn compare(text: &str, snapshot: &str) {
    println!("{text}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(snapshot);
    if std::env::var_os("LEAFGATE_WRITE_COUNTS").is_some() {
        return std::fs::write(path, text).expect("a folder to write to");
    }
    let expected = std::fs::read_to_string(path).expect("a snapshot");
    assert_eq!(text, expected, "LEAFGATE_WRITE_COUNTS=1 writes the snapshot anew");
}
