//! `mode`, `sessions` and `subagents`: which turns of a running gate wait for a person, and what agents
//! asked there that others started.

use std::time::Duration;

use leafgate_admin::{
    ApiError, ErrorCode, Follow, ModeView, SavedStatus, Select, SessionList, SessionView, SetMode, Status,
    SwitchOff, TurnMode,
};
use leafgate_review::rows;

use crate::admin::AdminClient;
use crate::options::{GateArgs, ModeArgs, NO_POLICY, SessionArgs, SessionsCommand};
use crate::print::{Exit, Printer, Style};

/// Shows the mode, or chooses one.
pub(crate) fn run(args: &ModeArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let gate = args.gate.client()?;
    let mode = match args.mode {
        Some(mode) => gate.command("", &SetMode { mode })?,
        None => gate.view("")?,
    };
    printer.show(&mode, print)
}

/// Has everything pass as it comes for a time, or the policy look again.
pub(crate) fn switch_off(gate: &GateArgs, time: Duration, printer: &mut Printer) -> anyhow::Result<Exit> {
    let command = SwitchOff { seconds: u32::try_from(time.as_secs()).unwrap_or(u32::MAX) };
    let mode = gate.client()?.command("", &command)?;
    printer.show(&mode, |mode, printer| {
        if mode.off_seconds.is_none() {
            return printer.line("the policy looks at every request");
        }
        printer.error_line(&format!("leafgate: SWITCHED OFF: {}; `leafgate on` ends it", mode.text));
        Ok(())
    })
}

fn print(mode: &ModeView, printer: &mut Printer) -> anyhow::Result<()> {
    printer.text(Style::Strong, &mode.label)?;
    printer.line(&format!(" ({})", mode.mode.name()))?;
    printer.line(&mode.text)?;
    if let Some(saved) = &mode.saved {
        printer.line(&saved_edits(saved))?;
    }
    if let Some(idle) = &mode.idle {
        printer.line(idle)?;
    }
    if let Some(why) = &mode.not_kept {
        printer.error_line(&format!("the mode could not be kept for the next start: {why}"));
    }
    Ok(())
}

/// Lists the conversations, or chooses among them.
pub(crate) fn sessions(
    gate: &GateArgs,
    command: &SessionsCommand,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let gate = gate.client()?;
    let listed = match command {
        SessionsCommand::List => gate.view(""),
        SessionsCommand::Select(session) => on(&gate, session, |gate, id| gate.command(id, &Select {})),
        SessionsCommand::Close(session) => on(&gate, session, |gate, id| gate.close(id)),
        SessionsCommand::Follow { follow } => gate.command("", &Follow { follow: *follow }),
    };
    printer.show(&listed?, list)
}

fn on(
    gate: &AdminClient,
    args: &SessionArgs,
    call: impl FnOnce(&AdminClient, &str) -> Result<SessionList, ApiError>,
) -> Result<SessionList, ApiError> {
    let listed = gate.view::<SessionList>("")?;
    call(gate, named(&listed.sessions, &args.id)?)
}

/// The session that a person means by its id or the end of it, as labels show it.
fn named<'l>(sessions: &'l [SessionView], name: &str) -> Result<&'l str, ApiError> {
    let end = name.trim_start_matches('…');
    let mut ends = sessions.iter().filter(|session| !end.is_empty() && session.id.ends_with(end));
    let refuse = |message: &str| {
        Err(ApiError {
            code: ErrorCode::NotFound,
            message: message.to_owned(),
            hint: Some("`leafgate sessions list` shows them".to_owned()),
        })
    };
    match (sessions.iter().find(|session| session.id == end), ends.next(), ends.next()) {
        (Some(session), ..) | (None, Some(session), None) => Ok(&session.id),
        (None, None, _) => refuse("no session ends so"),
        (None, Some(_), Some(_)) => refuse("several sessions end so: give more of the id"),
    }
}

fn list(listed: &SessionList, printer: &mut Printer) -> anyhow::Result<()> {
    printer.none(listed.sessions.len(), "no conversation has come yet");
    let sessions = listed.sessions.iter().map(rows::session_row);
    Ok(printer.rows(&sessions.chain([rows::follow_row(listed)]).collect::<Vec<_>>())?)
}

/// Lists the latest requests of agents, newest first.
pub(crate) fn subagents(gate: &GateArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let listed = gate.client()?.subagents()?;
    printer.show(&listed, |listed, printer| printer.rows(&rows::subagent_rows(listed, usize::MAX)))
}

/// What is said of a mode that a gate, or a program behind it, begins with; nothing where turns are sent.
pub(crate) fn at_start(mode: TurnMode, has_admin: bool) -> Option<String> {
    let label = Some(mode).filter(|mode| *mode != TurnMode::Off)?.label();
    let what = match has_admin {
        true => "`leafgate mode off` sends turns normally",
        false => "nobody can decide without an admin API, so what pauses ends at its deadline",
    };
    Some(format!("leafgate: the mode is: {label}; {what}"))
}

/// Returns why a gate that is switched off is, and what ends it.
pub(crate) fn why_off(status: &Status) -> String {
    match status.mode.as_ref().and_then(|mode| mode.off_seconds) {
        Some(left) => format!("switched off for {left} s more, `leafgate on` ends it"),
        None => "switched off (setting `enabled`)".to_owned(),
    }
}

/// Returns why no rule looks at what passes a gate by this policy; `None` where rules do.
pub(crate) fn unguarded(status: &Status, policy: &str) -> Option<String> {
    match policy {
        _ if !status.enabled => Some(format!("is {}", why_off(status))),
        NO_POLICY => Some("has no policy".to_owned()),
        _ => None,
    }
}

/// Returns the banner of saved edits, and how many did not fit.
pub(crate) fn saved_edits(saved: &SavedStatus) -> String {
    let drifted = match saved.drifted {
        0 => String::new(),
        drifted => {
            format!("; {drifted} of {} did not fit the last turn: see `leafgate saved list`", saved.edits)
        }
    };
    format!("{}: {}{drifted}", saved.title, saved.subtitle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> Vec<SessionView> {
        ["SESSION_habc123", "SESSION_hxyc123", "SESSION_h77"]
            .map(|id| SessionView { id: id.to_owned(), ..SessionView::default() })
            .into()
    }

    #[test]
    fn a_session_is_named_by_its_id_or_by_an_end_that_is_its_own() {
        let sessions = sessions();
        for (name, id) in [
            ("SESSION_habc123", "SESSION_habc123"),
            ("…bc123", "SESSION_habc123"),
            ("yc123", "SESSION_hxyc123"),
            ("77", "SESSION_h77"),
        ] {
            assert_eq!(named(&sessions, name).unwrap(), id, "{name}");
        }
        for name in ["", "…", "c123", "8", "SESSION"] {
            assert_eq!(named(&sessions, name).unwrap_err().code, ErrorCode::NotFound, "{name}");
        }
    }
}
