//! The values that were added by hand, as they outlive a process: `known.json` of the data folder,
//! for its owner alone. It has fingerprints under a key of this installation, and nothing of the
//! values.

use std::path::Path;

use anyhow::{Context, ensure};
use leafgate_detect::KnownValue;
use serde::{Deserialize, Serialize};

use crate::kept::KeptRecord;
use crate::masking::masked;
use crate::private;

const LOCK: &str = "known.lock";
const VERSION: u32 = 1;

/// More belong in a file.
const MOST: usize = 10_000;

/// All that was added.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddedValues {
    version: u32,
    pub(super) values: Vec<KeptValue>,
}

/// A value that was added.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct KeptValue {
    pub(super) name: String,
    /// The day, in UTC.
    pub(super) added: String,
    #[serde(flatten)]
    pub(super) known: KnownValue,
}

impl KeptRecord for AddedValues {
    const FILE: &'static str = "known.json";
    const MEND: &'static str = "remove it, and add the known values again";
}

impl AddedValues {
    /// Reads those of this version.
    pub(super) fn of(data: &Path) -> anyhow::Result<AddedValues> {
        let kept = AddedValues::read(data)?;
        let is_known = kept.version == VERSION || kept.values.is_empty();
        ensure!(is_known, "{} cannot be used: {}", data.join(AddedValues::FILE).display(), AddedValues::MEND);
        Ok(kept)
    }

    /// Changes what is there, under the lock that all who change it take.
    pub(super) fn change<R>(data: &Path, change: impl FnOnce(&mut AddedValues) -> R) -> anyhow::Result<R> {
        let lock = private::lock_file(data, LOCK)?;
        lock.lock().context("cannot wait for others who change the known values")?;
        let mut kept = AddedValues::of(data)?;
        let changed = change(&mut kept);
        ensure!(kept.values.len() <= MOST, "more than {MOST} values: name a file of them in `known.files`");
        kept.version = VERSION;
        kept.write(data)?;
        Ok(changed)
    }

    /// Adds values, and says how many of them are new.
    pub(super) fn add(&mut self, values: &[KeptValue]) -> usize {
        let before = self.values.len();
        for value in values {
            match self.values.iter_mut().find(|known| known.known.whole == value.known.whole) {
                Some(known) => known.known.spelled.clone_from(&value.known.spelled),
                None => self.values.push(value.clone()),
            }
        }
        self.values.len() - before
    }

    /// Removes values by id or name, and says how many. One that is not there changes nothing.
    pub(super) fn remove(&mut self, names: &[String], all: bool) -> anyhow::Result<usize> {
        let before = self.values.len();
        let is = |value: &KeptValue, name: &String| value.known.id() == *name || value.name == *name;
        for name in names {
            ensure!(
                self.values.iter().any(|value| is(value, name)),
                "no value `{}` was added: `leafgate known list` shows all",
                masked(name)
            );
        }
        self.values.retain(|value| !all && !names.iter().any(|name| is(value, name)));
        Ok(before - self.values.len())
    }
}
