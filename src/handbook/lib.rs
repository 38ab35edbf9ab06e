//! The handbook: chapters in Markdown, rendered as man pages and in the console.
//!
//! Each chapter is a file in this folder. Lists are generated: settings from `config/default.toml`, metrics
//! from [`METRICS`](offerd_base::telemetry::metrics::METRICS), keys of partner files from the comments of
//! their types. `tests/it/handbook/mod.rs` runs the commands of the chapters, and documents the rules for
//! them.

mod html;
pub mod man;
mod metrics;
mod partner_keys;
mod settings;

pub use html::slug;

/// A chapter.
#[derive(Debug, Clone, Copy)]
pub struct Chapter {
    /// Its name in addresses, and the name of its file.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    manual: &'static str,
    /// Its text, which starts with the title.
    text: &'static str,
    /// Generators of the parts after the text.
    generated: &'static [fn() -> String],
}

/// A man page made of chapters.
#[derive(Debug, Clone, Copy)]
pub struct Manual {
    /// The page's name.
    pub name: &'static str,
    /// The page's section.
    pub section: u8,
    /// A one-line description.
    pub about: &'static str,
}

/// A chapter of a man page, from a file in this folder.
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

/// All chapters, in reading order.
pub const CHAPTERS: &[Chapter] = &[
    chapter!(DAEMON, "operator", "First hour as an operator"),
    chapter!(DAEMON, "client", "First hour as a client developer"),
    chapter!(DAEMON, "moving", "Moving here from another provider"),
    chapter!(DAEMON, "changes", "What changed for clients"),
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

/// The man pages made of chapters. The first follows the generated description of the command line.
pub const MANUALS: &[Manual] = &[
    Manual { name: DAEMON, section: 8, about: "a matching engine daemon for financial offers" },
    Manual { name: SETTINGS, section: 5, about: "settings of offerd" },
    Manual { name: PARTNER_FILE, section: 5, about: "file that declares a partner of offerd" },
];

/// The chapter called `name`.
pub fn chapter(name: &str) -> Option<&'static Chapter> {
    CHAPTERS.iter().find(|chapter| chapter.name == name)
}

impl Chapter {
    /// The whole chapter in Markdown, starting with its title.
    pub fn markdown(&self) -> String {
        let generated = self.generated.iter().map(|generated| format!("\n{}", generated()));
        self.text.to_owned() + &generated.collect::<String>()
    }

    /// The chapter as the body of a page: its title as `h1`, the other headings with ids (`slug`), no
    /// scripts, no styles. `link` resolves a chapter's name to its address.
    pub fn html(&self, link: impl Fn(&str) -> String) -> String {
        html::render(&self.markdown(), link)
    }
}

impl Manual {
    fn chapters(&self) -> impl Iterator<Item = &'static Chapter> {
        let name = self.name;
        CHAPTERS.iter().filter(move |chapter| chapter.manual == name)
    }

    /// The page's file name.
    pub fn file(&self) -> String {
        format!("{}.{}", self.name, self.section)
    }
}

#[cfg(test)]
mod tests;
