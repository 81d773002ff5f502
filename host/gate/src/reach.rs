//! How an upstream is reached: whom it is trusted by, who the gate says it is, and through which proxy.

use std::fmt;
use std::sync::Arc;

use http::Uri;
use http::uri::Scheme;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::target::{BaseUrl, UpstreamName};

/// How an upstream is reached. What it holds may be secret: `Debug` says how much there is.
#[derive(Clone, Default)]
pub struct Reach {
    /// PEM texts with certificate authorities beside the system's.
    pub authorities: Vec<Vec<u8>>,
    /// What the gate shows an upstream that asks who it is.
    pub identity: Option<Identity>,
    /// Whether there is a proxy on the way.
    pub proxy: Proxy,
}

/// A client certificate and its key, as PEM texts.
#[derive(Clone)]
pub struct Identity {
    /// The certificate, and those that it was issued by.
    pub certificate: Vec<u8>,
    /// Its key.
    pub key: Vec<u8>,
}

/// The proxy on the way to an upstream. It is asked for a tunnel (`CONNECT`).
#[derive(Clone, Default)]
pub enum Proxy {
    /// What `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` say when the gate starts. This machine is never asked for through it.
    #[default]
    Environment,
    /// None.
    Direct,
    /// This one, `http://host:port`, perhaps with a user name and a password.
    At(String),
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proxy = match self.proxy {
            Proxy::Environment => "environment",
            Proxy::Direct => "none",
            Proxy::At(_) => "one",
        };
        f.debug_struct("Reach")
            .field("authorities", &self.authorities.len())
            .field("identity", &self.identity.is_some())
            .field("proxy", &proxy)
            .finish()
    }
}

/// Why an upstream cannot be asked at all. It quotes nothing of a certificate, a key or an address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReachError {
    /// The system's store.
    #[error("the certificate store of this system cannot be read, which https upstreams need: {0}")]
    Roots(String),
    /// A file of `ca`.
    #[error(
        "the certificate authorities of `ca` cannot be read: file {0} has no certificate in PEM that can be used"
    )]
    Authority(usize),
    /// `client-certificate` and `client-key`.
    #[error("the client certificate cannot be used: {0}")]
    Identity(&'static str),
    /// `upstream` names one that is not there.
    #[error("there is no upstream of the name `{0}`")]
    Name(UpstreamName),
    /// A rule routes to one that is not there.
    #[error(
        "rule `{rule}` ({origin}) routes to the upstream `{to}`, and {there}; `upstreams.{to}` in the configuration makes one"
    )]
    Route {
        /// Its id.
        rule: String,
        /// Where it stands.
        origin: String,
        /// The name that it has for the upstream.
        to: String,
        /// Which names there are.
        there: String,
    },
    /// `proxy`, or a variable of the environment.
    #[error("the proxy cannot be used: {0}; write http://host:port, `environment` or `none`")]
    Proxy(&'static str),
}

impl Reach {
    /// Returns what TLS needs. An http upstream needs nothing, so that a machine without a certificate store can use one.
    pub(crate) fn tls(&self, is_https: bool) -> Result<ClientConfig, ReachError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring serves the default protocol versions");
        if !is_https {
            return Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
        }
        let builder = builder.with_root_certificates(self.roots()?);
        let Some(identity) = &self.identity else { return Ok(builder.with_no_client_auth()) };
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&identity.certificate).collect();
        let certificates = certificates.ok().filter(|certificates| !certificates.is_empty());
        let certificates = certificates.ok_or(ReachError::Identity("its file has no certificate in PEM"))?;
        let key = PrivateKeyDer::from_pem_slice(&identity.key)
            .map_err(|_| ReachError::Identity("the file of its key has no key in PEM"))?;
        builder.with_client_auth_cert(certificates, key).map_err(|_| {
            ReachError::Identity("its key is not that of the certificate, or of a kind that is not known")
        })
    }

    fn roots(&self) -> Result<RootCertStore, ReachError> {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        let (added, _) = roots.add_parsable_certificates(found.certs);
        if added == 0 && self.authorities.is_empty() {
            let why = found.errors.first().map_or_else(|| "it is empty".to_owned(), ToString::to_string);
            return Err(ReachError::Roots(why));
        }
        for (at, text) in self.authorities.iter().enumerate() {
            let wrong = || ReachError::Authority(at + 1);
            let certificates: Vec<_> =
                CertificateDer::pem_slice_iter(text).collect::<Result<_, _>>().map_err(|_| wrong())?;
            if certificates.is_empty() {
                return Err(wrong());
            }
            certificates.into_iter().try_for_each(|one| roots.add(one)).map_err(|_| wrong())?;
        }
        Ok(roots)
    }

    /// Returns the proxy on the way to an upstream, where there is one.
    pub(crate) fn proxy_to(&self, base: &BaseUrl) -> Result<Option<Intercept>, ReachError> {
        let matcher = match &self.proxy {
            Proxy::Direct => return Ok(None),
            Proxy::Environment if base.is_loopback() => return Ok(None),
            Proxy::Environment => Matcher::from_env(),
            Proxy::At(url) => {
                let uri: Option<Uri> = url.parse().ok();
                if uri.as_ref().and_then(Uri::host).is_none() {
                    return Err(ReachError::Proxy("its address is no URL"));
                }
                Matcher::builder().all(url.clone()).build()
            }
        };
        let found = base.join("/").ok().and_then(|uri| matcher.intercept(&uri));
        if found.as_ref().is_some_and(|found| found.uri().scheme() != Some(&Scheme::HTTP)) {
            return Err(ReachError::Proxy("it must be an http:// proxy"));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::UpstreamTarget;

    fn base(url: &str) -> BaseUrl {
        let Ok(UpstreamTarget::Http(base)) = url.parse() else { panic!("{url} is a URL") };
        base
    }

    fn proxy(url: &str) -> Result<Option<(String, bool)>, String> {
        let reach = Reach { proxy: Proxy::At(url.to_owned()), ..Reach::default() };
        let found = reach.proxy_to(&base("https://api.example"));
        let found = found.map_err(|error| error.to_string())?;
        Ok(found.map(|proxy| (proxy.uri().to_string(), proxy.basic_auth().is_some())))
    }

    #[test]
    fn a_proxy_is_asked_with_its_password_and_says_none() {
        assert_eq!(
            proxy("http://proxy.example:3128"),
            Ok(Some(("http://proxy.example:3128/".to_owned(), false)))
        );
        let word = "hunter2";
        let (address, authorized) = proxy(&format!("http://ann:{word}@proxy.example:3128")).unwrap().unwrap();
        assert!(authorized && !address.contains(word), "{address}");
        for url in ["", "/x", &format!("https://ann:{word}@proxy.example"), "socks5://proxy.example:1080"] {
            let error = proxy(url).unwrap_err();
            assert!(error.contains("http://host:port") && !error.contains(word), "{error}");
        }
        let reach = Reach { proxy: Proxy::At(format!("http://ann:{word}@p")), ..Reach::default() };
        assert!(!format!("{reach:?}").contains(word));
    }

    #[test]
    fn what_is_no_certificate_is_said_without_its_text() {
        let word = "quoted";
        let of = |authorities: Vec<Vec<u8>>, identity| Reach { authorities, identity, ..Reach::default() };
        let error = of(vec![word.into()], None).tls(true).unwrap_err().to_string();
        assert!(error.contains("file 1") && !error.contains(word), "{error}");
        let identity = Identity { certificate: word.into(), key: word.into() };
        // Whatever the machine has of authorities: they are read first.
        if let Err(error) = of(Vec::new(), Some(identity)).tls(true) {
            assert!(!error.to_string().contains(word), "{error}");
        }
        assert!(of(vec![word.into()], None).tls(false).is_ok(), "http needs none");
    }
}
