//! The state machine, where a front end would only be in the way.

use leafgate_admin::{
    AdminCall, Cancel, EditCommand, Event, MetadataField, PolicyStatus, Resume, Resumed, ShownText, State,
    TokenUse, TurnSummary, TurnView,
};
use leafgate_review::{ApiAnswer, ApiCall, Level, Model, ModelEffect, Outline, describe, left_out_by, rows};
use serde::Serialize;

use crate::support::{AGENT, FakeDesk};

fn turn() -> TurnView {
    FakeDesk::with(&[AGENT]).turn("t1").unwrap()
}

fn answer(model: &mut Model, call: AdminCall, json: &impl Serialize) {
    model.answered(&ApiAnswer { call, json: Ok(serde_json::to_vec(json).unwrap()) });
}

fn open(turn: &TurnView) -> Model {
    let mut model = Model::default();
    answer(&mut model, AdminCall::Turn, turn);
    model
}

#[test]
fn a_resume_carries_the_digest_that_was_agreed_to_not_the_present_one() {
    let mut model = open(&turn());
    let resume = ApiCall::of(&Resume { digest: "shown".to_owned() });
    model.act(resume.clone());
    assert_eq!(model.next_effect(), Some(ModelEffect::Ask(resume.on("t1"))));
    assert_eq!(model.next_effect(), None);
}

#[test]
fn the_gates_word_about_ones_own_decision_is_not_said_twice() {
    let mut model = open(&turn());
    let gone = TurnSummary { state: State::Resumed, ..turn().summary };
    answer(&mut model, AdminCall::Resume, &Resumed { turn: gone.clone(), captured: None });
    assert!(model.turn().is_none() && model.turns.is_empty());
    model.notice = None;
    model.on_event(Event::Resolved { turn: gone });
    assert_eq!(model.notice.as_ref(), None);
}

#[test]
fn a_turn_that_ends_elsewhere_is_closed_and_said() {
    let mut model = open(&turn());
    model.on_event(Event::Resolved { turn: TurnSummary { state: State::TimedOut, ..turn().summary } });
    assert!(model.turn().is_none());
    assert!(model.notice.as_ref().unwrap().text.contains("its time was up"));
}

#[test]
fn an_edit_that_brings_a_block_about_is_a_warning() {
    let mut model = open(&turn());
    let mut edited = turn();
    edited.version += 1;
    edited.summary.holds[0].blocks = true;
    answer(&mut model, AdminCall::Edit, &edited);
    let notice = model.notice.as_ref().unwrap();
    assert_eq!(notice.level, Level::Warning);
    assert!(notice.text.contains("Undo or reset"), "{}", notice.text);
}

#[test]
fn an_edit_that_the_api_would_refuse_is_a_warning() {
    let mut model = open(&turn());
    let edited =
        TurnView { invalid: Some("a tool result without its call".to_owned()), version: 9, ..turn() };
    answer(&mut model, AdminCall::Edit, &edited);
    assert!(
        model
            .notice
            .as_ref()
            .unwrap()
            .text
            .starts_with("The API would refuse it: a tool result without its call.")
    );
}

#[test]
fn nothing_can_be_done_to_no_turn() {
    let mut model = Model::default();
    model.act(ApiCall::of(&Cancel {}));
    assert_eq!(model.next_effect(), None);
    assert_eq!(model.notice.as_ref().unwrap().level, Level::Error);
}

#[test]
fn a_refused_policy_is_a_warning() {
    let mut model = Model::default();
    let refused = Some("rules.toml:3: unknown key".to_owned());
    let policy = PolicyStatus {
        source: "default".into(),
        generation: "g1".into(),
        loads: 1,
        failed_loads: 1,
        refused,
        ..PolicyStatus::default()
    };
    model.on_event(Event::Policy { policy });
    assert_eq!(model.notice.as_ref().unwrap().level, Level::Warning);
}

#[test]
fn what_changed_is_named_up_to_a_point() {
    let mut desk = FakeDesk::with(&[AGENT]);
    let before = desk.turn("t1").unwrap();
    assert_eq!(describe(&before, &before), "");
    for pointer in ["/model", "/messages/0/content", "/messages/2/content", "/messages/4/content"] {
        desk.edit("t1", EditCommand::Set { pointer: pointer.to_owned(), text: ShownText::new("other") })
            .unwrap();
    }
    let after = desk.edit("t1", EditCommand::Delete { section: "user-1".to_owned() }).unwrap();
    assert_eq!(describe(&before, &after), "model: changed, System: changed, User: deleted and 4 more");
}

#[test]
fn a_section_whose_parent_is_missing_stands_at_the_edge() {
    let mut turn = turn();
    turn.sections.remove(3);
    let outline = Outline::new(&turn);
    assert_eq!(turn.sections[3].label, "Content #1");
    assert_eq!((outline.entry(3).unwrap().depth, outline.entry(3).unwrap().end), (0, 4));
}

// S0-49, S0-82
#[test]
fn a_turn_shows_its_tokens() {
    let mut turn = turn();
    let shown = |turn: &TurnView| {
        let model = open(turn);
        let rows = rows::header_rows(turn).into_iter();
        let entry = model.outline.entry(0).unwrap();
        let rows = rows.chain([rows::section_row(&turn.sections[0], entry, &[])]);
        let text = |row: rows::Row| row.0.iter().map(|piece| piece.text().to_owned()).collect::<String>();
        rows.map(text).collect::<Vec<_>>().join("\n")
    };
    assert!(!shown(&turn).contains("oken"), "a gate that counts nothing says nothing");
    turn.tokens = Some(TokenUse {
        used: 46_000,
        max: Some(200_000),
        percent: Some(23),
        budget: "23% (46000/200000)".to_owned(),
        tokenizer: "estimate".to_owned(),
        is_estimate: true,
        pinned: 1_200,
        pinned_percent: 3,
    });
    (turn.sections[0].token_count, turn.sections[0].token_percent) = (Some(1), Some(8));
    let text = shown(&turn);
    assert!(
        text.contains("Token budget: 23% (46000/200000), an estimate · 1200 tokens pinned, 3%"),
        "{text}"
    );
    assert!(text.contains("  1 token · 8%"), "{text}");
}

/// A call of an answer stands in a message of its own, and goes with it.
#[test]
fn a_call_that_is_all_of_its_message_is_left_out_by_it() {
    let call = |id: &str| {
        format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}}"#
        )
    };
    let body = format!(r#"{{"model":"m","messages":[{},{}]}}"#, call("a"), call("b"));
    let mut desk = FakeDesk::with(&[&body]);
    let turn = desk.turn("t1").unwrap();
    let second = turn.sections.iter().rposition(|section| section.parent.as_deref() == Some("assistant-1"));
    assert_eq!(left_out_by(&turn, second.unwrap()), Some("assistant-1"));
    let after = desk.edit("t1", EditCommand::Delete { section: "assistant-1".to_owned() }).unwrap();
    assert!(after.sections.iter().any(|section| section.key == "assistant-1" && section.deleted));
    // Beside words it does not go alone, and nothing else goes for it.
    let turn = FakeDesk::with(&[AGENT]).turn("t1").unwrap();
    for (at, section) in turn.sections.iter().enumerate() {
        assert_eq!(left_out_by(&turn, at), Some(section.key.as_str()));
    }
}

// S0-100, S0-101
#[test]
fn chosen_fields_are_shown_in_their_order_and_the_budget_in_any_case() {
    let shown = |fields: &[MetadataField]| {
        let mut request = FakeDesk::with(&[AGENT]).turns[0].request();
        request.metadata.fields = fields.to_vec();
        rows::metadata_rows(Some(&request)).iter().map(rows::Row::text).collect::<Vec<_>>()
    };
    let budget = "token budget    23% (46000/200000), an estimate";
    assert_eq!(shown(&[]), [budget]);
    assert_eq!(shown(&MetadataField::DEFAULT), ["session         session-1", "request         0f3a", budget]);
    let chosen = [MetadataField::Dirty, MetadataField::Intent, MetadataField::Model];
    let dirty = "dirty           yes: what leaves differs from what came";
    assert_eq!(shown(&chosen), [dirty, "model           gpt-4o", budget]);
}
