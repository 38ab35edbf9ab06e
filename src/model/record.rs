//! The macro that defines all resources that are answered and stored.

/// Defines resources, each from one list of fields. `field: Type` is always written, `field?: Type` is left
/// out when absent, and `field?: Type | null` may be absent or null.
///
/// `record! { plain … }` defines types without an OpenAPI schema: those of our own commands and pages, and
/// those of the store, where the names and the order of the fields are the storage format.
#[macro_export]
macro_rules! record {
    (@define [plain $($meta:tt)*] $name:ident [$($fields:tt)*]) => {
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        $($meta)*
        pub struct $name { $($fields)* }
    };

    (@define [$($meta:tt)*] $name:ident [$($fields:tt)*]) => {
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
        #[serde(rename_all = "camelCase")]
        $($meta)*
        pub struct $name { $($fields)* }
    };

    (@define $meta:tt $name:ident [$($done:tt)*] $(#[$doc:meta])* $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::record! { @define $meta $name [$($done)* $(#[$doc])* pub $field: $type,] $($rest)* }
    };

    (@define [plain $($meta:tt)*] $name:ident $done:tt $(#[$doc:meta])* $field:ident?: $type:ty, $($rest:tt)*) => {
        $crate::record! { @define [plain $($meta)*] $name $done $(#[$doc])* $field?: $type | null, $($rest)* }
    };

    (@define $meta:tt $name:ident [$($done:tt)*] $(#[$doc:meta])* $field:ident?: $type:ty, $($rest:tt)*) => {
        $crate::record! {
            @define $meta $name [
                $($done)*
                $(#[$doc])*
                #[schema(nullable = false)]
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $field: Option<$type>,
            ] $($rest)*
        }
    };

    (@define $meta:tt $name:ident [$($done:tt)*] $(#[$doc:meta])* $field:ident?: $type:ty | null, $($rest:tt)*) => {
        $crate::record! {
            @define $meta $name [
                $($done)*
                $(#[$doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $field: Option<$type>,
            ] $($rest)*
        }
    };

    (plain $($(#[$meta:meta])* $name:ident { $($fields:tt)* })+) => {
        $($crate::record! { @define [plain $(#[$meta])*] $name [] $($fields)* })+
    };

    ($($(#[$meta:meta])* $name:ident { $($fields:tt)* })+) => {
        $($crate::record! { @define [$(#[$meta])*] $name [] $($fields)* })+
    };
}
