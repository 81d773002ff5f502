//! Options that several commands have: which gate, which policy, which request, which settings.

mod about;
mod pending;
mod request;
mod run;
mod saved;
mod sessions;

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use leafgate_admin::RuntimeFile;
use leafgate_gate::AskedPath;
use leafgate_policy::PolicySource;
use leafgate_tree::Format;

pub(crate) use about::{ConfigCommand, DetectorsCommand, PolicyCommand, SchemaCommand};
pub(crate) use pending::{EditChange, PendingCommand, ResumeArgs, ReviewArgs};
pub(crate) use request::{ApplyArgs, ComposeArgs, RedactArgs, TreeArgs};
pub(crate) use run::{ExecArgs, RunArgs, StopArgs};
pub(crate) use saved::{CaptureArgs, RemoveArgs, SavedCommand, SavedGateArgs, SetSavedArgs, TrustArgs};
pub(crate) use sessions::{ModeArgs, OffArgs, SessionArgs, SessionsCommand};

use crate::admin::AdminClient;
use crate::runtime::{self, GateName};
use crate::{home, managed};

/// Where settings come from beside the environment and the flags that have names of their own.
#[derive(Args, Default)]
pub(crate) struct ConfigArgs {
    /// A configuration file that wins against that of the user, or `none` for neither
    #[arg(long, value_name = "FILE|none")]
    pub(crate) config: Option<PathBuf>,
    /// Set any key of the configuration, as `limits.body=64MiB`; `leafgate config show` lists them
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Which gate to ask.
#[derive(Args)]
pub(crate) struct GateArgs {
    /// The gate to ask, where several run: the port of its URL, or its runtime file
    #[arg(long = "gate", value_name = "PORT|FILE", global = true)]
    pub(crate) name: Option<GateName>,
}

impl GateArgs {
    /// Finds the gate.
    pub(crate) fn find(&self) -> anyhow::Result<RuntimeFile> {
        runtime::find(&runtime::folder()?, self.name.as_ref())
    }

    /// Finds the gate, to be asked.
    pub(crate) fn client(&self) -> anyhow::Result<AdminClient> {
        AdminClient::new(&self.find()?)
    }

    /// Finds the gate that is named, or all that run.
    pub(crate) fn find_all(&self) -> anyhow::Result<Vec<RuntimeFile>> {
        runtime::find_all(&runtime::folder()?, self.name.as_ref())
    }
}

#[derive(Args)]
pub(crate) struct PolicyArg {
    /// A folder of rule files, `default` for the built-in policy, `none`, or `own`: the folder `policy`
    /// beside your configuration, and without it the built-in one
    #[arg(long = "policy", value_name = "DIR|default|none|own", default_value = OWN_POLICY, value_parser = policy_source)]
    pub(crate) source: PolicySource,
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

pub(crate) fn policy_source(text: &str) -> Result<PolicySource, String> {
    Ok(match text {
        "default" => PolicySource::Default,
        "none" => PolicySource::None,
        OWN_POLICY => own_policy().map_or(PolicySource::Default, PolicySource::Own),
        "" => return Err("name a folder, `default`, `none` or `own`".to_owned()),
        folder => PolicySource::Folder(folder.into()),
    })
}

/// Returns a policy as settings name it.
pub(crate) fn policy_name(source: &PolicySource) -> String {
    match source {
        PolicySource::Default => "default".to_owned(),
        PolicySource::None => "none".to_owned(),
        PolicySource::Own(_) => OWN_POLICY.to_owned(),
        PolicySource::Folder(folder) => folder.display().to_string(),
    }
}

/// Returns where a policy comes from, as people are told: an own folder that is not begun is the built-in
/// policy, or what the operator of the machine has put in its place.
pub(crate) fn policy_place(source: &PolicySource) -> String {
    match source {
        PolicySource::Own(folder) if has_rules(folder) => folder.display().to_string(),
        PolicySource::Own(_) | PolicySource::Default => match managed::policy_folder() {
            Some(operators) => operators.display().to_string(),
            None => policy_name(&PolicySource::Default),
        },
        named => policy_name(named),
    }
}

/// Returns whether a folder has rule files.
pub(crate) fn has_rules(folder: &Path) -> bool {
    leafgate_folder::list(folder).is_ok_and(|listing| !listing.rules.is_empty())
}

/// The policy that lets everything pass.
pub(crate) const NO_POLICY: &str = "none";

/// The name of the policy that is the user's own, which serves where none is named.
pub(crate) const OWN_POLICY: &str = "own";

/// Returns its folder, whether it is there or not; `None` for a user without a home.
pub(crate) fn own_policy() -> Option<PathBuf> {
    Some(home::own_file()?.with_file_name("policy"))
}

/// Where a request comes from and how it is read.
#[derive(Args)]
pub(crate) struct RequestArgs {
    /// The format of the request; without it, the one whose shape it has. What is no JSON is one
    /// raw text, which `apply` refuses as a gate does unless `raw` is said
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) format: Option<Format>,
    /// The path that it is sent to, as `/v1beta/models/NAME:generateContent`: of it rules know the
    /// endpoint, and the format, the model and the stream where it names them
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<AskedPath>,
    /// The profile that makes the request, as a base URL chooses it; without it, the first one that is for
    /// the request
    #[arg(long, value_name = "ID")]
    pub(crate) profile: Option<String>,
    /// The request body; `-` or nothing reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

impl RequestArgs {
    /// Returns the format that is named, or the one that the path has.
    pub(crate) fn named_format(&self) -> Option<Format> {
        self.format.or_else(|| self.path.as_ref().and_then(AskedPath::format))
    }
}

/// Parses a format by its name.
pub(crate) fn formats() -> impl TypedValueParser<Value = Format> {
    let value = |format: &Format| PossibleValue::new(format.name()).aliases(format.aliases());
    PossibleValuesParser::new(Format::ALL.iter().map(value))
        .map(|name| Format::from_word(&name).expect("only names of formats are possible"))
}

/// Parses one of these by its name; help has the words behind it, if there are any.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    words: fn(T) -> (&'static str, &'static str),
) -> impl TypedValueParser<Value = T> {
    let named = |value: &T| {
        let (name, help) = words(*value);
        let value = PossibleValue::new(name);
        if help.is_empty() { value } else { value.help(help) }
    };
    PossibleValuesParser::new(all.iter().map(named)).map(move |name| {
        let meant = all.iter().copied().find(|value| words(*value).0 == name);
        meant.expect("only their names are possible")
    })
}
