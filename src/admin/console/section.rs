//! The sections of the console, in the order of its navigation.

use minijinja::value::Value;

use super::role_for;
use super::templates::fields;
use crate::store::users::Role;

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

impl Section {
    /// Every section.
    pub(super) const ALL: &[Self] = &[
        Self::Now,
        Self::Alerts,
        Self::Partners,
        Self::RateTables,
        Self::Funnel,
        Self::Reports,
        Self::Experiments,
        Self::Postbacks,
        Self::Persons,
        Self::Catalogue,
        Self::Nodes,
        Self::System,
        Self::People,
        Self::Audit,
        Self::Handbook,
    ];

    /// Its name.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Now => "Now",
            Self::Alerts => "Alerts",
            Self::Partners => "Partners",
            Self::RateTables => "Rate tables",
            Self::Funnel => "Funnel",
            Self::Reports => "Reports",
            Self::Experiments => "Experiments",
            Self::Postbacks => "Postbacks",
            Self::Persons => "Data requests",
            Self::Catalogue => "Catalogue",
            Self::Nodes => "Nodes",
            Self::System => "System",
            Self::People => "Users",
            Self::Audit => "Audit",
            Self::Handbook => "Handbook",
        }
    }

    /// Where it begins.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Now => "/console",
            Self::Alerts => "/console/alerts",
            Self::Partners => "/console/partners",
            Self::RateTables => "/console/rateTables",
            Self::Funnel => "/console/funnel",
            Self::Reports => "/console/reports",
            Self::Experiments => "/console/experiments",
            Self::Postbacks => "/console/postbacks",
            Self::Persons => "/console/persons",
            Self::Catalogue => "/console/catalogue",
            Self::Nodes => "/console/nodes",
            Self::System => "/console/system",
            Self::People => "/console/people",
            Self::Audit => "/console/audit",
            Self::Handbook => "/console/handbook",
        }
    }

    /// The navigation, seen from a section or from none: of those that a role may see, and that say something of this store.
    pub(super) fn entries(current: Option<Self>, role: Role, is_shared: bool) -> Vec<Value> {
        let is_seen = |section: &Self| {
            role_for(section.path()).is_none_or(|least| least <= role)
                && (is_shared || *section != Self::Nodes)
        };
        let entry = |section: Self| {
            fields! { title => section.title(), path => section.path(), current => Some(section) == current }
        };
        Self::ALL.iter().copied().filter(is_seen).map(entry).collect()
    }
}
