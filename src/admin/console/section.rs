//! The sections of the console, in the order of its navigation.

use minijinja::value::Value;

use super::templates::fields;

/// Declares [`Section`] from a list of titles and paths.
macro_rules! sections {
    ($($(#[$doc:meta])+ $section:ident $title:literal $path:literal;)+) => {
        /// A section of the console.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Section {
            $($(#[$doc])+ $section,)+
        }

        const SECTIONS: &[(Section, &str, &str)] = &[$((Section::$section, $title, $path)),+];
    };
}

sections! {
    /// Current activity.
    Now "Now" "/console";
    /// Alerts and their receivers.
    Alerts "Alerts" "/console/alerts";
    /// Partners and their seats.
    Partners "Partners" "/console/partners";
    /// Rate tables, lead by lead.
    RateTables "Rate tables" "/console/rateTables";
    /// The conversion funnel.
    Funnel "Funnel" "/console/funnel";
    /// Reports by any dimensions.
    Reports "Reports" "/console/reports";
    /// Experiments and their variants.
    Experiments "Experiments" "/console/experiments";
    /// Postbacks to companies.
    Postbacks "Postbacks" "/console/postbacks";
    /// Data-subject requests.
    Persons "Data requests" "/console/persons";
    /// The offers of the partner files.
    Catalogue "Catalogue" "/console/catalogue";
    /// The daemons that share the store.
    Nodes "Nodes" "/console/nodes";
    /// The state of the daemon.
    System "System" "/console/system";
    /// Users of the console.
    People "Users" "/console/people";
    /// The audit log.
    Audit "Audit" "/console/audit";
    /// The handbook.
    Handbook "Handbook" "/console/handbook";
}

impl Section {
    pub(super) fn title(self) -> &'static str {
        SECTIONS[self as usize].1
    }

    pub(super) fn path(self) -> &'static str {
        SECTIONS[self as usize].2
    }

    /// The navigation of a current section, if any, limited to the sections that `is_seen` accepts.
    pub(super) fn entries(current: Option<Self>, is_seen: impl Fn(Self) -> bool) -> Vec<Value> {
        let seen = SECTIONS.iter().filter(|(section, ..)| is_seen(*section));
        let entry = |(section, title, path): &(Self, _, _)| {
            let current = Some(*section) == current;
            fields! { title, path, current }
        };
        seen.map(entry).collect()
    }
}
