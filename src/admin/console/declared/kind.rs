//! What the console can make, change and switch, and where the files declare it.

use std::path::PathBuf;

use super::super::prelude::*;
use offerd_base::config::{RankingSettings, Settings};
use offerd_base::declaration::files_in;
use offerd_web::Params;

/// Something that files declare.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    /// The name in the path of its page.
    pub(super) name: &'static str,
    /// What one of them is called.
    pub(super) one: &'static str,
    pub(super) section: Section,
    /// The page that lists them.
    pub(super) section_path: &'static str,
    pub(super) place: Place,
    /// A new one, with the company `Acme`.
    pub(super) example: &'static str,
    /// How one is switched off.
    pub(super) off: &'static str,
}

/// Where a kind is declared.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// In a file each, in a directory.
    Directory(fn(&Settings) -> &PathBuf),
    /// In a section of the settings file.
    Section {
        /// Its name.
        name: &'static str,
        /// The table in it that has them by name.
        table: &'static str,
        /// What begins the section, if the file has none.
        head: &'static str,
        names: fn(&Settings) -> Vec<&String>,
    },
}

const KINDS: [Kind; 4] = [
    Kind {
        name: "postbacks",
        one: "subscription",
        section: Section::Postbacks,
        section_path: "/console/postbacks",
        place: Place::Directory(|settings| &settings.postbacks.path),
        example: include_str!("../../../../config/postbacks/acme_network.toml"),
        off: "Pause",
    },
    Kind {
        name: "experiments",
        one: "experiment",
        section: Section::Experiments,
        section_path: "/console/experiments",
        place: Place::Directory(|settings| &settings.experiments.path),
        example: include_str!("../../../../config/experiments/shorter_deadline.toml"),
        off: "End",
    },
    Kind {
        name: "ranking",
        one: "ranking",
        section: Section::Reports,
        section_path: "/console/ranking",
        place: Place::Section {
            name: "ranking",
            table: "named",
            head: "[ranking]\n# The ranking of companies that no ranking names: one of those below, \"expected_value\", or \"\".\ndefault = \"\"\n",
            names: |settings| {
                let named = settings.ranking.named.keys();
                named.filter(|name| *name != RankingSettings::EXPECTED_VALUE).collect()
            },
        },
        example: "\
[ranking.named.by_value]
# The weight of each part of a score, 0 or from 0.001 to 4.
interest = 1.0
conversion = 1.0
payout = 1.0
consumer_rating = 0.0
# Companies whose offers always use it.
companies = [\"Acme\"]
",
        off: "Remove",
    },
    Kind {
        name: "alerts",
        one: "receiver",
        section: Section::Alerts,
        section_path: "/console/alerts",
        place: Place::Section {
            name: "alerts",
            table: "webhooks",
            head: "",
            names: |settings| settings.alerts.webhooks.keys().collect(),
        },
        example: "\
[alerts.webhooks.ops]
url = \"https://ops.example/hook\"
# secret = { file = \"/etc/offerd/ops.secret\" }  # signs as postbacks are signed
",
        off: "Remove",
    },
];

impl Kind {
    pub(super) fn named(params: &Params) -> Result<Self> {
        let name = params.get("kind");
        let found = KINDS.into_iter().find(|kind| Some(kind.name) == name);
        found.ok_or_else(|| Failure::unknown("There is no such page in the console"))
    }

    pub(super) fn title(&self) -> String {
        let title = match self.name {
            "ranking" => "Ranking",
            _ => self.section.title(),
        };
        format!("{title}: files")
    }

    pub(super) fn is_directory(&self) -> bool {
        matches!(self.place, Place::Directory(_))
    }

    /// The example, for a company that has a token.
    pub(super) fn example_for(&self, app: &AdminState) -> String {
        let holders = Tokens::of(app.store.clone()).holders();
        let is_plain = |name: &&String| !name.contains(['"', '\\']) && !name.chars().any(char::is_control);
        let company = holders.iter().find(is_plain).map_or("Acme", String::as_str);
        self.example.replace("\"Acme\"", &format!("\"{company}\""))
    }

    /// The files that declare this kind in a directory, by name.
    pub(super) fn files(&self, settings: &Settings) -> Vec<(String, PathBuf)> {
        let Place::Directory(path) = self.place else { return Vec::new() };
        let files = files_in(path(settings)).unwrap_or_default();
        let name = |file: &PathBuf| file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        files.into_iter().map(|file| (name(&file), file)).collect()
    }

    /// All entries; a paused postback is marked.
    pub(super) fn entries(&self, app: &AdminState) -> Vec<Value> {
        let settings = app.settings();
        let subscriptions = app.subscriptions();
        let is_off = |name: &str| {
            let subscription = subscriptions.named(name).filter(|_| self.name == "postbacks");
            subscription.is_some_and(|one| one.paused)
        };
        let names: Vec<String> = match self.place {
            Place::Directory(_) => self.files(&settings).into_iter().map(|(name, _)| name).collect(),
            Place::Section { names, .. } => names(&settings).into_iter().cloned().collect(),
        };
        names.into_iter().map(|name| fields! { is_off => is_off(&name), name }).collect()
    }
}
