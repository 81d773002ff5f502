//! Times as people write and read them.

use std::time::Duration;

use ::time::format_description::BorrowedFormatItem;
use ::time::macros::format_description;
use ::time::{OffsetDateTime, UtcOffset};

/// Units of spans, in seconds.
const UNITS: [(&str, u64); 5] = [("s", 1), ("m", 60), ("h", 3600), ("d", 24 * 3600), ("w", 7 * 24 * 3600)];

/// Reads a span: `90s`, `15m`, `1h`, `7d`, `2w`.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let found = UNITS.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)));
    let seconds = found.and_then(|(count, size)| Some(u64::from(count.parse::<u32>().ok()?) * size));
    let wrong = || format!("`{text}` is no time: write a number and s, m, h, d or w, as in 90s or 1h");
    seconds.map(Duration::from_secs).ok_or_else(wrong)
}

/// Returns a moment, in milliseconds of Unix time, for lists: to the second, as clocks show it here.
pub(crate) fn local(millis: i64) -> String {
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    formatted(millis, here(millis), format)
}

/// Returns the same as one that others read too: with what it is ahead of UTC.
pub(crate) fn moment(millis: i64) -> String {
    let format = format_description!(
        "[year]-[month]-[day] [hour]:[minute]:[second] [offset_hour sign:mandatory]:[offset_minute]"
    );
    formatted(millis, here(millis), format)
}

/// Returns what clocks here are ahead of UTC at a moment; nothing where that cannot be known.
fn here(millis: i64) -> UtcOffset {
    let moment = OffsetDateTime::from_unix_timestamp(millis.div_euclid(1000)).ok();
    moment.and_then(|moment| UtcOffset::local_offset_at(moment).ok()).unwrap_or(UtcOffset::UTC)
}

fn formatted(millis: i64, offset: UtcOffset, format: &[BorrowedFormatItem<'_>]) -> String {
    let moment = OffsetDateTime::from_unix_timestamp(millis.div_euclid(1000)).ok();
    let moment = moment.and_then(|moment| moment.checked_to_offset(offset)?.format(format).ok());
    moment.unwrap_or_else(|| millis.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_moments_written() {
        assert_eq!(span("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(span("2w"), Ok(Duration::from_secs(14 * 24 * 3600)));
        for wrong in ["", "h", "1", "1.5h", "-1h", "1ħ", "1 h"] {
            assert!(span(wrong).unwrap_err().contains("as in 90s"), "{wrong}");
        }
        let format = format_description!("[day] [hour]:[minute]:[second]");
        let ahead = UtcOffset::from_hms(5, 30, 0).unwrap();
        assert_eq!(formatted(1_700_000_000_123, ahead, format), "15 03:43:20");
        assert_eq!(formatted(i64::MAX, ahead, format), i64::MAX.to_string());
    }
}
