//! The standing gate: one for each user, on a port that stays.
//!
//! Editors are led by a URL in their settings, so the gate behind it must be there again at the same
//! place. It is started when it is first needed, in a session of its own, and goes on when its starter
//! and its terminal are gone: as long as a program is behind it that `exec` started ([`clients`]) and a
//! while longer, or until it is ended where somebody wants it to stand. What is kept of it lies in
//! `standing.json` of the data folder: the port, and upstreams beside the usual ones. A lock lets one
//! process at a time start or stop it.
//!
//! One that runs with other settings or another build of the program than would be started now is started
//! anew where nobody is behind it.
//!
//! Whoever listens on the port is not taken for it: it is found by its runtime file, which a gate keeps
//! locked while it runs, and which has the token that its admin API answers to. Another program on the
//! port is an error, since editors would send to it.

mod begin;
mod clients;
mod kept;
mod port;

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use leafgate_admin::{RuntimeFile, Status};
use leafgate_config::Settings;
use leafgate_gate::{FirstUpstream, Gate, NamedUpstream, UpstreamName};

pub(crate) use self::clients::ClientsBehind;
pub(crate) use self::kept::StandingRecord;
use crate::admin::AdminClient;
use crate::kept::KeptRecord as _;
use crate::managed::{self, Managed};
use crate::options::StopArgs;
use crate::print::{Exit, Printer};
use crate::runtime::{self, GateName};
use crate::settings::{GateSetup, LogTo};
use crate::stop::Stop;
use crate::vscode::{self, Names};
use crate::{home, private, providers, settings};

const LOCK: &str = "standing.lock";

/// `start`.
pub(crate) fn start(printer: &mut Printer) -> anyhow::Result<Exit> {
    let gate = Standing::lock()?.gate(Need::Standing, printer)?;
    printer.line(&format!("{} stands: `leafgate stop` ends it, `leafgate status` shows it", gate.listen))?;
    Ok(Exit::Done)
}

/// `stop`.
pub(crate) fn stop(args: &StopArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let standing = Standing::lock()?;
    let Some(gate) = standing.find()? else {
        standing.stay(false)?;
        printer.error_line("leafgate: no gate stands");
        return Ok(Exit::Done);
    };
    let pending = ask(&gate).map_or(0, |status| status.pending);
    if pending > 0 && !args.force {
        bail!(
            "{pending} requests wait for a person (`leafgate review`): decide about them, or `leafgate stop --force` refuses them"
        );
    }
    if !args.force && clients::are_there(&standing.data)? {
        bail!(
            "programs that `leafgate exec` started are behind it: end them, or `leafgate stop --force` ends it all the same"
        );
    }
    standing.end(&gate)?;
    standing.stay(false)?;
    printer.line(&format!("{} has ended", gate.listen))?;
    if vscode::is_led(&gate.listen) {
        printer.error_line(
            "leafgate: VS Code still leads there, and reaches no model until `leafgate start`; `leafgate vscode off` takes its settings back",
        );
    }
    Ok(Exit::Done)
}

/// The standing gate that runs, if any.
pub(crate) fn running() -> anyhow::Result<Option<RuntimeFile>> {
    find(&StandingRecord::of_user()?)
}

/// What the standing gate is started with: all that the settings say, the usual upstreams, and those
/// of models of the user's own.
pub(crate) fn setup(settings: &Settings) -> anyhow::Result<GateSetup> {
    let kept = StandingRecord::of_user()?;
    let upstream = |url: &str| settings::upstream_at(settings, url);
    let managed = managed::find()?;
    let mut usual = providers::usual_upstreams();
    // Where the operator names the hosts, the other ones are none.
    usual.retain(|(name, url)| {
        let allowed = |managed: &Managed| url.parse().is_ok_and(|target| managed.allows(&target));
        settings.upstream(name).is_some() || managed.as_ref().is_none_or(allowed)
    });
    let mut setup = match settings.text("upstream") {
        Some(_) => settings::setup(settings)?,
        None => {
            let named = settings.upstreams().next().filter(|_| usual.is_empty());
            let (name, url) = named.map_or_else(|| usual.remove(0), |named| (named.name(), ""));
            let first = match settings.upstream(name) {
                Some(_) => FirstUpstream::Named(name.parse()?),
                None => FirstUpstream::Own(Box::new(upstream(url)?)),
            };
            settings::setup_before(settings, first)?
        }
    };
    for (name, url) in usual.into_iter().chain(kept.upstreams.iter().map(|(url, name)| (name, url))) {
        let named = &mut setup.config.named;
        if !named.iter().any(|known| known.name.as_str() == name) {
            named.push(NamedUpstream { name: name.parse::<UpstreamName>()?, upstream: upstream(url)? });
        }
    }
    if setup.admin_listen.is_none() {
        bail!(
            "commands find the standing gate by its admin API, which the settings switch off (`admin.enabled`)"
        );
    }
    setup.log = LogTo::File;
    setup.standing = Some(begin::started_with()?);
    Ok(setup)
}

/// Returns the URLs of all upstreams that the gate would be started with.
pub(crate) fn upstreams(settings: &Settings) -> anyhow::Result<Vec<String>> {
    Ok(setup(settings)?.config.upstreams().map(|upstream| upstream.target.to_string()).collect())
}

/// Returns whether a name is one of the usual upstreams.
pub(crate) fn is_usual(name: &str) -> bool {
    providers::usual_upstreams().iter().any(|(usual, _)| *usual == name)
}

/// Leaves the session of the starter, whose terminal may close.
pub(crate) fn detach() {
    // Fails for the leader of a process group, which is one where somebody has done the same before.
    let _ = rustix::process::setsid();
}

/// Keeps where the gate of this process serves. `service` is the command that starts it anew, where a
/// service keeps it.
pub(crate) fn serves(listen: &str, service: Option<String>) -> anyhow::Result<()> {
    let data = home::data_folder()?;
    let file = runtime::folder()?.join(runtime::file_of(runtime::address_of(listen)?.port()));
    StandingRecord::change(&data, |kept| {
        // One that came in the place of a service's makes way for it when nobody is behind it.
        let stays = kept.stays && kept.service.is_none();
        StandingRecord { url: Some(listen.to_owned()), file: Some(file), stays, service, ..kept }
    })
}

/// Has the gate of this process end when nobody needs it any more.
pub(crate) fn end_when_idle(gate: Gate, stop: Stop, settings: &Settings) -> anyhow::Result<()> {
    let grace = settings.time("standing.grace").unwrap_or_default();
    clients::end_when_idle(&home::data_folder()?, gate, stop, grace)
}

/// Who needs the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Who leads the editors anew, wherever it stands.
    Editors,
    /// Who wants it to stand until somebody ends it.
    Standing,
    /// A program, as long as it runs.
    Program,
}

/// The standing gate, with no other process starting or stopping it.
pub(crate) struct Standing {
    data: PathBuf,
    _lock: File,
}

impl Standing {
    /// Waits until no other process starts or stops it.
    pub(crate) fn lock() -> anyhow::Result<Standing> {
        Standing::lock_in(&home::data_folder()?)
    }

    fn lock_in(data: &Path) -> anyhow::Result<Standing> {
        let lock = private::lock_file(data, LOCK).and_then(|file| file.lock().map(|()| file));
        let _lock = lock.with_context(|| format!("the lock {} cannot be had", data.join(LOCK).display()))?;
        Ok(Standing { data: data.to_owned(), _lock })
    }

    /// Has it go on as long as the returned value is kept.
    pub(crate) fn join(self) -> anyhow::Result<ClientsBehind> {
        ClientsBehind::join(&self.data)
    }

    /// Has it stand until it is ended, or no longer than programs are behind it.
    pub(crate) fn stay(&self, stays: bool) -> anyhow::Result<()> {
        StandingRecord::change(&self.data, |kept| StandingRecord { stays, ..kept })
    }

    /// Returns whether it is to stand although no program is behind it.
    fn stays(&self) -> anyhow::Result<bool> {
        let kept = StandingRecord::read(&self.data)?;
        Ok(kept.stays || kept.is_led())
    }

    /// Keeps them for the next start.
    pub(crate) fn keep_upstreams(&self, upstreams: Names) -> anyhow::Result<()> {
        StandingRecord::change(&self.data, |kept| StandingRecord { upstreams, ..kept })
    }

    /// Returns the one that runs.
    pub(crate) fn find(&self) -> anyhow::Result<Option<RuntimeFile>> {
        find(&StandingRecord::read(&self.data)?)
    }

    /// Waits until no gate stands, for one that is to stand in its place.
    pub(crate) fn alone(printer: &mut Printer) -> anyhow::Result<Standing> {
        loop {
            let standing = Standing::lock()?;
            let Some(gate) = standing.find()? else { return Ok(standing) };
            let file = standing.runtime_file()?;
            drop(standing);
            printer.error_line(&format!("leafgate: waits for the end of {}", gate.listen));
            if let Some(file) = file {
                file.lock_shared()?;
            }
        }
    }

    /// Returns the address for a gate that begins in this process.
    pub(crate) fn place(&self, settings: &Settings, printer: &mut Printer) -> anyhow::Result<SocketAddr> {
        let kept = StandingRecord::read(&self.data)?;
        let place = port::choose(settings, kept.port()?, !kept.is_led())?;
        place.tell(&place.address.to_string(), printer);
        Ok(place.address)
    }

    /// Ends the gate that runs, so that a service can stand in its place; returns where it listens if it
    /// is in use, and goes on.
    pub(crate) fn give_way(&self) -> anyhow::Result<Option<String>> {
        let Some(gate) = self.find()? else { return Ok(None) };
        if ask(&gate)?.pending > 0 || clients::are_there(&self.data)? {
            return Ok(Some(gate.listen));
        }
        self.end(&gate)?;
        Ok(None)
    }

    /// Forgets that a service kept it.
    pub(crate) fn leave_service(&self) -> anyhow::Result<()> {
        StandingRecord::change(&self.data, |kept| StandingRecord { service: None, stays: false, ..kept })
    }
}

fn find(kept: &StandingRecord) -> anyhow::Result<Option<RuntimeFile>> {
    let folder = runtime::folder()?;
    let running = runtime::find_running(&folder)?.into_iter().find(|gate| gate.standing);
    // Another session of the user may have another runtime folder.
    let elsewhere = || {
        let file = kept.file.clone().filter(|file| file.exists())?;
        runtime::find(&folder, Some(&GateName::File(file))).ok().filter(|gate| gate.standing)
    };
    Ok(running.or_else(elsewhere))
}

/// Asks the gate of a runtime file, which alone knows the token, how it is.
fn ask(gate: &RuntimeFile) -> anyhow::Result<Status> {
    let status = AdminClient::new(gate)?.status();
    status.map_err(|error| anyhow::anyhow!("the gate {} does not answer: {}", gate.listen, error.message))
}
