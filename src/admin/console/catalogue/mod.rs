//! `GET /console/catalogue`: all offers of the current partner files. [`trial`] matches them with a lead.

mod form;
pub(super) mod trial;

use super::prelude::*;
use offerd_partners::declared::{DeclaredPayout, PayoutStep};
use offerd_partners::listing::{OfferListing, Search};

const ON_A_PAGE: usize = 50;

const PAGE: ConsolePage = ConsolePage::new(Section::Catalogue, "catalogue.html");

pub(super) async fn show(request: &ConsoleRequest) -> Result<View> {
    let product_type = product_named(request.query_value("product"))?;
    let page = request.query_value("page").map_or(Some(1), |page| page.parse::<u16>().ok());
    let wrong = || Failure::bad_request("`page` is not a choice on this page");
    let page = page.filter(|page| *page > 0).ok_or_else(wrong)?;
    let words = request.query_value("q").unwrap_or_default().to_owned();
    let search = Search { words: words.clone(), product_type };
    let skipped = usize::from(page - 1) * ON_A_PAGE;
    let read = request.reading(move |app| {
        let book = app.engine.book();
        let listed = book.listed(&search, skipped, ON_A_PAGE);
        (book, listed)
    });
    let (book, (found, listed)) = read.await?;
    let link = |page: u16| link(&words, product_type, page);
    request.view(
        PAGE,
        fields! {
            products => products(product_type), partners => book.partners().len(), offers => book.offers(),
            found, first => skipped + 1,
            earlier => (page > 1).then(|| link(page - 1)),
            later => (skipped + listed.len() < found).then(|| link(page.saturating_add(1))),
            rows => listed.iter().map(row).collect::<Vec<_>>(),
            words,
        },
    )
}

fn link(words: &str, product_type: Option<ProductType>, page: u16) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("q", words);
    query.append_pair("product", product_type.map_or("", |product_type| product_type.as_str()));
    query.append_pair("page", &page.to_string());
    format!("/console/catalogue?{}", query.finish())
}

fn row(listed: &OfferListing) -> Value {
    let (seat, offer) = (&listed.seat, listed.offer());
    fields! {
        earns => earns(&offer.payout), partner => seat.identity.key,
        partner_name => seat.identity.partner.name,
        product_type => seat.product_type, sub_type => offer.sub_type, name => offer.name,
        by_partner => seat.http.is_some(), second_look => seat.second_look, paused => seat.paused,
        conversion_probability => offer.conversion_probability,
        conditions => listed.conditions(),
    }
}

/// The payout of an offer and its trigger: `$4.50 per click`.
fn earns(payout: &DeclaredPayout) -> String {
    let percent = |percent: f64| format!("{percent} %");
    let sums = [payout.fixed.map(figures::dollars), payout.percent.map(percent)];
    let sums: Vec<String> = sums.into_iter().flatten().collect();
    let step = match payout.on {
        PayoutStep::Click => "per click",
        PayoutStep::Applied => "when applied for",
        PayoutStep::Approved => "when approved",
        PayoutStep::Listed => "when products are listed",
        PayoutStep::Opened => "when opened",
        PayoutStep::Funded => "when funded",
        PayoutStep::Conversion => "per conversion",
    };
    if sums.is_empty() { "nothing".to_owned() } else { format!("{} {step}", sums.join(" and ")) }
}
