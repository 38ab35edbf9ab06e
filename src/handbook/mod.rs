//! The handbook: chapters in Markdown, read as man pages and in the console.
//!
//! A chapter is a file beside this one. What can be generated is: the list of settings comes from `config/default.toml`, that
//! of metrics from [`METRICS`](crate::telemetry::metrics::METRICS), that of a partner file's keys from the comments of its shapes. Its commands are run by `tests/it/handbook/mod.rs`, which says
//! by what rules.

mod html;
mod man;
mod metrics;
mod partner_keys;
mod settings;
mod slug;

pub use slug::slug;

/// A chapter.
#[derive(Debug, Clone, Copy)]
pub struct Chapter {
    /// Its name in addresses, and that of its file.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    source: Source,
}

/// Where the text below the title comes from.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// A file, which begins with the title.
    File(&'static str),
    /// A file, and what is generated to go below it.
    FileAnd(&'static str, fn() -> String),
}

/// A man page that is made of chapters.
#[derive(Debug, Clone, Copy)]
pub struct Manual {
    /// Its name.
    pub name: &'static str,
    /// Its section.
    pub section: u8,
    /// What it is of, in a line.
    pub about: &'static str,
    /// Names of its chapters, in order.
    pub chapters: &'static [&'static str],
}

/// A chapter of a file beside this one.
macro_rules! chapter {
    ($name:literal, $title:literal) => {
        Chapter { name: $name, title: $title, source: Source::File(include_str!(concat!($name, ".md"))) }
    };
    ($name:literal, $title:literal, $generated:path) => {
        Chapter {
            name: $name,
            title: $title,
            source: Source::FileAnd(include_str!(concat!($name, ".md")), $generated),
        }
    };
}

/// Every chapter, in the order of reading.
pub const CHAPTERS: &[Chapter] = &[
    chapter!("operator", "First hour as an operator"),
    chapter!("client", "First hour as a client developer"),
    chapter!("moving", "Moving here from another provider"),
    chapter!("partner", "First hour as a partner"),
    chapter!("tuning", "Tuning timeouts, load and ranking"),
    chapter!("durability", "What survives what"),
    chapter!("backup", "Back up and restore"),
    chapter!("privacy", "Personal data and its keys"),
    chapter!("metrics", "What each metric means", metrics::markdown),
    chapter!("errors", "What each error means"),
    chapter!("upgrade", "Upgrade"),
    chapter!("sizing", "Sizing"),
    chapter!("growing", "Grow past one machine"),
    chapter!("figures", "Measured figures"),
    chapter!("settings", "Settings", settings::markdown),
    chapter!("partner-file", "The partner file", partner_keys::markdown),
];

/// The man pages that are made of chapters. The first goes below what the command line tells of itself.
pub const MANUALS: &[Manual] = &[
    Manual {
        name: "offerd",
        section: 8,
        about: "a matching engine daemon for financial offers",
        chapters: &[
            "operator",
            "client",
            "moving",
            "partner",
            "tuning",
            "durability",
            "backup",
            "privacy",
            "metrics",
            "errors",
            "upgrade",
            "sizing",
            "growing",
            "figures",
        ],
    },
    Manual { name: "offerd.toml", section: 5, about: "settings of offerd", chapters: &["settings"] },
    Manual {
        name: "offerd-partner",
        section: 5,
        about: "file that declares a partner of offerd",
        chapters: &["partner-file"],
    },
];

/// The chapter of a name.
pub fn chapter(name: &str) -> Option<&'static Chapter> {
    CHAPTERS.iter().find(|chapter| chapter.name == name)
}

impl Chapter {
    /// The whole chapter in Markdown, its title first.
    pub fn markdown(&self) -> String {
        match self.source {
            Source::File(text) => text.to_owned(),
            Source::FileAnd(text, generated) => format!("{text}\n{}", generated()),
        }
    }

    /// The chapter as the inside of a page: its title as `h1`, the other headings with ids (`slug`), no scripts, no styles.
    /// `link` tells where a chapter is, by its name.
    pub fn html(&self, link: impl Fn(&str) -> String) -> String {
        html::render(&self.markdown(), link)
    }
}

impl Manual {
    /// The whole page in roff.
    pub fn roff(&self, version: &str) -> String {
        man::page(self, version)
    }

    /// First line of its file, which asks for what its tables need.
    pub fn preamble(&self) -> &'static str {
        man::PREAMBLE
    }

    /// Its chapters only, to go below what else a page has.
    pub fn chapters_in_roff(&self) -> String {
        man::chapters(self)
    }

    /// Name of its file.
    pub fn file(&self) -> String {
        format!("{}.{}", self.name, self.section)
    }
}

#[cfg(test)]
mod tests;
