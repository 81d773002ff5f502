//! Chat exports: every kind of part that VS Code writes is a section, its texts can be changed, its names cannot, and nothing else moves.

use crate::common::parse;
use leafgate_tree::{Access, Author, ContentKind, Draft, Format, LeafKind, SectionId, SectionKind};

/// Parts of an answer, each with the place of a text in it.
const PARTS: &[(&str, &str)] = &[
    (
        r#"{"value":"md","isTrusted":false,"supportThemeIcons":false,"supportHtml":false,"baseUri":{"$mid":1,"path":"/a","scheme":"file"}}"#,
        "value",
    ),
    (
        r#"{"kind":"markdownContent","content":{"value":"md"},"inlineReferences":{},"fromSubagent":true}"#,
        "content/value",
    ),
    (
        r#"{"kind":"markdownVuln","content":{"value":"md"},"vulnerabilities":[{"title":"t","description":"d"}]}"#,
        "content/value",
    ),
    (r#"{"kind":"thinking","value":"hm","id":"t"}"#, "value"),
    (r#"{"kind":"warning","content":{"value":"careful"}}"#, "content/value"),
    (r#"{"kind":"progressMessage","content":{"value":"working"}}"#, "content/value"),
    (r#"{"kind":"command","command":{"id":"c","title":"Run"}}"#, "command/title"),
    (
        r#"{"kind":"confirmation","title":"Sure?","message":"Really","buttons":["Yes"],"isUsed":false}"#,
        "message",
    ),
    (
        r#"{"kind":"elicitationSerialized","title":{"value":"Which?"},"message":"m","state":"pending"}"#,
        "message",
    ),
    (r#"{"kind":"codeblockUri","uri":{"$mid":1,"path":"/a"},"isEdit":true}"#, "uri/path"),
    (
        r#"{"kind":"textEditGroup","uri":{"$mid":1,"path":"/a"},"edits":[[{"text":"new","range":{"startLineNumber":1}}]],"state":{"sha1":"x","applied":0},"done":true,"isExternalEdit":false}"#,
        "edits/0/0/text",
    ),
    (
        r#"{"kind":"notebookEditGroup","uri":{"$mid":1,"path":"/a"},"edits":[[{"cells":[{"source":"s"}]}]]}"#,
        "edits/0/0/cells/0/source",
    ),
    (
        r#"{"uri":{"$mid":1,"path":"/tree"},"children":[{"label":"a","uri":{"path":"/a"}}]}"#,
        "children/0/label",
    ),
    (r#"{"kind":"multiDiffData","multiDiffData":{"title":"Changes","resources":[]}}"#, "multiDiffData/title"),
    (
        r#"{"kind":"inlineReference","name":"it","inlineReference":{"$mid":1,"path":"/a"}}"#,
        "inlineReference/path",
    ),
    (r#"{"kind":"reference","reference":{"$mid":1,"path":"/a"}}"#, "reference/path"),
    (
        r#"{"kind":"toolInvocationSerialized","toolId":"run","toolCallId":"c","invocationMessage":"Runs","pastTenseMessage":{"value":"Ran"},
        "resultDetails":{"input":"in","output":[{"value":"out"}]},"isConfirmed":{"type":4},
        "toolSpecificData":{"kind":"terminal","commandLine":{"original":"ls","toolEdited":"ls -a","userEdited":"ls -l"}}}"#,
        "toolSpecificData/commandLine/original",
    ),
    (r#"{"kind":"progressTaskSerialized","content":{"value":"task"},"progress":[]}"#, "content/value"),
    (r#"{"kind":"extensions","extensions":["a.b"]}"#, "extensions/0"),
    (r#"{"kind":"pullRequest","title":"PR","description":"d","author":"ann"}"#, "description"),
    (r#"{"kind":"undoStop","id":"u"}"#, "id"),
    (r#"{"kind":"mcpServersStarting","didStartServerIds":["s"]}"#, "didStartServerIds/0"),
];

/// What an export records of a request beside question and answer, with the place of a value in it.
const RECORDED: &[(&str, &str)] = &[
    (
        r#""agent":{"id":"github. copilot. workspace","name":"w","fullName":"W","slashCommands":[{"name":"fix","description":"d"}],"locations":["panel"],"modes":["ask"],"metadata":{"x":1}}"#,
        "agent/slashCommands/0/description",
    ),
    (r#""followups":[{"kind":"reply","agentId":"a","message":"And?"}]"#, "followups/0/message"),
    (
        r#""contentReferences":[{"kind":"reference","reference":{"path":"/a"},"options":{"status":{"description":"d","kind":1}}}]"#,
        "contentReferences/0/options/status/description",
    ),
    (
        r#""usedContext":{"documents":[{"uri":{"path":"/a"},"version":1}]}"#,
        "usedContext/documents/0/uri/path",
    ),
    (r#""codeCitations":[{"license":"MIT","snippet":"s","value":{"path":"/a"}}]"#, "codeCitations/0/snippet"),
    (r#""editedFileEvents":[{"uri":{"path":"/a"},"eventKind":1}]"#, "editedFileEvents/0/uri/path"),
    (r#""vote":0,"voteDownReason":"incompleteCode""#, "voteDownReason"),
    (
        r#""confirmation":"Yes","shouldBeRemovedOnSend":{"requestId":"r"},"isHidden":false,"timeSpentWaiting":7,"responseMarkdownInfo":[{"suggestionId":"s"}],"slashCommand":{"name":"fix","description":"d"},"modelId":"m","timestamp":1747000000000"#,
        "confirmation",
    ),
    (
        r#""result":{"timings":{"firstProgress":3,"totalElapsed":9},"metadata":{"any":"thing"},"details":"d","nextQuestion":{"prompt":"p"}}"#,
        "result/metadata/any",
    ),
    (r#""workingSet":[],"modeInfo":{"kind":"agent"},"unknown":{"deep":["kept"]}"#, "unknown/deep/0"),
];

fn body() -> String {
    let parts: Vec<&str> = PARTS.iter().map(|(part, _)| *part).collect();
    let recorded: Vec<&str> = RECORDED.iter().map(|(recorded, _)| *recorded).collect();
    format!(
        r#"{{"initialLocation":"panel","responderUsername":"C","responderAvatarIconUri":{{"id":"copilot"}},"unknown":[1.50],"requests":[
            {{"requestId":"request_1","responseId":"no uuid","message":{{"text":"q"}},"response":[{}],{}}}]}}"#,
        parts.join(","),
        recorded.join(",")
    )
}

/// Sets the value at a pointer, and checks that no other byte of the file moves with it.
fn set_alone(draft: &mut Draft, pointer: &str) {
    let before = draft.render();
    let node = draft.document().resolve(pointer).unwrap_or_else(|error| panic!("{pointer}: {error}"));
    let span = draft.document().body_span(node);
    draft.set(node, "changed", &Author::Person).unwrap_or_else(|error| panic!("{pointer}: {error}"));
    let after = draft.render();
    assert_eq!(after[..span.start], before[..span.start], "{pointer}");
    assert_eq!(&after[span.start..span.start + 9], b"\"changed\"", "{pointer}");
    assert_eq!(after[span.start + 9..], before[span.end..], "{pointer}");
    draft.undo();
}

// S2-08, S2-09, S2-11, S2-12, S2-13
#[test]
fn every_kind_of_part_is_a_section_and_its_texts_change_alone() {
    let body = body();
    let mut draft = parse(body.as_bytes(), Format::VscodeChat);
    for (index, (part, text)) in PARTS.iter().enumerate() {
        let node = draft.document().resolve(&format!("/requests/0/response/{index}")).unwrap();
        let id = draft.document().section_of(node).unwrap();
        let section = draft.document().section(id);
        let is_tool = part.contains("toolInvocation");
        assert_eq!((section.node, section.content_index), (node, Some(index)), "{part}");
        assert_eq!(section.kind == SectionKind::ToolCall, is_tool, "{part}");
        if is_tool {
            assert_eq!((section.tool.as_deref(), section.call_id.as_deref()), (Some("run"), Some("c")));
        }
        let answer = draft.document().section(section.parent.unwrap());
        assert_eq!(answer.kind, SectionKind::Assistant);
        set_alone(&mut draft, &format!("/requests/0/response/{index}/{text}"));
    }
    assert_eq!(draft.render(), body);
}

// S2-07
#[test]
fn words_reasoning_warnings_and_progress_are_told_apart() {
    let body = body();
    let draft = parse(body.as_bytes(), Format::VscodeChat);
    let document = draft.document();
    for (index, (part, _)) in PARTS.iter().enumerate() {
        let has = |words: &[&str]| words.iter().any(|word| part.contains(word));
        let expected = match () {
            () if has(&["\"thinking\""]) => Some(ContentKind::Thinking),
            () if has(&["\"warning\""]) => Some(ContentKind::Warning),
            () if has(&["\"progressMessage\"", "\"progressTaskSerialized\""]) => Some(ContentKind::Progress),
            () if has(&["\"markdownContent\"", "\"markdownVuln\"", "{\"value\":\"md\",\"isTrusted\""]) => {
                Some(ContentKind::Text)
            }
            () => None,
        };
        let node = document.resolve(&format!("/requests/0/response/{index}")).unwrap();
        assert_eq!(document.section(document.section_at(node).unwrap()).content_kind, expected, "{part}");
    }
}

/// Attached things, each with the place of a text in it.
const VARIABLES: &[(&str, &str)] = &[
    (
        r#"{"kind":"file","id":"f","name":"a.rs","value":{"uri":{"path":"/a.rs"}},"range":{"start":0,"endExclusive":4}}"#,
        "value/uri/path",
    ),
    (r#"{"kind":"image","id":"i","name":"cat","value":"aGVsbG8=","mimeType":"image/png"}"#, "name"),
    (
        r#"{"kind":"promptText","id":"p","name":"p","value":"Be brief","modelDescription":"instructions","omittedState":1}"#,
        "value",
    ),
    (
        r#"{"kind":"debugVariable","id":"d","name":"x","value":"1","expression":"x + 1","unknown":[1]}"#,
        "expression",
    ),
];

// S2-06
#[test]
fn each_variable_of_a_question_is_a_section_of_context_and_its_texts_change_alone() {
    let variables = VARIABLES.iter().map(|(variable, _)| *variable).collect::<Vec<_>>().join(",");
    let body = format!(
        r#"{{"responderUsername":"C","requests":[{{"requestId":"r","message":{{"text":"q"}},"variableData":{{"variables":[{variables}]}},"response":[]}}]}}"#
    );
    let mut draft = parse(body.as_bytes(), Format::VscodeChat);
    for (index, (variable, text)) in VARIABLES.iter().enumerate() {
        let pointer = format!("/requests/0/variableData/variables/{index}");
        let node = draft.document().resolve(&pointer).unwrap();
        let id = draft.document().section_at(node).unwrap();
        let section = draft.document().section(id);
        assert_eq!((section.kind, section.content_index), (SectionKind::Context, Some(index)), "{variable}");
        let around = draft.document().section(section.parent.unwrap());
        assert_eq!((around.kind, around.message), (SectionKind::Context, Some(0)));
        assert_eq!(draft.section_label(id), format!("Context #{}", index + 1));
        set_alone(&mut draft, &format!("{pointer}/{text}"));
    }
    assert_eq!(draft.render(), body);
}

// S2-01, S2-03, S2-14, S2-15, S2-19, S2-20, S2-21, S2-24, S2-31
#[test]
fn what_is_recorded_beside_the_texts_stays_as_it_is() {
    let body = body();
    let mut draft = parse(body.as_bytes(), Format::VscodeChat);
    for (_, value) in RECORDED {
        set_alone(&mut draft, &format!("/requests/0/{value}"));
    }
    for pointer in
        ["/requests/0/agent/id", "/requests/0/requestId", "/requests/0/responseId", "/requests/0/modelId"]
    {
        let node = draft.document().resolve(pointer).unwrap();
        let leaf = draft.document().leaf(node).unwrap();
        assert_eq!((leaf.kind(), leaf.access()), (LeafKind::Metadata, Access::Protected), "{pointer}");
    }
    assert_eq!(draft.render(), body, "odd ids, unknown members and the spelling of numbers included");
}

// S2-11, S2-22
#[test]
fn what_tools_were_called_with_and_gave_back_can_be_redacted() {
    let body = body();
    let draft = parse(body.as_bytes(), Format::VscodeChat);
    let document = draft.document();
    let tool = PARTS.iter().position(|(part, _)| part.contains("toolInvocation")).unwrap();
    for path in [
        "invocationMessage",
        "pastTenseMessage/value",
        "resultDetails/input",
        "resultDetails/output/0/value",
        "toolSpecificData/commandLine/original",
        "toolSpecificData/commandLine/toolEdited",
        "toolSpecificData/commandLine/userEdited",
    ] {
        let node = document.resolve(&format!("/requests/0/response/{tool}/{path}")).unwrap();
        assert_eq!(document.leaf(node).unwrap().access(), Access::Open, "{path}");
    }
    let sections: Vec<SectionId> = (0..document.sections().len()).map(SectionId::from_index).collect();
    assert!(sections.iter().all(|&id| !document.section(id).deletable), "nothing of a record is left out");
}
