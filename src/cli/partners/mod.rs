//! `offerd partners list|timing|new|pause|resume|probe|try|cases`

mod attempt;
mod cases;
mod list;
mod masked;
mod new;
mod timing;

use super::prelude::*;
use offerd_admin::partners::PauseOrder;
use offerd_engine::matching::limiter::SeatStatus;
use offerd_engine::matching::pausing::Pausable;
use offerd_insight::hindsight::timing::SeatTiming;
use offerd_model::ProductType;
use offerd_store::pauses::{Pause, ResumeResult};

/// Actions on partners.
#[derive(Debug, Subcommand)]
pub enum PartnersCommand {
    /// Show for each partner and product type whether it is asked, its health, and the use of its limits
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the response times of partners, and what another timeout would have lost or won
    Timing(timing::Timing),
    /// Write a commented partner file to begin with
    New(new::NewPartner),
    /// Pause a partner until it is resumed; outstanding requests may still be answered
    Pause {
        #[command(flatten)]
        what: PartnerSelector,
        /// Why, shown beside the pause and in the audit: a sentence without anything of a person
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Resume a paused partner
    Resume(PartnerSelector),
    /// Let the next calls to a partner through its open circuit breaker, on the daemon of this machine
    Probe {
        /// Partner, by its file name
        #[arg(value_name = "KEY")]
        partner: String,
        /// Only this product type
        #[arg(long, value_name = "TYPE", value_parser = product_type)]
        product: Option<ProductType>,
    },
    /// Show the request that an HTTP partner would be sent for a lead; optionally send it and show its offers
    Try(attempt::Try),
    /// Run the case files of HTTP partners, and show where their mappings differ
    Cases(cases::CasesArguments),
}

/// A partner, or one of its product types.
#[derive(Debug, Args)]
pub struct PartnerSelector {
    /// Partner, by its file name
    #[arg(value_name = "KEY")]
    partner: String,
    /// Only this product type
    #[arg(long, value_name = "TYPE", value_parser = product_type)]
    product: Option<ProductType>,
    /// Print JSON: `partner`, `productType`, whether it is `paused`, and `since` when
    #[arg(long)]
    json: bool,
}

/// Runs `offerd partners`.
pub async fn run(config: Option<&Path>, command: PartnersCommand) -> Result<(), CommandError> {
    let admin = async || AdminClient::find_with_partners(&super::settings(config)?).await;
    match command {
        PartnersCommand::List { json } => {
            let statuses = statuses(&admin().await?).await?;
            page::show(&statuses, json, || {
                page::print_sheet(&list::sheet(&statuses));
                page::print(list::COUNTED);
                list::undeclared(&statuses).iter().for_each(page::print);
            })?;
        }
        PartnersCommand::New(new) => new::write(&super::settings(config)?, &new)?,
        PartnersCommand::Timing(asked) => show_timing(&admin().await?, &asked).await?,
        PartnersCommand::Pause { what: selector, reason } => {
            let PartnerSelector { partner, product: product_type, json } = selector;
            let what = Pausable { partner, product_type };
            let order = PauseOrder { what: what.clone(), reason };
            let pause: Pause = admin().await?.post("/partners/pause", &order).await?;
            if json {
                page::print(state(&what, Some(pause.since)));
            } else {
                tell!("{} is paused since {}", name(&what), page::minute(pause.since));
            }
        }
        PartnersCommand::Resume(PartnerSelector { partner, product: product_type, json }) => {
            let what = Pausable { partner, product_type };
            let name = name(&what);
            match admin().await?.post("/partners/resume", &what).await? {
                ResumeResult::Ended if json => page::print(state(&what, None)),
                ResumeResult::Ended => tell!("{name} is resumed"),
                ResumeResult::NotPaused => {
                    return Err(format!(
                        "{name} is not paused by an operator; if its file has `paused`, remove that and reload"
                    ).into());
                }
                ResumeResult::PausedAsAWhole => {
                    let partner = &what.partner;
                    return Err(
                        format!("{partner} is paused as a whole; resume it without `--product`").into()
                    );
                }
            }
        }
        PartnersCommand::Probe { partner, product: product_type } => {
            probe(&admin().await?, &Pausable { partner, product_type }).await?;
        }
        PartnersCommand::Try(arguments) => {
            let loaded = daemon::load(config)?;
            attempt::run(&loaded.settings, &loaded.book, &arguments).await?;
        }
        PartnersCommand::Cases(arguments) => cases::run(&daemon::load(config)?.book, &arguments)?,
    }
    Ok(())
}

async fn probe(admin: &AdminClient, what: &Pausable) -> Result<(), String> {
    if admin.is_stopped() {
        return Err("no daemon runs on this store, and only a running one has breakers".into());
    }
    let probed: Vec<ProductType> = admin.post("/partners/probe", what).await?;
    if probed.is_empty() {
        return Err(format!("no breaker of {} is open: every call passes", name(what)));
    }
    let products: Vec<&str> = probed.iter().map(|product| product.as_str()).collect();
    tell!("{} is asked again with the next lead for {}", what.partner, products.join(", "));
    Ok(())
}

async fn show_timing(admin: &AdminClient, asked: &timing::Timing) -> Result<(), String> {
    let path = format!("/partners/timing?since={}", values::ago(asked.since));
    let read = admin.ask(Method::GET, &path);
    let mut timings: Vec<SeatTiming> = progress::during("reading stored rate tables", read).await?;
    if let Some(key) = &asked.partner {
        timings.retain(|timing| timing.partner == *key);
        if timings.is_empty() {
            known_among(statuses(admin).await?.iter().map(|status| status.partner.as_str()), key)?;
        }
    }
    page::show(&timings, asked.json, || {
        if timings.is_empty() {
            return page::print(asked.nobody());
        }
        page::print_sheet(&timing::sheet(&timings));
        for timing in &timings {
            if let Some(why) = &timing.why_full {
                page::print(format_args!("{} {}: {why}", timing.partner, timing.product_type));
            }
        }
        let others = timing::other_timeouts(&timings);
        if !others.rows.is_empty() {
            page::print("");
            page::print_sheet(&others);
        }
    })
}

async fn statuses(admin: &AdminClient) -> Result<Vec<SeatStatus>, String> {
    admin.ask(Method::GET, "/partners").await
}

/// Checks that a partner is among the known ones, which the error names.
fn known_among<'k>(keys: impl Iterator<Item = &'k str>, key: &str) -> Result<(), String> {
    let mut keys: Vec<&str> = keys.collect();
    keys.dedup();
    match keys.as_slice() {
        keys if keys.contains(&key) => Ok(()),
        [] => Err(format!("there is no partner `{key}`: there are no partner files in `partners.path`")),
        keys => Err(format!("there is no partner `{key}`; there are: {}", keys.join(", "))),
    }
}

/// Checks that a book has a partner.
pub fn known(book: &Book, key: &str) -> Result<(), String> {
    known_among(book.partners().iter().map(|partner| partner.key.as_str()), key)
}

fn product_type(text: &str) -> Result<ProductType, String> {
    ProductType::from_wire(text).ok_or_else(|| format!("must be one of {}", ProductType::WIRE.join(", ")))
}

fn name(what: &Pausable) -> String {
    match what.product_type {
        Some(product_type) => format!("{} for {product_type}", what.partner),
        None => what.partner.clone(),
    }
}

/// The state for scripts; `since` is Unix milliseconds, or null when not paused.
fn state(what: &Pausable, since: Option<i64>) -> Value {
    json!({
        "partner": what.partner,
        "productType": what.product_type,
        "paused": since.is_some(),
        "since": since,
    })
}
