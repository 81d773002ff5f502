//! The policy folders of a running gate, as its admin API writes exceptions into them.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;
use leafgate_admin::ExceptionView;
use leafgate_gate::{NotExcepted, PolicyFiles, UpstreamName};
use leafgate_policy::{NewException, Policy, PolicySource, written_exceptions};

use super::file::{IdleException, TargetFile};
use super::{FILE, views_of};
use crate::home;

/// The policies that a gate was started with. It writes into their folders and nowhere else.
pub(crate) struct PolicyFolders {
    main: PolicySource,
    own: Vec<(UpstreamName, PolicySource)>,
    /// Two people may write at once: what one reads, the other one must have finished.
    writing: Mutex<()>,
}

impl PolicyFolders {
    pub(crate) fn new(main: PolicySource, own: Vec<(UpstreamName, PolicySource)>) -> Self {
        PolicyFolders { main, own, writing: Mutex::new(()) }
    }

    fn of(&self, upstream: Option<&str>) -> &PolicySource {
        let own = self.own.iter().find(|(name, _)| Some(name.as_str()) == upstream);
        own.map_or(&self.main, |(_, source)| source)
    }
}

/// Returns the file of a policy that an exception is to be written into, unless it works without one.
fn target_in(
    source: &PolicySource,
    works: Option<&dyn Fn(&Policy) -> bool>,
) -> Result<TargetFile, NotExcepted> {
    if source.folder().is_none() {
        return Err(NotExcepted::BuiltIn);
    }
    let target = TargetFile::new(source, Path::new(FILE)).map_err(failed)?;
    // Such as by this very person a moment ago.
    match works.is_some_and(|works| works(&target.policy)) {
        true => Err(NotExcepted::Already),
        false => Ok(target),
    }
}

fn failed(error: anyhow::Error) -> NotExcepted {
    match error.is::<IdleException>() {
        true => NotExcepted::Idle,
        false => NotExcepted::Failed(format!("{error:#}")),
    }
}

impl PolicyFiles for PolicyFolders {
    fn check(&self, upstream: Option<&str>, works: &dyn Fn(&Policy) -> bool) -> Result<(), NotExcepted> {
        target_in(self.of(upstream), Some(works)).map(drop)
    }

    fn except(
        &self,
        upstream: Option<&str>,
        exception: &NewException,
        works: Option<&dyn Fn(&Policy) -> bool>,
    ) -> Result<String, NotExcepted> {
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let target = target_in(self.of(upstream), works)?;
        target.add(exception, works.unwrap_or(&|_| true)).map_err(failed)?;
        Ok(target.path.display().to_string())
    }

    fn remove(&self, id: &str) -> Result<(), NotExcepted> {
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let own = self.own.iter().map(|(_, source)| source);
        for source in [&self.main].into_iter().chain(own) {
            if remove(source, id).map_err(failed)? {
                return Ok(());
            }
        }
        Err(NotExcepted::Unknown)
    }

    fn exceptions(&self) -> Result<Vec<ExceptionView>, NotExcepted> {
        let own = self.own.iter().map(|(name, source)| (Some(name.as_str()), source));
        let all = [(None, &self.main)].into_iter().chain(own);
        let views = all.map(|(upstream, source)| views_of(source, upstream));
        Ok(views.collect::<anyhow::Result<Vec<_>>>().map_err(failed)?.concat())
    }
}

/// Takes an exception out of its file; gives whether there is one with this id.
pub(super) fn remove(source: &PolicySource, id: &str) -> anyhow::Result<bool> {
    let Some(folder) = source.folder() else { return Ok(false) };
    let written = written_exceptions(folder, &home::token_keys()?).map_err(anyhow::Error::msg)?;
    let Some(exception) = written.into_iter().find(|exception| exception.id == id) else { return Ok(false) };
    let target = TargetFile::new(source, Path::new(exception.path.file_name().unwrap_or_default()))?;
    let before = target.read()?;
    let after = before.as_deref().and_then(|text| exception.taken_out_of(text));
    let after = after.context("the file was changed meanwhile: list the exceptions again")?;
    target.replace(before.as_deref(), &after, &|_| true)?;
    Ok(true)
}
