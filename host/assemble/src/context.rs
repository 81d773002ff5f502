//! What stands before the latest user message: files, images, a map of folders.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use leafgate_glob::PathGlob;

use crate::assemble::AssemblyRun;
use crate::error::{AssembleError, shown};
use crate::files::{FileFault, ListedEntry, check};
use crate::json::Object;
use crate::profile::MapOf;
use crate::step::{Did, Step};

/// How a document is named in a profile.
const DOCUMENT: &str = "doc:";

/// Files that are looked through for those that match.
const MAX_LISTED: usize = 20_000;
const MAX_DEPTH: usize = 16;

/// How images begin, and their media types.
const IMAGES: [(&[u8], &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
];

impl AssemblyRun<'_> {
    /// Returns the messages of the context, in order.
    pub(crate) fn context(&mut self) -> Result<Vec<Object>, AssembleError> {
        let (limit, wire) = (self.profile.max_context, self.wire);
        let mut messages = Vec::new();
        let mut bytes = 0;
        let mut put = |text: usize| {
            bytes += text;
            if bytes <= limit { Ok(()) } else { Err(AssembleError::ContextTooLarge { limit }) }
        };
        for path in self.paths()? {
            let fault = |fault| AssembleError::file(&path, fault);
            let content = self.files.read(&path).map_err(fault)?;
            let label = format!("Context from {}:", shown(&path));
            if let Some(media) = media(&content) {
                put(content.len().div_ceil(3) * 4)?;
                self.steps.push(Step::put(Did::Image, &*path, &content));
                messages.push(wire.picture(&label, media, &STANDARD.encode(&content)));
                continue;
            }
            put(content.len())?;
            let text = String::from_utf8(content).ok().filter(|text| !text.contains('\0'));
            let text = text.ok_or_else(|| fault(FileFault::Binary))?;
            self.steps.push(Step::put(Did::Context, &*path, text.as_bytes()));
            messages.push(wire.said(&format!("{label}\n\n{text}")));
        }
        if let Some(map) = &self.profile.map {
            let text = self.map_of(map)?;
            put(text.len())?;
            self.steps.push(Step::put(Did::Map, &*map.root, text.as_bytes()));
            messages.push(wire.said(&text));
        }
        Ok(messages)
    }

    /// Returns the documents that are named on the latest user message.
    pub(crate) fn documents(&self) -> Result<Vec<String>, AssembleError> {
        let allowed: Vec<&str> =
            self.profile.context.iter().filter_map(|entry| entry.strip_prefix(DOCUMENT)).collect();
        let Some(picks) = &self.asked.documents else {
            return Ok(allowed.into_iter().map(str::to_owned).collect());
        };
        match picks.iter().find(|pick| !allowed.contains(&pick.as_str())) {
            Some(pick) => Err(AssembleError::NotAllowed { member: "documents", pick: Some(shown(pick)) }),
            None => Ok(picks.clone()),
        }
    }

    /// The files that are wanted, each once: in the order of the profile, those of a pattern by name.
    fn paths(&self) -> Result<Vec<String>, AssembleError> {
        let entries = self.profile.context.iter().map(String::as_str);
        let patterns: Vec<&str> = entries.filter(|entry| !entry.starts_with(DOCUMENT)).collect();
        let mut paths: Vec<String> = Vec::new();
        match &self.asked.context {
            Some(picks) => {
                for pick in picks {
                    check(pick).map_err(|fault| AssembleError::file(pick, fault))?;
                    if !patterns.iter().any(|pattern| names(pattern).matches(pick)) {
                        return Err(AssembleError::NotAllowed { member: "context", pick: Some(shown(pick)) });
                    }
                    paths.push(pick.clone());
                }
            }
            None => {
                for pattern in patterns {
                    check(pattern).map_err(|fault| AssembleError::file(pattern, fault))?;
                    if pattern.contains(['*', '?']) {
                        paths.extend(self.expanded(pattern)?);
                    } else {
                        paths.push(pattern.to_owned());
                    }
                }
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        paths.retain(|path| seen.insert(path.clone()));
        if paths.len() > self.profile.max_files {
            return Err(AssembleError::TooManyFiles { limit: self.profile.max_files });
        }
        Ok(paths)
    }

    fn expanded(&self, pattern: &str) -> Result<Vec<String>, AssembleError> {
        // Only what can match is walked.
        let fixed: Vec<&str> = pattern.split('/').take_while(|part| !part.contains(['*', '?'])).collect();
        let folder = fixed.join("/");
        let listed = self
            .files
            .list(&folder, MAX_DEPTH, MAX_LISTED)
            .map_err(|fault| AssembleError::file(&folder, fault))?;
        if listed.len() >= MAX_LISTED {
            return Err(AssembleError::TooManyFiles { limit: MAX_LISTED });
        }
        let glob = names(pattern);
        let wanted =
            |entry: &ListedEntry| !entry.is_folder && check(&entry.path).is_ok() && glob.matches(&entry.path);
        let mut paths: Vec<String> = listed.into_iter().filter(wanted).map(|entry| entry.path).collect();
        paths.sort();
        Ok(paths)
    }

    /// Folders and files as a list, indented by depth.
    fn map_of(&self, map: &MapOf) -> Result<String, AssembleError> {
        let fault = |fault| AssembleError::file(&map.root, fault);
        if !map.root.is_empty() {
            check(&map.root).map_err(fault)?;
        }
        let mut entries =
            self.files.list(&map.root, map.depth, map.entries.saturating_add(1)).map_err(fault)?;
        entries.sort_by(|one, other| one.path.split('/').cmp(other.path.split('/')));
        let more = entries.len() > map.entries;
        entries.truncate(map.entries);
        let name = if map.root.is_empty() { "." } else { &map.root };
        let mut text = format!("Directory structure of {}:\n", shown(name));
        let root_parts = map.root.split('/').filter(|part| !part.is_empty()).count();
        for entry in &entries {
            let parts: Vec<&str> = entry.path.split('/').collect();
            let indent = "  ".repeat(parts.len().saturating_sub(root_parts + 1));
            let name = parts.last().copied().unwrap_or_default();
            let _ = write!(text, "\n{indent}- {}{}", shown(name), if entry.is_folder { "/" } else { "" });
        }
        if more {
            let _ = write!(text, "\n- … (more than {} entries)", map.entries);
        }
        Ok(text)
    }
}

/// What an entry of a profile's `context` names. As in a shell, no wildcard names what is hidden.
fn names(pattern: &str) -> PathGlob {
    PathGlob::new(pattern).hiding_dots()
}

fn media(content: &[u8]) -> Option<&'static str> {
    let webp = content.starts_with(b"RIFF") && content.get(8..12) == Some(b"WEBP");
    let known = IMAGES.iter().find(|(magic, _)| content.starts_with(magic)).map(|(_, media)| *media);
    known.or(webp.then_some("image/webp"))
}
