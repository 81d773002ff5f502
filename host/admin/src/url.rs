//! URLs as people are shown them: without what may be a password or a key.

/// Longest part of a path that is no key by its length.
const LONGEST: usize = 20;

/// Length and digits from which a shorter one may be a key.
const MIXED: (usize, usize) = (10, 3);

/// What stands in the place of what is not shown.
const HIDDEN: &str = "…";

/// Returns a URL without user name, password, query and fragment, and without parts of its path that
/// may be a key: `https://ann:word@a.example/v1/<key>?k=v` is shown as `https://…@a.example/v1/…?…`.
/// What is no URL stays as it is, so that names and words can be shown by it too.
pub fn shown_url(url: &str) -> String {
    let (scheme, rest) = url.split_at(url.find("://").map_or(0, |at| at + "://".len()));
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if path.contains('@') {
        // It may be a password with a slash in it: where the host begins nobody knows.
        return format!("{scheme}{HIDDEN}");
    }
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{host}"),
        None => authority.to_owned(),
    };
    let (path, more) = match path.find(['?', '#']) {
        Some(at) => (&path[..at], format!("{}{HIDDEN}", &path[at..=at])),
        None => (path, String::new()),
    };
    let parts: Vec<&str> = path.split('/').map(|part| if may_be_key(part) { HIDDEN } else { part }).collect();
    format!("{scheme}{authority}{}{more}", parts.join("/"))
}

fn may_be_key(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    part.len() > LONGEST || part.contains('=') || (part.len() >= MIXED.0 && digits >= MIXED.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_key_is_not_shown() {
        let key = "k3yThatNobodyMayRead";
        for (url, shown) in [
            (format!("https://ann:{key}@a.example/v1"), "https://…@a.example/v1"),
            (format!("ann:{key}@proxy.example:3128"), "…@proxy.example:3128"),
            (format!("https://a.example?key={key}"), "https://a.example?…"),
            (format!("https://a.example/v1?user=a@b&key={key}"), "https://…"),
            (format!("https://a.example/v1#{key}"), "https://a.example/v1#…"),
            (format!("https://ann:x/{key}@a.example"), "https://…"),
            (format!("https://a.example/{key}0/openai"), "https://a.example/…/openai"),
            (format!("https://a.example/openai;key={key}"), "https://a.example/…"),
            ("https://a.example/a1b2c3d4e5/x".to_owned(), "https://a.example/…/x"),
        ] {
            assert_eq!(shown_url(&url), shown);
        }
    }

    #[test]
    fn a_plain_address_is_shown_whole() {
        for url in [
            "https://api.openai.com",
            "https://chatgpt.com/backend-api/codex",
            "http://127.0.0.1:8000/v1beta/openai",
            "http://[::1]:8000",
            "echo:",
            "environment",
            "other",
        ] {
            assert_eq!(shown_url(url), url);
        }
    }
}
