//! `offerd suppressions`: lists of people that partners are not asked about.

use indicatif::ProgressBar;

use super::files::{InputFile, SAVE_AS_UTF_8, shown};
use super::prelude::*;
use offerd_admin::suppressions::{AT_ONCE, Added, Addition, ListedSuppressions, Removed, digest};
use offerd_insight::sheet::lines::{Encoding, TextLines, decoded};
use offerd_insight::sheet::rows::{CsvFault, CsvRow, CsvRows, plain};
use offerd_model::{SuppressionDigest, SuppressionKind};
use offerd_partners::{KEY_CHARS, is_key};

/// Bad lines reported one by one; further ones are only counted.
const MOST_TOLD: u64 = 20;

/// Warning about a damaged store. Partners that name an unreadable list are asked about nobody.
const DAMAGED: &str = "the store is damaged: lists that cannot be read are not shown, and partners that name one are asked about nobody; \
                       `offerd store check` names what is damaged";

/// Actions on suppression lists.
#[derive(Debug, Subcommand)]
pub enum SuppressionsCommand {
    /// Add the entries of a file to a list, which is created if it does not exist
    Add(SuppressionsAddArguments),
    /// List the lists, with their number of entries and the partners that name them
    List {
        /// Print JSON: `name`, `kind`, `entries`, `updatedAt` and `partners` of each
        #[arg(long)]
        json: bool,
    },
    /// Remove a list with all its entries. Partners that name it are not asked until a list of this name
    /// exists again
    Remove {
        /// Name of the list
        name: String,
    },
    /// Accept the lists as they are, after a restore, or a salvage that could not prove them complete;
    /// partners are asked again
    Confirm,
}

/// `suppressions add`.
#[derive(Debug, Args)]
pub struct SuppressionsAddArguments {
    /// Name of the list, as in `suppress` of partner files
    name: String,
    /// File with one entry per line, CSV if they are names; `-` reads standard input
    file: PathBuf,
    /// Encoding of the file, such as `windows-1252`; default: that of its byte order mark, else UTF-8
    #[arg(long, value_name = "NAME", value_parser = values::encoding)]
    encoding: Option<Encoding>,
    /// How the lines identify people
    #[arg(long)]
    kind: SuppressionKindArgument,
    /// Lines are plain text, not SHA-256 digests
    #[arg(long)]
    plain: bool,
    /// Print JSON: how many lines were `read` and `bad`, and how many `entries` the list has
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SuppressionKindArgument {
    /// Email addresses
    Email,
    /// Phone numbers
    Phone,
    /// First name, last name and date of birth
    Person,
}

/// Runs `offerd suppressions`.
pub async fn run(settings: &Settings, command: SuppressionsCommand) -> Result<(), CommandError> {
    match command {
        SuppressionsCommand::Add(add) => {
            // Checked before the store is opened and the file read.
            if !is_key(&add.name) {
                return Err(format!("the list's name must be {KEY_CHARS}, got `{}`", add.name).into());
            }
            let input = InputFile::open(&add.file)?;
            CommandError::unless(add.send(&AdminClient::find_to_change(settings).await?, input).await? == 0)?;
        }
        SuppressionsCommand::List { json } => {
            let admin = AdminClient::find_with_partners(settings).await?;
            let lists: Vec<ListedSuppressions> = admin.ask(Method::GET, "/suppressions").await?;
            page::show(&lists, json, || page::print_sheet(&sheet(&lists)))?;
            if admin.knows_of_damage().await {
                return Err(DAMAGED.into());
            }
        }
        SuppressionsCommand::Confirm => {
            let admin = AdminClient::find_with_partners(settings).await?;
            match admin.send_and_find(Method::POST, "/suppressions/confirm").await? {
                true => tell!("the suppression lists are taken as they are"),
                false => tell!("no salvage or restore left suppression lists to confirm"),
            }
        }
        SuppressionsCommand::Remove { name } => {
            let admin = AdminClient::find_with_partners(settings).await?;
            let missing = || format!("there is no list `{name}`; `offerd suppressions list` lists them");
            if !is_key(&name) {
                return Err(missing().into());
            }
            let removed: Removed = admin.ask(Method::DELETE, &format!("/suppressions/{name}")).await?;
            if !removed.found {
                return Err(missing().into());
            }
            tell!("the list {name} is removed");
            if !removed.partners.is_empty() {
                let partners = removed.partners.join(", ");
                tell!(
                    "their files name it, so that these are asked about nobody until it is there again: {partners}"
                );
            }
        }
    }
    Ok(())
}

impl SuppressionsAddArguments {
    /// Sends the valid entries of the file, and returns the number of bad lines.
    async fn send(&self, admin: &AdminClient, input: InputFile) -> Result<u64, String> {
        let (bar, to) = (input.bar(), (admin, input.digest));
        let lines = TextLines::new(decoded(bar.wrap_read(input.read), self.encoding), SAVE_AS_UTF_8);
        let (mut read, mut bad, mut sent, mut batch) = (0_u64, 0_u64, 0_usize, Vec::with_capacity(AT_ONCE));
        let mut columns = CsvColumns::of(self.plain, self.kind());
        let mut rows = CsvRows::new(lines, Some(columns.names.len()));
        while let Some(CsvRow { line, cells }) = rows.next() {
            let cells = cells.map_err(CsvFault::told);
            if read == 0
                && !columns.has_header
                && cells.as_ref().is_ok_and(|cells| columns.take_header(cells))
            {
                continue;
            }
            read += 1;
            let digest = cells.and_then(|cells| self.digest(&columns, &cells, read == 1));
            match digest {
                Ok(digest) => batch.push(const_hex::encode(digest)),
                Err(message) if rows.is_broken() || columns.are_unknown => {
                    bar.finish_and_clear();
                    if sent > 0 {
                        self.post(&to, Vec::new(), true).await?;
                    }
                    return Err(format!("line {line} {message}, so {}", self.added(sent)));
                }
                Err(message) => {
                    bad += 1;
                    self.report_bad(&bar, (line, &message), bad);
                }
            }
            if batch.len() == AT_ONCE {
                let posted = self.post(&to, std::mem::take(&mut batch), false).await;
                posted.map_err(|message| format!("{message}; {}", self.added(sent)))?;
                sent += AT_ONCE;
                bar.set_message(format!("{read} lines"));
            }
        }
        if bad == read {
            bar.finish_and_clear();
            // An empty list would let everybody through.
            let found = match read {
                0 if columns.has_header => format!("{} has no line but its header", shown(&self.file)),
                0 => format!("{} has no line with anything on it", shown(&self.file)),
                _ => format!("none of the {read} lines is good"),
            };
            return Err(format!("{found}, so nothing is added to `{}`", self.name));
        }
        let posted = self.post(&to, batch, true).await;
        let posted = posted.map_err(|message| format!("{message}; {}", self.added(sent)))?;
        let entries = posted.entries.unwrap_or(0);
        bar.finish_and_clear();
        if self.json {
            page::print(json!({ "name": self.name, "read": read, "bad": bad, "entries": entries }));
        } else {
            let entries = if entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") };
            let read = page::counted(read as usize, "line");
            page::print(format!("{read} read, {bad} bad; {} has {entries}", self.name));
        }
        Ok(bad)
    }

    /// What is on the list of a file whose rest is not.
    fn added(&self, sent: usize) -> String {
        match sent {
            0 => format!("nothing is added to `{}`", self.name),
            sent => format!(
                "only the first {sent} good lines are added to `{}`; run the command again with the whole file, \
                 which adds none of them twice",
                self.name
            ),
        }
    }

    fn digest(&self, names: &CsvColumns, cells: &[String], first: bool) -> Result<SuppressionDigest, String> {
        let cells: Vec<&str> = names.order.iter().map(|nth| cells[*nth].as_str()).collect();
        let digest = match self.plain {
            true => self.kind().of_cells(&cells, Utc::now().date_naive()),
            false => digest(&cells.concat()),
        };
        digest.map_err(|wanted| match first && looks_like_header(&cells) {
            true => format!("must be {wanted}; read as a header, it must name {}", names.wanted()),
            false => format!("must be {wanted}"),
        })
    }

    /// Reports a bad line, without its content.
    fn report_bad(&self, bar: &ProgressBar, (line, message): (u64, &str), bad: u64) {
        bar.suspend(|| match bad {
            1..=MOST_TOLD => tell!("{}:{line}: {message}", self.file.display()),
            _ if bad == MOST_TOLD + 1 => tell!("more lines are bad; they are counted"),
            _ => {}
        });
    }

    /// Sends entries to the daemon, with the digest of the file that has them.
    async fn post(
        &self,
        (admin, file): &(&AdminClient, Option<String>),
        digests: Vec<String>,
        last: bool,
    ) -> Result<Added, String> {
        let addition = Addition { name: self.name.clone(), kind: self.kind(), digests, last };
        admin.post(&values::query("/suppressions", [("file", file.clone())]), &addition).await
    }

    fn kind(&self) -> SuppressionKind {
        match self.kind {
            SuppressionKindArgument::Email => SuppressionKind::Email,
            SuppressionKindArgument::Phone => SuppressionKind::Phone,
            SuppressionKindArgument::Person => SuppressionKind::Person,
        }
    }
}

/// The columns of a list.
struct CsvColumns {
    /// Of each the names that headers have for it, ours first, as [`plain`] makes them.
    names: &'static [&'static [&'static str]],
    /// Where each stands.
    order: Vec<usize>,
    has_header: bool,
    /// A header stands there that does not say which is which.
    are_unknown: bool,
}

impl CsvColumns {
    /// Those of a list without a header.
    fn of(plain: bool, kind: SuppressionKind) -> Self {
        let names: &[&[&str]] = match kind {
            _ if !plain => &[&["sha256", "hash", "digest", "emailsha256", "phonesha256", "hashedemail"]],
            SuppressionKind::Email => &[&["email", "emailaddress", "mail"]],
            SuppressionKind::Phone => &[&["phone", "phonenumber", "telephone", "mobile", "primaryphone"]],
            SuppressionKind::Person => &[
                &["firstname", "first", "givenname", "forename"],
                &["lastname", "last", "surname", "familyname"],
                &["dateofbirth", "birthdate", "birthday", "dob", "born"],
            ],
        };
        Self { names, order: (0..names.len()).collect(), has_header: false, are_unknown: false }
    }

    /// Takes the first row for the header that it is, in whatever order. Of several columns that a header names otherwise nobody knows
    /// which is which.
    fn take_header(&mut self, cells: &[String]) -> bool {
        let found: Vec<String> = cells.iter().map(|cell| plain(cell)).collect();
        let place = |names: &&[&str]| found.iter().position(|name| names.contains(&name.as_str()));
        let order: Option<Vec<usize>> = self.names.iter().map(place).collect();
        self.are_unknown = order.is_none() && cells.len() > 1 && looks_like_header(cells);
        self.has_header = order.is_some();
        self.order = order.unwrap_or_else(|| std::mem::take(&mut self.order));
        self.has_header
    }

    /// What a header must name.
    fn wanted(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|names| format!("`{}`", names[0])).collect();
        names.join(", ")
    }
}

/// Whether cells have neither digits nor an address, as the names of columns have none.
fn looks_like_header(cells: &[impl AsRef<str>]) -> bool {
    let is_name =
        |cell: &str| !cell.is_empty() && !cell.contains(|letter: char| letter.is_numeric() || letter == '@');
    cells.iter().all(|cell| is_name(cell.as_ref()))
}

fn sheet(lists: &[ListedSuppressions]) -> Sheet {
    sheet!(lists, list => {
        "list" => &list.name,
        "kind" => list.kind.word(),
        "entries": Count => list.entries,
        "updated": Time => list.updated_at,
        "partners" => list.partners.join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_which_a_part_is_added_says_so_and_what_to_do() {
        let file = PathBuf::from("list.csv");
        let kind = SuppressionKindArgument::Email;
        let name = "known".to_owned();
        let add = SuppressionsAddArguments { name, file, encoding: None, kind, plain: true, json: false };
        assert_eq!(add.added(0), "nothing is added to `known`");
        let part =
            "only the first 8192 good lines are added to `known`; run the command again with the whole file";
        assert!(add.added(8192).starts_with(part), "{}", add.added(8192));
    }
}
