//! The gate that stands, and the settings that lead editors there, as commands start, find, give back and end them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use leafgate_tests::http::Client;
use leafgate_tests::sample;
use leafgate_tests::standing::Standing;
use leafgate_tests::upstream::Upstream;

/// Settings as editors on Windows leave them, and as people do.
const SETTINGS: &str = "\u{feff}// mine\r\n{\r\n\t\"editor.tabSize\": 2, // two\r\n}\r\n";

/// A person whose Copilot is this upstream.
fn person(upstream: &Upstream) -> Standing {
    let url = upstream.url();
    Standing::of(&format!("upstream = {url:?}\n[upstreams.copilot]\nurl = {url:?}\nkind = \"copilot\"\n"))
        .unwrap()
}

/// The settings of an editor whose data are in this folder.
fn settings_of(data: &Path) -> std::path::PathBuf {
    fs::create_dir_all(data.join("User")).unwrap();
    data.join("User/settings.json")
}

/// `127.0.0.1:PORT`, as settings lead there.
fn led_to(settings: &Path) -> String {
    let text = fs::read_to_string(settings).unwrap();
    let (_, behind) = text.split_once("CapiUrl\": \"http://").unwrap_or_else(|| panic!("{text}"));
    behind.split_once('/').unwrap().0.to_owned()
}

#[test]
fn settings_lead_to_a_gate_that_stands_and_are_given_back_as_they_were() {
    let (upstream, editors) = (Upstream::start().unwrap(), tempfile::tempdir().unwrap());
    let person = person(&upstream);
    let folders = ["some", "none"].map(|name| editors.path().join(name));
    let [some, none] = folders.each_ref().map(|folder| settings_of(folder));
    fs::write(&some, SETTINGS).unwrap();
    let named = folders.iter().flat_map(|folder| ["--user-data-dir", folder.to_str().unwrap()]);
    let vscode = |how| person.run(&["vscode", how].into_iter().chain(named.clone()).collect::<Vec<_>>());
    vscode("on").unwrap();
    let address = led_to(&some);
    assert_eq!(led_to(&none), address);
    let ask = || {
        let mut client = Client::connect(address.parse().unwrap()).unwrap();
        client.post("/u/copilot/chat/completions", &[], &sample::chat("Good morning")).unwrap().status()
    };
    assert_eq!((ask(), upstream.take().len()), (200, 1));
    vscode("status").unwrap();
    // It is at its place again, where nobody has changed the settings.
    person.run(&["stop"]).unwrap();
    assert!(Client::connect(address.parse().unwrap()).is_err(), "it has ended");
    assert!(vscode("status").is_err(), "nobody looks at what an editor sends");
    person.run(&["start"]).unwrap();
    assert_eq!((ask(), upstream.take().len()), (200, 1));
    vscode("off").unwrap();
    assert_eq!(fs::read_to_string(some).unwrap(), SETTINGS);
    assert!(!none.exists(), "an absent file is absent again");
}

#[test]
fn where_one_file_cannot_be_led_none_is() {
    let (upstream, editors) = (Upstream::start().unwrap(), tempfile::tempdir().unwrap());
    let person = person(&upstream);
    let good = settings_of(&editors.path().join("good"));
    fs::write(&good, SETTINGS).unwrap();
    for (name, text, mode) in [("unparsable", "{ \"a\": 1", 0o600), ("read-only", "{}", 0o400)] {
        let bad = settings_of(&editors.path().join(name));
        fs::write(&bad, text).unwrap();
        fs::set_permissions(&bad, fs::Permissions::from_mode(mode)).unwrap();
        let folders = ["good", name].map(|name| editors.path().join(name).to_str().unwrap().to_owned());
        let on = ["vscode", "on", "--user-data-dir", &folders[0], "--user-data-dir", &folders[1]];
        let error = format!("{:#}", person.run(&on).unwrap_err());
        assert!(error.contains(bad.to_str().unwrap()), "{error}");
        assert_eq!(fs::read_to_string(&good).unwrap(), SETTINGS, "{name}");
        assert!(person.admin().is_err(), "no gate was started for nothing");
    }
}
