//! Who may speak to the listener: programs of this machine, and no web page.
//!
//! A page can make a browser send requests to a loopback port. With DNS rebinding the request even looks same-origin to the browser,
//! but its `Host` names the page's domain; a plain cross-site request carries a foreign `Origin`. Both are refused.

use std::net::{IpAddr, SocketAddr};

use http::header::{HOST, HeaderMap, ORIGIN};
use http::uri::Authority;
use http::{StatusCode, request};

use crate::refusal::{Code, Refusal};

/// Refuses a request that was not addressed to this listener, or that a foreign page sent.
pub fn check(parts: &request::Parts, local: SocketAddr) -> Result<(), Refusal> {
    let host =
        single(&parts.headers, &HOST)?.ok_or_else(|| Refusal::malformed("the Host header is missing"))?;
    // A request line may name an authority of its own, as clients of a forward proxy write it. This is no forward proxy.
    let target = parts.uri.authority().map(Authority::as_str);
    for named in [Some(host), target].into_iter().flatten() {
        if !names(named, 80, local) {
            return Err(foreign(format!(
                "the request is addressed to a host that is not this gate; use http://{local}"
            )));
        }
    }
    match single(&parts.headers, &ORIGIN)? {
        Some(origin) if !origin.strip_prefix("http://").is_some_and(|own| names(own, 80, local)) => {
            Err(foreign(format!("requests from web pages are refused; call http://{local} from a program")))
        }
        _ => Ok(()),
    }
}

fn foreign(message: String) -> Refusal {
    Refusal::new(StatusCode::FORBIDDEN, Code::Foreign, message)
}

/// The value of a header that may stand once.
fn single<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> Result<Option<&'h str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value
            .to_str()
            .map(Some)
            .map_err(|_| Refusal::malformed(format!("the {name} header is not plain ASCII"))),
        (Some(_), Some(_)) => Err(Refusal::malformed(format!("there is more than one {name} header"))),
    }
}

/// Whether `host[:port]` names the listener: any loopback spelling, since all of them reach it or nothing.
fn names(authority: &str, default_port: u16, local: SocketAddr) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else { return false };
    if authority.as_str().contains('@') {
        return false;
    }
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let loopback = host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|ip| ip.is_loopback());
    loopback && authority.port_u16().unwrap_or(default_port) == local.port()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(host: &[&str], origin: Option<&str>) -> Result<(), StatusCode> {
        let mut request = http::Request::builder().uri("/v1/models");
        for host in host {
            request = request.header(HOST, *host);
        }
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        check(&parts, "127.0.0.1:4141".parse().unwrap()).map_err(|refusal| refusal.status)
    }

    #[test]
    fn the_listener_has_many_names() {
        for host in ["127.0.0.1:4141", "localhost:4141", "LOCALHOST:4141", "[::1]:4141", "127.0.0.2:4141"] {
            assert_eq!(checked(&[host], None), Ok(()), "{host}");
        }
    }

    #[test]
    fn a_rebound_name_is_refused() {
        for host in [
            "evil.example:4141",
            "localhost.evil.example:4141",
            "localhost",
            "127.0.0.1:80",
            "u@localhost:4141",
            "10.0.0.1:4141",
        ] {
            assert_eq!(checked(&[host], None), Err(StatusCode::FORBIDDEN), "{host}");
        }
        assert_eq!(checked(&[], None), Err(StatusCode::BAD_REQUEST));
        assert_eq!(checked(&["localhost:4141", "localhost:4141"], None), Err(StatusCode::BAD_REQUEST));
    }

    #[test]
    fn a_foreign_page_is_refused() {
        let own = checked(&["localhost:4141"], Some("http://localhost:4141"));
        assert_eq!(own, Ok(()));
        for origin in [
            "https://evil.example",
            "null",
            "http://localhost:3000",
            "https://localhost:4141",
            "vscode-webview://x",
        ] {
            assert_eq!(checked(&["localhost:4141"], Some(origin)), Err(StatusCode::FORBIDDEN), "{origin}");
        }
    }

    #[test]
    fn an_absolute_target_must_name_the_gate_too() {
        let request =
            http::Request::builder().uri("http://evil.example/v1/models").header(HOST, "localhost:4141");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let refused = check(&parts, "127.0.0.1:4141".parse().unwrap()).unwrap_err();
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
    }
}
