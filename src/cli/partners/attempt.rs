//! `offerd partners try KEY LEAD.json`: the request that a partner would be sent, and how its answer is read.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use hyper::HeaderMap;
use tokio::time::Instant;

use super::masked::{MaskedTexts, masked};
use super::{known, page, product_type};
use crate::cli::lead;
use crate::cli::prelude::*;
use offerd_base::ids;
use offerd_engine::matching::partner_clients::PartnerClients;
use offerd_engine::matching::question::LeadQuestion;
use offerd_engine::matching::undeclared_reasons::unknown_reason;
use offerd_model::{CreditBands, Lead, ProductType, RateTable};
use offerd_partners::http::{
    Answered, AskContext, AskProgress, HttpPartner, HttpRequest, MappingError, MappingInput, Secrets,
};
use offerd_partners::offer_json::{OfferPlace, write_offer};
use offerd_partners::{Facts, Quote, QuoteTerms, Seat};

/// `partners try`.
#[derive(Debug, Args)]
pub struct Try {
    /// Partner, by its file name; may be paused
    #[arg(value_name = "KEY")]
    partner: String,
    /// The lead, as JSON; `-` reads standard input
    #[arg(value_name = "LEAD")]
    file: PathBuf,
    /// Product type; required when several of the partner's are asked over HTTP
    #[arg(long, value_name = "TYPE", value_parser = product_type)]
    product: Option<ProductType>,
    /// Use the live endpoint; default: the sandbox
    #[arg(long)]
    live: bool,
    /// Send the request and show the answer; the request is real, with personal data and secrets: only the
    /// output is masked
    #[arg(long)]
    send: bool,
    /// Show personal data unmasked; secrets are never shown
    #[arg(long)]
    reveal: bool,
}

/// Note under a masked request, which looks real.
const STAND_INS: &str = "(personal values are placeholders; `--reveal` shows the real ones)";

/// Note under a request that is only shown.
const UNSENT: &str =
    "(not sent: `--send` sends it, with the real values, and shows the answer or why there is none)";

/// Prefix of HTTP basic, the one scheme whose masked credentials do not look masked.
const BASIC: &str = "Basic ";

/// Shows the request; with `--send`, sends it and shows the answer. The error says why there is no request, or
/// why the answer is neither offers nor a decline.
pub async fn run(settings: &Settings, book: &Book, arguments: &Try) -> Result<(), String> {
    let seat = seat(book, arguments)?;
    let source = seat.http.as_ref().ok_or_else(|| priced_by_the_file(&arguments.partner))?;
    let (_, lead) = lead::read_lead(&arguments.file)?;
    let shown_lead = if arguments.reveal { lead.clone() } else { masked(&lead)? };
    let asked =
        AskContext { lead: ids::timed(), rate_table: ids::timed(), test: !arguments.live, now: Utc::now() };

    if let Some(reasons) = not_asked(seat, &lead, &asked) {
        page::print(format_args!("the partner would not be asked about this lead: {reasons}"));
    }
    let token = source.token_request(asked.test, Secrets::Masked).map_err(failure_text)?;
    if let Some(token) = &token {
        page::print(request_text(token, false));
    }
    let shown = request(source, &shown_lead, &asked, Secrets::Masked).map_err(failure_text)?;
    let shown = shown.ok_or("the partner has no `sandbox_url`; `--live` shows the live side")?;
    page::print(request_text(&shown, token.is_some()));
    if shown_lead != lead {
        page::print(STAND_INS);
    }
    if !arguments.send {
        page::print(UNSENT);
        return Ok(());
    }

    let missing = source.missing_secrets();
    if !missing.is_empty() {
        return Err(format!("nothing was sent: {}", missing.join("; ")));
    }
    let mut veil = MaskedTexts::default();
    veil.hide_lead(&lead, &shown_lead);
    let real = request(source, &lead, &asked, Secrets::Real).map_err(|error| error.to_string())?;
    real.iter().for_each(|real| veil.hide_request(real, &shown));
    let real_token = source.token_request(asked.test, Secrets::Real).map_err(|error| error.to_string())?;
    real_token.iter().zip(&token).for_each(|(real, shown)| veil.hide_request(real, shown));
    send(settings, book, seat, source, Arc::new(lead), asked, &veil).await
}

fn seat<'b>(book: &'b Book, arguments: &Try) -> Result<&'b Seat, String> {
    let key = &arguments.partner;
    let of_partner: Vec<&Seat> =
        book.seats().iter().map(|seat| &**seat).filter(|seat| seat.identity.key == *key).collect();
    known(book, key)?;
    let products =
        |seats: &[&Seat]| seats.iter().map(|seat| seat.product_type.as_str()).collect::<Vec<_>>().join(", ");
    let named = |seat: &&Seat| arguments.product.is_none_or(|product| seat.product_type == product);
    let meant: Vec<&Seat> = of_partner.iter().copied().filter(named).collect();
    if meant.is_empty() {
        return Err(format!("`{key}` has no such product type; it has {}", products(&of_partner)));
    }
    let over_http: Vec<&Seat> = meant.into_iter().filter(|seat| seat.http.is_some()).collect();
    match over_http[..] {
        [seat] => Ok(seat),
        [] => Err(priced_by_the_file(key)),
        [..] => Err(format!(
            "`{key}` is asked over HTTP about several product types, {}; name one by `--product`",
            products(&over_http)
        )),
    }
}

fn priced_by_the_file(key: &str) -> String {
    format!("{key} has no `http`; its offers are priced by the file: see `offerd explain`")
}

/// Why the partner's rule excludes the lead, without personal data.
fn not_asked(seat: &Seat, lead: &Lead, asked: &AskContext) -> Option<String> {
    let facts = Facts::new(lead, asked.now, CreditBands::Current);
    let failures = seat.rule.failures(&facts).into_iter().map(|condition| match condition.found(&facts) {
        found if found == "not given" => format!("`{}` is not given", condition.subject.path()),
        found => format!("wanted {condition}, found {found}"),
    });
    // A key may be needed, and have a condition too.
    let mut told = BTreeSet::new();
    let failures: Vec<String> = failures.filter(|failure| told.insert(failure.clone())).collect();
    (!failures.is_empty()).then(|| failures.join("; "))
}

fn request(
    source: &HttpPartner,
    lead: &Lead,
    asked: &AskContext,
    secrets: Secrets,
) -> Result<Option<HttpRequest>, MappingError> {
    let facts = Facts::new(lead, asked.now, CreditBands::Current);
    source.request(&AskProgress::default(), &MappingInput::of(&facts, asked), secrets)
}

/// The message of a mapping fault; the mapping ran on data that may be shown.
fn failure_text(error: MappingError) -> String {
    format!("the request cannot be made: {}", error.in_full())
}

async fn send(
    settings: &Settings,
    book: &Book,
    seat: &Seat,
    source: &HttpPartner,
    lead: Arc<Lead>,
    asked: AskContext,
    veil: &MaskedTexts,
) -> Result<(), String> {
    let told = |faults: Vec<Fault>| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let clients = PartnerClients::new(settings.wire).opened(book).map_err(told)?;
    let client = clients.of(seat).ok_or("there is no client to the partner")?;
    let begun = Instant::now();
    let question = LeadQuestion::new(lead, CreditBands::Current, asked);
    let mut last = begun;
    // A partner may repeat a secret, or answer with a token.
    let mut withheld = source.withheld();
    let conversed = client
        .fetch(source, &question, begun + seat.timeout, |progress, reply| {
            let step = source.step_key(progress).map_or_else(String::new, |name| format!("{name}: "));
            page::print(format_args!("{step}{} after {} ms", reply.status, last.elapsed().as_millis()));
            withheld.learn(&reply.body);
            let body = withheld.out_of(&veil.cover(&body_text(&reply.headers, &reply.body)));
            page::print(page::foreign_lines(&body));
            last = Instant::now();
        })
        .await
        .map_err(|cause| format!("no answer: {cause}"))?;
    let conversed = conversed.ok_or("the partner has no `sandbox_url`")?;
    let covered = |text: &str| page::foreign_lines(&withheld.out_of(&veil.cover(text)));

    let lacking = conversed.lacking_verdicts(source, &question);
    let facts = question.facts();
    let fitting: Vec<_> = seat.offers.iter().filter(|offer| offer.rule.holds(&facts)).collect();
    let answered = conversed.reading(source, &question, &fitting);
    let reading =
        answered.map_err(|error| format!("the answer cannot be mapped: {}", covered(&error.in_full())))?;
    // An answer with offers needs no verdict, and a verdict that applied found what it looked for.
    let is_judged = match &reading.answered {
        Answered::Offers(quotes) => !quotes.is_empty() || !reading.dropped.is_empty(),
        Answered::Declined(_) => reading.why.is_none(),
        Answered::Failed(_) => reading.is_error || !reading.dropped.is_empty(),
    };
    for absent in reading.absent.iter().chain(lacking.iter().filter(|_| !is_judged)) {
        page::print(absent);
    }
    for one in &reading.dropped {
        page::print(format_args!("offer {} is not shown: {}", one.position, covered(&one.detail)));
    }
    match reading.answered {
        Answered::Offers(quotes) if quotes.is_empty() => page::print("no offers"),
        Answered::Offers(quotes) => {
            for (nth, doubt) in quotes.iter().enumerate().filter_map(|(nth, quote)| Some((nth, quote.doubt?)))
            {
                page::print(format_args!("shown offer {nth} is doubtful: {doubt}"));
            }
            page::print_sheet(&offers(seat, &quotes)?);
        }
        Answered::Declined(reason) => {
            let unknown = reading.undeclared.map(|word| covered(&unknown_reason(&word)));
            let why = reason.map(|reason| reason.to_string()).or_else(|| reading.why.map(str::to_owned));
            let words = why.into_iter().chain(unknown).map(|word| format!(": {word}")).collect::<String>();
            page::print(format_args!("declined{words}"));
        }
        Answered::Failed(cause) => {
            let said = reading.said.map_or_else(String::new, |said| format!(": {}", covered(&said)));
            return Err(format!("the partner failed: {cause}{said}"));
        }
    }
    Ok(())
}

fn offers(seat: &Seat, quotes: &[Quote]) -> Result<Sheet, String> {
    let mut table = RateTable::default();
    for (nth, quote) in quotes.iter().enumerate() {
        let offer = seat.offers.iter().find(|offer| offer.text.fingerprint == quote.text);
        let offer = offer.ok_or("a quote of an offer that the partner does not have")?;
        let mut json = Vec::new();
        let place = OfferPlace { uuid: Uuid::nil(), url: "", rank: nth + 1, made_at: 0 };
        write_offer(&mut json, quote.own.as_deref().unwrap_or(&offer.text), quote, place);
        match quote.terms {
            QuoteTerms::Loan(_) => table.loan_offers.push(read(&json)?),
            QuoteTerms::Card(_) => table.credit_card_offers.push(read(&json)?),
            QuoteTerms::Mortgage(_) => table.mortgage_offers.push(read(&json)?),
            QuoteTerms::Savings(_) => table.savings_offers.push(read(&json)?),
            QuoteTerms::Special(_) => table.special_offers.push(read(&json)?),
        }
    }
    Ok(lead::offers(&table))
}

fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    serde_json::from_slice(json).map_err(|error| format!("an offer cannot be shown: {error}"))
}

/// Request line, headers and body. `bearer` notes that a token will be added.
fn request_text(request: &HttpRequest, bearer: bool) -> String {
    let mut text = format!("{} {}\n", request.method, request.url);
    for (name, value) in &request.headers {
        let value = match value.to_str() {
            Ok(value) if value.starts_with(BASIC) => "Basic ***",
            Ok(value) => value,
            Err(_) => "(not a text)",
        };
        text.push_str(&format!("{name}: {value}\n"));
    }
    if bearer {
        text.push_str("authorization: Bearer ***\n");
    }
    text + "\n" + &body_text(&request.headers, &request.body) + "\n"
}

/// A readable body: indented JSON, a form field by field, anything else unchanged.
fn body_text(headers: &HeaderMap, body: &Bytes) -> String {
    let kind = headers.get(hyper::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")) {
        let fields = form_urlencoded::parse(body).map(|(name, value)| format!("{name}={value}"));
        return fields.collect::<Vec<_>>().join("\n");
    }
    let json = serde_json::from_slice::<Value>(body).ok();
    let pretty = json.and_then(|json| serde_json::to_string_pretty(&json).ok());
    pretty.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned())
}
