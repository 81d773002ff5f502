//! A file of a policy folder that is written: whole, and taken back where the policy does not load with
//! it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Error, anyhow, bail};
use leafgate_policy::{NewException, Policy, PolicySource};

use crate::{policy, private};

/// The file of a policy folder that is written.
pub(crate) struct TargetFile {
    source: PolicySource,
    pub(super) path: PathBuf,
    /// What the folder says before it is written into.
    pub(super) policy: Policy,
}

impl TargetFile {
    pub(crate) fn new(source: &PolicySource, file: &Path) -> anyhow::Result<TargetFile> {
        let Some(folder) = source.folder() else {
            bail!("a built-in policy cannot be changed: leave `--policy` out for your own, or name a folder")
        };
        let is_rule_file = file.extension().is_some_and(|extension| extension == "toml");
        if !is_rule_file || file.components().count() != 1 || !leafgate_folder::is_inside(file) {
            bail!(
                "{} is no name of a rule file: rule files end in `.toml` and lie in the folder itself",
                file.display()
            );
        }
        let policy =
            policy::load(source).context("the policy must be sound before something is written into it")?;
        Ok(TargetFile { source: source.clone(), path: folder.join(file), policy })
    }

    /// Puts an exception behind what the file says.
    pub(super) fn add(
        &self,
        exception: &NewException,
        works: &dyn Fn(&Policy) -> bool,
    ) -> anyhow::Result<()> {
        let before = self.read()?;
        self.replace(before.as_deref(), &exception.behind(before.as_deref()), works)
    }

    pub(super) fn read(&self) -> anyhow::Result<Option<String>> {
        let found = private::if_there(fs::read_to_string(&self.path));
        found.with_context(|| format!("cannot read {}", self.path.display()))
    }

    /// Puts a text into the place of the file, and what was there before back where the policy does not
    /// load with it, or does not work.
    pub(crate) fn replace(
        &self,
        before: Option<&str>,
        text: &str,
        works: &dyn Fn(&Policy) -> bool,
    ) -> anyhow::Result<()> {
        let cannot = || format!("cannot write {}", self.path.display());
        if let (PolicySource::Own(_), Some(folder)) = (&self.source, self.path.parent()) {
            private::make_folder(folder).with_context(cannot)?;
        }
        private::replace(&self.path, text.as_bytes()).with_context(cannot)?;
        let error = match policy::load(&self.source) {
            Ok(loaded) if works(&loaded) => return Ok(()),
            Ok(_) => Error::new(IdleException),
            Err(error) => anyhow!("{error}\nnothing was written"),
        };
        match before {
            Some(before) => private::replace(&self.path, before.as_bytes()).with_context(cannot)?,
            None => fs::remove_file(&self.path).with_context(cannot)?,
        }
        Err(error)
    }
}

/// What was written would change nothing, so it was taken back.
#[derive(Debug, thiserror::Error)]
#[error("it would change nothing: nothing was written")]
pub(super) struct IdleException;

#[cfg(test)]
mod tests {
    use leafgate_policy::Allows;

    use super::*;

    #[test]
    fn what_changes_nothing_or_does_not_load_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let rule = "[[rule]]\nid = \"mail\"\nmatch = {}\ndetect = \"pii/email\"\naction = \"redact\"\n";
        fs::write(folder.path().join("rules.toml"), rule).unwrap();
        let source = PolicySource::Folder(folder.path().to_owned());
        let target = TargetFile::new(&source, Path::new("exceptions.toml")).unwrap();
        let exception = |rule: &str| NewException {
            rules: vec![rule.to_owned()],
            allowed: Allows::Values(vec!["ann@example.org".to_owned()]),
            reason: "a test".to_owned(),
            by: "a test".to_owned(),
            until: "never".to_owned(),
        };
        let files = || fs::read_dir(folder.path()).unwrap().count();
        let idle = target.add(&exception("mail"), &|_| false).unwrap_err();
        assert!(idle.is::<IdleException>() && files() == 1, "{idle}");
        let unknown = target.add(&exception("mial"), &|_| true).unwrap_err();
        assert!(
            !unknown.is::<IdleException>() && unknown.to_string().contains("did you mean `mail`?"),
            "{unknown}"
        );
        assert_eq!(files(), 1);

        target.add(&exception("mail"), &|_| true).unwrap();
        let before = target.read().unwrap();
        target.add(&exception("mail"), &|_| false).unwrap_err();
        assert_eq!((target.read().unwrap(), files()), (before, 2));
    }
}
