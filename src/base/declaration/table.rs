//! The macro behind every table that an operator writes.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapDeserializer, UnitDeserializer};
use serde::de::{Deserialize, Error, MapAccess, Visitor};

/// A table, generated from the list of its keys.
pub trait DeclaredTable: Sized {
    /// Its keys, and the effect of a reload on each.
    const KEYS: &'static [(&'static str, Reload)];

    /// Reads the keys. Unknown keys and missing required keys are faults.
    ///
    /// # Errors
    /// The first fault.
    fn from_map<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error>;

    /// The table without any key.
    ///
    /// # Errors
    /// If a key is required.
    fn empty<E: Error>() -> Result<Self, E> {
        Self::from_map(MapDeserializer::<_, E>::new(std::iter::empty::<(&str, &str)>()))
    }
}

/// The effect of a reload on a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Reload {
    /// The reload applies it.
    Always,
    /// It stays as it is until a restart.
    Never,
    /// The effect on each key below.
    Of(&'static [(&'static str, Reload)]),
}

/// Deserialises a table.
#[derive(Debug)]
pub struct TableSeed<T>(pub PhantomData<T>);

impl<'de, T: DeclaredTable> Visitor<'de> for TableSeed<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
}

/// The value of a key that is left out: `None`, if the type allows it.
///
/// # Errors
/// If the key is required.
pub fn missing<'de, T: Deserialize<'de>, E: Error>(key: &'static str) -> Result<T, E> {
    T::deserialize(UnitDeserializer::<serde::de::value::Error>::new()).map_err(|_| E::missing_field(key))
}

/// Declares tables that an operator writes, each from one list of its keys.
///
/// ```text
/// table! {
///     /// `[section]`
///     #[derive(Debug, Clone)]
///     pub struct Section {
///         /// What the key means.
///         queue: usize = count(1, 256),
///         /// A reload applies it.
///         wait: Duration = span(SECOND, HOUR) => reloadable,
///         /// Optional: defaults to its type's default, as an `Option` always does.
///         name: String => optional,
///         /// Optional, with this default.
///         most: usize => or(64),
///         /// Optional: defaults to the table without any key.
///         other: OtherTable => table,
///         /// A table with keys of its own, some of which a reload applies.
///         within: OtherSection => section,
///     }
/// }
/// ```
///
/// The expression after `=` checks the written value and converts it; see
/// [`checked`](crate::declaration::checked()). A field after `..` is not a key.
#[macro_export]
macro_rules! table {
    (@reload [$type:ty] reloadable) => { $crate::declaration::Reload::Always };
    (@reload [$type:ty] section) => {
        $crate::declaration::Reload::Of(<$type as $crate::declaration::DeclaredTable>::KEYS)
    };
    (@reload [$type:ty] $($mark:ident)?) => { $crate::declaration::Reload::Never };

    (@read $map:ident) => { $map.next_value()? };
    (@read $map:ident $check:expr) => { $map.next_value_seed($crate::declaration::checked($check))? };

    (@missing $field:ident [$($check:expr)?] optional) => { Default::default() };
    (@missing $field:ident [$($check:expr)?] or $default:expr) => { $default };
    (@missing $field:ident [] table) => { $crate::declaration::DeclaredTable::empty::<A::Error>()? };
    (@missing $field:ident [] $($mark:ident)?) => {
        $crate::declaration::missing::<_, A::Error>(stringify!($field))?
    };
    (@missing $field:ident [$check:expr] $($mark:ident)?) => {
        return Err(serde::de::Error::missing_field(stringify!($field)))
    };

    ($($(#[$about:meta])* $vis:vis struct $name:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty $(= $check:expr)? $(=> $mark:ident $(($default:expr))?)?,)+
        $(.. $rest_vis:vis $rest:ident: $rest_type:ty)?
    })+) => {$(
        $(#[$about])*
        $vis struct $name {
            $($(#[$doc])* pub $field: $type,)+
            $(#[doc = "No key: it is made of what is read."] $rest_vis $rest: $rest_type,)?
        }

        impl $crate::declaration::DeclaredTable for $name {
            const KEYS: &'static [(&'static str, $crate::declaration::Reload)] =
                &[$((stringify!($field), $crate::table!(@reload [$type] $($mark)?)),)+];

            fn from_map<'de, A: serde::de::MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
                #[derive(Default)]
                struct Given {
                    $($field: Option<$type>,)+
                }
                let mut given = Given::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        $(stringify!($field) => given.$field = Some($crate::table!(@read map $($check)?)),)+
                        other => {
                            let known = &[$(stringify!($field)),+];
                            return Err(serde::de::Error::unknown_field(other, known));
                        }
                    }
                }
                Ok(Self {
                    $($field: match given.$field {
                        Some(value) => value,
                        None => $crate::table!(@missing $field [$($check)?] $($mark $($default)?)?),
                    },)+
                    $($rest: Default::default(),)?
                })
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map($crate::declaration::TableSeed(std::marker::PhantomData))
            }
        }
    )+};
}
