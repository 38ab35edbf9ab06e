//! `GET`, `POST /console/catalogue/try`: shows which offers match an unsubmitted lead, and why not.

use super::form::{self, WITH_SPECIMEN, lead, sections};
use crate::console::prelude::*;
use offerd_engine::matching::suppressions::Digests;
use offerd_insight::hindsight::dry_run::dry_run;
use offerd_insight::hindsight::judgement::{EligibilityObjection, OfferJudgement, SeatJudgement};
use offerd_insight::sheet::figures::dollars;
use offerd_partners::quote::Spread;

const PAGE: ConsolePage = ConsolePage::new(Section::Catalogue, "trial.html");

pub(in crate::console) async fn ask(request: &ConsoleRequest) -> Result<View> {
    let product = product_named(request.query_value("product"))?.unwrap_or(ProductType::Loan);
    view(request, product, true, &sections(product, |_| None), (None, Vec::new()))
}

pub(in crate::console) async fn show(request: &ConsoleRequest) -> Result<View> {
    let product = product_named(request.field("product"))?.unwrap_or(ProductType::Loan);
    let specimen = request.field(WITH_SPECIMEN).is_some();
    let given = |path: &str| Some(request.field(path).unwrap_or_default().to_owned());
    let mut sections = sections(product, given);
    let outcome = match lead(product, specimen, &mut sections) {
        Ok(lead) => {
            let seats = request
                .reading(move |app| {
                    let (configuration, statuses) = (app.engine.configuration(), app.engine.statuses());
                    let most = configuration.rules.matching.partners_per_lead;
                    let on_lists = app.engine.suppressions.now().naming(&Digests::new(&lead));
                    dry_run(&configuration.book, &statuses, Some(&on_lists), most, &lead, Utc::now())
                })
                .await?;
            (Some(verdict(seats)), Vec::new())
        }
        Err(faults) => (None, faults),
    };
    view(request, product, specimen, &sections, outcome)
}

/// The form, with its result: a verdict, or the faults that belong to no field.
fn view(
    request: &ConsoleRequest,
    product: ProductType,
    specimen: bool,
    sections: &[form::FormSection],
    (verdict, faults): (Option<Value>, Vec<String>),
) -> Result<View> {
    let fields = fields! {
        product => product.as_str(), products => products(Some(product)), specimen,
        faulty => sections.iter().flat_map(|section| &section.fields).any(|field| field.fault.is_some()),
        sections, faults, verdict,
    };
    Ok(request.view(PAGE, fields)?.titled("Try a lead"))
}

fn verdict(seats: Vec<SeatJudgement>) -> Value {
    let (wanted, others): (Vec<_>, Vec<_>) = seats.into_iter().partition(|seat| seat.wanted);
    let offers = wanted.iter().flat_map(|seat| seat.offers.iter().map(move |offer| (seat, offer)));
    let mut matched: Vec<_> = offers.filter(|(_, offer)| offer.matched).collect();
    // Best score first.
    matched.sort_by(|(one, offer), (other, behind)| {
        let worth = |offer: &OfferJudgement| offer.score.unwrap_or(f64::MAX);
        one.second_look.cmp(&other.second_look).then(worth(behind).total_cmp(&worth(offer)))
    });
    let row = |(seat, offer): (&SeatJudgement, &OfferJudgement)| {
        fields! {
            partner => seat.seat.identity.partner.name,
            offer => offer.name, second_look => seat.second_look,
            apr => offer.apr.map(|apr| written(apr, |value| format!("{value:.2} %"))),
            payment => offer.payment.map(|payment| written(payment, dollars)),
            score => offer.score,
        }
    };
    fields! {
        asked => wanted.iter().filter(|seat| seat.asked).count(),
        seats => wanted.len(),
        matched => matched.into_iter().map(row).collect::<Vec<_>>(),
        against => wanted.iter().flat_map(against).collect::<Vec<_>>(),
        not_wanted => others.len(),
    }
}

fn against(seat: &SeatJudgement) -> Vec<Value> {
    let row = |offer: Option<&String>, refusals: &[EligibilityObjection]| {
        let reasons: Vec<_> = refusals.iter().map(|refusal| (&refusal.wanted, &refusal.found)).collect();
        fields! { partner => seat.seat.identity.partner.name, offer, reasons }
    };
    if !seat.asked {
        return vec![row(None, &seat.refusals)];
    }
    let unmatched = seat.offers.iter().filter(|offer| !offer.matched);
    unmatched.map(|offer| row(Some(&offer.name), &offer.refusals)).collect()
}

fn written(spread: Spread, write: impl Fn(f64) -> String) -> String {
    match (write(spread.min), write(spread.max)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    }
}
