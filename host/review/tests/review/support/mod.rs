//! A gate in memory: real documents and drafts, so that edits, undo and redaction are those of the
//! product.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use leafgate_admin::{
    AdminCall, ApiError, AutoState, CaptureTurn, CapturedEdits, Diff, EditCommand, EditView, EditableRequest,
    ErrorCode, Except, Excepted, Follow, HoldPlace, HoldState, HoldView, LeafDiff, LeafView, LeftOutEdit,
    MetadataField, ModeView, NoteView, OnDrift, OnTimeout, Payload, Pending, Pins, RawJson, RedactedSpan,
    RequestMetadata, Resume, Resumed, SavedEditView, SavedList, SavedScope, SavedStatus, SectionView,
    SessionList, SessionView, SetMode, SetSaved, ShownText, State, SubagentSection, SubagentVerdict,
    SubagentView, Subagents, TokenUse, ToolInvocation, TurnClass, TurnMode, TurnSummary, TurnView,
};
use leafgate_review::{AdminApi, ApiCall};
use leafgate_tree::{
    Author, Document, Draft, EditKind, Format, Leaf, Limits, MarkedSpan, NodeId, NodeType, Redaction,
    ReleaseTerms, Role, Section, SectionId, SectionKind,
};
use serde::Serialize;

/// The secret of this gate, and the token that it puts in its place.
pub(crate) const SECRET: &str = "hunter2";
const TOKEN: &str = "PASSWORD_k7f3q2xw9mz4ab6c";

/// What a rule redacts that lets a person release it, and the token in its place.
pub(crate) const CONTACT: &str = "jo@example.com";
const CONTACT_TOKEN: &str = "EMAIL_m2c4x8tq5r7wz3ka";

pub(crate) const AGENT: &str = r#"{"model":"gpt-4o","temperature":0.2,"messages":[
{"role":"system","content":"You are a coding agent.\nAnswer briefly."},
{"role":"user","content":[{"type":"text","text":"Why does the login fail on production?"},{"type":"text","text":"Look at the database first."}]},
{"role":"assistant","content":"I look into the users table.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"run_sql","arguments":"{\"query\":\"select * from users\",\"limit\":10}"}}]},
{"role":"tool","tool_call_id":"call_1","content":"host: prod-db\nuser: admin\npassword: hunter2\nrows: 10"},
{"role":"user","content":"Now explain it."}]}"#;

/// A request whose texts try to take the terminal over.
pub(crate) fn hostile_body() -> String {
    let text = format!(
        "\\u001b]52;c;cm0gLXJm\\u0007\\u001b[2Jclear \\u202etxt.exe\\u202c zero\\u200bwidth \\u009b31m \\\\u{{1b}} tab\\tend\\n{} {}",
        "日本語のとても長い行".repeat(12),
        "👨\u{200d}👩\u{200d}👧 👍🏽 e\u{301}"
    );
    format!(
        r#"{{"model":"gpt-\u001b[31m4o","messages":[{{"role":"user","content":"{text}"}},{{"role":"user","content":"{}"}}]}}"#,
        "very long ".repeat(400)
    )
}

pub(crate) struct FakeDesk {
    pub(crate) turns: Vec<FakeTurn>,
    /// Answers the next call with this.
    pub(crate) fail_next: Option<ApiError>,
    /// Has no body to show.
    pub(crate) has_no_payload: bool,
    /// The mode in force.
    pub(crate) mode: TurnMode,
    pub(crate) sessions: SessionList,
    pub(crate) subagents: Subagents,
    /// Digests that were resumed.
    pub(crate) resumed: Vec<String>,
    pub(crate) cancelled: Vec<String>,
    /// Why values were excepted.
    pub(crate) excepted: Vec<String>,
    /// Why none may be.
    pub(crate) not_exceptable: Option<&'static str>,
    pub(crate) saved: SavedList,
}

pub(crate) struct FakeTurn {
    pub(crate) summary: TurnSummary,
    pub(crate) draft: Draft,
    pub(crate) notes: Vec<NoteView>,
    pins: Vec<String>,
    last_version: u64,
    undone: usize,
}

fn session(number: u64, active: bool) -> SessionView {
    SessionView {
        id: format!("SESSION_{number}"),
        label: format!("chat · claude-code · …3f{number}a"),
        words: active.then(|| ShownText::new("Why is the sky blue?")),
        active,
        requests: number,
        pending: usize::from(active),
        silent_ms: 5_000 * number,
    }
}

fn saved_status() -> SavedStatus {
    SavedStatus {
        title: "Auto-apply edits · Session".to_owned(),
        subtitle: "Capturing next turn · showing first 3 sections".to_owned(),
        scope: SavedScope::Session,
        preview_limit: 3,
        on_drift: OnDrift::Skip,
        actions: Vec::new(),
        edits: 2,
        drifted: 1,
    }
}

fn saved_edit(id: &str, scope: SavedScope) -> SavedEditView {
    SavedEditView {
        id: id.to_owned(),
        scope,
        session: None,
        action: "set".to_owned(),
        title: "Edited".to_owned(),
        format: "openai-chat".to_owned(),
        path: "messages[0].content".to_owned(),
        pointer: "/messages/0/content".to_owned(),
        role: Role::System,
        section: SectionKind::System,
        leaf: None,
        replaces: "aa".to_owned(),
        on_drift: OnDrift::Skip,
        updated_at: "2026-11-28T14:00:00Z".to_owned(),
        text: None,
        last: None,
    }
}

/// A request of an agent that another one started.
pub(crate) fn subagent(number: u64, verdict: SubagentVerdict) -> SubagentView {
    SubagentView {
        number,
        session: "SESSION_1".to_owned(),
        label: "chat · claude-code · …3f1a".to_owned(),
        agent: Some("reviewer".to_owned()),
        model: Some(ShownText::new("gpt-4o")),
        logged: Some(40 + number as i64),
        verdict,
        at: 1_795_358_411_167 + number * 1000,
        sections: vec![SubagentSection {
            node_type: NodeType::Message,
            kind: SectionKind::User,
            role: Role::User,
            bytes: 42,
            text: ShownText::new("Look at every file.\nThen say what is wrong."),
        }],
        total_sections: 3,
        edits: 0,
        redactions: 2,
    }
}

impl FakeDesk {
    pub(crate) fn with(bodies: &[&str]) -> FakeDesk {
        let turns = bodies.iter().enumerate().map(|(at, body)| FakeTurn::new(at + 1, body)).collect();
        FakeDesk {
            turns,
            fail_next: None,
            has_no_payload: false,
            mode: TurnMode::Off,
            sessions: SessionList { sessions: vec![session(1, true), session(2, false)], follow: true },
            subagents: Subagents::default(),
            resumed: Vec::new(),
            cancelled: Vec::new(),
            excepted: Vec::new(),
            not_exceptable: None,
            saved: SavedList {
                auto: Some(AutoState::Applying),
                status: saved_status(),
                workspace: None,
                edits: vec![saved_edit("1a", SavedScope::Session), saved_edit("2b", SavedScope::Global)],
                problems: Vec::new(),
            },
        }
    }

    fn find(&mut self, id: &str) -> Result<&mut FakeTurn, ApiError> {
        if let Some(error) = self.fail_next.take() {
            return Err(error);
        }
        let turn = self.turns.iter_mut().find(|turn| turn.summary.id == id);
        turn.ok_or_else(|| {
            error(
                ErrorCode::NotFound,
                "no such turn waits",
                Some("it was decided elsewhere, or its time was up"),
            )
        })
    }

    fn end(&mut self, id: &str, state: State) -> TurnSummary {
        let at = self.turns.iter().position(|turn| turn.summary.id == id).unwrap();
        TurnSummary { state, ..self.turns.remove(at).summary }
    }
}

pub(crate) fn error(code: ErrorCode, message: &str, hint: Option<&str>) -> ApiError {
    ApiError { code, message: message.into(), hint: hint.map(str::to_owned) }
}

fn json(answer: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    Ok(serde_json::to_vec(answer).unwrap())
}

impl AdminApi for FakeDesk {
    fn make(&mut self, call: &ApiCall) -> Result<Vec<u8>, ApiError> {
        let ApiCall { call, id, body } = call;
        let body = body.clone().unwrap_or_default();
        match call {
            AdminCall::Pending => json(&Pending { turns: self.pending()? }),
            AdminCall::Turn => json(&self.turn(id)?),
            AdminCall::Edit => json(&self.edit(id, serde_json::from_value(body).unwrap())?),
            AdminCall::Except => json(&self.except(id, serde_json::from_value(body).unwrap())?),
            AdminCall::Diff => json(&self.find(id)?.diff()),
            AdminCall::Resume => {
                let Resume { digest } = serde_json::from_value(body).unwrap();
                json(&self.resume(id, &digest)?)
            }
            AdminCall::Cancel => {
                self.find(id)?;
                self.cancelled.push(id.clone());
                json(&self.end(id, State::Cancelled))
            }
            AdminCall::Payload if self.has_no_payload => {
                Err(error(ErrorCode::Unreachable, "the gate does not answer", None))
            }
            AdminCall::Payload => {
                let turn = self.find(id)?;
                let body = String::from_utf8(turn.draft.render().to_vec()).unwrap();
                json(&Payload { body: ShownText::new(body), digest: turn.digest() })
            }
            AdminCall::Request => json(&self.find(id)?.request()),
            AdminCall::Capture => {
                let CaptureTurn { scope, .. } = serde_json::from_value(body).unwrap();
                json(&self.find(id)?.saved(scope.unwrap()))
            }
            AdminCall::Pin => {
                let Pins { sections } = serde_json::from_value(body).unwrap();
                self.find(id)?.pins = sections;
                json(&self.turn(id)?)
            }
            AdminCall::Saved => json(&self.saved),
            AdminCall::RemoveSaved => {
                self.saved.edits.retain(|edit| edit.id != *id);
                json(&self.saved)
            }
            AdminCall::ClearSaved => {
                self.saved.edits.retain(|edit| edit.scope != self.saved.status.scope);
                json(&self.saved)
            }
            AdminCall::SetSaved => {
                let set: SetSaved = serde_json::from_value(body).unwrap();
                let status = &mut self.saved.status;
                status.scope = set.scope.unwrap_or(status.scope);
                status.preview_limit = set.preview_limit.unwrap_or(status.preview_limit);
                json(&self.saved)
            }
            AdminCall::ArmCapture if self.mode != TurnMode::AutoOverride => {
                let hint = Some("choose the mode autoOverride first");
                Err(error(ErrorCode::Nothing, "no saved edits are applied", hint))
            }
            AdminCall::ArmCapture => {
                let (auto, edits) = (Some(AutoState::Capturing), Vec::new());
                json(&SavedList { auto, edits, ..self.saved.clone() })
            }
            AdminCall::Subagents => json(&self.subagents),
            AdminCall::Mode => json(&self.mode_view()),
            AdminCall::SetMode => {
                SetMode { mode: self.mode } = serde_json::from_value(body).unwrap();
                json(&self.mode_view())
            }
            AdminCall::Sessions => json(&self.sessions),
            AdminCall::Select => {
                self.sessions.follow = false;
                self.sessions.sessions.iter_mut().for_each(|known| known.active = known.id == *id);
                json(&self.sessions)
            }
            AdminCall::Follow => {
                Follow { follow: self.sessions.follow } = serde_json::from_value(body).unwrap();
                json(&self.sessions)
            }
            other => panic!("the prompt asks {other:?}"),
        }
    }
}

impl FakeDesk {
    pub(crate) fn pending(&mut self) -> Result<Vec<TurnSummary>, ApiError> {
        if let Some(error) = self.fail_next.take() {
            return Err(error);
        }
        Ok(self.turns.iter().map(FakeTurn::summary).collect())
    }

    pub(crate) fn turn(&mut self, id: &str) -> Result<TurnView, ApiError> {
        self.find(id).map(|turn| turn.view())
    }

    pub(crate) fn edit(&mut self, id: &str, command: EditCommand) -> Result<TurnView, ApiError> {
        let turn = self.find(id)?;
        turn.edit(&command)?;
        Ok(turn.view())
    }

    fn except(&mut self, id: &str, exception: Except) -> Result<Excepted, ApiError> {
        let turn = self.find(id)?;
        let made = turn.draft.redaction(exception.redaction).unwrap();
        let made_by = (made.author.to_string().replace("rule ", ""), made.label.to_string());
        if let Some(why) = self.not_exceptable {
            return Err(error(ErrorCode::NotExceptable, why, None));
        }
        if exception.reason.is_empty() {
            return Err(error(ErrorCode::Malformed, "`reason` is no line that a file can hold", None));
        }
        let until = exception.until.unwrap();
        if until == "soon" {
            return Err(error(ErrorCode::Malformed, "this is no end of an exception", None));
        }
        let (rule, label) = made_by;
        let still = (label == "PASSWORD").then(|| "rule others".to_owned());
        self.excepted.push(exception.reason);
        Ok(Excepted { file: "my-policy/exceptions.toml".to_owned(), rule, label, until, still })
    }

    fn resume(&mut self, id: &str, digest: &str) -> Result<Resumed, ApiError> {
        let turn = self.find(id)?;
        if turn.digest() != digest {
            return Err(error(ErrorCode::Stale, "the turn changed since it was shown", None));
        }
        let captures = turn.summary.mode == Some(TurnMode::AutoOverride);
        let captured = captures.then(|| turn.saved(SavedScope::Session));
        self.resumed.push(digest.to_owned());
        Ok(Resumed { turn: self.end(id, State::Resumed), captured })
    }

    fn mode_view(&self) -> ModeView {
        ModeView {
            mode: self.mode,
            label: self.mode.label().to_owned(),
            text: "Only rules pause.".to_owned(),
            auto: (self.mode == TurnMode::AutoOverride).then_some(AutoState::Capturing),
            saved: (self.mode == TurnMode::AutoOverride).then(saved_status),
            idle: self.turns.is_empty().then(|| "Waiting for chat request.".to_owned()),
            ..ModeView::default()
        }
    }
}

impl FakeTurn {
    fn new(number: usize, body: &str) -> FakeTurn {
        let document =
            Document::parse(body.to_owned().into(), Format::OpenaiChat, &Limits::default()).unwrap();
        let model = document.model().unwrap_or_default().into_owned();
        let mut draft = Draft::new(Arc::new(document));
        let leaves: Vec<_> = draft.document().leaves().map(|leaf| leaf.id()).collect();
        leaves.into_iter().for_each(|leaf| redact(&mut draft, leaf));
        let hold = HoldView {
            rule: "production".into(),
            severity: None,
            reason: "Result names the production database".into(),
            detail: "messages[3].content".into(),
            places: places(draft.document()),
            total: 1,
            blocks: false,
            state: HoldState::Open,
        };
        let summary = TurnSummary {
            id: format!("t{number}"),
            label: format!("chat · {model} · …3f{number}a"),
            session: format!("session-{number}"),
            model,
            words: None,
            format: "openai-chat".into(),
            class: TurnClass::Main,
            mode: None,
            state: State::Waiting,
            ending: None,
            holds: vec![hold],
            waited_ms: 12_000,
            left_ms: 288_000 - number as u64 * 1000,
            on_timeout: OnTimeout::Cancel,
            edits: 0,
            redactions: 0,
            connections: 1,
            with: None,
            beside: 0,
            generation: "g7-51c0".into(),
        };
        FakeTurn { summary, draft, notes: Vec::new(), pins: Vec::new(), last_version: 0, undone: 0 }
    }

    fn summary(&self) -> TurnSummary {
        TurnSummary {
            edits: self.draft.standing_edits().len(),
            redactions: self.draft.standing_redactions().len(),
            ..self.summary.clone()
        }
    }

    pub(crate) fn digest(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.draft.render().hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    pub(crate) fn edit(&mut self, command: &EditCommand) -> Result<(), ApiError> {
        let refused =
            |error: leafgate_tree::EditError| self::error(ErrorCode::RefusedEdit, &error.to_string(), None);
        let changed = match command {
            EditCommand::Set { pointer, text } => {
                let node = self.draft.document().resolve(pointer).unwrap();
                if let Some(section) = self.draft.deleted_around(node) {
                    self.draft.restore(section, &Author::Person).map_err(refused)?;
                }
                let version = self.draft.set(node, text.expose(), &Author::Person).map_err(refused)?;
                redact(&mut self.draft, node);
                version
            }
            EditCommand::Delete { section } => {
                let section = self.section(section);
                Some(self.draft.delete(section, &Author::Person).map_err(refused)?)
            }
            EditCommand::Restore { section } => {
                let section = self.section(section);
                Some(self.draft.restore(section, &Author::Person).map_err(refused)?)
            }
            EditCommand::Insert { before, text } => {
                let section = self.section(before);
                let inserted = self.draft.insert(section, Role::User, text.expose(), &Author::Person);
                Some(inserted.map_err(refused)?)
            }
            EditCommand::Release { redaction } => Some(self.draft.release(*redaction).map_err(refused)?),
            EditCommand::Undo => self.draft.undo(),
            EditCommand::Redo => self.draft.redo(),
            EditCommand::Reset => self.draft.reset(),
        };
        match command {
            EditCommand::Undo if changed.is_some() => self.undone += 1,
            EditCommand::Redo if changed.is_some() => self.undone -= 1,
            _ if changed.is_some() => self.undone = 0,
            EditCommand::Undo => return Err(error(ErrorCode::RefusedEdit, "there is nothing to undo", None)),
            EditCommand::Redo => return Err(error(ErrorCode::RefusedEdit, "there is nothing to redo", None)),
            _ => {}
        }
        self.last_version = changed.unwrap_or(self.last_version);
        Ok(())
    }

    /// Sets are saved, and other edits are left out.
    fn saved(&self, scope: SavedScope) -> CapturedEdits {
        let document = self.draft.document();
        let edits = self.draft.standing_edits();
        let (sets, others): (Vec<_>, Vec<_>) = edits.into_iter().partition(|edit| edit.kind == EditKind::Set);
        // What is shown of them is how many there are.
        let view = |_: &leafgate_tree::Edit| saved_edit("e1", scope);
        let why = "a rule changes this place".to_owned();
        let left_out = |edit: &leafgate_tree::Edit| LeftOutEdit {
            path: document.display_path(edit.target),
            why: why.clone(),
        };
        CapturedEdits {
            scope,
            edits: sets.into_iter().map(view).collect(),
            left_out: others.into_iter().map(left_out).collect(),
            ..CapturedEdits::default()
        }
    }

    pub(crate) fn request(&self) -> EditableRequest {
        let tokens = TokenUse {
            used: 46_000,
            max: Some(200_000),
            percent: Some(23),
            budget: "23% (46000/200000)".to_owned(),
            tokenizer: "any".to_owned(),
            is_estimate: true,
            pinned: 0,
            pinned_percent: 0,
        };
        let none = RawJson::new("{}".to_owned()).unwrap();
        EditableRequest {
            id: "0f3a".to_owned(),
            debug_name: "panel/test".to_owned(),
            model: self.summary.model.clone(),
            location: "panel".to_owned(),
            messages: Vec::new(),
            original_messages: Vec::new(),
            request_options: none.clone(),
            original_request_options: none,
            metadata: RequestMetadata {
                fields: MetadataField::ALL.to_vec(),
                max_prompt_tokens: Some(200_000),
                max_response_tokens: Some(4096),
                intent: None,
                endpoint_url: Some("https://api.example/v1/chat/completions".to_owned()),
            },
            edit_history: self.draft.operation_history(str::to_owned),
            turn: TurnView { tokens: Some(tokens), ..self.view() },
        }
    }

    fn section(&self, key: &str) -> SectionId {
        let document = self.draft.document();
        let places = (0..document.sections().len()).map(SectionId::from_index);
        places.into_iter().find(|&id| self.draft.section_key(id) == key).unwrap()
    }

    fn view(&self) -> TurnView {
        let document = self.draft.document();
        let sections = document.sections().iter().enumerate();
        TurnView {
            summary: self.summary(),
            sections: sections
                .map(|(at, section)| self.section_view(SectionId::from_index(at), section))
                .collect(),
            edits: self.edit_views(),
            digest: self.digest(),
            version: self.last_version,
            can_undo: self.draft.edits().next().is_some(),
            can_redo: self.undone > 0,
            is_dirty: self.draft.is_dirty(),
            invalid: None,
            notes: self.notes.clone(),
            pinned: self.pins.clone(),
            tokens: None,
        }
    }

    fn section_view(&self, id: SectionId, section: &Section) -> SectionView {
        let document = self.draft.document();
        let path = document.display_path(section.node);
        SectionView {
            key: self.draft.section_key(id),
            label: self.draft.section_label(id),
            kind: section.kind,
            node_type: section.node_type,
            role: section.role,
            parent: section.parent.map(|parent| self.draft.section_key(parent)),
            editable: section.editable,
            deletable: section.deletable,
            deleted: self.draft.is_deleted(section.node),
            pinned: self.pins.contains(&self.draft.section_key(id)),
            pinned_by: self.pins.contains(&self.draft.section_key(id)).then(|| "person".to_owned()),
            pointer: document.pointer(section.node),
            source_message_index: section.message,
            content_index: section.content_index,
            content_kind: section.content_kind,
            tool_call_index: section.tool_call_index,
            tool_invocation: self.invocation(section),
            token_count: None,
            token_percent: None,
            token_estimate: false,
            content: None,
            original_content: None,
            leaves: document
                .leaves()
                .filter(|leaf| leaf.section() == Some(id))
                .map(|leaf| self.leaf_view(&path, leaf))
                .collect(),
            path,
        }
    }

    /// The call that a section is, or that it is the result of; its arguments as they came.
    fn invocation(&self, section: &Section) -> Option<ToolInvocation> {
        let document = self.draft.document();
        let is_call = matches!(section.kind, SectionKind::ToolCall | SectionKind::ToolResult);
        let at = section.call_id.as_deref().filter(|_| is_call)?;
        let arguments = document.resolve("/messages/2/tool_calls/0/function/arguments").ok();
        Some(ToolInvocation {
            id: Some(at.to_owned()),
            name: section.tool.as_deref().map(str::to_owned),
            arguments: arguments.map(|node| ShownText::new(self.draft.text(node).into_cow())),
        })
    }

    fn leaf_view(&self, section: &str, leaf: Leaf<'_>) -> LeafView {
        let node = leaf.id();
        let path = self.draft.document().display_path(node);
        let path = path.strip_prefix(section).map_or(path.as_str(), |path| path.trim_start_matches('.'));
        let spans = |spans: Vec<MarkedSpan<'_>>| spans.into_iter().map(redacted_span).collect();
        LeafView {
            pointer: self.draft.document().pointer(node),
            path: path.to_owned(),
            kind: leaf.kind(),
            value: leaf.value_type(),
            access: leaf.access(),
            text: ShownText::new(self.draft.text(node).into_cow()),
            redacted: spans(self.draft.redactions_in(node)),
            released: spans(self.draft.released(node)),
            changed: self.draft.changed_leaves().any(|changed| changed == node),
            pinned: self.draft.is_pinned(node),
        }
    }

    fn edit_views(&self) -> Vec<EditView> {
        let document = self.draft.document();
        let standing: Vec<_> = self.draft.standing_edits().iter().map(|edit| edit.version).collect();
        let view = |version, author: &Author, kind: &str, node, label| EditView {
            version,
            author: author.to_string(),
            kind: kind.to_owned(),
            path: document.display_path(node),
            pointer: document.pointer(node),
            label,
            released_from: None,
            stands: version == 0 || standing.contains(&version),
        };
        let redactions = self.draft.standing_redactions().into_iter();
        let redactions =
            redactions.map(|done| view(0, &done.author, "redact", done.node, Some(done.label.to_string())));
        let edits = self
            .draft
            .edits()
            .map(|edit| view(edit.version, &edit.author, edit.kind.name(), edit.target, None));
        redactions.chain(edits).collect()
    }

    fn diff(&self) -> Diff {
        let document = self.draft.document();
        let changes = self.draft.changes(|label| format!("‹{label}›"));
        let leaves = changes.leaves.into_iter().map(|leaf| LeafDiff {
            path: document.display_path(leaf.node),
            pointer: document.pointer(leaf.node),
            authors: leaf.authors.iter().map(ToString::to_string).collect(),
            before: ShownText::new(leaf.before.into_cow()),
            after: ShownText::new(leaf.after.into_cow()),
        });
        let deleted = document.sections().iter().filter(|section| section.parent.is_none());
        let deleted = deleted.filter(|section| self.draft.is_deleted(section.node));
        Diff {
            leaves: leaves.collect(),
            deleted: deleted.map(|section| document.display_path(section.node)).collect(),
            inserted: Vec::new(),
            options: Vec::new(),
        }
    }
}

/// Where the production database is named.
fn places(document: &Document) -> Vec<HoldPlace> {
    let named = document.leaves().filter(|leaf| leaf.text().expose().contains("prod-db"));
    let place = |leaf: Leaf<'_>| HoldPlace {
        what: "names the production database".to_owned(),
        at: Some(document.pointer(leaf.id())),
        stands: true,
    };
    named.map(place).collect()
}

fn redacted_span(span: MarkedSpan<'_>) -> RedactedSpan {
    let made = span.redaction.unwrap();
    let keeper = match &made.terms {
        ReleaseTerms::Kept { by: Some(rule) } => Some(format!("rule {rule}")),
        ReleaseTerms::Kept { by: None } => Some(made.author.to_string()),
        ReleaseTerms::Releasable(_) => None,
    };
    RedactedSpan {
        start: span.at.start,
        end: span.at.end,
        label: span.label.to_string(),
        redaction: Some(made.number),
        author: Some(made.author.to_string()),
        releasable: made.is_releasable(),
        kept_by: keeper,
    }
}

/// Redacts secrets, and contacts that nobody released: those once each, on terms on which a person may release them.
fn redact(draft: &mut Draft, node: NodeId) {
    let found = |draft: &Draft, word: &str, (label, replacement): (&str, &str)| -> Vec<Redaction> {
        let released: Vec<_> = draft.released(node).into_iter().map(|span| span.at).collect();
        let text = draft.text(node);
        let places = text.expose().match_indices(word).map(|(at, word)| at..at + word.len());
        let redaction = |at| Redaction::new(at, label, replacement);
        places.filter(|at| !released.contains(at)).map(redaction).collect()
    };
    let mut contacts = found(draft, CONTACT, ("EMAIL", CONTACT_TOKEN));
    if !contacts.is_empty() {
        for contact in &mut contacts {
            contact.terms = ReleaseTerms::Releasable(draft.new_finding());
        }
        draft.redact(node, &contacts, &Author::rule("contacts")).unwrap();
    }
    let secrets = found(draft, SECRET, ("PASSWORD", TOKEN));
    if !secrets.is_empty() {
        draft.redact(node, &secrets, &Author::rule("secrets")).unwrap();
    }
}
