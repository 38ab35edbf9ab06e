//! Institutions that are asked for offers.

use uuid::Uuid;

use super::record::record;

record! {
    /// An institution, as it is shown beside its offers.
    Partner {
        /// The partner's id.
        uuid: Uuid,
        /// The name to show.
        name: String,
        /// Who they are, in a sentence or two.
        description: String,
        /// What must be said beside any of their offers.
        disclaimer: String,
        /// Whether the service can judge beforehand who will be approved.
        supports_pre_select: bool,
        /// Whether that judgement is to be shown.
        should_display_pre_select: bool,
        /// Whether they answer with pre-qualified or pre-approved offers.
        supports_personalized_offers: bool,
        /// Where the logo is.
        image_url: String,
        /// A line to show in place of the usual one below the name.
        subtext_override?: String,
        /// Where its head office is; not in the specification, as what follows.
        headquarters?: String,
        /// What it manages, in words.
        assets?: String,
        /// The name that it does business under.
        brand_name?: String,
        /// What that brand is known by.
        brand_uuid?: Uuid,
    }
}
