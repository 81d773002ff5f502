//! An upstream with what it is reached by. Files are read here: the gate opens none.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, bail};
use leafgate_config::{Settings, UpstreamSettings};
use leafgate_gate::{Identity, Proxy, Reach, UpstreamConfig};

use super::patterns;

/// What `proxy` says where variables of the environment decide, and where there is none.
pub(super) const ENVIRONMENT: &str = "environment";
const NO_PROXY: &str = "none";

/// What is asked for an upstream: its own settings, or those at the top.
struct Asked<'a> {
    authorities: &'a [String],
    certificate: Option<&'a str>,
    key: Option<&'a str>,
    proxy: Option<&'a str>,
    restore: Option<bool>,
    raw: &'a [String],
}

/// Returns the upstream of a URL, with the settings of the named one that has the same, or else with
/// those at the top.
pub(crate) fn upstream_at(settings: &Settings, url: &str) -> anyhow::Result<UpstreamConfig> {
    if let Some(named) = settings.upstreams().find(|named| named.text("url") == Some(url)) {
        return self::named(&named);
    }
    let asked = Asked {
        authorities: settings.texts("ca"),
        certificate: settings.text("client-certificate"),
        key: settings.text("client-key"),
        proxy: settings.text("proxy"),
        restore: settings.switch("restore"),
        raw: settings.texts("raw"),
    };
    asked.upstream(url)
}

/// Returns a named upstream.
pub(super) fn named(upstream: &UpstreamSettings<'_>) -> anyhow::Result<UpstreamConfig> {
    let asked = Asked {
        authorities: upstream.texts("ca"),
        certificate: upstream.text("client-certificate"),
        key: upstream.text("client-key"),
        proxy: upstream.text("proxy"),
        restore: upstream.switch("restore"),
        raw: upstream.texts("raw"),
    };
    asked.upstream(upstream.text("url").context("it has no `url`")?)
}

impl Asked<'_> {
    fn upstream(&self, url: &str) -> anyhow::Result<UpstreamConfig> {
        let mut upstream = UpstreamConfig::new(url.parse()?);
        upstream.reach = Reach {
            authorities: self.authorities.iter().map(|file| read("ca", file)).collect::<Result<_, _>>()?,
            identity: self.identity()?,
            proxy: match self.proxy {
                None | Some(ENVIRONMENT) => Proxy::Environment,
                Some(NO_PROXY) => Proxy::Direct,
                Some(url) => Proxy::At(url.to_owned()),
            },
        };
        upstream.restore = self.restore.unwrap_or(true);
        upstream.raw = patterns(self.raw).context("the setting `raw` is wrong")?;
        Ok(upstream)
    }

    fn identity(&self) -> anyhow::Result<Option<Identity>> {
        match (self.certificate, self.key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => {
                let mode = fs::metadata(key).map_or(0, |file| file.permissions().mode());
                if mode & 0o007 != 0 {
                    bail!(
                        "everybody may use the key {key} (mode {:03o}): run `chmod 600` on it",
                        mode & 0o777
                    );
                }
                let certificate = read("client-certificate", certificate)?;
                Ok(Some(Identity { certificate, key: read("client-key", key)? }))
            }
            _ => bail!("`client-certificate` and `client-key` belong together: set both"),
        }
    }
}

fn read(key: &str, file: &str) -> anyhow::Result<Vec<u8>> {
    fs::read(Path::new(file)).with_context(|| format!("the file {file} of `{key}` cannot be read"))
}
