//! Fits the weights, and holds them to sources that they were not made from.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;

use flate2::read::GzDecoder;
use leafgate_harness::recordings;
use serde::Deserialize;

use super::{LIKELY, MEASURES, measures, of_measures, score};
use crate::Engine;
use crate::keyed::{self, Join};
use crate::pack::Shape;
use crate::placeholder::is_placeholder;

/// The sources that the weights are made from; all others test them. Sources that share rows stand
/// on both sides, so that neither side is easy.
const FITTED: [&str; 3] = ["betterleaks", "detect-secrets", "kingfisher-1.x"];

/// Shorter values and longer ones are decided without a score.
const LENGTHS: std::ops::RangeInclusive<usize> = 10..=128;

#[derive(Deserialize)]
struct Row {
    text: String,
    label: u8,
    kind: String,
    #[serde(default)]
    spans: Vec<Span>,
    neg_class: Option<String>,
    #[serde(default)]
    contested: bool,
}

#[derive(Deserialize)]
struct Span {
    start: usize,
    end: usize,
}

/// Values under a secret's name, and words of code.
#[derive(Default)]
struct Values {
    secrets: BTreeSet<String>,
    words: BTreeSet<String>,
}

impl Values {
    fn add(&mut self, row: &Row, engine: &Engine) {
        match (row.label, row.neg_class.as_deref()) {
            (1, _) => each_named(engine, &row.text, |range, value| {
                let is_secret = |span: &Span| range.start < span.end && span.start < range.end;
                if row.spans.is_empty() || row.spans.iter().any(is_secret) {
                    self.secrets.insert(value.to_owned());
                }
            }),
            (_, Some("near-miss")) => {}
            _ => self.add_words(&row.text),
        }
    }

    fn add_words(&mut self, text: &str) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_-./+=".contains(c);
        let words = text.split(|c| !is_part(c)).filter(|word| LENGTHS.contains(&word.len()));
        // Most long rows of base64 in harmless texts are cut out of keys and pictures.
        let words = words.filter(|word| word.len() < 40);
        self.words.extend(words.map(str::to_owned));
    }

    /// The labelled measures. What is both is neither.
    fn samples(&self) -> Vec<([f32; MEASURES], bool)> {
        let secrets = self.secrets.difference(&self.words).map(|value| (measures(value), true));
        let words = self.words.difference(&self.secrets).map(|value| (measures(value), false));
        secrets.chain(words).collect()
    }
}

/// Calls `f` with each value that stands under a secret's name.
fn each_named(engine: &Engine, text: &str, mut f: impl FnMut(std::ops::Range<usize>, &str)) {
    engine.prefilter.each(text.as_bytes(), |row, hit| {
        if engine.rows[row].shape != Shape::Assigned {
            return;
        }
        let names = &engine.rows[row].names;
        let Some(found) = keyed::assignment(text, hit) else { return };
        let value = &text[found.value.clone()];
        let is_value =
            found.join != Join::Comparison && LENGTHS.contains(&value.len()) && !value.contains(' ');
        if is_value && names.takes(&text[found.name.clone()]) && !is_placeholder(value) {
            f(found.value.clone(), value);
        }
    });
}

/// The values of the sources on one side.
fn values(is_fitted: bool) -> Option<Values> {
    let engine = Engine::new(&["secrets/keyed-secret", "secrets/keyed-key", "secrets/keyed-random"]).unwrap();
    let mut files: Vec<_> =
        std::fs::read_dir(recordings::corpora()?).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut values = Values::default();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "gz")) {
        let name = file.file_name().unwrap().to_string_lossy().replace(".jsonl.gz", "");
        if FITTED.contains(&&*name) != is_fitted {
            continue;
        }
        for line in BufReader::new(GzDecoder::new(File::open(file).unwrap())).lines() {
            let row: Row = serde_json::from_str(&line.unwrap()).unwrap();
            if row.kind == "secret" && !row.contested {
                values.add(&row, &engine);
            }
        }
    }
    // Every second recording on each side.
    for (at, recording) in recordings::examples().iter().enumerate() {
        if (at % 2 == 0) == is_fitted {
            values.add_words(&String::from_utf8_lossy(&recording.body));
        }
    }
    Some(values)
}

/// Logistic regression by gradient descent: both classes count the same, and weights stay small.
fn fit(samples: &[([f32; MEASURES], bool)]) -> (f64, [f64; MEASURES]) {
    const STEPS: usize = 1500;
    const RATE: f64 = 4.0;
    const DECAY: f64 = 1e-4;
    let of = |class: bool| samples.iter().filter(|(_, label)| *label == class).count() as f64;
    let (secrets, words) = (of(true), of(false));
    let (mut bias, mut weights) = (0.0, [0.0; MEASURES]);
    for _ in 0..STEPS {
        let (mut bias_slope, mut slopes) = (0.0, [0.0; MEASURES]);
        for (measures, label) in samples {
            let sum: f64 = measures.iter().zip(&weights).map(|(m, w)| f64::from(*m) * w).sum::<f64>() + bias;
            let (target, count) = if *label { (1.0, secrets) } else { (0.0, words) };
            let error = (1.0 / (1.0 + (-sum).exp()) - target) / (2.0 * count);
            bias_slope += error;
            slopes.iter_mut().zip(measures).for_each(|(slope, m)| *slope += error * f64::from(*m));
        }
        bias -= RATE * bias_slope;
        for (weight, slope) in weights.iter_mut().zip(slopes) {
            *weight -= RATE * (slope + DECAY * *weight);
        }
    }
    (bias, weights)
}

/// How often a secret scores above a word.
fn auc(samples: &[([f32; MEASURES], bool)], of: impl Fn(&[f32; MEASURES]) -> f64) -> f64 {
    let mut scored: Vec<(f64, bool)> = samples.iter().map(|(m, label)| (of(m), *label)).collect();
    scored.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut words, mut above) = (0u64, 0u64);
    for (_, is_secret) in &scored {
        if *is_secret { above += words } else { words += 1 }
    }
    above as f64 / (words * (scored.len() as u64 - words)).max(1) as f64
}

fn with(bias: f64, weights: &[f64; MEASURES], measures: &[f32; MEASURES]) -> f64 {
    measures.iter().zip(weights).map(|(m, w)| f64::from(*m) * w).sum::<f64>() + bias
}

#[test]
fn the_weights_hold_on_sources_that_they_were_not_made_from() {
    let (Some(fitted), Some(other)) = (values(true), values(false)) else { return };
    for (name, values, floor) in [("fitted", fitted, 0.97), ("held out", other, 0.95)] {
        let samples = values.samples();
        let auc = auc(&samples, |measures| f64::from(of_measures(measures)));
        let secrets = values.secrets.difference(&values.words);
        let (found, all) =
            secrets.fold((0, 0), |(found, all), value| (found + usize::from(score(value) > LIKELY), all + 1));
        let words = values.words.difference(&values.secrets);
        let (alarms, none) =
            words.fold((0, 0), |(found, all), value| (found + usize::from(score(value) > LIKELY), all + 1));
        println!("{name:9} AUC {auc:.4}  likely: {found} of {all} secrets, {alarms} of {none} words");
        assert!(auc > floor, "{name}: AUC {auc:.4}");
    }
}

/// What is parsed and what is a placeholder changes with the code, so the numbers need not be the
/// same, but what they say must be.
#[test]
fn the_weights_say_what_new_ones_would() {
    let Some(values) = values(true) else { return };
    let samples = values.samples();
    let (bias, weights) = fit(&samples);
    let is_same = |(measures, _): &&([f32; MEASURES], bool)| {
        let new = with(bias, &weights, measures) > f64::from(LIKELY);
        new == (of_measures(measures) > LIKELY)
    };
    let same = samples.iter().filter(is_same).count();
    assert!(same * 100 >= samples.len() * 99, "run `cargo xtask corpus --fit`: {same} of {}", samples.len());
}

#[test]
#[ignore = "writes weights.rs: cargo xtask corpus --fit"]
fn write() {
    let values = values(true).expect("the corpora are there");
    let (samples, path) =
        (values.samples(), Path::new(env!("CARGO_MANIFEST_DIR")).join("src/score/weights.rs"));
    let (bias, weights) = fit(&samples);
    println!("AUC {:.4}", auc(&samples, |measures| with(bias, &weights, measures)));
    let old = std::fs::read_to_string(&path).unwrap();
    let head = old.split("pub(super)").next().unwrap();
    let numbers: Vec<String> = weights.iter().map(|weight| format!("{weight:.3}")).collect();
    let mut file = File::create(&path).unwrap();
    write!(
        file,
        "{head}pub(super) const BIAS: f32 = {bias:.3};\n\n/// In the order of the measures.\n#[rustfmt::skip]\n\
         pub(super) const WEIGHTS: [f32; super::MEASURES] = [\n    {},\n];\n",
        numbers.join(", ")
    )
    .unwrap();
}
