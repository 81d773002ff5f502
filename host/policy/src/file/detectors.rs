//! Resolves the names of detectors and plugins that a rule uses.

use std::collections::BTreeMap;
use std::ops::Range;

use leafgate_detect::{Engine, all_detectors};

use super::compile::Compiler;
use super::plugins::Lookup;
use crate::diagnostic::{did_you_mean, hint_for};
use crate::index::{EngineIndex, PluginIndex};
use crate::plugin::World;

/// Detector sets and their engines: rules that name the same detectors share one.
#[derive(Debug, Default)]
pub(crate) struct Engines {
    pub(crate) all: Vec<Engine>,
    by_names: BTreeMap<Vec<String>, EngineIndex>,
}

impl Compiler<'_, '_> {
    /// The names of `detect`, built-in ones and plugins apart; each unknown one is reported.
    pub(super) fn detectors(&mut self, names: Vec<(&str, Range<usize>)>) -> (Vec<String>, Vec<PluginIndex>) {
        let (mut detectors, mut plugins) = (Vec::new(), Vec::new());
        let known = known_detectors();
        for (word, span) in names {
            if let Some(plugin) = word.strip_prefix("plugin:") {
                plugins.extend(self.plugin(plugin, span, World::Detector));
            } else if known.contains(&word) {
                detectors.push(word.to_owned());
            } else {
                let pack = word.strip_suffix("/*").filter(|pack| known.contains(pack));
                let hint = match (pack, did_you_mean(word, known.iter().copied())) {
                    (Some(pack), _) => format!("`{pack}` is the whole pack"),
                    (None, Some(meant)) => format!("did you mean `{meant}`?"),
                    (None, None) => {
                        format!("{}; `leafgate detectors list` shows all", hint_for(word, &known))
                    }
                };
                self.complaints.error(span, format!("unknown detector `{word}`"), hint);
            }
        }
        (detectors, plugins)
    }

    pub(super) fn engine(&mut self, detectors: &[String], span: Range<usize>) -> Option<Option<EngineIndex>> {
        if detectors.is_empty() {
            return Some(None);
        }
        let mut names = detectors.to_vec();
        names.sort();
        names.dedup();
        if let Some(&engine) = self.engines.by_names.get(&names) {
            return Some(Some(engine));
        }
        match Engine::new(&names) {
            Ok(engine) => {
                let index = EngineIndex::new(self.engines.all.len());
                self.engines.all.push(engine);
                self.engines.by_names.insert(names, index);
                Some(Some(index))
            }
            Err(error) => {
                self.complaints.error(span, error.to_string(), "`leafgate detectors list` shows all");
                None
            }
        }
    }

    pub(super) fn plugin(&mut self, name: &str, span: Range<usize>, world: World) -> Option<PluginIndex> {
        match self.plugins.find(name, world) {
            Lookup::Found(plugin) => return Some(plugin),
            Lookup::Broken => {}
            Lookup::Unknown => {
                let names = self.plugins.names();
                let hint = match names.is_empty() {
                    true => format!("declare it: `[plugins.{name}]` with `file = \"…\"`"),
                    false => hint_for(name, &names),
                };
                self.complaints.error(span, format!("no plugin `{name}` is declared"), hint);
            }
            Lookup::WrongWorld => {
                let (is, use_it) = match world {
                    World::Detector => ("transformer", "use it with `action = \"transform\"`"),
                    World::Transformer => ("detector", "use it in `detect` of a redact rule"),
                };
                self.complaints.error(span, format!("plugin `{name}` is a {is}"), use_it);
            }
        }
        None
    }
}

/// Packs and detectors, by the names that `detect` accepts.
fn known_detectors() -> Vec<&'static str> {
    let ids = all_detectors().iter().map(|detector| detector.id.as_str());
    let mut known: Vec<&str> = ids.clone().chain(ids.filter_map(|id| id.split('/').next())).collect();
    known.sort_unstable();
    known.dedup();
    known
}
