//! What stands beside a number, an address or a name, and makes it another thing than it looks like.

use std::net::IpAddr;
use std::ops::Range;

use crate::checksums::is_card;

/// Returns true if and only if a network as a whole begins at `start`: `10.0.0.0/8`, whose bits
/// behind the prefix are zero. `10.0.0.7/8` is a host in it.
pub(crate) fn is_network(bytes: &[u8], start: usize) -> bool {
    /// The longest way to write one.
    const LONGEST: usize = 45;
    let rest = &bytes[start..bytes.len().min(start + LONGEST + 5)];
    let length = rest.iter().take_while(|b| b.is_ascii_hexdigit() || matches!(b, b'.' | b':')).count();
    let Some([b'/', prefix @ ..]) = rest.get(length..) else { return false };
    let digits = prefix.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let read = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
    let address = read(&rest[..length]).and_then(|text| text.parse::<IpAddr>().ok());
    let prefix = read(&prefix[..digits]).and_then(|text| text.parse::<u32>().ok());
    match (address, prefix) {
        (Some(IpAddr::V4(ip)), Some(prefix @ 0..32)) => ip.to_bits() << prefix == 0,
        (Some(IpAddr::V6(ip)), Some(prefix @ 0..128)) => ip.to_bits() << prefix == 0,
        _ => false,
    }
}

/// Returns true if and only if what stands before the `@` in `range` is the password of a web
/// address: `https://user:password@example.org`.
pub(crate) fn is_userinfo(bytes: &[u8], range: &Range<usize>) -> bool {
    const LONGEST: usize = 200;
    let Some(at) = memchr::memchr(b'@', &bytes[range.clone()]).map(|at| range.start + at) else {
        return false;
    };
    let before = &bytes[at.saturating_sub(LONGEST)..at];
    let Some(slash) = memchr::memrchr(b'/', before) else { return false };
    let info = &before[slash + 1..];
    before[..slash].ends_with(b":/")
        && info.contains(&b':')
        && !info.iter().any(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'<' | b'>'))
}

/// Returns true if and only if a number is one of a table of numbers that are no cards, or goes on
/// behind a point: one in ten of any numbers has a right check digit.
pub(crate) fn is_of_table(bytes: &[u8], number: &Range<usize>) -> bool {
    /// Numbers that say what the one between them is.
    const LEAST: usize = 8;
    const LONGEST: usize = 48;
    let is_gap = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b';');
    let is_of_number = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'_');
    let is_none =
        |number: &[u8]| number.len() >= LEAST && std::str::from_utf8(number).is_ok_and(|text| !is_card(text));
    let after = &bytes[number.end..bytes.len().min(number.end + LONGEST)];
    let before = &bytes[number.start.saturating_sub(LONGEST)..number.start];
    let point = memchr::memchr(b'.', &bytes[number.clone()]);
    if point.is_some_and(|at| at >= LEAST && bytes[number.start..][..at].iter().all(u8::is_ascii_digit)) {
        return true;
    }
    let gap = after.iter().take_while(is_gap).count();
    let next = after[gap..].iter().take_while(is_of_number).count();
    let gap_before = before.iter().rev().take_while(is_gap).count();
    let rest = &before[..before.len() - gap_before];
    let last = rest.iter().rev().take_while(is_of_number).count();
    gap > 1 && gap_before > 1 && is_none(&after[gap..gap + next]) && is_none(&rest[rest.len() - last..])
}

/// Returns true if and only if a name begins behind the account of an Amazon resource:
/// `arn:aws:secretsmanager:us-east-1:123456789012:secret:…` names a secret and holds none.
pub(crate) fn is_of_resource(before: &[u8]) -> bool {
    const ACCOUNT: usize = 12;
    let [rest @ .., b':'] = before else { return false };
    let digits = rest.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    digits == ACCOUNT && rest[..rest.len() - ACCOUNT].ends_with(b":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Input};

    fn found(selector: &str, text: &str) -> Vec<String> {
        let engine = Engine::new(&[selector]).unwrap();
        engine.scan(&Input::new(text)).iter().map(|finding| text[finding.range.clone()].to_owned()).collect()
    }

    #[test]
    fn a_network_is_no_host() {
        for network in ["10.0.0.0/8", "192.168.1.0/24", "fc00::/7", "172.16.0.0/12,"] {
            assert_eq!(found("pii/private-ip", network), [""; 0], "{network}");
        }
        for (text, host) in [("10.0.0.7/8", "10.0.0.7"), ("10.0.0.0/x", "10.0.0.0"), ("10.0.0.0", "10.0.0.0")]
        {
            assert_eq!(found("pii/private-ip", text), [host], "{text}");
        }
        assert!(is_network(b"0.0.0.0/0", 0) && !is_network(b"10.0.0.0/32", 0) && !is_network(b"", 0));
    }

    #[test]
    fn the_password_of_an_address_is_no_mailbox() {
        for text in ["https://ops:word@acme.org/x", "smtp://a:b.c@mail.acme.org"] {
            assert_eq!(found("pii/email", text), [""; 0], "{text}");
        }
        for text in ["mailto:ops@acme.org", "see https://acme.org or: ops@acme.org", "//x:\"ops@acme.org\""] {
            assert_eq!(found("pii/email", text), ["ops@acme.org"], "{text}");
        }
    }

    #[test]
    fn one_of_a_table_of_numbers_is_no_card() {
        let (card, other) = (["4539578", "763621486"].concat(), "4539578763621487");
        assert_eq!(found("pii/payment-card", &format!("{other},\n {card},\n {other},")), [""; 0]);
        assert_eq!(found("pii/payment-card", &format!("{card}.0")), [""; 0]);
        for text in [
            format!("{card},\n {card},\n {card}"),
            format!("{other},\n {card},\n end"),
            format!("1, {card}, 2029"),
            format!("paid by {card}. Thanks"),
        ] {
            assert!(found("pii/payment-card", &text).contains(&card), "{text}");
        }
    }

    #[test]
    fn the_name_of_a_resource_is_no_secret() {
        let name = ["prod/db-q7", "Zk2a"].concat();
        let text = format!("arn:aws:secretsmanager:us-east-1:081220033642:secret:{name}");
        assert_eq!(found("secrets/keyed-secret", &text), [""; 0]);
        assert!(!is_of_resource(b"12:") && !is_of_resource(b"") && is_of_resource(b"a:081220033642:"));
    }
}
