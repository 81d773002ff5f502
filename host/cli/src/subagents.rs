//! `subagents`: what agents asked that others started, as a running gate saw it.

use std::fmt::Write as _;

use leafgate_admin::{SubagentSection, SubagentVerdict, SubagentView, Subagents};

use crate::admin::AdminClient;
use crate::args::GateArgs;
use crate::exit::Exit;
use crate::print::{Printer, Style};
use crate::status::refused;

/// Lists the latest requests of agents, newest first.
pub(crate) fn run(args: &GateArgs, printer: &mut Printer) -> anyhow::Result<Exit> {
    let gate = AdminClient::new(&args.find()?)?;
    match gate.subagents() {
        Ok(listed) if args.json => printer.json(&listed)?,
        Ok(listed) => list(&listed, printer)?,
        Err(error) => return refused(&error, args.json, printer),
    }
    printer.flush()?;
    Ok(Exit::Done)
}

fn list(listed: &Subagents, printer: &mut Printer) -> anyhow::Result<()> {
    if listed.requests.is_empty() {
        printer.error_line("no agent that another one started has asked yet");
    }
    for request in &listed.requests {
        printer.text(Style::Heading, &heading(request))?;
        printer.line(&told(request))?;
        for section in &request.sections {
            printer.line(&section_line(section))?;
        }
        let more = request.total_sections - request.sections.len();
        if more > 0 {
            printer.line(&format!("    and {more} more sections"))?;
        }
    }
    if listed.trimmed > 0 {
        printer.error_line(&format!("{} earlier requests are no longer listed", listed.trimmed));
    }
    Ok(())
}

/// `<session> · <agent> · hh:mm:ss`, in UTC as logs have it.
fn heading(request: &SubagentView) -> String {
    let agent = request.agent.as_deref().unwrap_or("agent");
    format!("{} · {agent} · {}", request.label, time_of_day(request.at))
}

fn time_of_day(millis: u64) -> String {
    let second = millis / 1000 % (24 * 60 * 60);
    format!("{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

fn told(request: &SubagentView) -> String {
    let mut told = String::from("  ");
    if let Some(model) = &request.model {
        let _ = write!(told, "{}, ", model.expose());
    }
    told.push_str(match request.verdict {
        SubagentVerdict::Sent => "sent",
        SubagentVerdict::Held => "held by a rule",
        SubagentVerdict::Blocked => "blocked by a rule",
    });
    for (count, what) in [(request.edits, "edit"), (request.redactions, "redaction")] {
        if count > 0 {
            let _ = write!(told, ", {count} {what}{}", if count == 1 { "" } else { "s" });
        }
    }
    told
}

fn section_line(section: &SubagentSection) -> String {
    format!("    {} · {} · {} bytes", section.role.name(), section.kind.name(), section.bytes)
}

#[cfg(test)]
mod tests {
    use leafgate_admin::ShownText;
    use leafgate_tree::{NodeType, Role, SectionKind};

    use super::*;

    #[test]
    fn a_request_is_headed_by_session_agent_and_time_with_a_line_for_each_section() {
        let request = SubagentView {
            number: 7,
            session: "S_1".to_owned(),
            label: "chat · claude-code · …a1b2c3".to_owned(),
            agent: Some("reviewer".to_owned()),
            model: Some(ShownText::new("m-1")),
            verdict: SubagentVerdict::Held,
            at: 0,
            sections: vec![SubagentSection {
                node_type: NodeType::Message,
                kind: SectionKind::User,
                role: Role::User,
                bytes: 42,
            }],
            total_sections: 1,
            edits: 0,
            redactions: 2,
        };
        assert_eq!(heading(&request), "chat · claude-code · …a1b2c3 · reviewer · 00:00:00Z");
        assert_eq!(told(&request), "  m-1, held by a rule, 2 redactions");
        assert_eq!(section_line(&request.sections[0]), "    user · user · 42 bytes");
        assert!(heading(&SubagentView { agent: None, ..request }).contains(" · agent · "));
    }

    #[test]
    fn a_time_is_that_of_the_day() {
        assert_eq!(time_of_day(1_795_358_411_167), "14:40:11Z");
        assert_eq!(time_of_day(0), "00:00:00Z");
    }
}
