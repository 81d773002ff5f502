//! The keys of the tables of a TOML file, each declared once: [`table!`](crate::table) makes the struct that is read
//! and the rows from which everything else follows: what is wrong with a value, what an unknown key may have
//! meant, what belongs to which action and what it needs, the schema for editors, and the test of the reference.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;

use crate::number::NumberRange;
use crate::words::{OneOrMany, WordMatch};

/// A key of a table.
pub struct TableKey {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub takes: Type,
    /// To which words of the keys that tell such tables apart it belongs ([`KeyNeed::Tag`], [`KeyNeed::Usual`]): of each such
    /// key to those that are named, to all where none is.
    pub of: &'static [&'static str],
    /// Whether it must be there.
    pub need: KeyNeed,
    /// How it is written, for whoever leaves it out or writes something else.
    pub hint: Option<&'static str>,
}

/// Whether a key must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyNeed {
    /// It may be left out.
    No,
    /// It must be there.
    There,
    /// It must be there and say something: no blank text, no empty list.
    Said,
    /// It may be left out, and says something where it is there.
    NotEmpty,
    /// It must be there, and says which of the other keys belong to its table.
    Tag,
    /// It says so too, and is this word where it is left out.
    Usual(&'static str),
}

impl KeyNeed {
    /// Whether a table without it is wrong.
    pub fn must_be_there(self) -> bool {
        matches!(self, KeyNeed::There | KeyNeed::Said | KeyNeed::Tag)
    }
}

/// What a key takes.
#[derive(Clone, Copy)]
pub enum Type {
    /// A text.
    Text,
    /// A whole number.
    Number(NumberRange),
    /// A number and a unit; its bounds are milliseconds.
    Time(NumberRange),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any table that JSON can spell.
    Table,
    /// A text, or any table or list that JSON can spell.
    TextOrTable,
    /// A day, or `never`.
    Until,
    /// `true`, `false` or a word.
    FlagOr(&'static str),
    /// A table of this name with these keys.
    Of(&'static str, &'static [TableKey]),
    /// Such a text or word, or a list of them.
    OneOrMany(&'static Type),
    /// The same, or a table that says which, and which not.
    Match(&'static Type),
    /// A list of such tables.
    ListOf(&'static Type),
    /// Any names, each with such a value.
    Named(&'static Type),
}

/// A table whose keys are known.
pub trait Table: DeserializeOwned {
    /// What such a table is called: `a rule`.
    const NAME: &'static str;

    /// Its keys, in the order in which they are declared.
    const KEYS: &'static [TableKey];

    /// Returns where the value of a key stands.
    fn place(&self, key: &str) -> Option<Range<usize>>;
}

/// Returns the names of keys.
pub fn names(keys: &[TableKey]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// Under these keys the reader notes which keys of a table are broken, and what the others say as they are written.
/// No file can: they are no keys that any table has.
pub(crate) const BROKEN: &str = "";
pub(crate) const SAYS: &str = " ";

/// A type of values, and what a key of this type takes where its row says no more.
pub trait Takes {
    /// What such a key takes.
    const TYPE: Type;
}

macro_rules! takes {
    ($($type:ty: $takes:expr;)*) => {
        $(impl Takes for $type { const TYPE: Type = $takes; })*
    };
}

takes! {
    String: Type::Text;
    OneOrMany: Type::OneOrMany(&Type::Text);
    usize: Type::Number(NumberRange::ANY);
    u64: Type::Number(NumberRange::ANY);
    bool: Type::Flag;
    WordMatch: Type::Match(&Type::Text);
}

impl<T: Takes> Takes for Vec<Spanned<T>> {
    const TYPE: Type = Type::ListOf(&T::TYPE);
}

impl<K, V: Takes> Takes for BTreeMap<K, Spanned<V>> {
    const TYPE: Type = Type::Named(&V::TYPE);
}

/// Returns where a value stands.
pub fn place_of<'v, T: 'v>(value: impl Into<Option<&'v Spanned<T>>>) -> Option<Range<usize>> {
    value.into().map(Spanned::span)
}

/// Declares a table, and what it is called: `a rule`. A row is the field, its key where that is another word, its type, what it takes where
/// the type does not say it, the words of a tag that it belongs to, and how it is written:
/// `[must] kind as "as": String = Word(KINDS) => ["classify"]; "as = \"context\"",`. Every value may be absent; one
/// without which a table is wrong is marked: `[must]`, `[said]`, `[tag]`; and so are `[some]` and `[usual "request"]`
/// ([`KeyNeed`](crate::keys::KeyNeed)).
#[macro_export]
macro_rules! table {
    ($(#[$about:meta])* $table:ident, $called:literal {
        $($(#[$doc:meta])* $([$need:ident $($word:literal)?])? $field:ident $(as $key:literal)?:
            $type:ty $(= $takes:expr)? $(=> $of:expr)? $(; $hint:expr)?,)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Default, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $table {
            $(
                $(#[$doc])* $(#[serde(rename = $key)])?
                pub(crate) $field: Option<toml::Spanned<$type>>,
            )*
            /// Keys whose values could not be read, or that were meant by one that nobody knows. That has been
            /// reported, so they must not be reported as missing too.
            #[serde(default, rename = "")]
            pub(crate) broken: std::collections::BTreeSet<String>,
            /// What it says, as it is written.
            #[serde(default, rename = " ")]
            pub(crate) says: toml::Table,
        }

        impl $crate::keys::Table for $table {
            const NAME: &'static str = $called;

            const KEYS: &'static [$crate::keys::TableKey] = &[$($crate::keys::TableKey {
                name: $crate::table!(@name $field $(, $key)?),
                takes: $crate::table!(@takes $type $(, $takes)?),
                of: $crate::table!(@of $($of)?),
                need: $crate::table!(@need $($need $($word)?)?),
                hint: $crate::table!(@hint $($hint)?),
            },)*];

            fn place(&self, key: &str) -> Option<std::ops::Range<usize>> {
                $(if key == $crate::table!(@name $field $(, $key)?) {
                    return $crate::keys::place_of(&self.$field);
                })*
                None
            }
        }

        impl $crate::keys::Takes for $table {
            const TYPE: $crate::keys::Type =
                $crate::keys::Type::Of($called, <Self as $crate::keys::Table>::KEYS);
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident, $key:literal) => { $key };
    (@takes $type:ty) => { <$type as $crate::keys::Takes>::TYPE };
    (@takes $type:ty, $takes:expr) => { $takes };
    (@of) => { &[] };
    (@of $of:expr) => { &$of };
    (@need) => { $crate::keys::KeyNeed::No };
    (@need must) => { $crate::keys::KeyNeed::There };
    (@need said) => { $crate::keys::KeyNeed::Said };
    (@need some) => { $crate::keys::KeyNeed::NotEmpty };
    (@need tag) => { $crate::keys::KeyNeed::Tag };
    (@need usual $word:literal) => { $crate::keys::KeyNeed::Usual($word) };
    (@hint) => { None };
    (@hint $hint:expr) => { Some($hint) };
}
