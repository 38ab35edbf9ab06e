//! The sections of the console, in the order of its navigation.

use minijinja::value::Value;

use super::templates::fields;

/// A section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// What happens now.
    Now,
    /// What is wrong.
    Alerts,
    /// Who is asked.
    Partners,
    /// What became of each lead.
    RateTables,
    /// How many leads get how far.
    Funnel,
    /// What became of them, by what one chooses.
    Reports,
    /// Which variants are tried on leads.
    Experiments,
    /// What is pushed to companies.
    Postbacks,
    /// What a person may ask for.
    Persons,
    /// What is on offer.
    Catalogue,
    /// The daemons that share the store.
    Nodes,
    /// The daemon itself.
    System,
    /// Who uses the console.
    People,
    /// Who did what.
    Audit,
    /// How to do all this.
    Handbook,
}

/// Every section with its name and where it begins, in the order in which they are declared.
const SECTIONS: [(Section, &str, &str); 15] = [
    (Section::Now, "Now", "/console"),
    (Section::Alerts, "Alerts", "/console/alerts"),
    (Section::Partners, "Partners", "/console/partners"),
    (Section::RateTables, "Rate tables", "/console/rateTables"),
    (Section::Funnel, "Funnel", "/console/funnel"),
    (Section::Reports, "Reports", "/console/reports"),
    (Section::Experiments, "Experiments", "/console/experiments"),
    (Section::Postbacks, "Postbacks", "/console/postbacks"),
    (Section::Persons, "Data requests", "/console/persons"),
    (Section::Catalogue, "Catalogue", "/console/catalogue"),
    (Section::Nodes, "Nodes", "/console/nodes"),
    (Section::System, "System", "/console/system"),
    (Section::People, "Users", "/console/people"),
    (Section::Audit, "Audit", "/console/audit"),
    (Section::Handbook, "Handbook", "/console/handbook"),
];

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
        let seen = SECTIONS.into_iter().filter(|(section, ..)| is_seen(*section));
        let entry = |(section, title, path)| fields! { title, path, current => Some(section) == current };
        seen.map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_stand_in_the_order_in_which_they_are_declared() {
        assert!(SECTIONS.iter().enumerate().all(|(nth, (section, ..))| *section as usize == nth));
    }
}
