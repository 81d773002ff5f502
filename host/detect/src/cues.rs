//! Words that say what a number beside them is, in six languages: English, German, French, Spanish,
//! Italian and Portuguese.

use std::ops::Range;
use std::str::FromStr;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// How far before a number its word may stand.
const BEFORE: usize = 40;

/// And behind it: `… office`, `… (fax)`.
const BEHIND: usize = 14;

/// What words are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cue {
    /// Telephones.
    Phone,
    /// Payment cards.
    Card,
    /// What a PIN opens.
    Lock,
    /// Numbers by which a state knows people: identity, tax, insurance.
    Person,
}

/// Beginnings of words, in lower case. A letter before them makes them the end of another.
#[rustfmt::skip]
const PHONE: &[&str] = &[
    "phone", "telephone", "tel", "mobile", "cell", "fax", "call", "dial", "sms", "whatsapp", "office", "desk",
    "landline", "hotline", "helpline", "reach", "answering", "contact no", "contact number", "ext.", "number is",
    "telefon", "handy", "mobil", "rufnummer", "durchwahl", "festnetz", "anruf", "erreichbar",
    "téléphone", "tél", "portable", "fixe", "appel", "joindre",
    "teléfono", "móvil", "celular", "llama", "telefono", "cellulare", "chiama", "fisso",
    "telefone", "telemóvel", "telemovel", "ligar", "ligue", "contato", "contacto",
];

#[rustfmt::skip]
const CARD: &[&str] = &[
    "card", "creditcard", "debitcard", "cc", "credit", "debit", "visa", "mastercard", "amex", "american express", "maestro",
    "karte", "kreditkarte", "carte", "tarjeta", "carta di", "cartão", "cartao",
];

#[rustfmt::skip]
const PERSON: &[&str] = &[
    "ssn", "sin", "social security", "soc sec", "soc. sec", "social insurance", "national insurance", "nino", "national id", "identity", "id number",
    "id card", "tax id", "taxpayer", "tin", "personal number", "personal id", "aadhaar", "pesel", "personnummer",
    "steuer", "idnr", "sozialversicherung", "personalausweis", "ausweis", "numéro de sécurité", "sécurité sociale",
    "securite sociale", "nir", "insee", "dni", "nif", "nie", "documento nacional", "codice fiscale", "cpf", "cnpj", "contribuinte",
    "cidadão", "cartão", "bsn", "burgerservicenummer",
];

#[rustfmt::skip]
const LOCK: &[&str] = &[
    "card", "creditcard", "debitcard", "visa", "mastercard", "sim card", "sim-card", "atm", "login", "log in", "sign in", "unlock", "lock",
    "account", "banking", "wallet", "voicemail", "alarm", "door", "passcode", "password",
    "karte", "kreditkarte", "bankkarte", "konto", "onlinebanking", "anmeld", "entsperr", "passwort", "carte", "compte",
    "tarjeta", "cuenta", "carta di", "conto", "cartão", "cartao", "conta",
];

impl FromStr for Cue {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "phone" => Ok(Self::Phone),
            "card" => Ok(Self::Card),
            "lock" => Ok(Self::Lock),
            "person" => Ok(Self::Person),
            _ => Err(format!(
                "there are no words for {name:?}; there are `phone`, `card`, `lock` and `person`"
            )),
        }
    }
}

impl Cue {
    /// Returns true if and only if a word of this kind stands close to a stretch of a text.
    pub(crate) fn stands_beside(self, text: &str, range: &Range<usize>) -> bool {
        let start = text.floor_char_boundary(range.start.saturating_sub(BEFORE));
        let end = text.ceil_char_boundary(text.len().min(range.end + BEHIND));
        self.begins_word_of(&text[start..range.start]) || self.begins_word_of(&text[range.end..end])
    }

    /// Returns true if and only if a word of this kind stands in a text, such as the key of a number.
    pub(crate) fn begins_word_of(self, text: &str) -> bool {
        self.words().find_iter(text).any(|word| begins_word(text, word.start()))
    }

    fn words(self) -> &'static AhoCorasick {
        static PHONES: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(PHONE));
        static CARDS: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(CARD));
        static LOCKS: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(LOCK));
        static PERSONS: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(PERSON));
        match self {
            Self::Phone => &PHONES,
            Self::Card => &CARDS,
            Self::Lock => &LOCKS,
            Self::Person => &PERSONS,
        }
    }
}

fn automaton(words: &[&str]) -> AhoCorasick {
    // Capitals beyond ASCII are words of their own.
    let capitals = words.iter().filter(|word| !word.is_ascii()).map(|word| word.to_uppercase());
    let all = words.iter().map(|&word| word.to_owned()).chain(capitals);
    let mut builder = AhoCorasick::builder();
    builder.kind(Some(AhoCorasickKind::DFA)).ascii_case_insensitive(true);
    builder.build(all).expect("some words stay far below the automaton's limits")
}

fn begins_word(text: &str, at: usize) -> bool {
    !text[..at].chars().next_back().is_some_and(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_where_it_begins_as_such_and_is_close() {
        let beside = |text: &str| {
            let at = text.find("4670 33").unwrap();
            Cue::Phone.stands_beside(text, &(at..at + 7))
        };
        for text in [
            "Phone: 4670 33",
            "Tél. 4670 33",
            "call me at 4670 33",
            "4670 33 office",
            "MÓVIL 4670 33",
            "cell_phone=4670 33",
        ] {
            assert!(beside(text), "{text}");
        }
        let far = format!("phone {} 4670 33", "-".repeat(60));
        for text in ["hotel 4670 33", "excel 4670 33", "4670 33 of it", &far] {
            assert!(!beside(text), "{text}");
        }
    }
}
