//! An enum whose values have words, declared once: [`words!`].
//!
//! Values stand with their words in rows, and columns have names. What all of them need follows: the list
//! of all, the way back from a word, and `Display`. Without it each column is a `match` that spells every
//! value again, and each list another one.

/// Declares an enum whose values have words.
///
/// The first column is its name: `Display` writes it, and `from_name` reads it.
///
/// ```
/// leafgate_words::words! {
///     /// How ripe it is.
///     #[derive(Clone, Copy, Debug, PartialEq, Eq)]
///     pub enum Ripe {
///         /// Not yet.
///         Green = "green" / "Not yet",
///         /// Now.
///         Red = "red" / "Eat it",
///     }
///     /// Its name in JSON.
///     pub fn name = 0;
///     /// What people read.
///     pub fn label = 1;
/// }
/// assert_eq!((Ripe::Red.name(), Ripe::Green.label(), Ripe::ALL.len()), ("red", "Not yet", 2));
/// assert_eq!((Ripe::from_name("green"), Ripe::from_name("Not yet")), (Some(Ripe::Green), None));
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])* $vis:vis enum $name:ident {
            $($(#[$of_value:meta])* $value:ident = $($word:literal)/+,)+
        }
        $($(#[$of_column:meta])* $column_vis:vis fn $column:ident = $at:literal;)+
    ) => {
        $(#[$meta])*
        $vis enum $name { $($(#[$of_value])* $value,)+ }

        #[allow(dead_code, reason = "what every such enum has is not asked of each of them")]
        impl $name {
            /// Every value, in the order of its declaration.
            $vis const ALL: &'static [Self] = &[$(Self::$value,)+];

            /// The name of each.
            $vis const NAMES: &'static [&'static str] = &[$(Self::WORDS[Self::$value as usize][0],)+];

            const WORDS: &'static [&'static [&'static str]] = &[$(&[$($word),+],)+];

            $($(#[$of_column])* #[must_use] $column_vis const fn $column(self) -> &'static str {
                Self::WORDS[self as usize][$at]
            })+

            /// Returns the value of a name.
            $vis fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| Self::WORDS[*value as usize][0] == name)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(Self::WORDS[*self as usize][0])
            }
        }
    };
}
