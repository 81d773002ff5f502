//! `plugin bench`: what loading and calling a plugin takes, beside what it may take.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use leafgate_author::cases::told;
use leafgate_author::sample::Sample;
use leafgate_contract::{Fault, Plugin, PluginLoader as _};
use leafgate_wasm::LoaderLimits;
use serde::Serialize;

use super::args::BenchArgs;
use super::source::{self, AuthorSource};
use crate::policy;
use crate::print::{Cell, Exit, Printer, Style};

/// What leaves are cut from where nothing else is named: the words that requests are full of.
const PAGE: &str = "The build failed again after the last change to the scheduler, so I looked at the log under \
    /home/dev/project/target and found three warnings and one error in src/main.rs at line 214. Could you explain why \
    the second task is never polled, and write a test that fails before the fix? Please keep the answer short, and \
    mention Ada from the platform team if the interface has to change. ";

/// Bytes of one leaf of a batch: a paragraph.
const PARAGRAPH: usize = 400;
/// Bytes of the large leaf: a tool result.
const LARGE: usize = 256 << 10;
/// Longest time that one shape of call is measured.
const TIME: Duration = Duration::from_millis(500);
/// Fewest and most calls of one shape.
const CALLS: std::ops::RangeInclusive<usize> = 5..=1000;

/// The output of `--json`; times in microseconds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    load_us: u128,
    calls: Vec<BenchShape>,
    further_leaf_us: f64,
    kib_us: f64,
}

/// One shape of call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BenchShape {
    name: &'static str,
    leaves: usize,
    bytes: usize,
    calls: usize,
    median_us: f64,
    p99_us: f64,
    deadline_us: f64,
    /// How much of the deadline the slowest of a hundred takes.
    share: f64,
}

pub(super) fn run(args: &BenchArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let source = AuthorSource::find(&args.source.plugin)?;
    let text = match &args.text {
        Some(file) => fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?,
        None => PAGE.to_owned(),
    };
    anyhow::ensure!(!text.is_empty(), "the text is empty: there is nothing to cut leaves from");
    let loader = policy::loader(None)?;
    let began = Instant::now();
    let plugin = loader.load(&source.declared(&args.config.json()?)).map_err(source::with_hint)?;
    let load = began.elapsed();
    let figures =
        measure(&plugin, &text, load).map_err(|fault| anyhow::anyhow!("the plugin {}", told(&fault)))?;
    printer.show(&figures, |figures, printer| print(figures, &plugin, printer))
}

fn measure(plugin: &Arc<dyn Plugin>, text: &str, load: Duration) -> Result<Figures, Fault> {
    let limits = LoaderLimits::default();
    let many = limits.batch_leaves;
    let (paragraph, large) = (cut(text, PARAGRAPH), cut(text, LARGE));
    let one = shape("one leaf", plugin, &[paragraph.as_str()], &limits)?;
    let batch = shape("a full batch", plugin, &vec![paragraph.as_str(); many], &limits)?;
    let long = shape("one large leaf", plugin, &[large.as_str()], &limits)?;
    let further_leaf_us = (batch.median_us - one.median_us) / (many - 1) as f64;
    let kib_us = (long.median_us - one.median_us) / ((long.bytes - one.bytes) as f64 / 1024.0);
    Ok(Figures { load_us: load.as_micros(), calls: vec![one, batch, long], further_leaf_us, kib_us })
}

/// A text of so many bytes or a few less, repeated as often as it takes.
fn cut(text: &str, bytes: usize) -> String {
    let mut cut = text.repeat(bytes.div_ceil(text.len()));
    cut.truncate(cut.floor_char_boundary(bytes));
    cut
}

fn shape(
    name: &'static str,
    plugin: &Arc<dyn Plugin>,
    texts: &[&str],
    limits: &LoaderLimits,
) -> Result<BenchShape, Fault> {
    let sample = Sample::new(plugin.world(), texts);
    // The first call faults code and memory in.
    sample.ask(&**plugin)?;
    let (mut times, began) = (Vec::new(), Instant::now());
    while times.len() < *CALLS.start() || times.len() < *CALLS.end() && began.elapsed() < TIME {
        let began = Instant::now();
        sample.ask(&**plugin)?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize].as_secs_f64() * 1e6;
    let bytes = texts.iter().map(|text| text.len()).sum();
    let deadline_us = limits.deadline(texts.len(), bytes).as_secs_f64() * 1e6;
    let (median_us, p99_us) = (at(0.5), at(0.99));
    let share = p99_us / deadline_us;
    Ok(BenchShape {
        name,
        leaves: texts.len(),
        bytes,
        calls: times.len(),
        median_us,
        p99_us,
        deadline_us,
        share,
    })
}

fn print(figures: &Figures, plugin: &Arc<dyn Plugin>, printer: &mut Printer) -> anyhow::Result<()> {
    let described = plugin.description();
    printer.text(Style::Strong, &format!("{} {}\n", described.name, described.version))?;
    printer.line("Each call has an instance of its own.")?;
    let row = |shape: &BenchShape| {
        let share = format!("{:.1} %", shape.share * 100.0);
        let [median, p99, share, deadline] =
            [time(shape.median_us), time(shape.p99_us), share, time(shape.deadline_us)].map(Cell::number);
        [shape.name.into(), median, p99, share, deadline]
    };
    printer.table(["call", "median", "p99", "of it", "deadline"], figures.calls.iter().map(row))?;
    printer.facts(&[
        ("load", time(figures.load_us as f64)),
        ("a further leaf", time(figures.further_leaf_us)),
        ("a further KiB", time(figures.kib_us)),
    ])?;
    Ok(())
}

/// A time in the unit that reads best.
fn time(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{:.2} s", us / 1e6),
        us if us >= 1e3 => format!("{:.2} ms", us / 1e3),
        us => format!("{us:.2} µs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_cut_between_characters() {
        assert_eq!(cut("é", 5), "éé");
        assert_eq!(cut("abc", 7), "abcabca");
        assert_eq!(cut("abcdef", 3), "abc");
    }

    #[test]
    fn times_have_the_unit_that_reads_best() {
        assert_eq!([0.25, 12.0, 3400.0, 2.5e6].map(time), ["0.25 µs", "12.00 µs", "3.40 ms", "2.50 s"]);
    }
}
