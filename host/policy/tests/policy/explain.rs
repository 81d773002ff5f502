//! What `explain` tells.

use super::support::*;

const RULES: &str = r#"
    [[rule]]
    id = "mail"
    match = { role = ["user", "tool"], path = "messages[*].content" }
    detect = ["pii/email", "plugin:names"]
    action = "redact"
    with = "mask"
    [[rule]]
    id = "tone"
    match = { kind = "text" }
    action = "transform"
    plugin = "shout"
    [[rule]]
    id = "stop"
    match = {}
    when = 'leaf.text.contains("prod")'
    action = "pause"
    reason = "Production"
    mode = "monitor"
    [plugins.names]
    file = "names.wasm"
    [plugins.shout]
    file = "shout.wasm"
"#;

#[test]
fn it_tells_every_phase_rule_and_plugin_with_defaults_filled_in() {
    let fakes =
        Fakes::default().with("names", Fake::finds("x")).with("shout", Fake::transformer(|_| Ok(vec![])));
    let folder = folder(RULES, &fakes);
    let explanation = load_folder(folder.path(), &fakes).unwrap().explain();
    let shown = explanation.to_string().replace(&folder.path().display().to_string(), "policy");
    // The generation depends on the detectors' data, which may grow.
    let shown = shown.replace(&explanation.generation, "GENERATION");
    snapshot!(shown);
    let json = serde_json::to_value(&explanation).unwrap();
    assert_eq!(json["phases"][1]["rules"][0]["onError"], "block");
    assert_eq!(json["plugins"][1]["usedBy"][0], "tone");
}
