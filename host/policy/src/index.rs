//! Indices into a policy's lists. Each list has a type of its own, so that the index of a rule
//! cannot be taken for that of a plugin.

/// Declares an index type.
macro_rules! index {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, derive_more::Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[debug("{_0}")]
        pub(crate) struct $name(usize);

        impl $name {
            pub(crate) fn new(index: usize) -> Self {
                $name(index)
            }

            pub(crate) fn get(self) -> usize {
                self.0
            }
        }
    };
}

/// Lets a list of these items be indexed; stands beside each item, as what it is for decides the index.
macro_rules! indexed {
    ($index:ident: $item:ty) => {
        impl std::ops::Index<$index> for Vec<$item> {
            type Output = $item;

            fn index(&self, index: $index) -> &$item {
                &self[index.get()]
            }
        }

        impl std::ops::IndexMut<$index> for Vec<$item> {
            fn index_mut(&mut self, index: $index) -> &mut $item {
                &mut self[index.get()]
            }
        }
    };
}
pub(crate) use indexed;

index! {
    /// A rule of a policy, in file order.
    RuleIndex
}

index! {
    /// A plugin of a policy, in the order of declaration.
    PluginIndex
}

indexed!(PluginIndex: leafgate_contract::Spent);

index! {
    /// A distinct set of built-in detectors, compiled.
    EngineIndex
}

indexed!(EngineIndex: leafgate_detect::Engine);
