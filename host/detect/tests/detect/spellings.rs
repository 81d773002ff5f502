//! However JSON, CSV and spreadsheets spell a number that somebody is known by, it is found.

use leafgate_detect::{Engine, Input, views};

fn is_found(engine: &Engine, key: &str, text: &str) -> bool {
    let finds = |text: &str| !engine.scan(&Input::new(text).with_key(key)).is_empty();
    finds(text) || views(text).iter().any(|view| finds(view.text()))
}

/// A number of digits as programs write it down.
fn spellings(digits: &str) -> Vec<String> {
    let mut all = vec![digits.to_owned(), format!("'{digits}"), format!("=\"{digits}\"")];
    let ends = [".0", ".00", ",00", ".", "e0", "E0", "e+0", "E+00", "e-0", ".0e0", ".0E+0"];
    all.extend(ends.map(|end| format!("{digits}{end}")));
    for zeros in [1, 2, 5] {
        let zero = "0".repeat(zeros);
        all.push(format!("{zero}{digits}"));
        all.push(format!("{digits}{zero}e-{zeros}"));
        all.push(format!("{digits}{zero}.0E-0{zeros}"));
    }
    for point in [".", ","] {
        for at in 0..digits.len() {
            let (first, power) = (if at == 0 { "0" } else { &digits[..at] }, digits.len() - at);
            let fraction = &digits[at..];
            for e in ["e", "E+", "e0", "E+0"] {
                all.push(format!("{first}{point}{fraction}{e}{power}"));
                all.push(format!("{first}{point}{fraction}000{e}{power}"));
            }
        }
    }
    for sign in [",", ".", "'", " ", "\u{a0}", "\u{202f}", "\u{2009}", "_"] {
        let (thousands, point) = (thousands(digits, sign), if sign == "," { "." } else { "," });
        all.extend([thousands.clone(), format!("{thousands}{point}00")]);
    }
    all
}

fn thousands(digits: &str, sign: &str) -> String {
    let (first, rest) = digits.split_at(digits.len() % 3);
    let groups = rest.as_bytes().chunks(3).map(|group| std::str::from_utf8(group).unwrap());
    let all: Vec<_> = [first].into_iter().chain(groups).filter(|group| !group.is_empty()).collect();
    all.join(sign)
}

/// Where in a file a number stands: before it, and behind it.
const PLACES: [(&str, &str); 7] = [
    ("", ""),
    ("7;", ";x"),
    ("a\n", "\nb"),
    ("[1, ", ", 2]"),
    ("7\t", "\t9"),
    ("x,\"", "\",y"),
    ("{\"n\":", "}"),
];

fn lost(engine: &Engine, word: &str, spellings: &[String]) -> Vec<String> {
    let places = PLACES.iter().flat_map(|(before, behind)| {
        spellings.iter().map(move |spelling| format!("{word}{before}{spelling}{behind}"))
    });
    places.filter(|text| !is_found(engine, "", text)).collect()
}

#[test]
fn every_spelling_of_a_card_is_found() {
    let none: [&str; 0] = [];
    let engine = Engine::new(&["pii/payment-card"]).unwrap();
    for card in [
        ["4539578", "763621486"],
        ["3714496", "35398431"],
        ["4716253", "184607"],
        ["6228480", "123456789015"],
    ] {
        assert_eq!(lost(&engine, "", &spellings(&card.concat())), none);
    }
}

#[test]
fn every_spelling_of_a_social_security_number_is_found() {
    let none: [&str; 0] = [];
    let ssn = ["53690", "4399"].concat();
    let engine = Engine::new(&["pii/us-ssn", "pii/us-ssn-named"]).unwrap();
    assert_eq!(lost(&engine, "name,ssn\nAnn,", &spellings(&ssn)), none);
    let as_value: Vec<_> =
        spellings(&ssn).into_iter().filter(|text| !is_found(&engine, "ssn", text)).collect();
    assert_eq!(as_value, none);
    for sign in ["-", " ", ".", "\u{a0}", "\u{2011}", "\u{2013}", "\u{2212}", "\u{202f}"] {
        let text = ["536", "90", "4399"].join(sign);
        assert!(is_found(&engine, "", &text) && is_found(&engine, "", &format!("\"{text}\",")), "{text:?}");
    }
}

#[test]
fn every_spelling_of_an_account_is_found() {
    let groups = ["DE89", "3704", "0044", "0532", "0130", "00"];
    let engine = Engine::new(&["pii/iban"]).unwrap();
    for sign in ["", " ", "-", ".", "\u{a0}", "\u{202f}", "\u{2009}"] {
        for text in [groups.join(sign), groups.join(sign).to_lowercase()] {
            for (before, behind) in PLACES.into_iter().chain([("=\"", "\""), ("'", ""), ("IBAN:", "")]) {
                let text = format!("{before}{text}{behind}");
                assert!(is_found(&engine, "", &text), "{text:?}");
            }
        }
    }
}

#[test]
fn numbers_that_are_not_whole_are_no_cards() {
    let card = ["4539578", "763621486"].concat();
    let engine = Engine::new(&["pii/payment-card"]).unwrap();
    for text in [
        format!("{card}.5"),
        format!("0.{card}"),
        format!("{card}e-3"),
        format!("{card}e3"),
        format!("{card}.0.1"),
        format!("1.{card}e1"),
        format!("a{card}.0"),
        format!("{card}.0b"),
        format!("[{}]", thousands(&card, ",")),
        format!("{},001", thousands(&card, ",")),
        format!("{},1", thousands(&card, ",")),
    ] {
        assert!(!is_found(&engine, "", &text), "{text}");
    }
}
