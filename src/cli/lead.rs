//! `offerd lead submit FILE`, `offerd lead erase UUID`, `offerd lead export UUID`

use std::fmt::Display;
use std::io::{IsTerminal, Read};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::value::RawValue;

use super::files::{InputFile, shown};
use super::page::dollars;
use super::prelude::*;
use offerd_insight::persons::erasure::Erasure;
use offerd_insight::sheet::lines::{UNREADABLE, decoded};
use offerd_model::{
    CreditCardOffer, KnownKeys, Lead, LoanOffer, Money, MortgageOffer, RateTable, SavingsOffer, SpecialOffer,
    UnreadableBody,
};

/// Actions on leads.
#[derive(Debug, Subcommand)]
pub enum LeadCommand {
    /// Submit a lead, show the partners answering, then the offers
    Submit(Submit),
    /// Erase a lead: destroy its key, and show what remains
    Erase {
        /// The lead
        #[arg(value_parser = values::uuid)]
        uuid: Uuid,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Export all data on the person of a lead, as one JSON document
    Export {
        /// The lead
        #[arg(value_parser = values::uuid)]
        uuid: Uuid,
        /// File to create, readable by its owner only; default: standard output
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

/// `lead submit`.
#[derive(Debug, Args)]
pub struct Submit {
    /// The lead, as JSON; `-` reads standard input
    file: PathBuf,
    /// Access token, publishable or confidential
    #[arg(long, env = "OFFERD_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Address of the API listener; default: that of the daemon running on the configured store
    #[arg(long, value_name = "URL", value_parser = values::address)]
    url: Option<String>,
    /// Print the rate table as JSON
    #[arg(long)]
    json: bool,
}

const NO_TOKEN: &str = "no access token: OFFERD_TOKEN and --token are missing or empty; the first start printed two, and `offerd token create` makes another";

const NO_DAEMON: &str = "no daemon runs on the configured store; start it with `offerd serve`, or give --url";

const BAD_TOKEN: &str = "the daemon does not know this access token; `offerd token list` lists the tokens, and `offerd token create` makes one";

const API_ADDRESS: &str =
    "leave --url out for the daemon of the configured store, or see `api.listen` in its settings";

const POLL_EVERY: Duration = Duration::from_millis(250);

/// Polls before the command gives up; a rate table completes long before, by its deadline.
const MOST_POLLS: usize = 480;

/// Runs `offerd lead`.
pub async fn run(settings: &Settings, command: LeadCommand) -> Result<(), CommandError> {
    match command {
        LeadCommand::Submit(submit) => Ok(execute(settings, &submit).await?),
        LeadCommand::Erase { uuid, json } => {
            let admin = AdminClient::find(settings).await?;
            let erasure: Erasure = progress::during("erasing", found(&admin, Method::DELETE, uuid)).await?;
            Ok(page::show(&erasure, json, || page::print(summary(&erasure)))?)
        }
        LeadCommand::Export { uuid, out } => {
            let out = out.as_deref();
            files::can_give(out)?;
            let admin = AdminClient::find(settings).await?;
            let looked_up = found(&admin, Method::GET, uuid);
            let dossier: Box<RawValue> = progress::during("gathering the data", looked_up).await?;
            Ok(files::give(out, &dossier, &format!("all data of lead {uuid}"))?)
        }
    }
}

/// Reads a lead file, returning both its bytes and the parsed lead, or every fault; warns about unknown keys,
/// which are ignored.
pub fn read_lead(file: &Path) -> Result<(Vec<u8>, Lead), String> {
    let mut body = String::new();
    let read = InputFile::open(file).and_then(|input| {
        let read = decoded(input.read, None).read_to_string(&mut body);
        read.map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
        let is_whole = !body.contains(['\u{fffd}', UNREADABLE]);
        is_whole.then_some(()).ok_or_else(|| format!("{} is not in UTF-8; save it so", file.display()))
    });
    read.map_err(|fault| {
        format!(
            "{fault}; give a file with a lead as JSON, such as {{\"productTypes\":[\"loan\"]}}, or `-` for \
             standard input; `/docs` of a running daemon has more"
        )
    })?;
    match Lead::read(body.as_bytes()) {
        Ok(lead) => {
            for unknown in KnownKeys::of::<Lead>().unknown(body.as_bytes()) {
                tell!("offerd: {}: passed over: `{}` {unknown}", shown(file), unknown.attribute);
            }
            Ok((body.into_bytes(), lead))
        }
        Err(UnreadableBody::NotJson(error)) => {
            Err(format!("{}: {}", shown(file), error.message.unwrap_or_default()))
        }
        Err(UnreadableBody::Faults(faults)) => {
            let lines = faults.iter().map(|fault| {
                let attribute = fault.attribute.as_deref().unwrap_or_default();
                format!("\n  `{attribute}` {}", fault.message.as_deref().unwrap_or_default())
            });
            Err(format!("{} is not a lead:{}", shown(file), lines.collect::<String>()))
        }
    }
}

async fn execute(settings: &Settings, submit: &Submit) -> Result<(), String> {
    let (body, _) = read_lead(&submit.file)?;
    let token = submit.token.clone().filter(|token| !token.is_empty()).ok_or(NO_TOKEN)?;
    let url = match &submit.url {
        Some(url) => url.clone(),
        None => RunFile::read(&settings.store.path)?.map(|running| running.api).ok_or(NO_DAEMON)?,
    };

    let client = AdminClient::of_listener(url, token, settings)?;
    let posted = client.post_json("/leads/rateTables", body).await?;
    if posted.status == StatusCode::UNAUTHORIZED {
        return Err(BAD_TOKEN.to_owned());
    }
    if [StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED].contains(&posted.status) {
        return Err(format!(
            "{} accepts no leads: it is not the api listener; {API_ADDRESS}",
            client.url("")
        ));
    }
    let is_unavailable = posted.status == StatusCode::SERVICE_UNAVAILABLE;
    let submitted = posted.read().map_err(|why| match is_unavailable {
        true => format!("{why}; `offerd doctor` where the daemon runs shows the cause, such as a full disk"),
        false => why,
    });
    let table = complete(&client, submitted?).await?;

    page::show(&table, submit.json, || {
        match table.offer_count() {
            0 => page::print(format_args!("no offers; `offerd explain {}` says why", table.lead_uuid)),
            _ => page::print_sheet(&offers(&table)),
        }
        page::print(format_args!("rate table {} of lead {}", table.uuid, table.lead_uuid));
    })
}

async fn complete(client: &AdminClient, mut table: RateTable) -> Result<RateTable, String> {
    let mut progress = SubmitProgress::start(&table);
    for _ in 0..MOST_POLLS {
        if table.pending_responses.is_empty() {
            break;
        }
        tokio::time::sleep(POLL_EVERY).await;
        let uuid = table.uuid;
        let polled = client.ask(Method::GET, &format!("/originator/rateTables/{uuid}")).await;
        table = polled.map_err(|fault| {
            format!(
                "{fault}; the lead was accepted: rate table {uuid} continues when the daemon is back, and `offerd explain {uuid}` then shows it"
            )
        })?;
        progress.show(&table);
    }
    progress.bar.finish_and_clear();
    match table.pending_responses.is_empty() {
        true => Ok(table),
        false => Err(format!(
            "rate table {0} is still pending; `offerd explain {0}` shows its progress",
            table.uuid
        )),
    }
}

struct SubmitProgress {
    bar: ProgressBar,
    pending: Vec<Outstanding>,
}

/// An institution, and the institution with the product type that it is asked about.
type Outstanding = (String, String);

impl SubmitProgress {
    fn start(table: &RateTable) -> Self {
        let count = outstanding(table).len() as u64;
        let is_shown = std::io::stderr().is_terminal() && count > 0;
        let bar = if is_shown { ProgressBar::new(count) } else { ProgressBar::hidden() };
        let template = "{spinner} {bar:24} {pos}/{len} outstanding partners answered  {wide_msg}";
        bar.set_style(ProgressStyle::with_template(template).expect("the template is well-formed"));
        bar.enable_steady_tick(Duration::from_millis(100));
        bar.println(format!("  {} offers at once", table.offer_count()));
        let mut progress = Self { bar, pending: Vec::new() };
        progress.show(table);
        progress
    }

    fn show(&mut self, table: &RateTable) {
        let pending = outstanding(table);
        for (institution, asked) in self.pending.iter().filter(|one| !pending.contains(one)) {
            let offers = rows(table).iter().filter(|row| row[0] == *institution).count();
            let mark = if offers > 0 { "✓" } else { "–" };
            self.bar.println(format!("  {mark} {asked}: {offers} offers in the table"));
            self.bar.inc(1);
        }
        self.bar.set_message(pending.iter().map(|(_, asked)| asked.as_str()).collect::<Vec<_>>().join(", "));
        self.pending = pending;
    }
}

fn outstanding(table: &RateTable) -> Vec<Outstanding> {
    let asked = table.pending_responses.iter().flat_map(|one| {
        let institution = &one.partner.name;
        let products = one.product_types.iter();
        products.map(move |product| (institution.clone(), format!("{institution} ({product})")))
    });
    asked.collect()
}

/// The offers of all arrays, one array after the other, each in its own order.
pub fn offers(table: &RateTable) -> Sheet {
    sheet!(rows(table), [institution, offer, rate, payment, firmness, score] => {
        "institution" => institution,
        "offer" => offer,
        "rate": Figure => rate,
        "payment": Figure => payment,
        "firmness" => firmness,
        "score": Figure => score,
    })
}

type OfferColumns = [String; 6];

fn rows(table: &RateTable) -> Vec<OfferColumns> {
    let mut rows: Vec<OfferColumns> = table.loan_offers.iter().map(loan).collect();
    rows.extend(table.credit_card_offers.iter().map(card));
    rows.extend(table.mortgage_offers.iter().map(mortgage));
    rows.extend(table.savings_offers.iter().map(savings));
    rows.extend(table.special_offers.iter().map(special));
    rows
}

/// A row of the table; a missing rate, payment or firmness is an empty text.
fn row(institution: &str, offer: String, terms: [String; 3], score: Option<f64>) -> OfferColumns {
    let [rate, payment, firmness] = terms;
    let score = score.map(|score| format!("{score:.2}")).unwrap_or_default();
    [institution.to_owned(), offer, rate, payment, firmness, score]
}

fn loan(offer: &LoanOffer) -> OfferColumns {
    let rate = match (offer.min_apr, offer.max_apr) {
        (Some(min), Some(max)) if min == max => format!("{min} % APR"),
        (Some(min), Some(max)) => format!("{min}–{max} % APR"),
        _ => String::new(),
    };
    let amount = format!("up to {}", dollars(f64::from(offer.max_amount)));
    let term = match offer.term_length {
        0 => "open".to_owned(),
        length => format!("{length} {}s", offer.term_unit),
    };
    let name = named(offer.product_sub_type, format_args!("{amount}, {term}"));
    let payment = monthly(offer.min_monthly_payment, offer.max_monthly_payment);
    let firmness = firmness(offer.pre_approved, offer.pre_qualified, false);
    row(&offer.originator.name, name, [rate, payment, firmness], offer.recommendation_score)
}

fn card(offer: &CreditCardOffer) -> OfferColumns {
    let details = &offer.details;
    let rate = match (details.min_purchase_apr, details.max_purchase_apr) {
        (Some(min), Some(max)) if min != max => format!("{min}–{max} % APR"),
        (Some(apr), _) | (None, Some(apr)) => format!("{apr} % APR"),
        _ => String::new(),
    };
    let name = named(offer.product_sub_type, details.card_name.as_deref().unwrap_or_default());
    let fee = details.max_annual_fee.map(|fee| format!("{}/year", dollars(fee.to_f64()))).unwrap_or_default();
    let firmness = firmness(details.pre_approved, details.pre_qualified, details.pre_selected);
    row(&offer.partner.name, name, [rate, fee, firmness], offer.recommendation_score)
}

fn mortgage(offer: &MortgageOffer) -> OfferColumns {
    let details = &offer.details;
    let name = named(offer.product_sub_type, details.loan_type);
    let payment = format!("{}/month", dollars(details.monthly_payment.to_f64()));
    let terms = [format!("{} % APR", details.apr), payment, String::new()];
    row(&offer.partner.name, name, terms, offer.recommendation_score)
}

fn savings(offer: &SavingsOffer) -> OfferColumns {
    let name = named(offer.product_sub_type, offer.details.name.as_deref().unwrap_or_default());
    let rate = format!("{} % APY", offer.details.annual_percent_yield);
    row(&offer.partner.name, name, [rate, String::new(), String::new()], offer.recommendation_score)
}

fn special(offer: &SpecialOffer) -> OfferColumns {
    row(&offer.partner_name, named("special", &offer.name), Default::default(), offer.recommendation_score)
}

/// The daemon's answer about a lead, or to its erasure.
async fn found<T: DeserializeOwned>(admin: &AdminClient, method: Method, lead: Uuid) -> Result<T, String> {
    admin.lookup(method, &format!("/leads/{lead}")).await?.ok_or_else(|| {
        format!(
            "there is no lead {lead}, or it was erased; `lead submit` and `explain` show the uuid of a lead"
        )
    })
}

fn summary(Erasure { lead_uuid, destroyed, remaining, damaged, .. }: &Erasure) -> String {
    let damaged = match damaged {
        true => "; its record was damaged, so only the readable parts are counted",
        false => "",
    };
    let told = format!(
        include_str!("lead/erased.txt"),
        lead = lead_uuid,
        damaged = damaged,
        leads = destroyed.leads,
        answers = destroyed.answers,
        transcripts = destroyed.transcripts,
        lead_actions = destroyed.lead_actions,
        client_tags = destroyed.client_tags,
        offer_displays = destroyed.offer_displays,
        hashes = destroyed.hashes,
        rate_tables = remaining.rate_tables,
        lead_events = remaining.lead_events,
        lead_payouts = remaining.lead_payouts,
        partner_reports = remaining.partner_reports
    );
    told.trim_end().to_owned()
}

/// The monthly payment; for a range the highest, as the payment of a rate range belongs to its higher end.
fn monthly(least: Option<Money>, most: Option<Money>) -> String {
    let Some(most) = most else { return String::new() };
    let up_to = if least.is_some_and(|least| least != most) { "up to " } else { "" };
    format!("{up_to}{}/month", dollars(most.to_f64()))
}

/// An offer's product sub-type, with what distinguishes it from the others of that sub-type.
fn named(sub_type: impl ToString, apart: impl Display) -> String {
    format!("{} {apart}", sub_type.to_string().replace('_', " ")).trim_end().to_owned()
}

fn firmness(pre_approved: bool, pre_qualified: bool, pre_selected: bool) -> String {
    match (pre_approved, pre_qualified, pre_selected) {
        (true, _, _) => "pre-approved",
        (_, true, _) => "pre-qualified",
        (_, _, true) => "pre-selected",
        _ => "",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::monthly;
    use offerd_model::Money;

    #[test]
    fn the_payment_of_a_range_is_told_as_the_most() {
        let [least, most] = ["335.98", "371.58"].map(|text| serde_json::from_str::<Money>(text).ok());
        assert_eq!(monthly(least, most), "up to $371.58/month");
        assert_eq!(monthly(most, most), "$371.58/month");
        assert_eq!(monthly(None, most), "$371.58/month");
        assert_eq!(monthly(None, None), "");
    }
}
