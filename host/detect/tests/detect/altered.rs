//! What is masked stays masked, however a tool or an API writes the text down.

use std::ops::Range;

use leafgate_detect::{Engine, Input, views};

use crate::rows::{Row, Span, sources};

/// A way to write a text down, piece by piece: pieces that were altered one by one are the altered whole.
struct Alteration {
    name: &'static str,
    /// Alters a text that begins at some line.
    piece: fn(&str, &mut usize) -> String,
    /// What stands around the text then.
    around: (&'static str, &'static str),
    /// So many masked spans of a thousand may be lost, because what they were known by is written otherwise. The gate undoes
    /// JSON before it looks, so there these are a lower bound.
    lost: usize,
}

const ALONE: (&str, &str) = ("", "");

const IN_ARGUMENT: (&str, &str) = (r#"{"command":"cat > .env <<'EOF'\n"#, r#"\nEOF","timeout":60}"#);

#[rustfmt::skip]
const ALTERATIONS: [Alteration; 7] = [
    Alteration { name: "as JSON", piece: |text, _| escaped(text), around: ALONE, lost: 5 },
    Alteration { name: "as JSON in JSON", piece: |text, _| escaped(&escaped(text)), around: ALONE, lost: 6 },
    Alteration { name: "in a tool's argument", piece: |text, _| escaped(text), around: IN_ARGUMENT, lost: 9 },
    Alteration { name: "with CRLF", piece: |text, _| text.replace('\n', "\r\n"), around: ALONE, lost: 1 },
    Alteration { name: "with `cat -n`", piece: |text, line| numbered(text, line, 6, "\t"), around: ALONE, lost: 1 },
    Alteration { name: "with `grep -n`", piece: |text, line| numbered(text, line, 0, ":"), around: ALONE, lost: 1 },
    Alteration { name: "with arrows", piece: |text, line| numbered(text, line, 6, "\u{2192}"), around: ALONE, lost: 1 },
];

pub(crate) fn escaped(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap();
    json[1..json.len() - 1].to_owned()
}

/// The text with a number behind each end of a line.
fn numbered(text: &str, line: &mut usize, width: usize, sign: &str) -> String {
    text.split_inclusive('\n')
        .map(|part| match part.strip_suffix('\n') {
            Some(_) => {
                *line += 1;
                format!("{part}{line:width$}{sign}")
            }
            None => part.to_owned(),
        })
        .collect()
}

/// What findings in a text and in its views cover of it.
fn covered(engine: &Engine, text: &str) -> Vec<Range<usize>> {
    let mut covered: Vec<_> =
        engine.scan(&Input::new(text)).into_iter().map(|finding| finding.range).collect();
    // Only escapes are encodings.
    let encoded = if text.contains('\\') { views(text) } else { Vec::new() };
    for view in encoded {
        let found = engine.scan(&Input::new(view.text())).into_iter();
        covered.extend(found.map(|finding| view.source(finding.range).range));
    }
    covered
}

fn covers(ranges: &[Range<usize>], span: Range<usize>) -> bool {
    span.clone().all(|at| ranges.iter().any(|range| range.contains(&at)))
}

/// The altered text, and where its spans lie then.
fn altered(alteration: &Alteration, row: &Row, spans: &[&Span]) -> (String, Vec<Range<usize>>) {
    let mut cuts: Vec<usize> = spans.iter().flat_map(|span| [span.start, span.end]).collect();
    cuts.extend([0, row.text.len()]);
    cuts.sort_unstable();
    cuts.dedup();
    let (mut text, mut line, mut at) = (alteration.around.0.to_owned(), 1, Vec::new());
    for (n, cut) in cuts.iter().enumerate() {
        at.push((*cut, text.len()));
        if let Some(next) = cuts.get(n + 1) {
            text.push_str(&(alteration.piece)(&row.text[*cut..*next], &mut line));
        }
    }
    let place = |offset: usize| at.iter().find(|(cut, _)| *cut == offset).unwrap().1;
    let spans = spans.iter().map(|span| place(span.start)..place(span.end)).collect();
    text.push_str(alteration.around.1);
    (text, spans)
}

#[test]
fn what_is_masked_stays_masked_however_it_is_written_down() {
    let Some(sources) = sources() else { return };
    let engine = Engine::new(&["secrets"]).unwrap();
    let rows = sources.iter().flat_map(|(_, rows)| rows).filter(|row| row.kind == "secret" && row.label == 1);
    let masked: Vec<(&Row, Vec<&Span>)> = rows.filter_map(|row| masked_spans(&engine, row)).collect();
    let spans: usize = masked.iter().map(|(_, spans)| spans.len()).sum();
    assert!(spans > 2000, "{spans} spans");
    let mut wrong = Vec::new();
    for alteration in &ALTERATIONS {
        let mut lost = Vec::new();
        for (row, spans) in &masked {
            let (text, spans) = altered(alteration, row, spans);
            let found = covered(&engine, &text);
            lost.extend(spans.into_iter().filter(|span| !covers(&found, span.clone())).map(|_| shown(row)));
        }
        let name = alteration.name;
        println!("{name:22} {} of {spans} lost: {}", lost.len(), lost.join(" "));
        if lost.len() * 1000 > alteration.lost * spans {
            wrong.push(format!("{name}: {} of {spans} lost", lost.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The spans of a row that are masked in it as it is.
fn masked_spans<'a>(engine: &Engine, row: &'a Row) -> Option<(&'a Row, Vec<&'a Span>)> {
    let plain = covered(engine, &row.text);
    let is_whole = |span: &&Span| row.text.get(span.start..span.end).is_some();
    let spans: Vec<&Span> =
        row.spans.iter().filter(is_whole).filter(|span| covers(&plain, span.start..span.end)).collect();
    (!spans.is_empty()).then_some((row, spans))
}

/// The rule that a row belongs to.
fn shown(row: &Row) -> &str {
    row.rules.first().map_or("?", String::as_str)
}
