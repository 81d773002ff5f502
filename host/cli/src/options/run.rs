//! A gate, and the clients behind it: `run`, `exec`, `stop`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use leafgate_config::Layer;
use leafgate_http::listen_address;
use leafgate_policy::PolicySource;

use super::{ConfigArgs, policy_name, policy_source};
use crate::runtime::GateName;

#[derive(Args)]
pub(crate) struct RunArgs {
    /// The loopback address to listen on; port 0 takes a free one. The first line of output is the
    /// gate's URL [default: 127.0.0.1:4141]
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// A folder of rule files, `default` for the built-in policy, `none`, or `own`: the folder `policy`
    /// beside your configuration, and without it the built-in one [default: own]
    #[arg(long, value_name = "DIR|default|none|own", value_parser = policy_source)]
    policy: Option<PolicySource>,
    /// Serve a policy only where it passes the tests in its folder: at the start, and at each change
    #[arg(long)]
    require_tests: bool,
    /// Where requests go: https://host, http://host, echo: for a built-in endpoint that answers with
    /// the request it got, or the name of an upstream of the configuration
    #[arg(long, value_name = "URL|NAME")]
    upstream: Option<String>,
    /// The file of the team that serves /agents/v1; without it, `agents.json` of the policy folder
    #[arg(long, value_name = "FILE")]
    agents: Option<PathBuf>,
    /// The folder whose saved edits of the workspace are used; without it, the present one
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The loopback address of the admin API, which `status`, `pending` and `review` ask [default:
    /// 127.0.0.1:0]
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    admin_listen: Option<SocketAddr>,
    /// Serve no admin API: paused requests then wait for nothing but their deadline
    #[arg(long, conflicts_with = "admin_listen")]
    no_admin: bool,
    /// Show the approval prompt in this terminal; the log goes to `run.log` in the data folder
    #[arg(long, conflicts_with = "no_admin")]
    pub(crate) review: bool,
    /// A command for `sh -c` when a request begins to wait. It reads LEAFGATE_TURN,
    /// LEAFGATE_SESSION, LEAFGATE_RULES and LEAFGATE_REASON, and nothing of what the request says
    #[arg(long, value_name = "CMD", conflicts_with = "no_admin")]
    notify_command: Option<String>,
    /// As the gate of the user that stands: `leafgate start`
    #[arg(long, hide = true, conflicts_with_all = ["review", "no_admin"])]
    pub(crate) standing: bool,
    /// Answer the client of a cancelled request with the reason as the model's words, instead of an
    /// error
    #[arg(long)]
    answer_cancelled: bool,
    /// Keep no log of requests. Otherwise each request and its answer is logged in the data folder,
    /// with all findings masked: see `leafgate log`
    #[arg(long)]
    no_log: bool,
    /// Send a request only when it is in the log, and none that cannot be logged
    #[arg(long, conflicts_with = "no_log")]
    log_required: bool,
    /// MiB of log beyond which the oldest requests are removed [default: 1024]
    #[arg(long, value_name = "MIB", conflicts_with = "no_log",
        value_parser = clap::value_parser!(u64).range(1..=1024 * 1024))]
    log_size: Option<u64>,
    /// Days after which requests are removed from the log [default: 30]
    #[arg(long, value_name = "DAYS", conflicts_with = "no_log",
        value_parser = clap::value_parser!(u32).range(1..=36_500))]
    log_days: Option<u32>,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

impl RunArgs {
    /// Returns what the flags set.
    pub(crate) fn layer(&self) -> anyhow::Result<Layer> {
        let path = |path: &PathBuf| path.display().to_string();
        let on = |said: bool| said.then(|| true.to_string());
        let off = |said: bool| said.then(|| false.to_string());
        let mut layer = Layer::default();
        for (flag, key, value) in [
            ("--listen", "listen", self.listen.map(|address| address.to_string())),
            ("--policy", "policy", self.policy.as_ref().map(policy_name)),
            ("--require-tests", "require-tests", on(self.require_tests)),
            ("--upstream", "upstream", self.upstream.clone()),
            ("--workspace", "workspace", self.workspace.as_ref().map(path)),
            ("--admin-listen", "admin.listen", self.admin_listen.map(|address| address.to_string())),
            ("--no-admin", "admin.enabled", off(self.no_admin)),
            ("--notify-command", "notify-command", self.notify_command.clone()),
            ("--agents", "agents", self.agents.as_ref().map(path)),
            ("--answer-cancelled", "answer-cancelled", on(self.answer_cancelled)),
            ("--no-log", "store.enabled", off(self.no_log)),
            ("--log-required", "store.required", on(self.log_required)),
            ("--log-size", "store.size", self.log_size.map(|size| format!("{size} MiB"))),
            ("--log-days", "store.days", self.log_days.map(|days| days.to_string())),
        ] {
            if let Some(value) = value {
                layer.set_flag(flag, key, &value).map_err(anyhow::Error::msg)?;
            }
        }
        Ok(layer)
    }
}

#[derive(Args)]
pub(crate) struct ExecArgs {
    /// The gate to use: the port of its URL, or its runtime file. Without it, the one of the user, which
    /// all programs share and which is started where it does not run
    #[arg(long, value_name = "PORT|FILE", conflicts_with_all = ["own", "set", "config"])]
    pub(crate) gate: Option<GateName>,
    /// Start a gate for this program alone, which ends with it; so does any option that says how a gate
    /// is to be: --policy, --upstream, --config, --set
    #[arg(long)]
    pub(crate) own: bool,
    /// A folder of rule files, `default` for the built-in policy, `none`, or `own`
    #[arg(long, value_name = "DIR|default|none|own", value_parser = policy_source)]
    pub(crate) policy: Option<PolicySource>,
    /// Where requests go; without it, where the program would send them by itself
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<String>,
    /// Starts the program although a setting or variable of this name stands that may lead it past
    /// the gate
    #[arg(long, value_name = "NAME")]
    pub(crate) allow: Vec<String>,
    /// Lets the program reach the gate alone, and no other place over TCP
    #[arg(long)]
    pub(crate) only: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

impl ExecArgs {
    /// Returns whether something was said of how the gate is to be, or that it is to be another one.
    pub(crate) fn wants_own_gate(&self) -> bool {
        let ConfigArgs { config, set } = &self.config;
        let says = config.is_some() || !set.is_empty() || self.policy.is_some() || self.upstream.is_some();
        self.own || says
    }
}

#[derive(Args)]
pub(crate) struct StopArgs {
    /// End it even where requests wait for a person, which are refused, and programs are behind it
    #[arg(long)]
    pub(crate) force: bool,
}
