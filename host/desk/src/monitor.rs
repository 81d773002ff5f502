//! What agents asked that others started: the latest requests of theirs, for people to look at.
//!
//! Such a request waits for nobody because of a mode, so here is where a person sees that it was.
//! A record has what would leave, so no redacted value, and `Debug` prints no text of it.

use std::collections::VecDeque;

use leafgate_admin::{ShownText, SubagentSection, SubagentVerdict, SubagentView, Subagents};
use leafgate_tree::{Access, Draft};

use crate::identity::Title;
use crate::summary::model;

/// Sections that a record names. The first ones: instructions, and what the agent was told to do.
const SECTIONS: usize = 40;

/// Bytes of texts that a record keeps.
const TEXTS: usize = 64 * 1024;

/// Describes a request of an agent by its draft after the policy, and the model that its path names. Its number is given to it when it
/// is kept, and whoever has a clock says when it came.
pub fn agent_request(
    draft: &Draft,
    session: &str,
    title: &Title,
    by_path: Option<&str>,
    agent: Option<&str>,
    verdict: SubagentVerdict,
) -> SubagentView {
    let document = draft.document();
    let outermost = || document.sections().iter().filter(|section| section.parent.is_none());
    let mut room = TEXTS;
    let sections = outermost().take(SECTIONS).map(|section| {
        let leaves = document.lasting_leaves(section.node);
        let said = leaves.filter(|leaf| leaf.access() != Access::Protected);
        let texts: Vec<_> = said.map(|leaf| draft.text(leaf.id()).into_cow()).collect();
        let mut text = texts.join("\n");
        text.truncate(text.floor_char_boundary(room));
        room -= text.len();
        SubagentSection {
            node_type: section.node_type,
            kind: section.kind,
            role: section.role,
            bytes: texts.iter().map(|text| text.len()).sum(),
            text: ShownText::new(text),
        }
    });
    SubagentView {
        number: 0,
        session: session.to_owned(),
        label: title.label(session),
        agent: agent.map(str::to_owned),
        model: model(draft, by_path).map(ShownText::new),
        logged: None,
        verdict,
        at: 0,
        sections: sections.collect(),
        total_sections: outermost().count(),
        edits: draft.standing_edits().len(),
        redactions: draft.standing_redactions().len(),
    }
}

/// The latest requests of agents. Bounded by [`crate::DeskLimits::subagents`].
#[derive(Debug, Default)]
pub(crate) struct Monitor {
    /// Oldest first.
    requests: VecDeque<SubagentView>,
    /// How many came, those that are forgotten included.
    seen: u64,
}

impl Monitor {
    /// Keeps a request, and forgets the oldest beyond the bound. Returns it with its number.
    pub(crate) fn keep(&mut self, request: SubagentView, limit: usize) -> SubagentView {
        self.seen += 1;
        let request = SubagentView { number: self.seen, ..request };
        self.requests.push_back(request.clone());
        let beyond = self.requests.len().saturating_sub(limit);
        self.requests.drain(..beyond);
        request
    }

    /// Forgets what came of a session.
    pub(crate) fn forget(&mut self, session: &str) {
        self.requests.retain(|request| request.session != session);
    }

    /// Lists the kept requests, newest first.
    pub(crate) fn list(&self) -> Subagents {
        let requests: Vec<_> = self.requests.iter().rev().cloned().collect();
        Subagents { trimmed: self.seen - requests.len() as u64, requests, seen: self.seen }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use leafgate_tree::{Author, Document, Format, Limits, Redaction, Role};

    use super::*;

    fn request(session: &str, body: &str) -> SubagentView {
        let document =
            Document::parse(body.to_owned().into(), Format::OpenaiChat, &Limits::default()).unwrap();
        let mut draft = Draft::new(Arc::new(document));
        let node = draft.document().resolve("/messages/1/content").unwrap();
        let redaction = Redaction::new(0..5, "NAME", "NAME_x");
        draft.redact(node, &[redaction], &Author::rule("names")).unwrap();
        let title = Title { location: "chat".into(), name: "agent".into() };
        agent_request(&draft, session, &title, None, Some("a9da"), SubagentVerdict::Sent)
    }

    const BODY: &str = r#"{"model": "m", "messages": [{"role": "system", "content": "Count."},
        {"role": "user", "content": "Janet's files"}]}"#;

    // S0-97
    #[test]
    fn the_latest_requests_are_kept_in_a_bound_and_go_with_their_session() {
        let mut monitor = Monitor::default();
        for number in 1..=5 {
            let session = if number % 2 == 0 { "S_even" } else { "S_odd" };
            monitor.keep(request(session, BODY), 3);
        }
        let listed = |monitor: &Monitor| {
            let Subagents { requests, seen, trimmed } = monitor.list();
            (requests.iter().map(|request| request.number).collect::<Vec<_>>(), seen, trimmed)
        };
        assert_eq!(listed(&monitor), (vec![5, 4, 3], 5, 2));
        monitor.forget("S_odd");
        assert_eq!(listed(&monitor), (vec![4], 5, 4));
    }

    #[test]
    fn the_texts_of_a_record_have_a_bound() {
        let long = "é".repeat(TEXTS);
        let request = request(
            "S_1",
            &format!(
                r#"{{"messages": [{{"role": "user", "content": "Hello"}},
            {{"role": "user", "content": "Janet {long}"}}, {{"role": "user", "content": "more"}}]}}"#
            ),
        );
        let kept: usize = request.sections.iter().map(|section| section.text.expose().len()).sum();
        assert!((TEXTS - 1..=TEXTS).contains(&kept), "{kept}");
        assert_eq!(request.sections[2].bytes, 4);
    }

    #[test]
    fn invariant_6_a_record_has_what_would_leave_and_prints_no_text() {
        let request = request("S_1", BODY);
        let sizes: Vec<_> = request.sections.iter().map(|section| (section.role, section.bytes)).collect();
        assert!(sizes.contains(&(Role::User, "NAME_x's files".len())), "{sizes:?}");
        assert_eq!((request.redactions, request.model.as_ref().map(ShownText::expose)), (1, Some("m")));
        let said: String = request.sections.iter().map(|section| section.text.expose()).collect();
        assert!(said.contains("NAME_x's files") && !said.contains("Janet"), "{said}");
        assert!(!format!("{request:?}").contains("files"));
    }

    // S0-95
    #[test]
    fn a_long_request_is_named_by_its_first_sections() {
        let messages: Vec<_> =
            (0..100).map(|n| format!(r#"{{"role": "user", "content": "message {n}"}}"#)).collect();
        let request = request("S_1", &format!(r#"{{"messages": [{}]}}"#, messages.join(",")));
        assert_eq!(request.sections.len(), SECTIONS);
        assert_eq!(request.sections[2].text.expose(), "message 2");
        assert!(request.total_sections >= 100, "{}", request.total_sections);
    }
}
