//! The engine: the detectors in use, compiled once and asked for every text.

use std::sync::{Arc, LazyLock};

use crate::finding::Finding;
use crate::input::Input;
use crate::known::KnownValues;
use crate::pack::{Row, Shape};
use crate::prefilter::Prefilter;
use crate::registry::{self, DetectorInfo, UnknownDetector};
use crate::scan::Scan;

/// Changes whenever the code that judges matches does: memoised answers of another version are
/// void.
const ENGINE_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/8");

/// A set of detectors, compiled and immutable.
#[derive(Debug)]
pub struct Engine {
    pub(crate) rows: Vec<Arc<Row>>,
    infos: Vec<DetectorInfo>,
    pub(crate) prefilter: Prefilter,
    pub(crate) walkers: Walkers,
    /// The values that are known, with the row that names them.
    pub(crate) known: Option<(usize, Arc<KnownValues>)>,
    digest: [u8; 32],
}

/// Rows without keywords, by what their candidates are.
#[derive(Debug, Default)]
pub(crate) struct Walkers([Vec<usize>; Shape::ALL.len()]);

impl Engine {
    /// Compiles the detectors that the selectors name: packs (`secrets`) or single ones
    /// (`pii/email`), in any order.
    pub fn new<S: AsRef<str>>(selectors: &[S]) -> Result<Self, UnknownDetector> {
        Self::with_known(selectors, None)
    }

    /// Returns the packs that mask what programs show and keep, compiled once for a process.
    pub fn built_in() -> &'static Engine {
        static ENGINE: LazyLock<Engine> =
            LazyLock::new(|| Engine::new(&["secrets", "pii"]).expect("the built-in packs have these names"));
        &ENGINE
    }

    /// The same, and where `secrets/known` is among the detectors, it finds these values.
    pub fn with_known<S: AsRef<str>>(
        selectors: &[S],
        known: Option<&Arc<KnownValues>>,
    ) -> Result<Self, UnknownDetector> {
        let rows = registry::select(selectors)?;
        let row = rows.iter().position(|row| row.shape == Shape::Known);
        let known = row.zip(known.filter(|known| !known.is_empty()).map(Arc::clone));
        let prefilter = Prefilter::new(rows.iter().enumerate().map(|(index, row)| (index, &**row)));
        Ok(Self {
            infos: rows.iter().map(|row| registry::info(row)).collect(),
            walkers: Walkers::new(&rows),
            digest: digest(&rows, known.as_ref().map(|(_, known)| &**known)),
            known,
            prefilter,
            rows,
        })
    }

    /// Finds what the detectors know in `input`, sorted and without overlaps.
    pub fn scan(&self, input: &Input<'_>) -> Vec<Finding> {
        let mut found = Vec::new();
        self.scan_into(input, &mut found);
        found
    }

    /// Appends what [`Engine::scan`] returns; allocates nothing where nothing is found.
    pub fn scan_into(&self, input: &Input<'_>, out: &mut Vec<Finding>) {
        Scan::new(self, input).run(out);
    }

    /// The detectors of this engine, in the order in which they rank.
    pub fn detectors(&self) -> impl Iterator<Item = &DetectorInfo> {
        self.infos.iter()
    }

    /// Changes when any of the detectors does: for keys of remembered answers.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }
}

impl Walkers {
    /// The rows of one shape.
    pub(crate) fn of(&self, shape: Shape) -> &[usize] {
        &self.0[shape as usize]
    }

    /// Whether some row has one of these shapes.
    pub(crate) fn ask(&self, shapes: &[Shape]) -> bool {
        shapes.iter().any(|&shape| !self.of(shape).is_empty())
    }

    fn new(rows: &[Arc<Row>]) -> Self {
        let mut all = Self::default();
        rows.iter().enumerate().for_each(|(index, row)| all.0[row.shape as usize].push(index));
        all
    }
}

fn digest(rows: &[Arc<Row>], known: Option<&KnownValues>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(ENGINE_VERSION.as_bytes());
    for row in rows {
        hasher.update(&row.fingerprint);
    }
    if let Some(known) = known {
        hasher.update(&known.digest());
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::all_detectors;

    #[test]
    fn a_number_is_found_among_numbers() {
        let engine = Engine::new(&["pii/payment-card"]).unwrap();
        let card = format!("{} {}", "4539 5787", "6362 1486");
        let plain = card.replace(' ', "");
        for text in [
            format!("{card} {card}"),
            format!("{plain} {plain} {plain} {plain}"),
            format!("2024 {card}"),
            format!("{card} 12/27 123"),
            format!("{card},{plain}"),
            format!("12 {plain} 12 27 123"),
        ] {
            let found = engine.scan(&Input::new(&text));
            let covered: usize = found.iter().map(|finding| finding.range.len()).sum();
            let expected =
                text.matches(&card).count() * card.len() + text.matches(&plain).count() * plain.len();
            assert_eq!(covered, expected, "{text}");
        }
    }

    #[test]
    fn the_data_of_a_kubernetes_secret_ends_before_its_last_line_break() {
        let engine = Engine::new(&["secrets/kubernetes-secret"]).unwrap();
        let (kind, value) = (format!("kind: {}", "Secret"), "S2czbXA5dw==");
        for (line_break, before, after) in [
            ("\n", format!("{kind}\n"), ""),
            ("\r\n", format!("{kind}\r\n"), ""),
            ("\n", String::new(), &*kind),
        ] {
            let text =
                format!("{before}data:{line_break}  a: YWRtaW4={line_break}  b: {value}{line_break}{after}");
            let found = engine.scan(&Input::new(&text));
            let ends: Vec<usize> = found.iter().map(|finding| finding.range.end).collect();
            assert_eq!(ends, [text.find(value).unwrap() + value.len()], "{text:?}");
        }
    }

    #[test]
    fn a_key_in_any_script_names_a_password() {
        let engine = Engine::new(&["secrets"]).unwrap();
        for key in ["пароль", "Пароль", "密码", "contraseña", "비밀번호"] {
            let value = ["q7Zk29", "fL"].concat();
            let found = engine.scan(&Input::new(&value).with_key(key));
            assert_eq!(found.first().map(|finding| finding.range.clone()), Some(0..value.len()), "{key}");
            assert!(engine.scan(&Input::new("getPassword()").with_key(key)).is_empty(), "{key}");
        }
    }

    #[test]
    fn every_example_is_found_by_its_own_detector_and_no_counterexample_is() {
        let mut wrong = Vec::new();
        for detector in all_detectors() {
            let engine = Engine::new(&[detector.id.as_str()]).unwrap();
            let row = Arc::clone(&engine.rows[0]);
            let found = |text: &str| !engine.scan(&Input::new(text)).is_empty();
            for (n, _) in row.examples.iter().enumerate().filter(|(_, text)| !found(text)) {
                wrong.push(format!("{}: example {} is not found", detector.id, n + 1));
            }
            for (n, _) in row.counterexamples.iter().enumerate().filter(|(_, text)| found(text)) {
                wrong.push(format!("{}: counterexample {} is found", detector.id, n + 1));
            }
        }
        assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
}
