//! Files that a profile names, and which names they may have.

/// The files below a profile's root. Whoever implements it opens nothing outside: no symbolic link
/// counts, and each file is bounded.
pub trait Files {
    /// Reads a file.
    ///
    /// # Errors
    /// A [`FileFault`] for what cannot or must not be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, FileFault>;

    /// Lists files and folders below a folder (`""` for the root), down to a depth. Of more than
    /// `most` it gives the first ones, each folder by name and before what is in it: which ones it
    /// leaves out must not change from call to call.
    ///
    /// # Errors
    /// A [`FileFault`] for a folder that cannot or must not be read.
    fn list(&self, folder: &str, depth: usize, most: usize) -> Result<Vec<ListedEntry>, FileFault>;
}

/// A file or a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedEntry {
    /// Its path from the root, with `/`.
    pub path: String,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// Why a file is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    /// Its name leads outside, or could.
    #[error("the path must stay below the profile's root: no `..`, no leading `/`, no `\\`, no empty part")]
    Outside,
    /// There is none.
    #[error("there is no such file")]
    Missing,
    /// It is a symbolic link, or lies behind one.
    #[error("symbolic links are not followed")]
    Link,
    /// It is a folder or a device.
    #[error("it is no regular file")]
    NoFile,
    /// It is too large.
    #[error("it has more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// It is neither text in UTF-8 nor an image.
    #[error("it is neither text in UTF-8 nor an image (PNG, JPEG, GIF, WebP)")]
    Binary,
    /// It could not be read.
    #[error("it could not be read")]
    Unreadable,
}

/// Checks that a path, or a pattern of paths, stays below its root whatever system it is used on.
///
/// # Errors
/// [`FileFault::Outside`].
pub fn check(path: &str) -> Result<(), FileFault> {
    let part_fits = |part: &str| !matches!(part, "" | "." | "..");
    let fits = path.split('/').all(part_fits) && !path.contains(['\\', ':', '\0']);
    if fits { Ok(()) } else { Err(FileFault::Outside) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_its_root() {
        for path in ["a", "a/b.md", "a/..b/c...md", "ä/ ö"] {
            assert_eq!(check(path), Ok(()), "{path}");
        }
        for path in ["", "/a", "a/", "a//b", ".", "..", "a/../b", "../a", "a\\b", "C:/a", "a/\0"] {
            assert_eq!(check(path), Err(FileFault::Outside), "{path:?}");
        }
    }
}
