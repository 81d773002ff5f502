//! Personal data: what is masked of each kind, and how often where there is none.

use std::net::IpAddr;

use leafgate_detect::{Engine, Input};

use crate::rows::{Span, is_masked, sources};

#[test]
fn personal_data_with_a_checksum_or_a_form_is_found() {
    let Some(sources) = sources() else { return };
    let floors: [(&[&str], &str, f64); 7] = [
        (&["pii/email"], "EMAIL_ADDRESS", 0.99),
        (&["pii/iban"], "IBAN_CODE", 0.99),
        (&["pii/payment-card", "pii/payment-card-named"], "CREDIT_CARD", 0.98),
        // One row is a number without a word beside it and without groups.
        (&["pii/us-ssn", "pii/us-ssn-named"], "US_SSN", 0.97),
        (&["pii/ip-address"], "IP_ADDRESS", 0.98),
        (&["pii/phone"], "PHONE", 0.97),
        (&["pii/mac-address"], "MAC_ADDRESS", 0.99),
    ];
    for (detectors, entity, floor) in floors {
        let engine = Engine::new(detectors).unwrap();
        let rows =
            sources.iter().flat_map(|(_, rows)| rows).filter(|row| row.kind == "pii" && row.label == 1);
        let (mut spans, mut masked) = (0u32, 0u32);
        for row in rows {
            let findings = engine.scan(&Input::new(&row.text));
            let text = |span: &&Span| row.text.get(span.start..span.end).unwrap_or_default();
            let asked = |span: &&Span| {
                span.kind.starts_with(entity) && (entity != "IP_ADDRESS" || is_public(text(span)))
            };
            for span in row.spans.iter().filter(asked) {
                spans += 1;
                masked += u32::from(is_masked(span, &findings));
            }
        }
        let share = f64::from(masked) / f64::from(spans.max(1));
        println!("{entity:18} {masked}/{spans} = {share:.3}");
        assert!(share >= floor, "{detectors:?}: {share:.3} of {entity} found, at least {floor} expected");
    }
}

/// Returns true if and only if a text is the public address of a host: private ones have a detector
/// of their own, and loopback, documentation, multicast and networks as a whole are no findings.
fn is_public(text: &str) -> bool {
    match text.parse::<IpAddr>().map(|ip| ip.to_canonical()) {
        Ok(IpAddr::V4(ip)) => {
            let none = ip.is_loopback() || ip.is_unspecified() || ip.is_broadcast() || ip.is_documentation();
            !(none || ip.is_private() || ip.is_link_local() || ip.is_multicast())
        }
        Ok(IpAddr::V6(ip)) => {
            let [first, second, ..] = ip.segments();
            let given_out = first & 0xe000 == 0x2000 || !text.contains("::");
            given_out && (first, second) != (0x2001, 0x0db8)
        }
        Err(_) => false,
    }
}

#[test]
fn personal_data_raises_few_alarms_where_there_is_none() {
    let Some(sources) = sources() else { return };
    let engine = Engine::new(&["pii"]).unwrap();
    let none = sources.iter().flat_map(|(_, rows)| rows).filter(|row| row.kind == "pii" && row.label == 0);
    let rows: Vec<_> = none.collect();
    let alarms = rows.iter().filter(|row| !engine.scan(&Input::new(&row.text)).is_empty()).count();
    println!("{alarms} alarms of {} rows", rows.len());
    // Most are another kind of personal data than the row is about.
    assert!(alarms <= 11, "{alarms} alarms");
}
