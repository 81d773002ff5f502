//! Indices into a policy's lists. Each list has a type of its own, so that the index of a rule
//! cannot be taken for that of a plugin.

use std::fmt;

use crate::file::plugins::LoadedPlugin;
use crate::report::RuleReport;
use crate::rule::Rule;
use leafgate_contract::Spent;

/// Declares an index type, and the items whose lists it is for.
macro_rules! index {
    ($(#[$meta:meta])* $name:ident: $($item:ty),+) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(usize);

        impl $name {
            pub(crate) fn new(index: usize) -> Self {
                $name(index)
            }

            pub(crate) fn get(self) -> usize {
                self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        $(
            impl std::ops::Index<$name> for Vec<$item> {
                type Output = $item;

                fn index(&self, index: $name) -> &$item {
                    &self[index.0]
                }
            }

            impl std::ops::IndexMut<$name> for Vec<$item> {
                fn index_mut(&mut self, index: $name) -> &mut $item {
                    &mut self[index.0]
                }
            }
        )+
    };
}

index! {
    /// A rule of a policy, in file order.
    RuleIndex: Rule, RuleReport
}

index! {
    /// A plugin of a policy, in the order of declaration.
    PluginIndex: LoadedPlugin, Spent
}

index! {
    /// A distinct set of built-in detectors, compiled.
    EngineIndex: leafgate_detect::Engine
}
