//! The one macro behind the resources that are answered and stored.

/// Defines a resource: fields that are always written, then fields that are left out when not given, then fields that
/// may be left out or null.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident {
        required { $($(#[$doc:meta])* $field:ident: $type:ty,)* }
        $(optional { $($(#[$optional_doc:meta])* $optional:ident: $optional_type:ty,)* })?
        $(nullable { $($(#[$nullable_doc:meta])* $nullable:ident: $nullable_type:ty,)* })?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
            $($(
                $(#[$optional_doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                #[schema(nullable = false)]
                pub $optional: Option<$optional_type>,
            )*)?
            $($(
                $(#[$nullable_doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $nullable: Option<$nullable_type>,
            )*)?
        }
    };
}

pub(crate) use record;
