//! Files in memory, and a profile that uses everything.

use std::collections::BTreeMap;

use leafgate_assemble::{
    AgentMode, Api, Assembled, FileFault, Files, ListedEntry, MapOf, Profile, ProfilePlugin, ProfilePrompt,
    ToolsOf, assemble,
};
use serde_json::{Value, json};

/// The APIs whose requests have a form of their own.
pub(crate) const APIS: [Api; 4] = [Api::Chat, Api::Responses, Api::Messages, Api::Gemini];

/// Files by their paths; those that are faults cannot be read.
#[derive(Default)]
pub(crate) struct Memory(pub(crate) BTreeMap<String, Result<Vec<u8>, FileFault>>);

pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n.....";

impl Memory {
    pub(crate) fn of(files: &[(&str, &[u8])]) -> Memory {
        Memory(files.iter().map(|(path, content)| ((*path).to_owned(), Ok(content.to_vec()))).collect())
    }

    pub(crate) fn usual() -> Memory {
        Memory::of(&[
            ("prompts/agent.md", b"Act.\n"),
            ("prompts/review.md", b"Review.\n"),
            ("prompts/tools.md", b"Use tools.\n"),
            ("notes/a.md", b"A says 1.\n"),
            ("notes/b.md", b"B says 2.\n"),
            ("pics/cat.png", PNG),
        ])
    }
}

impl Files for Memory {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileFault> {
        self.0.get(path).cloned().unwrap_or(Err(FileFault::Missing))
    }

    fn list(&self, folder: &str, depth: usize, most: usize) -> Result<Vec<ListedEntry>, FileFault> {
        let mut entries = std::collections::BTreeSet::new();
        for path in self.0.keys() {
            let below = if folder.is_empty() {
                Some(path.as_str())
            } else {
                path.strip_prefix(folder).and_then(|p| p.strip_prefix('/'))
            };
            let Some(below) = below else { continue };
            let parts: Vec<&str> = below.split('/').collect();
            for end in 1..=parts.len().min(depth) {
                let rest = parts[..end].join("/");
                let path = if folder.is_empty() { rest } else { format!("{folder}/{rest}") };
                entries.insert(ListedEntry { path, is_folder: end < parts.len() });
            }
        }
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by(|one, other| one.path.split('/').cmp(other.path.split('/')));
        entries.truncate(most);
        Ok(entries)
    }
}

/// A profile that uses everything.
pub(crate) fn full() -> Profile {
    Profile {
        model: Some("gpt-asked".to_owned()),
        agent_mode: AgentMode::On,
        prompt: Some(ProfilePrompt::File("prompts/review.md".to_owned())),
        agent_prompt: Some("prompts/agent.md".to_owned()),
        tools_hint: Some("prompts/tools.md".to_owned()),
        context: ["notes/*.md", "pics/cat.png", "doc:spec-7"].map(str::to_owned).to_vec(),
        map: Some(MapOf { root: "notes".to_owned(), depth: 3, entries: 500 }),
        plugins: vec![ProfilePlugin { id: "web-search".to_owned(), max_results: Some(5) }],
        options: json!({ "include_reasoning": true }).as_object().unwrap().clone(),
        tools: ToolsOf { normalise: true, allow: Some(vec!["read_*".to_owned()]) },
        ..Profile::default()
    }
}

pub(crate) fn bare() -> Profile {
    Profile { agent_mode: AgentMode::On, ..Profile::default() }
}

pub(crate) fn run(api: Api, body: &str, profile: &Profile) -> Assembled {
    assemble(api, body.as_bytes(), profile, &Memory::usual(), None).unwrap()
}

pub(crate) fn text(assembled: &Assembled) -> String {
    String::from_utf8(assembled.body.clone()).unwrap()
}

pub(crate) fn value(assembled: &Assembled) -> Value {
    serde_json::from_slice(&assembled.body).unwrap()
}
