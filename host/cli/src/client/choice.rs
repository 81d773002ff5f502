//! Which gate a client is put behind: one that a person named, one of its own, or else the one of the
//! user, which all share.
//!
//! What would judge a client otherwise than the shared gate does is never passed over: options, and what
//! the environment or the folder adds, have the client get a gate of its own.

use std::path::Path;

use anyhow::bail;
use leafgate_admin::shown_url;
use leafgate_admin::{RuntimeFile, Status};
use leafgate_config::{SettingSource, Settings};

use super::exec::ClientStart;
use super::{ClientOrigin, ClientWay, GatePlace, PROVIDERS, text_variable};
use crate::admin::AdminClient;
use crate::known::KnownSource;
use crate::managed;
use crate::options::policy_place;
use crate::print::Printer;
use crate::runtime;
use crate::saved::SavedFolder;
use crate::standing::{self, ClientsBehind, Need, Standing, StandingRecord};

/// The gates that run, and the place of the one of the user, which may stand there again.
pub(super) struct RunningGate {
    gates: Vec<RuntimeFile>,
    last: Option<String>,
}

impl RunningGate {
    /// Finds them. That none can be found is no reason to start none.
    pub(super) fn find() -> anyhow::Result<RunningGate> {
        let gates = runtime::find_running(&runtime::folder()?).unwrap_or_default();
        Ok(RunningGate { gates, last: StandingRecord::of_user().unwrap_or_default().url })
    }

    /// Returns what a variable names.
    pub(super) fn named(&self, variable: &str) -> NamedUrl {
        let Some(url) = text_variable(variable) else { return NamedUrl::default() };
        match self.at(&url) {
            Some(listen) => NamedUrl { elsewhere: None, place: GatePlace::of(listen, &url) },
            None => NamedUrl { elsewhere: Some(url), place: None },
        }
    }

    /// Returns the gate that the environment leads to already, as in a shell that `leafgate env` has
    /// set up.
    fn in_environment(&self) -> Option<&RuntimeFile> {
        let urls = PROVIDERS.iter().filter_map(|provider| text_variable(provider.variable));
        let led = |url: &String| self.gates.iter().find(|gate| leads(url, &gate.listen));
        urls.filter_map(|url| led(&url)).next()
    }

    /// Returns where the gate listens that a URL leads to.
    fn at(&self, url: &str) -> Option<&str> {
        let places = self.gates.iter().map(|gate| &gate.listen).chain(&self.last);
        places.map(String::as_str).find(|listen| leads(url, listen))
    }
}

/// What a variable of the environment says of where an API is: nothing, or one of these.
#[derive(Default)]
pub(super) struct NamedUrl {
    /// A base URL that leads to no gate.
    pub(super) elsewhere: Option<String>,
    /// The place on a gate.
    pub(super) place: Option<GatePlace>,
}

/// Returns whether a URL leads to what listens there.
pub(super) fn leads(url: &str, listen: &str) -> bool {
    url.strip_prefix(listen).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A gate that serves, and whether a person has chosen it.
pub(super) struct ChosenGate {
    pub(super) status: Status,
    pub(super) by_name: bool,
}

impl ChosenGate {
    /// Returns the way through it to where a client asks, if it leads there.
    pub(super) fn way(&self, origin: &ClientOrigin) -> Option<ClientWay<'_>> {
        if self.by_name { origin.at(&self.status) } else { origin.through(&self.status) }
    }

    /// Returns why it is not the one for these origins, and the policy that was named.
    fn misfit(&self, origins: &[ClientOrigin], policy: Option<&str>) -> Option<String> {
        let ways: Vec<ClientWay<'_>> = origins.iter().filter_map(|origin| self.way(origin)).collect();
        // Who names a gate knows what the program asks for.
        let fits = if self.by_name { !ways.is_empty() } else { ways.len() == origins.len() };
        if !fits {
            let place = origins.iter().find_map(|origin| origin.place.as_ref());
            if let Some(name) =
                place.filter(|place| place.listen == self.status.listen).and_then(GatePlace::name)
            {
                let there: Vec<&str> = self.status.upstreams.iter().map(|one| one.name.as_str()).collect();
                let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
                return Some(format!(
                    "has no upstream `{name}`, which the environment names (it has {there})"
                ));
            }
            let to: Vec<_> = origins.iter().map(|origin| shown_url(&origin.target.to_string())).collect();
            return Some(format!("does not lead to {}", to.join(", ")));
        }
        let other = ways.iter().find(|way| policy.is_some_and(|policy| way.policy != policy))?;
        Some(format!("has another policy, {}", other.policy))
    }
}

/// Returns the gate that runs for a client, and what has it go on as long as the client is behind it;
/// `None` where the client gets one of its own. The one of the user is started where it does not run.
///
/// # Errors
/// When the gate that was named leads elsewhere, and when the one of the user cannot be had.
pub(super) fn choose(
    running: &RunningGate,
    start: &ClientStart<'_>,
    printer: &mut Printer,
) -> anyhow::Result<Option<(ChosenGate, Option<ClientsBehind>)>> {
    let (gate, own) = (start.args.gate.as_ref(), start.args.wants_own_gate());
    let policy = start.args.policy.as_ref().map(policy_place);
    let named = match gate {
        Some(_) => Some(runtime::find(&runtime::folder()?, gate)?),
        None => running.in_environment().filter(|_| !own).cloned(),
    };
    if let Some(gate) = named {
        managed::check_gate(&gate)?;
        // Before it is asked: from then on it goes on.
        let behind = gate.standing.then(|| Standing::lock()?.join()).transpose()?;
        let found = ChosenGate { status: AdminClient::new(&gate)?.status()?, by_name: true };
        if let Some(why) = found.misfit(&start.origins, policy.as_deref()) {
            bail!(
                "the gate at {} {why}: name another one with --gate, or unset what leads to it",
                gate.listen
            );
        }
        return Ok(Some((found, behind)));
    }
    let why_own = if own { None } else { differs(start)? };
    if let Some(why) = &why_own {
        printer.error_line(&format!("leafgate: {} has a gate of its own: {why}", start.program()));
    }
    if own || why_own.is_some() {
        // Another gate has no such place, and its upstream would get keys for another one.
        if let Some(place) = start.origins.iter().find_map(|origin| origin.place.as_ref()) {
            bail!(
                "the environment leads to {}, a place on another gate: unset what does, or name an upstream with --upstream",
                place.url()
            );
        }
        return Ok(None);
    }
    let standing = Standing::lock()?;
    let found = ChosenGate { status: standing.gate(Need::Program, printer)?, by_name: false };
    if let Some(why) = found.misfit(&start.origins, policy.as_deref()) {
        bail!("the gate at {} {why}: unset what leads there", found.status.listen);
    }
    Ok(Some((found, Some(standing.join()?))))
}

/// Returns why the gate that all share would judge a client of this folder and environment otherwise
/// than one of its own, or not lead where it asks.
fn differs(start: &ClientStart<'_>) -> anyhow::Result<Option<String>> {
    if let Some(why) = differs_by(start.settings)? {
        return Ok(Some(why));
    }
    let there = standing::upstreams(start.settings)?;
    let elsewhere = |origin: &&ClientOrigin| !there.contains(&origin.target.to_string());
    Ok(start.origins.iter().find(elsewhere).map(|origin| {
        let url = origin.target.to_string();
        format!("the one that all share does not lead to {} (`[upstreams.NAME]` in the configuration has it lead there)", shown_url(&url))
    }))
}

/// Returns which setting makes a difference, or what of this folder.
fn differs_by(settings: &Settings) -> anyhow::Result<Option<String>> {
    if settings.switch("admin.enabled") == Some(false) {
        return Ok(Some("the settings switch off the admin API (`admin.enabled`), by which the one that all share is found".to_owned()));
    }
    for key in ["policy", "workspace", "agents"] {
        if let source @ SettingSource::Variable(_) = settings.source(key) {
            return Ok(Some(format!("{source} names its {key}")));
        }
    }
    let is_named = settings.source("workspace") != SettingSource::Default;
    Ok(if is_named {
        None
    } else if KnownSource::of(settings).reads_workspace()? {
        Some("`known.files` names files of this folder".to_owned())
    } else if SavedFolder::has_edits(Path::new("."))? {
        Some("edits are saved for this folder (`leafgate saved list --workspace .`)".to_owned())
    } else {
        None
    })
}

#[cfg(test)]
mod tests {
    use leafgate_admin::{PolicyStatus, UpstreamStatus};

    use super::*;

    #[test]
    fn a_gate_is_used_only_where_it_leads_there_and_has_the_policy_that_was_named() {
        let origins = [ClientOrigin::of("anthropic", "https://api.anthropic.com").unwrap()];
        let status = |upstream: &str, source: &str| Status {
            upstream: upstream.to_owned(),
            policy: PolicyStatus { source: source.to_owned(), ..PolicyStatus::default() },
            enabled: true,
            ..Status::default()
        };
        let why = |status: &Status, by_name, policy| {
            ChosenGate { status: status.clone(), by_name }.misfit(&origins, policy)
        };
        let here = |source| status("https://api.anthropic.com", source);
        let with_named = |policy: &str| Status {
            upstreams: vec![UpstreamStatus {
                name: "a".to_owned(),
                url: "https://api.anthropic.com".to_owned(),
                prefix: "/u/a".to_owned(),
                policy: Some(PolicyStatus { source: policy.to_owned(), ..PolicyStatus::default() }),
                ..UpstreamStatus::default()
            }],
            ..status("https://a.example", "default")
        };
        assert_eq!(why(&with_named("/p"), true, Some("/p")), None, "an upstream's own policy looks");
        assert_eq!(why(&here("default"), false, None), None);
        assert_eq!(why(&here("/p"), true, Some("/p")), None);
        assert_eq!(why(&here("none"), true, None), None, "it was asked for");
        let own = status("http://127.0.0.1:8000", "default");
        assert_eq!(why(&own, true, None), None, "it may speak any API");
        for (status, by_name, policy) in [
            (here("/p"), true, Some("default")),
            (status("https://api.openai.com", "default"), false, None),
            (status("https://api.openai.com", "default"), true, None),
            (own, false, None),
            (with_named("/p"), true, Some("default")),
        ] {
            assert!(why(&status, by_name, policy).is_some(), "{policy:?}");
        }
    }

    #[test]
    fn a_policy_that_the_environment_names_is_no_other_programs() {
        let settings = |variables: &[(&'static str, &'static str)]| {
            let mut settings =
                Settings::of([leafgate_config::Layer::of_environment(variables.iter().copied()).unwrap()]);
            settings.default_to("workspace", ".".into());
            settings
        };
        assert_eq!(differs_by(&settings(&[("LEAFGATE_LOG", "warn")])).unwrap(), None);
        for variable in ["LEAFGATE_POLICY", "LEAFGATE_WORKSPACE", "LEAFGATE_AGENTS"] {
            let why = differs_by(&settings(&[(variable, "rules")])).unwrap().unwrap();
            assert!(why.contains(variable), "{why}");
        }
        // The folder of the test has a manifest.
        let why = differs_by(&settings(&[("LEAFGATE_KNOWN_FILES", "Cargo.*")])).unwrap();
        assert!(why.is_some_and(|why| why.contains("known.files")));
    }

    #[test]
    fn a_url_leads_to_a_gate_by_all_of_its_address() {
        let listen = "http://127.0.0.1:41".to_owned();
        let gate = RuntimeFile {
            pid: 1,
            admin: String::new(),
            token: String::new(),
            listen,
            ..RuntimeFile::default()
        };
        let running = RunningGate { gates: vec![gate], last: Some("http://127.0.0.1:42".to_owned()) };
        for (url, leads) in [
            ("http://127.0.0.1:41", true),
            ("http://127.0.0.1:41/v1", true),
            ("http://127.0.0.1:4141/v1", false),
            ("https://api.openai.com/v1", false),
            ("http://127.0.0.1:41/u/other/v1", true),
            ("http://127.0.0.1:42/v1", true),
        ] {
            assert_eq!(running.at(url).is_some(), leads, "{url}");
        }
    }
}
