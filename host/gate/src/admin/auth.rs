//! Who may call: programs of this machine that know the token, and no web page.
//!
//! A page can make a browser send requests here, and with DNS rebinding even read the answers. It can neither name our host, nor leave
//! its origin out of a POST, nor know the token, nor send JSON across origins without asking first, which nobody here answers. One of
//! these would do; each is checked.

use std::net::SocketAddr;

use http::header::{AUTHORIZATION, HeaderMap};
use http::request;
use leafgate_admin::ErrorCode;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::answer::CallFailure;
use leafgate_http::{MediaType, guard};

/// Characters of the shortest token: 128 bits in hexadecimal.
const SHORTEST: usize = 32;

/// Bytes of randomness in a token that is made here.
const RANDOM: usize = 32;

/// What every call must bear. `Debug` does not show it.
#[derive(Clone, derive_more::Debug)]
#[debug("AdminToken")]
pub struct AdminToken(String);

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdminTokenError {
    /// Too easily guessed, or not fit for a header.
    #[error(
        "the admin token must be at least {SHORTEST} characters of printable ASCII without spaces; let the gate make one"
    )]
    Unfit,
    /// The operating system gave no randomness.
    #[error("the operating system gives no random bytes for the admin token: {0}")]
    NoRandomness(getrandom::Error),
}

impl AdminToken {
    /// Makes a token of 256 random bits.
    ///
    /// # Errors
    /// When the operating system gives no randomness.
    pub fn generate() -> Result<Self, AdminTokenError> {
        let mut random = [0; RANDOM];
        getrandom::fill(&mut random).map_err(AdminTokenError::NoRandomness)?;
        Ok(AdminToken(base16ct::lower::encode_string(&random)))
    }

    /// Takes a token that was made elsewhere.
    ///
    /// # Errors
    /// When it is short, or holds something else than printable ASCII.
    pub fn new(text: impl Into<String>) -> Result<Self, AdminTokenError> {
        let text = text.into();
        let fits = text.len() >= SHORTEST && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(AdminToken(text)) } else { Err(AdminTokenError::Unfit) }
    }

    /// Returns the token, for the file that callers read it from.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Compares digests and all of their bytes: how long that takes depends on nothing that a guess could learn from.
    fn is(&self, offered: &str) -> bool {
        Sha256::digest(&self.0).as_slice().ct_eq(Sha256::digest(offered).as_slice()).into()
    }
}

/// Refuses a call that does not come from where it should, or does not know the token.
pub(super) fn check(
    parts: &request::Parts,
    token: &AdminToken,
    local: SocketAddr,
) -> Result<(), CallFailure> {
    guard::check(parts, local)?;
    match bearer(&parts.headers) {
        Some(offered) if token.is(offered) => Ok(()),
        _ => Err(CallFailure::new(
            ErrorCode::Unauthorised,
            "the call bears no token, or another one than this gate's",
        )
        .hint("send `authorization: Bearer <token>` with the token of the gate's runtime file")),
    }
}

/// One header, one token.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// What changes something comes as JSON. A form of a page cannot say so.
pub(super) fn check_json(headers: &HeaderMap) -> Result<(), CallFailure> {
    if MediaType::of(headers).is("application/json") {
        return Ok(());
    }
    Err(CallFailure::new(ErrorCode::NoJson, "the body of a POST must be JSON")
        .hint("send it with `content-type: application/json`"))
}

#[cfg(test)]
mod tests {
    use http::header::CONTENT_TYPE;
    use http::{Request, StatusCode};

    use super::*;

    const LOCAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7000);

    fn token() -> AdminToken {
        AdminToken::new("t".repeat(SHORTEST)).unwrap()
    }

    fn call(headers: &[(&'static str, &str)]) -> Result<(), StatusCode> {
        let mut request = Request::get("/v1/status").header("host", "127.0.0.1:7000");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        check(&request.body(()).unwrap().into_parts().0, &token(), LOCAL).map_err(|failure| failure.status())
    }

    #[test]
    fn who_may_call() {
        let of = |letter: &str| format!("Bearer {}", letter.repeat(SHORTEST));
        let (own, other) = (of("t"), of("u"));
        let (own, other) = (own.as_str(), other.as_str());
        assert_eq!(call(&[("authorization", own)]), Ok(()));
        assert_eq!(call(&[("authorization", own), ("origin", "http://127.0.0.1:7000")]), Ok(()));
        for denied in [
            &[][..],
            &[("authorization", other)],
            &[("authorization", &own[..own.len() - 1])],
            &[("authorization", &own[7..])],
            &[("authorization", "Bearer ")],
            &[("authorization", own), ("authorization", own)],
        ] {
            assert_eq!(call(denied), Err(StatusCode::UNAUTHORIZED), "{denied:?}");
        }
        for origin in ["https://page.example", "null", "http://127.0.0.1:7001"] {
            assert_eq!(
                call(&[("authorization", own), ("origin", origin)]),
                Err(StatusCode::FORBIDDEN),
                "{origin}"
            );
        }
    }

    #[test]
    fn only_json_changes_anything() {
        let headers = |kinds: &[&'static str]| -> HeaderMap {
            kinds.iter().map(|kind| (CONTENT_TYPE, http::HeaderValue::from_static(kind))).collect()
        };
        for json in ["application/json", "Application/JSON; charset=utf-8"] {
            assert!(check_json(&headers(&[json])).is_ok(), "{json}");
        }
        for other in [
            &[][..],
            &["text/plain"],
            &["application/x-www-form-urlencoded"],
            &["application/json", "text/plain"],
        ] {
            assert!(check_json(&headers(other)).is_err(), "{other:?}");
        }
    }

    #[test]
    fn a_token_is_long_random_and_never_printed() {
        let made = AdminToken::generate().unwrap();
        assert_eq!(made.expose().len(), 2 * RANDOM);
        assert_ne!(made.expose(), AdminToken::generate().unwrap().expose());
        assert!(!format!("{made:?}").contains(made.expose()));
        assert!(AdminToken::new(made.expose()).is_ok());
        assert!(AdminToken::new("short").is_err());
        assert!(AdminToken::new(format!("{} ", "t".repeat(SHORTEST))).is_err());
    }
}
