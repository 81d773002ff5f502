//! Secrets: what is found and masked in each source, and what each detector gives and costs.

use std::collections::BTreeMap;

use leafgate_detect::{Engine, Input, all_detectors};

use crate::rows::{Row, Score, is_found, sources};

/// `gitleaks:stripe-access-token` → `stripe`.
fn family(row: &Row) -> String {
    let rule = row.rules.first().map_or("?", String::as_str);
    let name = rule.rsplit(':').next().unwrap_or(rule);
    let name = name.trim_start_matches("kingfisher.").trim_start_matches("np.");
    name.split(['-', '.']).next().unwrap_or(name).to_lowercase()
}

#[test]
fn secrets_are_found_and_little_else_is() {
    let Some(sources) = sources() else { return };
    let engine = Engine::new(&["secrets"]).unwrap();
    let mut all = Score::default();
    // What noseyparker marks first is often the user name beside a password, and many of secretlint's and credsweeper's rows hold
    // `pass`, `xxxx` or a lone UUID: we leave those in clear.
    let floors = BTreeMap::from([
        ("betterleaks", 0.975),
        ("credsweeper", 0.835),
        ("detect-secrets", 0.79),
        ("gitleaks", 0.985),
        ("kingfisher-1.x", 0.88),
        ("noseyparker", 0.73),
        ("secretlint", 0.64),
    ]);
    let mut missed: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (name, rows) in &sources {
        let mut score = Score::default();
        for row in rows.iter().filter(|row| row.kind == "secret") {
            let findings = engine.scan(&Input::new(&row.text));
            score.add(row, &findings);
            all.add(row, &findings);
            if row.label == 1 {
                let entry = missed.entry(family(row)).or_default();
                entry.0 += usize::from(!is_found(row, &findings));
                entry.1 += 1;
            }
        }
        if score.positives > 0 {
            score.print(name);
            let floor = floors.get(name.as_str()).copied().unwrap_or(0.0);
            assert!(
                score.recall() > floor,
                "{name}: recall {:.3}, at least {floor} expected",
                score.recall()
            );
        }
    }
    all.print("all");
    let mut missed: Vec<_> = missed.into_iter().filter(|(_, (missed, _))| *missed > 1).collect();
    missed.sort_by_key(|(_, (missed, _))| std::cmp::Reverse(*missed));
    println!("missed more than once, by family:");
    for (family, (missed, of)) in missed {
        println!("  {family:28} {missed} of {of}");
    }
    assert!(all.recall() > 0.931, "recall {:.3}", all.recall());
    assert!(all.precision() > 0.994, "precision {:.3}", all.precision());
    assert!(all.masked() > 0.922, "masked {:.3}", all.masked());
    assert!(all.benign_alarms <= 13, "benign alarms {}", all.benign_alarms);
}

/// What the packs by confidence give together, the surest first, and what they cost.
#[test]
fn the_surer_a_pack_the_fewer_its_alarms() {
    let Some(sources) = sources() else { return };
    let mut selectors: Vec<&str> = Vec::new();
    for (pack, recall, precision) in
        [("secrets", 0.48, 0.995), ("secrets/likely", 0.885, 0.994), ("secrets/possible", 0.931, 0.994)]
    {
        let of_pack = all_detectors().iter().filter(|detector| detector.pack == pack);
        selectors.extend(of_pack.map(|detector| detector.id.as_str()));
        let engine = Engine::new(&selectors).unwrap();
        let mut score = Score::default();
        for row in sources.iter().flat_map(|(_, rows)| rows).filter(|row| row.kind == "secret") {
            score.add(row, &engine.scan(&Input::new(&row.text)));
        }
        score.print(pack);
        assert!(score.recall() > recall, "{pack}: recall {:.3}", score.recall());
        assert!(score.precision() > precision, "{pack}: precision {:.3}", score.precision());
    }
}

/// What a detector found: rows with a secret where it is, and rows without one.
#[derive(Default)]
struct Share {
    found: usize,
    alarms: usize,
}

/// No detector is a bad bargain by itself.
#[test]
fn every_detector_finds_more_than_it_alarms() {
    let Some(sources) = sources() else { return };
    let engine = Engine::new(&["secrets"]).unwrap();
    let mut shares: BTreeMap<String, Share> = BTreeMap::new();
    let secrets = |row: &&Row| row.kind == "secret" && !row.contested;
    for row in sources.iter().flat_map(|(_, rows)| rows).filter(secrets) {
        let near = row.neg_class.as_deref() == Some("near-miss");
        let findings = engine.scan(&Input::new(&row.text));
        let mut detectors: Vec<_> = findings.iter().filter(|finding| !finding.published).collect();
        detectors.sort_by(|a, b| a.detector.cmp(&b.detector));
        detectors.dedup_by(|a, b| a.detector == b.detector);
        for finding in detectors {
            let share = shares.entry(finding.detector.to_string()).or_default();
            share.found += usize::from(row.label == 1);
            share.alarms += usize::from(row.label == 0 && !near);
        }
    }
    let mut bad = Vec::new();
    for (detector, share) in &shares {
        let precision = share.found as f64 / (share.found + share.alarms) as f64;
        println!(
            "{detector:44} found {:4}  alarms {:3}  precision {precision:.3}",
            share.found, share.alarms
        );
        // One row more says nothing yet: it may be as good as a secret.
        if share.alarms > share.found + 1 {
            bad.push(detector);
        }
    }
    let (used, all) = (shares.len(), engine.detectors().count());
    println!("{used} of {all} detectors find something");
    assert!(bad.is_empty(), "more alarms than secrets: {bad:?}");
    assert!(used > 200, "{used} detectors find something");
}
