//! `promote`: a rule that only counted acts from now on, where the log says that it was not wrong.
//!
//! Only matches under the rules that the folder loads to count: the log knows rules by their ids alone, and
//! another folder's rule may have the same. An exception in a file of its own forgets none of them but those
//! that were called wrong before it came.

use std::time::Duration;

use anyhow::bail;
use clap::Args;
use leafgate_policy::promotion;
use leafgate_store::RuleHits;
use serde_json::json;

use crate::except::TargetFile;
use crate::options::PolicyArg;
use crate::print::{Exit, Printer};
use crate::{log, moments, policy};

#[derive(Args)]
pub(crate) struct PromoteArgs {
    /// The rule, which has `mode = "monitor"` or `"warn"`. What matched counts where the policy's
    /// rules judged it as they stand now: a change of its folder begins anew, one of `exceptions.toml` does not
    #[arg(value_name = "RULE")]
    rule: String,
    #[command(flatten)]
    policy: PolicyArg,
    /// In how many requests it must have matched and not been called wrong
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..))]
    hits: i64,
    /// Only what came in this last while, as since the rule was changed: 90s, 15m, 1h, 7d, 2w
    #[arg(long, value_name = "TIME", value_parser = moments::span)]
    since: Option<Duration>,
}

pub(crate) fn run(args: &PromoteArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let Some(folder) = args.policy.source.folder() else {
        bail!("the rules of a built-in policy act: name a policy folder with `--policy DIR`")
    };
    let rule = &args.rule;
    let promotion = promotion(folder, rule)?;
    // The log has rules by id, and other folders may have that id too: what counts is what this very
    // policy has judged, in which the rule only counts.
    let policy = policy::load(&args.policy.source)?;
    let (generation, rules) = (policy.generation_name(), policy.rules_name());
    let hits = log::open()?.hits(rule, &generation, &rules, &log::filter(args.since, None))?;
    is_proven(&hits, rule, args.hits)?;
    let name = promotion.path.file_name().unwrap_or_default();
    let target = TargetFile::new(&args.policy.source, name.as_ref())?;
    target.replace(Some(&promotion.before), &promotion.after, &|_| true)?;
    let RuleHits { requests, right, wrong_before, .. } = hits;
    let file = promotion.path.display().to_string();
    let mut line = format!(
        "{file}: rule `{rule}` acts from now on: it matched in {requests} requests, and {right} are called right"
    );
    if wrong_before > 0 {
        line += &format!("; {wrong_before} more were called wrong before `exceptions.toml` was changed");
    }
    let done = json!({
        "file": file, "rule": rule, "requests": requests, "right": right, "wrongBefore": wrong_before,
    });
    printer.tell(&done, &line)
}

/// Refuses a rule that is called wrong, or was not seen often enough.
fn is_proven(hits: &RuleHits, rule: &str, wanted: i64) -> anyhow::Result<()> {
    if hits.wrong > 0 {
        let named: Vec<String> = hits.wrong_in.iter().map(i64::to_string).collect();
        bail!(
            "rule `{rule}` is called wrong in {} of {} requests ({}): narrow it, and count with `--since` what came after",
            hits.wrong,
            hits.requests,
            named.join(", ")
        );
    }
    if hits.requests < wanted {
        let elsewhere = match hits.elsewhere {
            0 => String::new(),
            more => format!(
                ". {more} more do not count: a rule of this id matched there under another policy, or under this one \
                 before it was changed"
            ),
        };
        bail!(
            "rule `{rule}` matched in {} requests of the log, and {wanted} are wanted: wait, or say `--hits`{elsewhere}",
            hits.requests
        );
    }
    Ok(())
}
