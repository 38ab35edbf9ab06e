//! The sections of the console, in the order of its navigation.

use minijinja::value::Value;

use super::templates::fields;

/// Makes [`Section`] of one list: each with its name and where it begins.
macro_rules! sections {
    ($($(#[$doc:meta])+ $section:ident $title:literal $path:literal;)+) => {
        /// A section.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Section {
            $($(#[$doc])+ $section,)+
        }

        const SECTIONS: &[(Section, &str, &str)] = &[$((Section::$section, $title, $path)),+];
    };
}

sections! {
    /// What happens now.
    Now "Now" "/console";
    /// What is wrong.
    Alerts "Alerts" "/console/alerts";
    /// Who is asked.
    Partners "Partners" "/console/partners";
    /// What became of each lead.
    RateTables "Rate tables" "/console/rateTables";
    /// How many leads get how far.
    Funnel "Funnel" "/console/funnel";
    /// What became of them, by what one chooses.
    Reports "Reports" "/console/reports";
    /// Which variants are tried on leads.
    Experiments "Experiments" "/console/experiments";
    /// What is pushed to companies.
    Postbacks "Postbacks" "/console/postbacks";
    /// What a person may ask for.
    Persons "Data requests" "/console/persons";
    /// What is on offer.
    Catalogue "Catalogue" "/console/catalogue";
    /// The daemons that share the store.
    Nodes "Nodes" "/console/nodes";
    /// The daemon itself.
    System "System" "/console/system";
    /// Who uses the console.
    People "Users" "/console/people";
    /// Who did what.
    Audit "Audit" "/console/audit";
    /// How to do all this.
    Handbook "Handbook" "/console/handbook";
}

impl Section {
    /// Its name.
    pub(super) fn title(self) -> &'static str {
        SECTIONS[self as usize].1
    }

    /// Where it begins.
    pub(super) fn path(self) -> &'static str {
        SECTIONS[self as usize].2
    }

    /// The navigation, seen from a section or from none: of those that its reader may see, and that say something of this store.
    pub(super) fn entries(current: Option<Self>, is_seen: impl Fn(Self) -> bool) -> Vec<Value> {
        let seen = SECTIONS.iter().filter(|(section, ..)| is_seen(*section));
        let entry = |(section, title, path): &(Self, _, _)| {
            let current = Some(*section) == current;
            fields! { title, path, current }
        };
        seen.map(entry).collect()
    }
}
