//! Numbers as files write them, plain or with a unit, and which of them make sense.

/// The numbers that make sense, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberRange {
    /// The smallest.
    pub least: u64,
    /// The largest; `u64::MAX` for none.
    #[serde(default = "no_most")]
    pub most: u64,
}

fn no_most() -> u64 {
    u64::MAX
}

impl NumberRange {
    /// From one on.
    pub const ANY: NumberRange = NumberRange::from(1);

    /// All from a number on.
    pub const fn from(least: u64) -> NumberRange {
        NumberRange { least, most: u64::MAX }
    }

    /// All from a number to another one.
    pub const fn between(least: u64, most: u64) -> NumberRange {
        NumberRange { least, most }
    }

    /// Returns whether a number is one of them.
    #[must_use]
    pub fn allow(self, number: u64) -> bool {
        (self.least..=self.most).contains(&number)
    }

    /// Says them, each number as it is written there.
    pub fn said(self, write: impl Fn(u64) -> String) -> String {
        match self.most {
            u64::MAX => format!("from {} on", write(self.least)),
            most => format!("from {} to {}", write(self.least), write(most)),
        }
    }
}

/// Units of times in milliseconds, the longest first.
const TIMES: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Returns the milliseconds of a time as files write it.
pub fn in_millis(text: &str) -> Option<u64> {
    in_units(text, &TIMES, 0)
}

/// Returns milliseconds as files write them.
pub fn shown_time(millis: u64) -> String {
    in_unit(millis, &TIMES).unwrap_or_default().replace(' ', "")
}

/// Reads a whole number above zero and a unit. `bare` is what a number without one counts, 0 for nothing.
pub fn in_units(text: &str, units: &[(&str, u64)], bare: u64) -> Option<u64> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_').len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.replace('_', "").parse().ok()?;
    let size = match unit.trim_start() {
        "" => bare,
        unit => units.iter().find(|(name, _)| *name == unit)?.1,
    };
    number.checked_mul(size).filter(|value| *value > 0)
}

/// Returns a number in the largest unit that leaves no rest; the units are ordered from the largest.
pub fn in_unit(number: u64, units: &[(&str, u64)]) -> Option<String> {
    let (name, size) = units.iter().find(|(_, size)| number >= *size && number.is_multiple_of(*size))?;
    Some(format!("{} {name}", number / size))
}
