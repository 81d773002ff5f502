//! Whole bodies, to the byte, and what each part of a profile does.
//!
//! `LEAFGATE_BLESS=1` writes the bodies in `tests/golden` anew; read them before you keep them.

use std::path::Path;

use crate::common::*;
use leafgate_assemble::{
    AgentMode, Api, AssembleError, Counted, Did, FileFault, MapOf, Profile, ProfilePlugin, ProfilePrompt,
    Refused, ToolsOf, assemble, downgrade,
};
use serde_json::{Value, json};

fn golden(api: Api, name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let request = std::fs::read_to_string(folder.join(format!("{name}.request.json"))).unwrap();
    for (mode, agent_mode) in [("agent", AgentMode::On), ("plain", AgentMode::Off)] {
        let assembled = run(api, &request, &Profile { agent_mode, ..full() });
        let path = folder.join(format!("{name}.{mode}.json"));
        let body = text(&assembled) + "\n";
        if std::env::var_os("LEAFGATE_BLESS").is_some() {
            std::fs::write(&path, &body).unwrap();
        }
        assert_eq!(body, std::fs::read_to_string(&path).unwrap(), "{}", path.display());
    }
}

// S3-01, S3-05, S3-26
#[test]
fn a_chat_completion_is_assembled_in_order() {
    golden(Api::Chat, "chat");
}

// S3-01
#[test]
fn a_response_is_assembled_in_order() {
    golden(Api::Responses, "responses");
}

// S3-01, S3-09, S3-10, S3-11, S3-12
#[test]
fn a_message_is_assembled_in_order() {
    golden(Api::Messages, "messages");
}

// S3-01
#[test]
fn a_request_to_gemini_is_assembled_in_order() {
    golden(Api::Gemini, "gemini");
}

#[test]
fn what_stands_under_a_role_that_gemini_does_not_know_becomes_its_instruction() {
    let body = json!({ "contents": [
        { "role": "system", "parts": [{ "text": "Be brief." }] },
        { "role": "user", "parts": [{ "text": "Hi" }] },
    ] });
    let made = assemble(Api::Gemini, body.to_string().as_bytes(), &bare(), &Memory::usual(), None).unwrap();
    let made: Value = serde_json::from_slice(&made.body).unwrap();
    assert_eq!(made["systemInstruction"], json!({ "parts": [{ "text": "Be brief." }] }));
    assert_eq!(made["contents"].as_array().unwrap().len(), 1);
    assert_eq!(made["contents"][0]["role"], "user");
}

#[test]
fn what_gemini_has_no_place_for_is_refused() {
    let refused = |body: &str, profile: &Profile| {
        assemble(Api::Gemini, body.as_bytes(), profile, &Memory::usual(), None).unwrap_err().to_string()
    };
    let cached = r#"{"cached_content":"cachedContents/1","contents":[]}"#;
    assert!(refused(cached, &bare()).contains("/cachedContent"));
    let twice = r#"{"systemInstruction":{},"system_instruction":{},"contents":[]}"#;
    assert!(refused(twice, &bare()).contains("/systemInstruction: the member is here twice"));
    let none = downgrade(Api::Gemini, one(Api::Gemini, "Hi").as_bytes(), Refused::Stream, "");
    assert_eq!(none.unwrap(), None, "the path asks for a stream");
}

/// Its blocks may be marked for a provider's cache, and some providers ask for a block of their own.
// S3-02
#[test]
fn a_system_prompt_that_nothing_is_put_around_stays_as_it_was_spelled() {
    let blocks = r#"[{"type":"text","text":"First."},{"cache_control":{"type":"ephemeral"},"type":"text","text":"Second."}]"#;
    let profile = Profile { context: vec!["notes/a.md".to_owned()], ..bare() };
    for (api, body, kept) in [
        (
            Api::Messages,
            format!(r#"{{"system":{blocks},"messages":[{{"role":"user","content":"Hi"}}]}}"#),
            format!(r#""system":{blocks}"#),
        ),
        (
            Api::Chat,
            format!(
                r#"{{"messages":[{{"message_id":"1","role":"developer","content":{blocks}}},{{"role":"user","content":"Hi"}}]}}"#
            ),
            format!(r#"{{"messages":[{{"role":"developer","content":{blocks}}},"#),
        ),
        (
            Api::Gemini,
            r#"{"system_instruction":{"parts":[{"text":"First."},{"text":"Second."}],"role":"user"},"contents":[]}"#.to_owned(),
            r#""system_instruction":{"parts":[{"text":"First."},{"text":"Second."}],"role":"user"}"#.to_owned(),
        ),
    ] {
        let made = text(&run(api, &body, &profile));
        assert!(made.contains(&kept), "{made}");
        let around = Profile { tools_hint: None, agent_prompt: Some("prompts/agent.md".to_owned()), ..bare() };
        let made = text(&run(api, &body, &around));
        assert!(made.contains("Act.") && !made.contains("cache_control"), "{made}");
        let none = Profile { prompt: Some(ProfilePrompt::Literal("Mine.".to_owned())), ..bare() };
        assert!(!text(&run(api, &body, &none)).contains("Second."));
    }
}

/// The path names the model, and a body that repeats it must not say another one.
#[test]
fn a_body_of_gemini_says_no_other_model_than_its_path() {
    let profile = Profile { model: Some("other".to_owned()), ..bare() };
    let made = value(&run(Api::Gemini, &one(Api::Gemini, "Hi"), &profile));
    assert_eq!(made.get("model"), None);
    let mut body: Value = serde_json::from_str(&one(Api::Gemini, "Hi")).unwrap();
    body["model"] = "models/m".into();
    assert_eq!(value(&run(Api::Gemini, &body.to_string(), &profile))["model"], "models/other");
}

/// What would be sent is what is counted, without what no count takes.
// S3-01
#[test]
fn a_count_is_of_what_would_be_sent() {
    let options = json!({ "include_reasoning": true, "thinking": { "type": "enabled" }, "reasoning": {},
        "generationConfig": { "topK": 3 } });
    let profile = Profile {
        options: options.as_object().unwrap().clone(),
        plugins: vec![ProfilePlugin { id: "web-search".to_owned(), max_results: None }],
        context: vec!["notes/a.md".to_owned()],
        ..full()
    };
    let count = |api: Api, body: &str, counted: &Counted| {
        let made = assemble(api, body.as_bytes(), &profile, &Memory::usual(), Some(counted)).unwrap();
        serde_json::from_slice::<Value>(&made.body).unwrap()
    };
    let options = ["include_reasoning", "thinking", "reasoning", "generationConfig", "plugins"];
    for (api, kept) in
        [(Api::Messages, "thinking"), (Api::Responses, "reasoning"), (Api::Gemini, "generationConfig")]
    {
        let body = one(api, "Hi");
        let counted = count(api, &body, &Counted::Flat);
        let mut sent = value(&run(api, &body, &profile));
        for option in options.into_iter().filter(|option| *option != kept) {
            assert!(sent.as_object_mut().unwrap().remove(option).is_some(), "{api:?} sends {option}");
        }
        assert_eq!(counted, sent, "{api:?}");
    }
    let wrapped = Counted::Wrapped { model: "m".to_owned() };
    let flat = one(Api::Gemini, "Hi");
    let mut sent = value(&run(Api::Gemini, &flat, &profile));
    sent["model"] = "models/gpt-asked".into();
    sent.as_object_mut().unwrap().remove("plugins");
    let counted = count(Api::Gemini, &flat, &wrapped);
    assert_eq!(counted, json!({ "generateContentRequest": sent }));
    let once = assemble(Api::Gemini, flat.as_bytes(), &profile, &Memory::usual(), Some(&wrapped)).unwrap();
    let twice = assemble(Api::Gemini, &once.body, &profile, &Memory::usual(), Some(&wrapped)).unwrap();
    assert_eq!(text(&twice), text(&once));
    // One that its client holds so already, with what it picks beside it.
    let mut request: Value = serde_json::from_str(&flat).unwrap();
    request["model"] = "models/m".into();
    let held = json!({ "generate_content_request": request, "leafgate": { "context": [] } });
    let counted = count(Api::Gemini, &held.to_string(), &wrapped);
    assert_eq!(counted["generateContentRequest"]["model"], "models/gpt-asked");
    assert!(!counted.to_string().contains("A says 1."));
    assert_eq!(counted.as_object().unwrap().len(), 1);
    let both = json!({ "generateContentRequest": {}, "contents": [] });
    let refused =
        assemble(Api::Gemini, both.to_string().as_bytes(), &profile, &Memory::usual(), Some(&wrapped));
    assert!(refused.unwrap_err().to_string().contains("/contents: the member is here twice"));
}

// S3-08
#[test]
fn results_of_gemini_find_their_calls_by_id_or_by_name_in_order() {
    let call = |id: Option<&str>, name: &str, n: u8| {
        let mut call = json!({ "name": name, "args": { "n": n } });
        if let Some(id) = id {
            call["id"] = id.into();
        }
        json!({ "functionCall": call })
    };
    let result = |id: Option<&str>, name: &str, n: u8| {
        let mut result = json!({ "name": name, "response": { "n": n } });
        if let Some(id) = id {
            result["id"] = id.into();
        }
        json!({ "functionResponse": result })
    };
    let body = json!({ "contents": [
        { "role": "user", "parts": [{ "text": "Go." }] },
        { "role": "model", "parts": [call(None, "f", 1), call(Some("i"), "g", 2), call(None, "f", 3), call(None, "f", 4)] },
        { "role": "function", "parts": [result(Some("i"), "g", 2), result(None, "f", 1), result(None, "h", 9)] },
        { "role": "function", "parts": [result(None, "f", 3)] },
    ] });
    let made = value(&run(Api::Gemini, &body.to_string(), &bare()));
    let calls = json!([call(None, "f", 1), call(Some("i"), "g", 2), call(None, "f", 3)]);
    assert_eq!(made["contents"][1], json!({ "role": "model", "parts": calls }));
    let results = json!([result(None, "f", 1), result(Some("i"), "g", 2), result(None, "f", 3)]);
    assert_eq!(made["contents"][2], json!({ "role": "user", "parts": results }));
    assert_eq!(made["contents"].as_array().unwrap().len(), 3);
}

fn one(api: Api, text: &str) -> String {
    let message = json!({ "role": "user", "content": text });
    match api {
        Api::Chat | Api::Messages => json!({ "model": "m", "messages": [message] }).to_string(),
        Api::Responses => json!({ "model": "m", "input": [message] }).to_string(),
        Api::Gemini | Api::CodeAssist => {
            json!({ "contents": [{ "role": "user", "parts": [{ "text": text }] }] }).to_string()
        }
    }
}

/// The system prompt of an assembled body.
fn system(api: Api, body: &Value) -> String {
    let at = match api {
        Api::Chat => "/messages/0/content",
        Api::Responses => "/instructions",
        Api::Messages => "/system",
        Api::Gemini | Api::CodeAssist => "/systemInstruction/parts/0/text",
    };
    body.pointer(at).unwrap().as_str().unwrap().to_owned()
}

// S3-03
#[test]
fn the_agent_prompt_stands_before_others_and_not_before_itself() {
    let path = || Some("prompts/agent.md".to_owned());
    let of = |prompt, agent_mode| Profile {
        prompt: Some(prompt),
        agent_prompt: path(),
        agent_mode,
        ..Profile::default()
    };
    let literal = || ProfilePrompt::Literal("Be kind.".to_owned());
    for api in APIS {
        let with = |profile: &Profile| system(api, &value(&run(api, &one(api, "Hi"), profile)));
        assert_eq!(with(&of(literal(), AgentMode::On)), "Act.\n\nBe kind.");
        assert_eq!(with(&of(literal(), AgentMode::Off)), "Be kind.");
        assert_eq!(with(&of(ProfilePrompt::Agent, AgentMode::On)), "Act.");
    }
}

// S3-13
#[test]
fn the_system_steps_digest_is_that_of_the_final_text() {
    let digests = |text: &str| {
        let profile = Profile { prompt: Some(ProfilePrompt::Literal(text.to_owned())), ..bare() };
        let assembled = run(Api::Chat, &one(Api::Chat, "Hi"), &profile);
        assembled.steps.into_iter().find(|step| step.did == Did::System).unwrap().digest
    };
    assert_eq!(digests("a"), digests("a"));
    assert_ne!(digests("a"), digests("b"));
}

// S3-14
#[test]
fn a_request_picks_from_what_its_profile_allows() {
    let with = |leafgate: Value, profile: &Profile| {
        let body =
            json!({ "messages": [{ "role": "user", "content": "Hi" }], "leafgate": leafgate }).to_string();
        assemble(Api::Chat, body.as_bytes(), profile, &Memory::usual(), None)
    };
    let profile = Profile { agent_mode: AgentMode::Client, ..full() };
    let picked = value(
        &with(
            json!({ "context": ["notes/b.md"], "documents": [], "webSearch": { "max_results": 2 } }),
            &profile,
        )
        .unwrap(),
    );
    let all = picked.to_string();
    assert!(all.contains("notes/b.md") && !all.contains("notes/a.md:") && !all.contains("cat.png"));
    assert!(!all.contains("documentContext") && !all.contains("leafgate"));
    assert_eq!(picked["plugins"], json!([{ "id": "web-search", "max_results": 2 }]));
    let most = value(&with(json!({ "webSearch": { "max_results": 99 } }), &profile).unwrap());
    assert_eq!(most["plugins"][0]["max_results"], 5);
    assert!(value(&with(json!({ "webSearch": false }), &profile).unwrap()).get("plugins").is_none());
    assert!(
        system(Api::Chat, &value(&with(json!({ "agentMode": true }), &profile).unwrap())).starts_with("Act.")
    );

    let refused = |leafgate: Value, profile: &Profile| with(leafgate, profile).unwrap_err().to_string();
    assert_eq!(
        refused(json!({ "context": ["secret.txt"] }), &profile),
        "/leafgate/context: the profile does not allow `secret.txt`"
    );
    assert_eq!(
        refused(json!({ "documents": ["other"] }), &profile),
        "/leafgate/documents: the profile does not allow `other`"
    );
    assert!(refused(json!({ "context": ["notes/../secret.md"] }), &profile).contains("must stay below"));
    assert!(refused(json!({ "agentMode": false }), &full()).contains("/leafgate/agentMode"));
    assert!(refused(json!({ "webSearch": true }), &bare()).contains("/leafgate/webSearch"));
    assert!(refused(json!({ "typo": 1 }), &profile).contains("/leafgate: an object with"));
}

#[test]
fn files_that_cannot_be_used_are_refused_by_name() {
    let faults = [
        ("../outside.md", None),
        ("/etc/passwd", None),
        ("gone.md", None),
        ("link.md", Some(FileFault::Link)),
        ("huge.md", Some(FileFault::TooLarge { limit: 1 << 20 })),
        ("folder", Some(FileFault::NoFile)),
    ];
    for (path, fault) in faults {
        let mut files = Memory::usual();
        files.0.extend(fault.map(|fault| (path.to_owned(), Err(fault))));
        let profile = Profile { context: vec![path.to_owned()], ..bare() };
        let error = assemble(Api::Chat, one(Api::Chat, "Hi").as_bytes(), &profile, &files, None).unwrap_err();
        let AssembleError::File { path: named, .. } = &error else { panic!("{error}") };
        assert_eq!(named, path);
    }
    let binary = Memory::of(&[("a.bin", b"\x00\x01\xff"), ("nul.txt", b"a\0b")]);
    for path in ["a.bin", "nul.txt"] {
        let profile = Profile { context: vec![path.to_owned()], ..bare() };
        let error = assemble(Api::Messages, one(Api::Messages, "Hi").as_bytes(), &profile, &binary, None)
            .unwrap_err();
        assert_eq!(error, AssembleError::File { path: path.to_owned(), fault: FileFault::Binary });
    }
    // The fallback is for prompts that are not there, and not for paths that lead outside.
    let outside = Profile { prompt: Some(ProfilePrompt::File("../x".to_owned())), ..bare() };
    assert!(assemble(Api::Chat, one(Api::Chat, "Hi").as_bytes(), &outside, &Memory::usual(), None).is_err());
}

#[test]
fn half_a_character_takes_nothing_along() {
    let body = r#"{"messages":[{"role":"system","content":"Own \ud83d rules."},{"role":"user","content":"\ud83d"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"x\":\"\ud83d\"}"}}]},{"role":"tool","tool_call_id":"c","content":"\ude00"}]}"#;
    let out = text(&run(Api::Chat, body, &bare()));
    assert!(out.contains(r#""content":"\ud83d""#) && out.contains(r#""content":"\ude00""#), "{out}");
    assert!(out.contains(r#""arguments":"{\"x\":\"\ud83d\"}""#), "{out}");
    assert!(out.contains("Own ") && out.contains(" rules."), "{out}");
}

#[test]
fn a_map_shows_each_folder_before_what_is_in_it() {
    let files = Memory::of(&[
        ("n/a/x.md", b""),
        ("n/a-b.md", b""),
        ("n/a/y/z.md", b""),
        ("n/c.md", b""),
        ("other", b""),
    ]);
    let map = |depth, entries| {
        let profile = Profile { map: Some(MapOf { root: "n".to_owned(), depth, entries }), ..bare() };
        let body = assemble(Api::Chat, one(Api::Chat, "Hi").as_bytes(), &profile, &files, None).unwrap();
        value(&body)["messages"][1]["content"].as_str().unwrap().to_owned()
    };
    let all = "Directory structure of n:\n\n- a/\n  - x.md\n  - y/\n    - z.md\n- a-b.md\n- c.md";
    assert_eq!(map(3, 500), all);
    assert_eq!(map(1, 500), "Directory structure of n:\n\n- a/\n- a-b.md\n- c.md");
    assert_eq!(map(3, 2), "Directory structure of n:\n\n- a/\n  - x.md\n- … (more than 2 entries)");
}

#[test]
fn calls_of_the_older_form_stay_with_what_they_came_to() {
    let body = json!({ "messages": [
        { "role": "user", "content": "Hi" },
        { "role": "assistant", "content": null, "function_call": { "name": "f", "arguments": "{}" } },
        { "role": "function", "name": "f", "content": "x" },
    ] });
    let kept = value(&run(Api::Chat, &body.to_string(), &bare()));
    assert_eq!(kept["messages"].as_array().unwrap()[1..], body["messages"].as_array().unwrap()[..]);
    let plain = Profile { agent_mode: AgentMode::Off, ..bare() };
    let plain = value(&run(Api::Chat, &body.to_string(), &plain));
    assert_eq!(plain["messages"].as_array().unwrap().len(), 2);
}

#[test]
fn context_is_bounded() {
    let limited = |max_context, max_files| Profile {
        context: vec!["notes/*.md".to_owned()],
        max_context,
        max_files,
        ..bare()
    };
    let run = |profile: &Profile| {
        assemble(Api::Chat, one(Api::Chat, "Hi").as_bytes(), profile, &Memory::usual(), None)
    };
    assert!(run(&limited(20, 2)).is_ok());
    assert_eq!(run(&limited(19, 2)).unwrap_err(), AssembleError::ContextTooLarge { limit: 19 });
    assert_eq!(run(&limited(20, 1)).unwrap_err(), AssembleError::TooManyFiles { limit: 1 });
}

#[test]
fn bodies_that_are_none_are_refused_with_their_place() {
    let refused = |api, body: &str| {
        assemble(api, body.as_bytes(), &bare(), &Memory::usual(), None).unwrap_err().to_string()
    };
    assert_eq!(refused(Api::Chat, "[]"), "the body is no JSON object (line 1, column 0)");
    assert_eq!(refused(Api::Chat, "{\"messages\": [1]}"), "/messages/0: an object is expected");
    assert_eq!(refused(Api::Responses, "{}"), "/input: a list of messages is expected");
    assert!(
        refused(Api::Messages, "{\"messages\": [], \"messages\": []}")
            .contains("/messages: the member is here twice")
    );
    assert!(
        refused(Api::Chat, "{\"messages\": [], \"leafgate\": {}, \"leafgate\": {}}").contains("/leafgate")
    );
}

// S3-22
#[test]
fn tools_are_normalised_at_every_depth() {
    let schema = json!({ "type": "object", "properties": {
        "a": { "type": "object", "properties": { "b": { "type": "string" } } },
        "c": { "type": "array", "items": { "type": "object", "properties": { "d": {} }, "required": [] } },
    }, "required": ["a"] });
    let body = json!({ "input": "Hi", "tools": [{ "type": "function", "name": "t", "parameters": schema, "strict": true }] });
    let profile = Profile { tools: ToolsOf { normalise: true, allow: None }, ..bare() };
    let tool = value(&run(Api::Responses, &body.to_string(), &profile))["tools"][0].clone();
    assert!(tool.get("strict").is_none());
    assert_eq!(tool["parameters"]["required"], json!(["a", "c"]));
    assert_eq!(tool["parameters"]["properties"]["a"]["required"], json!(["b"]));
    assert_eq!(tool["parameters"]["properties"]["c"]["items"]["required"], json!(["d"]));
}

// S3-15, S3-27
#[test]
fn what_is_not_touched_stays_as_it_was_spelled() {
    let body =
        "{ \"x\" : 1.50e1,\"messages\":[{\"role\":\"user\",  \"content\":\"\\u00e9\"}] , \"model\":\"m\"}";
    let out = text(&run(Api::Chat, body, &bare()));
    assert!(out.contains("1.50e1") && out.contains("{\"role\":\"user\",\"content\":\"\\u00e9\"}"), "{out}");
}

#[test]
fn results_of_calls_that_the_provider_keeps_stay() {
    let body = json!({ "previous_response_id": "r", "input": [{ "type": "function_call_output", "call_id": "c", "output": "x" }] });
    let kept = value(&run(Api::Responses, &body.to_string(), &bare()));
    assert_eq!(kept["input"], body["input"]);
    let mut alone = body;
    alone["previous_response_id"] = Value::Null;
    assert_eq!(value(&run(Api::Responses, &alone.to_string(), &bare()))["input"], json!([]));
}

#[test]
fn reasoning_goes_with_the_call_that_followed_from_it() {
    let reasoning = |id: &str| json!({ "type": "reasoning", "id": id, "summary": [] });
    let call = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": "{}" });
    let output = json!({ "type": "function_call_output", "call_id": "b", "output": "x" });
    let sent =
        json!([reasoning("1"), call("a"), reasoning("2"), call("b"), reasoning("3"), call("c"), output]);
    let body = value(&run(Api::Responses, &json!({ "input": sent }).to_string(), &bare()));
    assert_eq!(body["input"], json!([reasoning("2"), call("b"), output]));
}

#[test]
fn a_profile_sets_no_member_that_it_builds() {
    for key in ["messages", "system", "tools", "leafgate"] {
        let profile = Profile { options: json!({ key: 1 }).as_object().unwrap().clone(), ..bare() };
        assert!(profile.check().unwrap_err().to_string().contains(key));
    }
    let plugins = vec![ProfilePlugin { id: "web-search".to_owned(), max_results: None }];
    assert!(Profile { plugins, ..full() }.check().is_ok());
}

#[test]
fn a_request_without_images_says_where_they_were() {
    for (api, body, lesser) in [
        (
            Api::Chat,
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"x"}}]}]}"#,
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"[image left out]"}]}]}"#,
        ),
        (
            Api::Responses,
            r#"{"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"x"}]}]}"#,
            r#"{"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"[image left out]"}]}]}"#,
        ),
        (
            Api::Messages,
            r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"image","source":{}}]}]}]}"#,
            r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"[image left out]"}]}]}]}"#,
        ),
        (
            Api::Gemini,
            r#"{"contents":[{"parts":[{"inline_data":{"mime_type":"image/png","data":"x"}},{"inlineData":{"mimeType":"audio/wav","data":"x"}}]}]}"#,
            r#"{"contents":[{"parts":[{"text":"[image left out]"},{"inlineData":{"mimeType":"audio/wav","data":"x"}}]}]}"#,
        ),
    ] {
        let made = downgrade(api, body.as_bytes(), Refused::Images, "").unwrap().unwrap();
        assert_eq!(String::from_utf8_lossy(&made), lesser);
        assert!(downgrade(api, &made, Refused::Images, "").unwrap().is_none(), "there is none any more");
    }
}

#[test]
fn a_request_without_tools_has_no_trace_of_them() {
    let body = r#"{"model":"m","tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":"auto","messages":[{"role":"system","content":"S"},{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"a","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"},{"role":"assistant","content":"done"},{"role":"user","content":"b"}]}"#;
    let made = downgrade(Api::Chat, body.as_bytes(), Refused::Tools, "").unwrap().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&made),
        r#"{"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":"a"},{"role":"assistant","content":"done"},{"role":"user","content":"b"}]}"#
    );
    // Behind the results of its calls the model has nothing to answer without them.
    let ends = body.replace(r#",{"role":"assistant","content":"done"},{"role":"user","content":"b"}"#, "");
    let ends = ends.replace(r#""content":null"#, r#""content":"I look.""#);
    assert!(downgrade(Api::Chat, ends.as_bytes(), Refused::Tools, "").unwrap().is_none());
}

#[test]
fn a_request_is_asked_without_a_stream_and_of_no_model_that_it_asks_already() {
    let body = br#"{"model":"m","stream":true,"stream_options":{},"messages":[]}"#;
    let made = |without| downgrade(Api::Chat, body, without, "m").unwrap();
    assert_eq!(made(Refused::Stream).unwrap(), br#"{"model":"m","messages":[]}"#);
    assert_eq!(made(Refused::Model), None);
}
