//! `offerd person`: data-subject requests, across all leads of a person.

use std::io::{BufRead, stdin};

use serde_json::value::RawValue;

use super::consents;
use super::prelude::*;
use offerd_admin::erasing::ErasureLine;
use offerd_admin::persons::{OptOutChange, PersonOrder};
use offerd_admin::tokens::{Holder, ListedToken};
use offerd_insight::persons::request::{FoundLead, Receipt, typed, typed_before};
use offerd_model::{SuppressionDigest, SuppressionKind};

/// Requests about a person.
#[derive(Debug, Subcommand)]
pub enum PersonCommand {
    /// Find the leads of a person by an email address or a phone number
    Find {
        #[command(flatten)]
        whose: PersonArguments,
        /// Print JSON: `leadUuid`, `companyUuid`, `createdAt`, `productTypes` and `test` of each lead
        #[arg(long)]
        json: bool,
    },
    /// Export all data on a person, of all their leads, as one JSON document
    Export {
        #[command(flatten)]
        whose: PersonArguments,
        /// File to create, readable by its owner only; default: standard output
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Erase all leads of a person, and print a receipt
    Erase {
        #[command(flatten)]
        whose: PersonArguments,
        /// Also opt the person out, by every address, number, and name with date of birth in their leads
        #[arg(long)]
        suppress: bool,
        /// Print the receipt as JSON
        #[arg(long)]
        json: bool,
    },
    /// Opt a person out: no partner is asked about them from now on, whichever client submits them
    Suppress {
        #[command(flatten)]
        who: SuppressionSubject,
        #[command(flatten)]
        why: AuditReason,
    },
    /// List the consents stated in the leads of a period, with their times and the texts that were shown
    Consents(consents::ConsentsArguments),
    /// End a person's opt-out
    Unsuppress {
        #[command(flatten)]
        who: SuppressionSubject,
        #[command(flatten)]
        why: AuditReason,
    },
}

/// Selects the leads of one person.
#[derive(Debug, Args)]
pub struct PersonArguments {
    #[command(flatten)]
    who: PersonContact,
    #[command(flatten)]
    why: AuditReason,
    /// In a damaged store, go on with the leads that can be read; refused otherwise
    #[arg(long)]
    despite_damage: bool,
}

/// Identifies a person.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct PersonContact {
    /// An email address of the person; `-` reads it from standard input, so that it does not show in the
    /// process list
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// A phone number of the person; `-` reads it from standard input
    #[arg(long, value_name = "NUMBER")]
    phone: Option<String>,
}

/// Identifies a person by any key of the suppression lists.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct SuppressionSubject {
    /// An email address; `-` reads it from standard input, so that it does not show in the process list
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// A phone number; `-` reads it from standard input
    #[arg(long, value_name = "NUMBER")]
    phone: Option<String>,
    /// First name, last name and date of birth; `-` reads them from standard input
    #[arg(long, value_name = "NAME")]
    person: Option<String>,
}

/// The reason of a request.
#[derive(Debug, Args)]
pub struct AuditReason {
    /// Reason for the audit log, such as a ticket number; no names
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Runs `offerd person`.
pub async fn run(settings: &Settings, command: PersonCommand) -> Result<(), CommandError> {
    let is_change = matches!(command, PersonCommand::Suppress { .. } | PersonCommand::Unsuppress { .. });
    let admin = match is_change {
        true => AdminClient::find_to_change(settings).await?,
        false => AdminClient::find(settings).await?,
    };
    let admin = &admin;
    match command {
        PersonCommand::Find { whose, json } => find(admin, &whose.order()?, json).await,
        PersonCommand::Export { whose, out } => export(admin, &whose.order()?, out.as_deref()).await,
        PersonCommand::Erase { whose, suppress, json } => {
            let receipt = erased(admin, &PersonOrder { suppress, ..whose.order()? }).await?;
            Ok(page::show(&receipt, json, || page::print(summary(&receipt)))?)
        }
        PersonCommand::Suppress { who, why } => {
            let _: OptOutChange = admin.post("/persons/suppress", &who.order(why)?).await?;
            tell!("{OPTED_OUT}");
            Ok(())
        }
        PersonCommand::Unsuppress { who, why } => {
            let done: OptOutChange =
                admin.post("/persons/unsuppress", &who.order_with(why, typed_before)?).await?;
            let (ended, never) = ("they may be asked about again", "they were not on the opt-out list");
            tell!("{}", if done.was_suppressed { ended } else { never });
            Ok(())
        }
        PersonCommand::Consents(arguments) => consents::run(admin, &arguments).await,
    }
}

async fn find(admin: &AdminClient, order: &PersonOrder, json: bool) -> Result<(), CommandError> {
    let looked_up = admin.post("/persons/find", order);
    let found: Vec<FoundLead> = progress::during("looking them up", looked_up).await?;
    let tokens = match json || found.is_empty() {
        true => Vec::new(),
        false => admin.ask::<Vec<ListedToken>>(Method::GET, "/tokens").await?,
    };
    Ok(page::show(&found, json, || match found.is_empty() {
        true => page::print(NOBODY),
        false => page::print_sheet(&sheet(&found, &tokens)),
    })?)
}

async fn export(admin: &AdminClient, order: &PersonOrder, out: Option<&Path>) -> Result<(), CommandError> {
    files::can_give(out)?;
    let gathered = admin.post("/persons/export", order);
    let held: Box<RawValue> = progress::during("gathering the data", gathered).await?;
    let copy: Value = serde_json::from_str(held.get()).map_err(|error| error.to_string())?;
    let what = match copy["leads"].as_array().is_none_or(Vec::is_empty) {
        true => {
            tell!("{NOBODY}");
            "a copy without leads"
        }
        false => "all their data",
    };
    Ok(files::give(out, &held, what)?)
}

const BAR: &str = "{bar:30} {pos} of {len} leads are erased";

/// Erases all leads of a person. The daemon finishes even if this command is interrupted.
async fn erased(admin: &AdminClient, order: &PersonOrder) -> Result<Receipt, String> {
    let mut waiting = Some(progress::waiting("erasing"));
    let bar = progress::StepProgressBar::begin(BAR);
    let mut leads = Vec::new();
    let ended = |line| match line {
        ErasureLine::Progress(progress) => {
            if progress.done > 0 {
                drop(waiting.take());
                bar.show(progress.done as u64, progress.of as u64);
            }
            None
        }
        ErasureLine::Erased(some) => {
            leads.extend(some);
            None
        }
        ErasureLine::Receipt(receipt) => Some(Ok(receipt)),
        ErasureLine::Failed(why) => Some(Err(why)),
    };
    let receipt = admin.follow("/persons/erase", order, CUT_SHORT, ended).await?;
    Ok(Receipt { leads, ..receipt })
}

const CUT_SHORT: &str = "the daemon ended during the erasure: `offerd audit list --action person.erase` \
    names the leads to erase, and `person.erased` those erased; erase again by the same address";

/// Message after an opt-out.
const OPTED_OUT: &str = "from now on, no partner is asked about them; `offerd person unsuppress` ends that";

/// Message when no lead is found.
const NOBODY: &str = "no lead has this contact; erased leads cannot be found";

impl PersonArguments {
    fn order(self) -> Result<PersonOrder, CommandError> {
        let Self { who: PersonContact { email, phone }, why, despite_damage } = self;
        let order = SuppressionSubject { email, phone, person: None }.order(why)?;
        Ok(PersonOrder { despite_damage, ..order })
    }
}

impl SuppressionSubject {
    /// The order, with a digest of the address, the number or the name.
    fn order(self, why: AuditReason) -> Result<PersonOrder, CommandError> {
        self.order_with(why, typed)
    }

    /// The same, where `read` makes the digest.
    fn order_with(
        self,
        AuditReason { reason }: AuditReason,
        read: fn(SuppressionKind, &str) -> Result<SuppressionDigest, String>,
    ) -> Result<PersonOrder, CommandError> {
        let given = [
            (SuppressionKind::Email, self.email),
            (SuppressionKind::Phone, self.phone),
            (SuppressionKind::Person, self.person),
        ];
        let given = given.into_iter().find_map(|(kind, given)| Some((kind, given?)));
        let (kind, mut line) = given.expect("the command line wants one of them");
        if line == "-" {
            line.clear();
            let read = stdin().lock().read_line(&mut line);
            read.map_err(|error| format!("standard input cannot be read: {error}"))?;
        }
        let digest = read(kind, &line).map_err(|message| format!("--{} {message}", kind.word()))?;
        let digest = const_hex::encode(digest);
        Ok(PersonOrder { kind, digest, reason, suppress: false, despite_damage: false })
    }
}

fn sheet(found: &[FoundLead], tokens: &[ListedToken]) -> Sheet {
    // A company whose tokens are all revoked has only its uuid.
    let company = |uuid: Uuid| match tokens.iter().find(|token| token.company_uuid == Some(uuid)) {
        Some(ListedToken { holder: Holder::Company(name), .. }) => name.clone(),
        _ => uuid.to_string(),
    };
    sheet!(found, lead => {
        let asks_for: Vec<&str> = lead.product_types.iter().map(|one| one.as_str()).collect();
        "lead" => lead.lead_uuid.to_string(),
        "made": Time => lead.created_at.millis(),
        "asks for" => if asks_for.is_empty() { "all".to_owned() } else { asks_for.join(", ") },
        "company" => company(lead.company_uuid),
        "" => lead.test.then_some("test"),
    })
}

fn summary(receipt: &Receipt) -> String {
    let Receipt { receipt_uuid, erased_at, by, reason, daemon, companies, opted_out, leads, .. } = receipt;
    let why = reason.as_deref().map_or_else(String::new, |reason| format!(", because: {reason}"));
    let done = format!("receipt {receipt_uuid}, {erased_at}, by {by} on {daemon}{why}");
    let alone = opted_out.map_or_else(String::new, |listed| {
        format!("from now on, no partner is asked about leads submitted with one of: {}\n", listed.told())
    });
    let alone = match receipt.unread {
        0 => alone,
        unread => {
            format!("{alone}{unread} unreadable places of the store may hold leads of theirs\n")
        }
    };
    if leads.is_empty() {
        return format!("{done}\n{alone}{NOBODY}; nothing was erased");
    }
    let lines = leads.iter().map(|lead| format!("  lead {}\n", lead.lead_uuid));
    format!(
        "\
{done}
{alone}{} erased, of {}: their keys are destroyed, and what was sealed with them can never be read again
{}
Backups of the store that were made before, with the keys of that time, still hold them until they are destroyed.",
        if leads.len() == 1 { "1 lead is".to_owned() } else { format!("{} leads are", leads.len()) },
        companies.join(", "),
        lines.collect::<String>()
    )
}
