//! Resolves the names of detectors and plugins that a rule uses.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use leafgate_contract::World;
use leafgate_detect::{DetectorInfo, Engine, KnownValues, all_detectors, selectors};
use leafgate_diagnostic::{did_you_mean, hint_for};
use toml::Spanned;

use super::compile::Compiler;
use super::raw::{RawRule, said, words_of};
use crate::index::{EngineIndex, PluginIndex};
use crate::loaded::LoadedPlugin;
use crate::own::{OwnDetector, OwnSet, PACK};
use crate::rule::FindingCount;

/// Detector sets and their engines: rules that name the same detectors share one.
#[derive(Debug, Default)]
pub(crate) struct Engines {
    pub(crate) all: Vec<Engine>,
    /// The values that `secrets/known` finds.
    known: Option<Arc<KnownValues>>,
    by_ids: BTreeMap<Vec<String>, EngineIndex>,
    /// Sets of the policy's own detectors; rules that name the same share one.
    own: Vec<(Vec<String>, OwnSet)>,
}

impl Engines {
    pub(crate) fn knowing(known: Option<Arc<KnownValues>>) -> Self {
        Engines { known, ..Engines::default() }
    }

    /// Returns the engine of some built-in detectors, by their ids; `None` for none.
    pub(super) fn engine(&mut self, ids: Vec<String>) -> Option<EngineIndex> {
        if ids.is_empty() {
            return None;
        }
        let Engines { all, known, by_ids, .. } = self;
        Some(*by_ids.entry(ids).or_insert_with_key(|ids| {
            all.push(Engine::with_known(ids, known.as_ref()).expect("they are ids of what is built in"));
            EngineIndex::new(all.len() - 1)
        }))
    }

    /// Returns those of some detectors that an engine looks for.
    pub(super) fn among(&self, engine: Option<EngineIndex>, ids: &[&str]) -> Vec<String> {
        let looks = |id: &&str| {
            engine.is_some_and(|engine| self.all[engine].detectors().any(|info| info.id.as_str() == *id))
        };
        ids.iter().filter(|id| looks(id)).map(|id| (*id).to_owned()).collect()
    }

    /// Returns the sets of own detectors.
    pub(crate) fn own_sets(&self) -> impl Iterator<Item = &OwnSet> {
        self.own.iter().map(|(_, set)| set)
    }

    /// Gives the sets of own detectors out, as what answers behind the declared plugins.
    pub(crate) fn take_own(&mut self) -> impl Iterator<Item = LoadedPlugin> {
        std::mem::take(&mut self.own).into_iter().map(|(_, set)| LoadedPlugin {
            name: PACK.into(),
            path: PathBuf::new(),
            detectors: set.detectors().iter().map(|own| own.id.clone()).collect(),
            plugin: Arc::new(set),
        })
    }
}

/// Detectors whose findings go over many lines.
pub(super) const OF_MANY_LINES: [&str; 3] =
    ["secrets/private-key", "secrets/private-key-base64", "secrets/putty-key"];

/// The word for what is in the pack of these and is none of them: for answers, whole and streamed.
pub(super) const ONE_LINE: &str = "secrets/one-line";

impl Compiler<'_, '_> {
    /// The ids of the built-in detectors that `detect` names, and its plugins; each unknown name is reported.
    pub(super) fn detectors(&mut self, names: Vec<(&str, Range<usize>)>) -> (Vec<String>, Vec<PluginIndex>) {
        let (mut detectors, mut plugins) = (Vec::new(), Vec::new());
        let mut without: Vec<(&str, Range<usize>)> = Vec::new();
        let mut own: BTreeMap<String, Arc<OwnDetector>> = BTreeMap::new();
        let known = known_detectors();
        let words: Vec<&str> = names.iter().map(|(word, _)| *word).collect();
        for (word, span) in names {
            if word == ONE_LINE {
                let pack = OF_MANY_LINES.iter().find_map(|id| id.split('/').next());
                detectors.extend(pack.map(str::to_owned));
                // One that is named beside it is looked for.
                let named = |id: &&str| words.iter().any(|word| word == id || Some(*word) == pack);
                let others = OF_MANY_LINES.into_iter().filter(|id| !named(id));
                without.extend(others.map(|id| (id, span.clone())));
            } else if word == PACK || word.starts_with("own/") {
                own.extend(self.own_named(word, span));
            } else if let Some(left_out) = word.strip_prefix('!').filter(|word| known.contains(word)) {
                without.push((left_out, span));
            } else if let Some(plugin) = word.strip_prefix("plugin:") {
                plugins.extend(self.plugin(&Spanned::new(span, plugin.to_owned()), World::Detector));
            } else if known.contains(&word) {
                detectors.push(word.to_owned());
            } else {
                let word = word.trim_start_matches('!');
                let pack = word.strip_suffix("/*").filter(|pack| known.contains(pack));
                let inside = || {
                    known
                        .iter()
                        .copied()
                        .find(|name| name.rsplit_once('/').is_some_and(|(_, own)| own == word))
                };
                let hint = match (pack, inside().or_else(|| did_you_mean(word, known.iter().copied()))) {
                    (Some(pack), _) => format!("`{pack}` is the whole pack"),
                    (None, Some(meant)) => format!("did you mean `{meant}`?"),
                    (None, None) => {
                        format!("{}; `leafgate detectors list` shows all", hint_for(word, &known))
                    }
                };
                self.complaints.error(span, format!("unknown detector `{word}`"), hint);
            }
        }
        plugins.extend(self.own_set(own));
        (self.left_of(&detectors, &without), plugins)
    }

    /// `findings` and `at_least`: which findings of redact rules count, and how many there must be.
    pub(super) fn finding_count(&mut self, raw: &RawRule) -> Option<FindingCount> {
        if raw.findings.is_none() {
            let least = raw.at_least.as_ref().filter(|_| !raw.broken.contains("findings"))?;
            let hint = "say whose findings count: `findings = [\"pii\"]`";
            self.complaints.error(least.span(), "`at_least` means nothing without `findings`", hint);
            return None;
        }
        let words = words_of(&raw.findings);
        let is_own = |word: &(&str, Range<usize>)| word.0 == PACK || word.0.starts_with("own/");
        let (own, others): (Vec<_>, Vec<_>) = words.into_iter().partition(is_own);
        let plugins = others.iter().map(|(word, _)| *word).filter(|word| word.starts_with("plugin:"));
        let mut detectors: BTreeSet<String> = plugins.map(str::to_owned).collect();
        for (word, span) in own {
            detectors.extend(self.own_named(word, span).into_iter().map(|(id, _)| id));
        }
        detectors.extend(self.detectors(others).0);
        Some(FindingCount { detectors, at_least: said(&raw.at_least).unwrap_or(1) })
    }

    fn own_named(&mut self, name: &str, span: Range<usize>) -> Vec<(String, Arc<OwnDetector>)> {
        let named = self.own.named(name);
        if named.is_empty() && !self.own.is_broken(name) {
            let known: Vec<&str> = self.own.names().collect();
            let hint = match known.is_empty() {
                true => "declare it: `[[detector]]` with `id` and `words` or `regex`".to_owned(),
                false => hint_for(name, &known),
            };
            self.complaints.error(span, format!("no detector `{name}` is declared"), hint);
        }
        named.into_iter().map(|own| (own.id.as_str().to_owned(), own)).collect()
    }

    /// Returns where the set of some own detectors answers: behind all declared plugins.
    fn own_set(&mut self, own: BTreeMap<String, Arc<OwnDetector>>) -> Option<PluginIndex> {
        if own.is_empty() {
            return None;
        }
        let (names, own): (Vec<String>, Vec<_>) = own.into_iter().unzip();
        let declared = self.plugins.loaded.len();
        if let Some(at) = self.engines.own.iter().position(|(known, _)| *known == names) {
            return Some(PluginIndex::new(declared + at));
        }
        match OwnSet::new(own) {
            Ok(set) => {
                self.engines.own.push((names, set));
                Some(PluginIndex::new(declared + self.engines.own.len() - 1))
            }
            Err(error) => {
                let message = format!("the words of {} are too many: {error}", names.join(", "));
                self.complaints.error(0..0, message, "name fewer detectors in one rule");
                None
            }
        }
    }

    /// Returns the detectors of some packs without those that are left out: `"!secrets/jwt"`.
    fn left_of(&mut self, names: &[String], without: &[(&str, Range<usize>)]) -> Vec<String> {
        let mut left: Vec<&DetectorInfo> =
            all_detectors().iter().filter(|info| names.iter().any(|name| info.is_of(name))).collect();
        for (name, span) in without {
            let before = left.len();
            left.retain(|detector| !detector.is_of(name));
            let hint = "name the pack that it is in before it, as in `[\"secrets\", \"!secrets/jwt\"]`";
            if left.len() == before {
                self.complaints.error(span.clone(), format!("`!{name}` leaves out what is not there"), hint);
            } else if left.is_empty() {
                let message = format!("nothing is left to look for without `{name}`");
                self.complaints.error(span.clone(), message, "leave the rule out, or less of its pack");
            }
        }
        left.into_iter().map(|detector| detector.id.as_str().to_owned()).collect()
    }

    /// Returns the plugin of a name, which must be of a world; reports what is wrong with either.
    pub(super) fn plugin(&mut self, named: &Spanned<String>, world: World) -> Option<PluginIndex> {
        let (name, span) = (named.get_ref().as_str(), named.span());
        let Some(at) = self.plugins.loaded.iter().position(|plugin| *plugin.name == *name) else {
            if !self.plugins.is_broken(name) {
                let names = self.plugins.names();
                let hint = match names.is_empty() {
                    true => format!("declare it: `[plugins.{name}]` with `file = \"…\"`"),
                    false => hint_for(name, &names),
                };
                self.complaints.error(span, format!("no plugin `{name}` is declared"), hint);
            }
            return None;
        };
        if self.plugins.loaded[at].plugin.world() == world {
            return Some(PluginIndex::new(at));
        }
        let (is, use_it) = match world {
            World::Detector => ("transformer", "use it with `action = \"transform\"`"),
            World::Transformer => ("detector", "use it in `detect` of a redact rule"),
        };
        self.complaints.error(span, format!("plugin `{name}` is a {is}"), use_it);
        None
    }
}

/// Packs and detectors, by the names that `detect` accepts.
fn known_detectors() -> Vec<&'static str> {
    let mut known: Vec<&str> = selectors().chain([ONE_LINE]).collect();
    known.sort_unstable();
    known
}
