//! Enumerations whose variants have words.

/// Declares an enumeration without data, and the method for a variant's word: `Capped "at its cap";`.
#[macro_export]
macro_rules! worded {
    (
        $(#[$meta:meta])* $visible:vis enum $name:ident;
        $(#[$about:meta])* fn $word:ident;
        $($(#[$doc:meta])* $variant:ident $text:literal;)+
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $visible enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            $(#[$about])*
            $visible const fn $word(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}
