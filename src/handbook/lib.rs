//! The handbook: chapters in Markdown, read as man pages and in the console.
//!
//! A chapter is a file beside this one. What can be generated is: the list of settings comes from `config/default.toml`, that
//! of metrics from [`METRICS`](offerd_base::telemetry::metrics::METRICS), that of a partner file's keys from the comments of its shapes. Its commands are run by `tests/it/handbook/mod.rs`, which says
//! by what rules.

mod html;
pub mod man;
mod metrics;
mod partner_keys;
mod settings;

pub use html::slug;

/// A chapter.
#[derive(Debug, Clone, Copy)]
pub struct Chapter {
    /// Its name in addresses, and that of its file.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The man page that it stands in.
    manual: &'static str,
    /// Its file, which begins with the title.
    text: &'static str,
    /// What is generated to go below that.
    generated: &'static [fn() -> String],
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
}

/// A chapter of a man page, in a file beside this one.
macro_rules! chapter {
    ($manual:ident, $name:literal, $title:literal $(, $generated:path)?) => {
        Chapter {
            name: $name,
            title: $title,
            manual: $manual,
            text: include_str!(concat!($name, ".md")),
            generated: &[$($generated)?],
        }
    };
}

const DAEMON: &str = "offerd";
const SETTINGS: &str = "offerd.toml";
const PARTNER_FILE: &str = "offerd-partner";

/// Every chapter, in the order of reading.
pub const CHAPTERS: &[Chapter] = &[
    chapter!(DAEMON, "operator", "First hour as an operator"),
    chapter!(DAEMON, "client", "First hour as a client developer"),
    chapter!(DAEMON, "moving", "Moving here from another provider"),
    chapter!(DAEMON, "partner", "First hour as a partner"),
    chapter!(DAEMON, "tuning", "Tuning timeouts, load and ranking"),
    chapter!(DAEMON, "durability", "What survives what"),
    chapter!(DAEMON, "backup", "Back up and restore"),
    chapter!(DAEMON, "privacy", "Personal data and its keys"),
    chapter!(DAEMON, "metrics", "What each metric means", metrics::markdown),
    chapter!(DAEMON, "errors", "What each error means"),
    chapter!(DAEMON, "input", "What we take, and what we refuse"),
    chapter!(DAEMON, "upgrade", "Upgrade"),
    chapter!(DAEMON, "sizing", "Sizing"),
    chapter!(DAEMON, "growing", "Grow past one machine"),
    chapter!(DAEMON, "figures", "Measured figures"),
    chapter!(SETTINGS, "settings", "Settings", settings::markdown),
    chapter!(PARTNER_FILE, "partner-file", "The partner file", partner_keys::markdown),
];

/// The man pages that are made of chapters. The first goes below what the command line tells of itself.
pub const MANUALS: &[Manual] = &[
    Manual { name: DAEMON, section: 8, about: "a matching engine daemon for financial offers" },
    Manual { name: SETTINGS, section: 5, about: "settings of offerd" },
    Manual { name: PARTNER_FILE, section: 5, about: "file that declares a partner of offerd" },
];

/// The chapter of a name.
pub fn chapter(name: &str) -> Option<&'static Chapter> {
    CHAPTERS.iter().find(|chapter| chapter.name == name)
}

impl Chapter {
    /// The whole chapter in Markdown, its title first.
    pub fn markdown(&self) -> String {
        let generated = self.generated.iter().map(|generated| format!("\n{}", generated()));
        self.text.to_owned() + &generated.collect::<String>()
    }

    /// The chapter as the inside of a page: its title as `h1`, the other headings with ids (`slug`), no scripts, no styles.
    /// `link` tells where a chapter is, by its name.
    pub fn html(&self, link: impl Fn(&str) -> String) -> String {
        html::render(&self.markdown(), link)
    }
}

impl Manual {
    /// Its chapters, in order.
    fn chapters(&self) -> impl Iterator<Item = &'static Chapter> {
        let name = self.name;
        CHAPTERS.iter().filter(move |chapter| chapter.manual == name)
    }

    /// The whole page in roff.
    pub fn roff(&self, version: &str) -> String {
        man::page(self, version)
    }

    /// Name of its file.
    pub fn file(&self) -> String {
        format!("{}.{}", self.name, self.section)
    }
}

#[cfg(test)]
mod tests;
