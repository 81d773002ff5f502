//! An upstream with what it is reached by. Files are read here: the gate opens none.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, anyhow};
use leafgate_config::{Settings, UpstreamSettings};
use leafgate_gate::{Identity, OnUnread, Proxy, Reach, UpstreamConfig, UpstreamKind, UpstreamTarget};

use super::patterns;

/// What `proxy` says where variables of the environment decide, and where there is none.
pub(super) const ENVIRONMENT: &str = "environment";
const NO_PROXY: &str = "none";

/// What is asked for an upstream: its own settings, or those at the top.
struct Asked<'a> {
    /// Says which setting is wrong, and where it stands.
    wrong: &'a dyn Fn(&str) -> String,
    kind: Option<&'a str>,
    authorities: &'a [String],
    certificate: Option<&'a str>,
    key: Option<&'a str>,
    proxy: Option<&'a str>,
    restore: Option<bool>,
    raw: &'a [String],
    on_unread: Option<&'a str>,
}

/// Returns the upstream of a URL, with the settings of the named one that has the same, or else with
/// those at the top.
pub(crate) fn upstream_at(settings: &Settings, url: &str) -> anyhow::Result<UpstreamConfig> {
    if let Some(named) = settings.upstreams().find(|named| named.text("url") == Some(url)) {
        return self::named(&named);
    }
    let wrong = |key: &str| super::wrong(settings, if key == "url" { "upstream" } else { key });
    let asked = Asked {
        wrong: &wrong,
        kind: None,
        authorities: settings.texts("ca"),
        certificate: settings.text("client-certificate"),
        key: settings.text("client-key"),
        proxy: settings.text("proxy"),
        restore: settings.switch("restore"),
        raw: settings.texts("raw"),
        on_unread: settings.text("on-unread"),
    };
    asked.upstream(url)
}

/// Returns a named upstream.
pub(super) fn named(upstream: &UpstreamSettings<'_>) -> anyhow::Result<UpstreamConfig> {
    let wrong = |key: &str| {
        let (name, source) = (upstream.name(), upstream.source(key));
        format!("the setting `{key}` of the upstream `{name}` is wrong ({source})")
    };
    let asked = Asked {
        wrong: &wrong,
        kind: upstream.text("kind"),
        authorities: upstream.texts("ca"),
        certificate: upstream.text("client-certificate"),
        key: upstream.text("client-key"),
        proxy: upstream.text("proxy"),
        restore: upstream.switch("restore"),
        raw: upstream.texts("raw"),
        on_unread: upstream.text("on-unread"),
    };
    asked.upstream(
        upstream.text("url").with_context(|| format!("the upstream `{}` has no `url`", upstream.name()))?,
    )
}

impl Asked<'_> {
    fn upstream(&self, url: &str) -> anyhow::Result<UpstreamConfig> {
        let wrong = |key: &'static str| move || (self.wrong)(key);
        let mut upstream = UpstreamConfig::new(url.parse::<UpstreamTarget>().with_context(wrong("url"))?);
        let kind = self.kind.and_then(UpstreamKind::from_name);
        upstream.kind = kind.unwrap_or(upstream.kind);
        let authorities: anyhow::Result<Vec<_>> = self.authorities.iter().map(|file| read(file)).collect();
        upstream.reach = Reach {
            authorities: authorities.with_context(wrong("ca"))?,
            identity: self.identity()?,
            proxy: match self.proxy {
                None | Some(ENVIRONMENT) => Proxy::Environment,
                Some(NO_PROXY) => Proxy::Direct,
                Some(url) => Proxy::At(url.to_owned()),
            },
        };
        upstream.restore = self.restore.unwrap_or(true);
        let on_unread = self.on_unread.and_then(OnUnread::from_name);
        upstream.on_unread = on_unread.unwrap_or_default();
        upstream.raw = patterns(self.raw).with_context(wrong("raw"))?;
        Ok(upstream)
    }

    fn identity(&self) -> anyhow::Result<Option<Identity>> {
        let wrong = |key: &'static str| move || (self.wrong)(key);
        let (certificate, key) = match (self.certificate, self.key) {
            (None, None) => return Ok(None),
            (Some(certificate), Some(key)) => (certificate, key),
            (certificate, _) => {
                let key = if certificate.is_some() { "client-certificate" } else { "client-key" };
                let together = "`client-certificate` and `client-key` belong together: set both";
                return Err(anyhow!(together)).with_context(wrong(key));
            }
        };
        let mode = fs::metadata(key).map_or(0, |file| file.permissions().mode());
        if mode & 0o007 != 0 {
            let mode = mode & 0o777;
            return Err(anyhow!("everybody may use the key {key} (mode {mode:03o}): run `chmod 600` on it"))
                .with_context(wrong("client-key"));
        }
        let certificate = read(certificate).with_context(wrong("client-certificate"))?;
        Ok(Some(Identity { certificate, key: read(key).with_context(wrong("client-key"))? }))
    }
}

fn read(file: &str) -> anyhow::Result<Vec<u8>> {
    fs::read(Path::new(file)).with_context(|| format!("the file {file} cannot be read"))
}
