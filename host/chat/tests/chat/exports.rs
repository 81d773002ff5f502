//! Exports as conversations and as messages. The numbers were counted in the recordings with
//! another program.

use leafgate_api::Api;
use leafgate_chat::{
    ChangeDecision, Confirmation, ExportTurn, FileEditKind, RequestStatus, check, conversation,
};
use leafgate_tree::Format;
use serde_json::{Value, json};

use crate::support::{EXPORTS, export, parse, raw, recorded_export, recording, wire};

fn turns(name: &str) -> Option<Vec<ExportTurn>> {
    Some(conversation(&parse(&recorded_export(name)?, Format::VscodeChat)).turns)
}

/// Status, milliseconds, tools, and UTF-16 units of the answer, of each request.
type Told = (RequestStatus, Option<i64>, usize, usize);

const TOLD: [(&str, &[Told]); 6] = [
    ("dealenx-completed", &[(RequestStatus::Complete, Some(59_981), 2, 2764)]),
    (
        "dealenx-first.2turns",
        &[(RequestStatus::Failed, Some(331_131), 12, 3590), (RequestStatus::Complete, Some(56_602), 3, 1598)],
    ),
    ("dealenx-in-progress", &[(RequestStatus::Pending, None, 2, 1397)]),
    ("dealenx-mcp-success", &[(RequestStatus::Complete, Some(38_452), 3, 786)]),
    (
        "dealenx-parse-export",
        &[(RequestStatus::Complete, Some(3507), 0, 32), (RequestStatus::Complete, Some(2900), 0, 26)],
    ),
    (
        "timcooking-demo",
        &[
            (RequestStatus::Pending, None, 1, 39),
            (RequestStatus::Pending, None, 0, 65),
            (RequestStatus::Pending, None, 1, 79),
            (RequestStatus::Pending, None, 0, 117),
            (RequestStatus::Pending, None, 0, 134),
        ],
    ),
];

#[test]
fn recorded_conversations_are_told_in_full() {
    for (name, expected) in TOLD {
        let Some(turns) = turns(name) else { return };
        let units = |text: &str| text.encode_utf16().count();
        let told: Vec<Told> = turns
            .iter()
            .map(|turn| (turn.status, turn.duration_ms, turn.tools.len(), units(&turn.assistant)))
            .collect();
        assert_eq!(told, expected, "{name}");
        assert!(turns.iter().all(|turn| !turn.user.is_empty()), "{name}");
    }
}

#[test]
fn a_recorded_session_with_reasoning_edits_and_a_reference() {
    let Some(turns) = turns("p47-services") else { return };
    let durations: Vec<_> = turns.iter().filter_map(|turn| turn.duration_ms).collect();
    assert_eq!(durations, [17_557, 11_012, 24_237, 44_035, 14_420, 26_567], "completedAt less timestamp");
    assert!(turns.iter().all(|turn| turn.status == RequestStatus::Complete && turn.thinking.len() == 1));
    assert!(
        turns.iter().all(|turn| turn.attachments.len() == 2 && turn.other_parts["mcpServersStarting"] == 1)
    );
    let last = &turns[5];
    assert_eq!(last.tools[0].confirmed, Confirmation::NotNeeded);
    assert_eq!(
        (last.edits.len(), last.edits[0].kind, last.edits[0].changes),
        (1, FileEditKind::Text, Some(131))
    );
    assert!(last.assistant.contains("](vscode-remote://dev-container+"), "the reference is a link");
}

// S2-11, S2-16
#[test]
fn who_let_a_recorded_tool_run() {
    let Some(turns) = turns("dealenx-mcp-success") else { return };
    let confirmed: Vec<_> = turns[0].tools.iter().map(|tool| tool.confirmed).collect();
    assert_eq!(confirmed, [Confirmation::Person, Confirmation::Remembered, Confirmation::Remembered]);
    let Some(turns) = self::turns("dealenx-first.2turns") else { return };
    let failed = |turn: &ExportTurn| turn.tools.iter().filter(|tool| tool.failed).count();
    assert_eq!((failed(&turns[0]), failed(&turns[1])), (2, 3));
    let error = turns[0].error.as_ref().unwrap();
    assert_eq!((error.code.as_deref(), error.answer.as_slice()), (Some("failed"), &["incomplete"][..]));
}

/// Messages of user, assistant and tool.
const MESSAGES: [(&str, [usize; 3]); 7] = [
    ("dealenx-completed", [2, 2, 1]),
    ("dealenx-first.2turns", [2, 16, 15]),
    ("dealenx-in-progress", [1, 1, 0]),
    ("dealenx-mcp-success", [2, 4, 3]),
    ("dealenx-parse-export", [3, 2, 0]),
    ("p47-services", [7, 7, 1]),
    ("timcooking-demo", [5, 5, 0]),
];

// S2-15
#[test]
fn recorded_exports_as_messages_with_their_calls_and_results_in_pairs() {
    for (name, expected) in MESSAGES {
        let Some(text) = recorded_export(name) else { return };
        let (messages, _) = wire(&serde_json::from_str(&text).unwrap(), Api::Chat);
        let messages = messages["messages"].as_array().unwrap();
        let of = |role: &str| messages.iter().filter(|message| message["role"] == role).count();
        assert_eq!([of("user"), of("assistant"), of("tool")], expected, "{name}");
        let calls =
            messages.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
        let calls: Vec<_> = calls.map(|call| call["id"].clone()).collect();
        let results: Vec<_> =
            messages.iter().filter_map(|message| message.get("tool_call_id").cloned()).collect();
        assert_eq!(calls, results, "{name}");
        assert!(calls.iter().all(|id| !id.as_str().unwrap().contains("__vscode-")), "{name}");
    }
}

#[test]
fn a_recorded_prompt_tree_becomes_its_text() {
    let Some(text) = recording("prompt-tsx-json/p47-services.req5.toolCallResults.json") else { return };
    let results: Value = serde_json::from_str(&text).unwrap();
    let id = results.as_object().unwrap().keys().next().unwrap().clone();
    let request = json!({ "message": "m", "result": { "metadata": {
        "toolCallRounds": [{ "response": "", "toolCalls": [{ "id": id, "name": "create_file", "arguments": "{}" }] }],
        "toolCallResults": results,
    }}});
    let (messages, lost) = raw(&json!({ "requests": [request] }));
    let expected = "The following files were successfully edited:\n/workspaces/p47-services/docs/helm-values-propagation.md\n";
    assert_eq!(messages[2]["content"], json!([{ "type": 1, "text": expected }]));
    assert_eq!(messages[2]["toolCallId"], id.split("__vscode-").next().unwrap());
    assert_eq!(lost, [""; 0]);
}

#[test]
fn recorded_prompt_trees_lose_nothing_but_what_is_noted() {
    for name in ["peckjon-sample.req0", "peckjon-sample.req5"] {
        let Some(text) = recording(&format!("prompt-tsx-json/{name}.toolCallResults.json")) else { return };
        let results: Value = serde_json::from_str(&text).unwrap();
        let calls: Vec<_> = results
            .as_object()
            .unwrap()
            .keys()
            .map(|id| json!({ "id": id, "name": "f", "arguments": "{}" }))
            .collect();
        let metadata = json!({ "toolCallRounds": [{ "toolCalls": calls }], "toolCallResults": results });
        let (messages, lost) =
            raw(&json!({ "requests": [{ "message": "m", "result": { "metadata": metadata } }] }));
        let tools: Vec<_> =
            messages.as_array().unwrap().iter().filter(|message| message["role"] == 3).collect();
        assert_eq!(tools.len(), calls.len());
        assert!(tools.iter().all(|tool| !tool["content"][0]["text"].as_str().unwrap().is_empty()), "{name}");
        assert_eq!(lost, [""; 0], "{name}");
    }
}

// S2-02, S2-10, S2-23, S2-24, S2-27
#[test]
fn the_answer_is_put_together_from_its_parts() {
    let uri = json!({ "$mid": 1, "path": "/src/app.py", "scheme": "file" });
    let request = json!({
        "message": { "parts": [{ "kind": "agent" }, { "kind": "text", "text": "do " }, { "text": "it" }] },
        "response": [
            { "value": "See ", "supportHtml": false },
            { "kind": "progressMessage", "content": { "value": "working" } },
            { "kind": "inlineReference", "inlineReference": uri },
            { "kind": "inlineReference", "inlineReference": { "uri": uri, "range": { "startLineNumber": 7 } }, "name": "it" },
            { "kind": "inlineReference", "inlineReference": { "name": "main", "kind": 11, "location": { "uri": uri } } },
            { "kind": "markdownContent", "content": { "value": "." } },
            { "kind": "thinking", "value": ["a", "b"] },
            { "kind": "thinking", "value": "", "metadata": { "vscodeReasoningDone": true } },
            { "kind": "undoStop", "id": "1" },
            { "kind": "notebookEditGroup", "uri": uri, "edits": [{}, {}] },
            { "kind": "pullRequest", "title": "?" },
        ],
        "editedFileEvents": [{ "uri": uri, "eventKind": 2 }],
        "vote": 0, "voteDownReason": "incompleteCode", "shouldBeRemovedOnSend": { "requestId": "r" },
    });
    let told =
        conversation(&export(&json!({ "initialLocation": "editing-session", "requests": [request, 7] })));
    assert_eq!((told.location.as_deref(), told.unreadable), (Some("chat"), 1));
    let turn = &told.turns[0];
    assert_eq!(turn.user, "do it");
    assert_eq!(turn.assistant, "See [app.py](/src/app.py)[it](/src/app.py#7)[main](/src/app.py).");
    assert_eq!(turn.thinking, ["ab"]);
    assert_eq!((turn.edits[0].changes, turn.edits[1].kept), (Some(2), Some(ChangeDecision::Undone)));
    assert_eq!(turn.other_parts.iter().collect::<Vec<_>>(), [(&"pullRequest".to_owned(), &1)]);
    assert!(turn.hidden && !turn.vote.as_ref().unwrap().helpful);
}

// S2-32
#[test]
fn what_an_analyst_asks_for_is_told() {
    let uri = json!({ "path": "/src/app.py", "scheme": "file" });
    let line = |start: u32, end: u32| json!({ "startLineNumber": start, "endLineNumber": end });
    let tool = |id: &str| json!({ "kind": "toolInvocationSerialized", "toolId": "read", "toolCallId": id });
    let mut with_result = tool("c1");
    with_result["result"] = json!("42");
    let request = json!({
        "message": "m", "timestamp": 7,
        "response": [
            { "kind": "warning", "content": { "value": "careful" } },
            { "kind": "confirmation", "title": "Run it?", "message": "rm a", "isUsed": true },
            with_result, tool("c2"),
        ],
        "usedContext": { "documents": [{ "uri": uri, "version": 1, "ranges": [line(3, 8), line(9, 9)] }] },
        "contentReferences": [{ "kind": "reference", "reference": uri, "options": { "status": { "kind": 2 } } }],
        "codeCitations": [{ "kind": "codeCitation", "license": "MIT", "snippet": "s", "value": uri }],
        "followups": [{ "kind": "reply", "message": "And now?" }],
        "result": { "metadata": { "toolCallResults": { "c2": { "content": [{ "value": "43" }] } } } },
    });
    let told = conversation(&export(&json!({ "requests": [request] })));
    let turn = &told.turns[0];
    let notes: Vec<_> = turn.notes.iter().map(|note| (note.kind.name(), note.text.as_str())).collect();
    assert_eq!(
        notes,
        [
            ("context", "/src/app.py:3-8,9"),
            ("reference", "/src/app.py, in part"),
            ("licence", "MIT  /src/app.py"),
            ("warning", "careful"),
            ("asked", "Run it? · rm a · answered"),
            ("follow-up", "And now?"),
        ]
    );
    let results: Vec<_> = turn.tools.iter().map(|tool| tool.result.as_deref()).collect();
    assert_eq!(results, [Some("42"), Some("43")]);
    assert!(turn.other_parts.is_empty());
}

// S2-04, S2-26
#[test]
fn a_question_is_its_text_else_its_parts_else_itself() {
    let parts = json!([{ "kind": "text", "text": "from " }, { "kind": "agent" }, { "text": "parts" }]);
    for (message, expected) in [
        (json!({ "text": "the text", "parts": parts }), "the text"),
        (json!({ "parts": parts }), "from parts"),
        (json!("itself"), "itself"),
    ] {
        let told = conversation(&export(&json!({ "requests": [{ "message": message }] })));
        assert_eq!(told.turns[0].user, expected, "{message}");
    }
}

// S2-15, S2-17, S2-25, S2-28
#[test]
fn a_duration_lies_between_two_times_or_was_measured() {
    let timings = json!({ "firstProgress": 30, "totalElapsed": 900 });
    let state = |completed: i64| json!({ "value": 1, "completedAt": completed });
    for (request, expected) in [
        (
            json!({ "timestamp": 1000, "modelState": state(1700), "result": { "timings": timings } }),
            Some(700),
        ),
        (json!({ "timestamp": 1000, "result": { "timings": timings } }), Some(900)),
        (json!({ "timestamp": 1000, "modelState": state(999), "result": { "timings": timings } }), Some(900)),
        (json!({ "timestamp": 1000 }), None),
    ] {
        let told = conversation(&export(&json!({ "requests": [request, { "message": "next" }] })));
        assert_eq!(told.turns[0].duration_ms, expected, "{request}");
        let first = request["result"].is_object().then_some(30);
        assert_eq!(told.turns[0].first_progress_ms, first, "{request}");
        assert_eq!(told.turns[1].user, "next", "in their order");
    }
}

// S2-16, S2-18, S2-29
#[test]
fn the_status_is_read_wherever_a_version_wrote_it() {
    for (request, expected) in [
        (json!({}), RequestStatus::Pending),
        (json!({ "result": {} }), RequestStatus::Complete),
        (json!({ "modelState": { "value": 0 } }), RequestStatus::Pending),
        (json!({ "modelState": { "value": 1 } }), RequestStatus::Complete),
        (json!({ "modelState": { "value": 2 }, "result": {} }), RequestStatus::Cancelled),
        (json!({ "modelState": { "value": 3 }, "result": {} }), RequestStatus::Failed),
        (json!({ "modelState": { "value": 4 } }), RequestStatus::NeedsInput),
        (json!({ "modelState": { "value": 9 } }), RequestStatus::Unknown),
        (json!({ "isCanceled": true, "result": {} }), RequestStatus::Cancelled),
        (
            json!({ "isCanceled": false, "result": { "errorDetails": { "message": "m" } } }),
            RequestStatus::Failed,
        ),
        (
            json!({ "modelState": { "value": 1 }, "result": { "errorDetails": { "message": "m" } } }),
            RequestStatus::Failed,
        ),
        (json!({ "result": { "errorDetails": { "code": "canceled" } } }), RequestStatus::Cancelled),
    ] {
        let told = conversation(&export(&json!({ "requests": [request] })));
        assert_eq!(told.turns[0].status, expected, "{request}");
    }
}

// S2-24
#[test]
fn without_rounds_the_shown_texts_are_the_messages_and_the_rest_is_noted() {
    let request = json!({
        "message": { "text": "q" }, "variableData": { "variables": [{ "kind": "file" }] },
        "response": [{ "value": "a" }, { "kind": "toolInvocationSerialized", "toolId": "t" }],
    });
    let hidden = json!({ "message": "gone", "isHidden": true });
    let (messages, lost) = raw(&json!({ "requests": [request, hidden] }));
    let expected = json!([
        { "role": 1, "content": [{ "type": 1, "text": "q" }] },
        { "role": 2, "content": [{ "type": 1, "text": "a" }] },
    ]);
    assert_eq!(messages, expected);
    assert_eq!(lost, ["/requests/0/variableData/variables/0", "/requests/0/response/1", "/requests/1"]);
}

#[test]
fn a_call_without_its_result_is_left_out() {
    let metadata = json!({
        "toolCallRounds": [{ "response": "r", "toolCalls": [{ "id": "c__vscode-1", "name": "f", "arguments": "{}" }] }],
        "toolCallResults": {},
    });
    let (messages, lost) =
        raw(&json!({ "requests": [{ "message": "q", "result": { "metadata": metadata } }] }));
    assert_eq!(messages[1], json!({ "role": 2, "content": [{ "type": 1, "text": "r" }] }));
    assert_eq!(lost, ["/requests/0/result/metadata/toolCallRounds/0/toolCalls/0"]);
}

/// Early, middle and current versions; how many requests look useless.
const IMPORTS: [(&str, [bool; 3], usize); 7] = [
    ("dealenx-completed", [true, true, true], 0),
    ("dealenx-first.2turns", [true, true, true], 0),
    ("dealenx-in-progress", [true, true, true], 0),
    ("dealenx-mcp-success", [true, true, true], 0),
    ("dealenx-parse-export", [true, true, true], 0),
    ("p47-services", [false, true, true], 0),
    ("timcooking-demo", [true, true, true], 0),
];

#[test]
fn recorded_exports_are_importable_where_their_members_are() {
    assert_eq!(IMPORTS.map(|(name, ..)| name), EXPORTS);
    for (name, expected, useless) in IMPORTS {
        let Some(text) = recorded_export(name) else { return };
        let check = check(&parse(&text, Format::VscodeChat));
        let passed: Vec<_> = check.imports.iter().map(|import| import.refused.is_none()).collect();
        assert_eq!((passed.as_slice(), check.useless.len()), (&expected[..], useless), "{name}");
        assert!(check.importable);
    }
}

#[test]
fn what_would_be_imported_and_show_nothing_is_told() {
    for (file, importable, useless) in [
        (json!([]), false, vec![""]),
        (json!({}), true, vec![""]),
        (json!({ "requests": {}, "responderUsername": "C" }), true, vec![""]),
        (json!({ "requests": [], "responderUsername": "C" }), true, vec!["/requests"]),
        (
            json!({ "requests": [{ "prompt": "p", "completion": "c" }, 7, { "message": "q" }, { "message": "q", "response": [{ "value": "a" }] }] }),
            true,
            vec!["/requests/0", "/requests/1", "/requests/2"],
        ),
    ] {
        let check = check(&export(&file));
        let found: Vec<_> = check.useless.iter().map(|useless| useless.pointer.as_str()).collect();
        assert_eq!((check.importable, found), (importable, useless), "{file}");
    }
}
