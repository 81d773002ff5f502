//! The keys of the tables of a TOML file, each declared once: [`table!`](crate::table) makes the struct that is read
//! and the rows from which everything else follows, that is what an unknown key may have meant, what
//! belongs to which action, the schema for editors, and the test of the reference.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

use crate::words::{OneOrMany, WordMatch};

/// A key of a table.
pub struct TableKey {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub takes: Type,
    /// To which actions of a rule it belongs; to all where none is named.
    pub actions: &'static [&'static str],
    /// Whether the table says nothing without it.
    pub is_needed: bool,
}

/// What a key takes.
pub enum Type {
    /// A text.
    Text,
    /// A text or a list of texts.
    Texts,
    /// A whole number.
    Number,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The same, of words that are put together.
    WordOf(fn() -> Vec<&'static str>),
    /// A word or a list of words.
    Words(fn() -> Vec<&'static str>),
    /// A text, a list of texts, or a table that says more; of these words, where they are known.
    WordMatch(Option<fn() -> Vec<&'static str>>),
    /// Any names, each with what is wanted of its text.
    Named,
    /// Any table.
    Table,
    /// A day, or `never`.
    Until,
    /// `true`, `false` or a word.
    FlagOr(&'static str),
    /// A table with these keys.
    Of(&'static [TableKey]),
    /// A list of tables.
    ListOf(&'static [TableKey]),
}

/// The keys of a table that says what a text may be.
pub(crate) const WORD_MATCH: &[TableKey] = &[
    TableKey { name: "any", takes: Type::Texts, actions: &[], is_needed: false },
    TableKey { name: "not", takes: Type::Texts, actions: &[], is_needed: false },
    TableKey { name: "ignore-case", takes: Type::Flag, actions: &[], is_needed: false },
];

/// A table whose keys are known.
pub trait Table: DeserializeOwned + Serialize {
    /// Its keys, in the order in which they are declared.
    const KEYS: &'static [TableKey];

    /// Keys whose values could not be read, or that were meant by one that nobody knows. That has been
    /// reported, so they must not be reported as missing too.
    fn broken_mut(&mut self) -> &mut BTreeSet<String>;

    /// Returns true if and only if a key is among these.
    fn is_broken(&self, key: &str) -> bool;

    /// Returns what it says, as it was read.
    fn says(&self) -> toml::Table {
        toml::Table::try_from(self).expect("what was read from TOML can be written")
    }

    /// Returns where the value of a key stands.
    fn place(&self, key: &str) -> Option<Range<usize>>;
}

/// Returns the names of keys.
#[must_use]
pub fn names(keys: &[TableKey]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// A type of values, and what a key of this type takes where its row says no more.
pub trait Takes {
    /// What such a key takes.
    const TYPE: Type;
}

macro_rules! takes {
    ($($type:ty: $takes:ident;)*) => {
        $(impl Takes for $type { const TYPE: Type = Type::$takes; })*
    };
}

takes! {
    String: Text;
    OneOrMany: Texts;
    i64: Number;
    bool: Flag;
    toml::Value: Table;
    toml::Table: Table;
}

impl Takes for WordMatch {
    const TYPE: Type = Type::WordMatch(None);
}

impl<V> Takes for BTreeMap<String, V> {
    const TYPE: Type = Type::Table;
}

impl<T: Table> Takes for Vec<Spanned<T>> {
    const TYPE: Type = Type::ListOf(T::KEYS);
}

/// Returns where a value stands.
pub fn place_of<'v, T: 'v>(value: impl Into<Option<&'v Spanned<T>>>) -> Option<Range<usize>> {
    value.into().map(Spanned::span)
}

/// Declares a table. A row is the field, its key where that is another word, its type, what it takes where
/// the type does not say it, and the actions that it belongs to:
/// `kind as "as": String = Word(KINDS) => ["classify"],`. Every value may be absent, but for those of keys
/// that are `[needed]`; without one of these, or of `[main]`, what is left of a misspelt table says nothing.
#[macro_export]
macro_rules! table {
    ($(#[$about:meta])* $table:ident {
        $($(#[$doc:meta])* $([$needed:ident])? $field:ident $(as $key:literal)?:
            $type:ty $(= $takes:expr)? $(=> $actions:expr)?,)*
    } $(and { $($(#[$own_doc:meta])* $own:ident: $own_type:ty,)* })?) => {
        $(#[$about])*
        #[derive(Debug, serde::Deserialize, serde::Serialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $table {
            $(
                $(#[$doc])* $(#[serde(rename = $key)])?
                pub(crate) $field: $crate::table!(@field $type $(, $needed)?),
            )*
            #[serde(skip)]
            pub(crate) broken: std::collections::BTreeSet<String>,
            $($($(#[$own_doc])* #[serde(skip)] pub(crate) $own: $own_type,)*)?
        }

        impl $crate::keys::Table for $table {
            const KEYS: &'static [$crate::keys::TableKey] = &[$($crate::keys::TableKey {
                name: $crate::table!(@name $field $(, $key)?),
                takes: $crate::table!(@takes $type $(, $takes)?),
                actions: $crate::table!(@actions $($actions)?),
                is_needed: $crate::table!(@needed $($needed)?),
            },)*];

            fn broken_mut(&mut self) -> &mut std::collections::BTreeSet<String> {
                &mut self.broken
            }

            fn is_broken(&self, key: &str) -> bool {
                self.broken.contains(key)
            }

            fn place(&self, key: &str) -> Option<std::ops::Range<usize>> {
                $(if key == $crate::table!(@name $field $(, $key)?) {
                    return $crate::keys::place_of(&self.$field);
                })*
                None
            }
        }

        impl $crate::keys::Takes for $table {
            const TYPE: $crate::keys::Type =
                $crate::keys::Type::Of(<Self as $crate::keys::Table>::KEYS);
        }
    };
    (@field $type:ty) => { Option<toml::Spanned<$type>> };
    (@field $type:ty, needed) => { toml::Spanned<$type> };
    (@field $type:ty, main) => { Option<toml::Spanned<$type>> };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident, $key:literal) => { $key };
    (@takes $type:ty) => { <$type as $crate::keys::Takes>::TYPE };
    (@takes $type:ty, $takes:expr) => { $takes };
    (@actions) => { &[] };
    (@actions $actions:expr) => { &$actions };
    (@needed) => { false };
    (@needed $mark:ident) => { true };
}
