//! An upstream with what it is reached by. Files are read here: the gate opens none.

use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow};
use leafgate_api::Api;
use leafgate_config::{Settings, UpstreamSettings};
use leafgate_gate::{
    Identity, NamedUpstream, OnUnread, Proxy, Reach, UpstreamConfig, UpstreamKind, UpstreamName,
    UpstreamTarget,
};

use super::parsed;
use crate::private;

/// What `proxy` says where variables of the environment decide, and where there is none.
const ENVIRONMENT: &str = "environment";
const NO_PROXY: &str = "none";

/// Returns the upstream of a URL, with the settings of the named one that has the same, or else with
/// those at the top.
pub(crate) fn upstream_at(settings: &Settings, url: &str) -> anyhow::Result<UpstreamConfig> {
    let named = settings.upstreams().find(|named| named.text("url") == Some(url));
    upstream(&named.unwrap_or_else(|| settings.first_upstream()), url)
}

/// Returns a named upstream.
pub(super) fn named(asked: &UpstreamSettings<'_>) -> anyhow::Result<NamedUpstream> {
    let name = asked.name().parse::<UpstreamName>();
    let name = name.with_context(|| format!("the upstream at {} has a wrong name", asked.source("url")))?;
    let url = asked.text("url").with_context(|| format!("the upstream `{name}` has no `url`"))?;
    Ok(NamedUpstream { name, upstream: upstream(asked, url)? })
}

/// Says which setting of an upstream is wrong, and where it stands.
fn wrong(asked: &UpstreamSettings<'_>, key: &'static str) -> impl FnOnce() -> String {
    let (name, source) = (asked.name(), asked.source(key));
    let said = match (name, key) {
        ("", "url") => format!("the setting `upstream` is wrong ({source})"),
        ("", key) => format!("the setting `{key}` is wrong ({source})"),
        (name, key) => format!("the setting `{key}` of the upstream `{name}` is wrong ({source})"),
    };
    || said
}

fn upstream(asked: &UpstreamSettings<'_>, url: &str) -> anyhow::Result<UpstreamConfig> {
    let wrong = |key| wrong(asked, key);
    let mut upstream = UpstreamConfig::new(url.parse::<UpstreamTarget>().with_context(wrong("url"))?);
    let kind = asked.text("kind").and_then(UpstreamKind::from_name);
    upstream.kind = kind.unwrap_or(upstream.kind);
    upstream.speaks = asked.text("api").and_then(Api::from_name);
    let authorities: anyhow::Result<Vec<_>> = asked.texts("ca").iter().map(|file| read(file)).collect();
    upstream.reach = Reach {
        authorities: authorities.with_context(wrong("ca"))?,
        identity: identity(asked)?,
        proxy: match asked.text("proxy") {
            None | Some(ENVIRONMENT) => Proxy::Environment,
            Some(NO_PROXY) => Proxy::Direct,
            Some(url) => Proxy::At(url.to_owned()),
        },
    };
    upstream.restore = asked.switch("restore").unwrap_or(true);
    upstream.on_unread = asked.text("on-unread").and_then(OnUnread::from_name).unwrap_or_default();
    upstream.raw = parsed(asked.texts("raw")).with_context(wrong("raw"))?;
    Ok(upstream)
}

fn identity(asked: &UpstreamSettings<'_>) -> anyhow::Result<Option<Identity>> {
    let wrong = |key| wrong(asked, key);
    let (certificate, key) = match (asked.text("client-certificate"), asked.text("client-key")) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate, key),
        (certificate, _) => {
            let key = if certificate.is_some() { "client-certificate" } else { "client-key" };
            let together = "`client-certificate` and `client-key` belong together: set both";
            return Err(anyhow!(together)).with_context(wrong(key));
        }
    };
    if let Ok(file) = fs::metadata(key) {
        private::ensure_mode(&file, 0o007, &format!("use the key {key}"), "run `chmod 600` on it")
            .with_context(wrong("client-key"))?;
    }
    let certificate = read(certificate).with_context(wrong("client-certificate"))?;
    Ok(Some(Identity { certificate, key: read(key).with_context(wrong("client-key"))? }))
}

fn read(file: &str) -> anyhow::Result<Vec<u8>> {
    fs::read(Path::new(file)).with_context(|| format!("the file {file} cannot be read"))
}
