//! Times as people write and read them.

use std::time::Duration;

use ::time::OffsetDateTime;
use ::time::format_description::well_known::Rfc3339;

/// Reads a span: `90s`, `15m`, `1h`, `7d`, `2w`.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time: write a number and s, m, h, d or w, as in 90s or 1h");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        'w' => 7 * 24 * 3600,
        _ => return Err(wrong()),
    };
    let count: u32 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    Ok(Duration::from_secs(u64::from(count) * seconds))
}

/// Returns a moment, in milliseconds of Unix time, as RFC 3339 in whole seconds, in UTC.
pub(super) fn moment(millis: i64) -> String {
    let moment = OffsetDateTime::from_unix_timestamp(millis.div_euclid(1000)).ok();
    moment.and_then(|moment| moment.format(&Rfc3339).ok()).unwrap_or_else(|| millis.to_string())
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
        assert_eq!(moment(1_700_000_000_123), "2023-11-14T22:13:20Z");
    }
}
