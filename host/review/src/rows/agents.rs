//! What agents asked that others started: what each request consists of, and what it says.

use std::fmt::Write as _;

use leafgate_admin::{SubagentSection, SubagentVerdict, SubagentView, Subagents};

use super::{Row, RowStyle, count_some};

/// Returns the latest requests of agents, newest first, with so many lines of each section's text at most, and how many requests
/// are no longer listed.
pub fn subagent_rows(listed: &Subagents, most: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    if listed.requests.is_empty() {
        rows.push(Row::of("No agent that another one started has asked yet.", RowStyle::Plain));
    }
    for request in &listed.requests {
        rows.push(Row::of(&heading(request), RowStyle::Strong));
        rows.push(Row::of(&told(request), RowStyle::Plain));
        for section in &request.sections {
            rows.push(Row::of(&section_line(section), RowStyle::Dim));
            let lines = section.text.expose().lines();
            rows.extend(
                lines.clone().take(most).map(|line| Row::of(&format!("      {line}"), RowStyle::Plain)),
            );
            let more = count_some(lines.skip(most).count(), "more line");
            rows.extend(more.map(|more| Row::of(&format!("      and {more}"), RowStyle::Dim)));
        }
        let more = count_some(request.total_sections.saturating_sub(request.sections.len()), "more section");
        rows.extend(more.map(|more| Row::of(&format!("    and {more}"), RowStyle::Dim)));
    }
    if listed.trimmed > 0 {
        rows.push(Row::of(
            &format!("{} earlier requests are no longer listed", listed.trimmed),
            RowStyle::Dim,
        ));
    }
    rows
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
    if let Some(number) = request.logged {
        let _ = write!(told, ", request {number} in the log");
    }
    let counts = [count_some(request.edits, "edit"), count_some(request.redactions, "redaction")];
    counts.into_iter().flatten().for_each(|count| told += &format!(", {count}"));
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

    // S0-96
    #[test]
    fn a_request_is_headed_by_session_agent_and_time_with_a_line_for_each_section() {
        let request = SubagentView {
            number: 7,
            session: "S_1".to_owned(),
            label: "chat · claude-code · …a1b2c3".to_owned(),
            agent: Some("reviewer".to_owned()),
            model: Some(ShownText::new("m-1")),
            logged: Some(12),
            verdict: SubagentVerdict::Held,
            at: 0,
            sections: vec![SubagentSection {
                node_type: NodeType::Message,
                kind: SectionKind::User,
                role: Role::User,
                bytes: 42,
                text: ShownText::new("Look at it.\nThen go."),
            }],
            total_sections: 1,
            edits: 0,
            redactions: 2,
        };
        assert_eq!(heading(&request), "chat · claude-code · …a1b2c3 · reviewer · 00:00:00Z");
        assert_eq!(told(&request), "  m-1, held by a rule, request 12 in the log, 2 redactions");
        assert_eq!(section_line(&request.sections[0]), "    user · user · 42 bytes");
        let listed = Subagents { requests: vec![request.clone()], ..Subagents::default() };
        let lines =
            |most| subagent_rows(&listed, most).iter().map(Row::text).collect::<Vec<_>>()[3..].join("|");
        assert_eq!(lines(usize::MAX), "      Look at it.|      Then go.");
        assert_eq!(lines(1), "      Look at it.|      and 1 more line");
        assert!(heading(&SubagentView { agent: None, ..request }).contains(" · agent · "));
    }

    #[test]
    fn a_time_is_that_of_the_day() {
        assert_eq!(time_of_day(1_795_358_411_167), "14:40:11Z");
        assert_eq!(time_of_day(0), "00:00:00Z");
    }
}
