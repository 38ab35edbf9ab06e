//! `GET`, `POST /console/catalogue/try`: a lead that is not submitted, and what matches it and why not the rest.

use std::sync::Arc;

use chrono::Utc;
use serde::Serialize;

use super::form::{self, WITH_SPECIMEN, lead, sections};
use super::{Choice, choices};
use crate::admin::console::section::Section;
use crate::admin::console::view::{Page, View};
use crate::admin::console::visit::Visit;
use crate::hindsight::dry_run::{DryRunSeat, dry_run};
use crate::matching::suppressions::Digests;
use crate::model::ProductType;
use crate::partners::quote::Spread;
use crate::sheet::figures::dollars;
use crate::web::Failure;

/// What stands on the page.
#[derive(Debug, Serialize)]
struct TrialPage {
    product: &'static str,
    products: Vec<Choice>,
    specimen: bool,
    sections: Vec<form::Section>,
    /// What is wrong that is not about a field.
    faults: Vec<String>,
    /// Whether something is wrong with a field.
    faulty: bool,
    verdict: Option<Verdict>,
}

/// What came of it.
#[derive(Debug, Serialize)]
struct Verdict {
    asked: usize,
    seats: usize,
    /// Offers that match, the one worth most first.
    matched: Vec<Match>,
    against: Vec<Against>,
    /// How many seats are for other products.
    not_wanted: usize,
}

/// An offer that matches.
#[derive(Debug, Serialize)]
struct Match {
    partner: String,
    offer: String,
    second_look: bool,
    /// APR or yield, and the monthly payment, as they are read.
    apr: Option<String>,
    payment: Option<String>,
    score: Option<f64>,
}

/// What is against a partner, or against an offer of one that is asked.
#[derive(Debug, Serialize)]
struct Against {
    partner: String,
    /// `None` where it is against the partner.
    offer: Option<String>,
    reasons: Vec<(String, String)>,
}

impl Page for TrialPage {
    const SECTION: Section = Section::Catalogue;
    const TEMPLATE: &'static str = "trial.html";

    fn title(&self) -> String {
        "Try a lead".to_owned()
    }
}

/// The form, with what suits a product.
pub(in crate::admin::console) async fn ask(visit: Arc<Visit>) -> Result<View, Failure> {
    let product = product(visit.query_value("product"))?;
    visit.view(&TrialPage {
        product: product.as_str(),
        products: choices(Some(product)),
        specimen: true,
        sections: sections(product, |_| None),
        faults: Vec::new(),
        faulty: false,
        verdict: None,
    })
}

/// What matches the lead of the form that was sent. It is forgotten when it is answered.
pub(in crate::admin::console) async fn show(visit: Arc<Visit>) -> Result<View, Failure> {
    let product = product(visit.field("product"))?;
    let specimen = visit.field(WITH_SPECIMEN).is_some();
    let given = |path: &str| Some(visit.field(path).unwrap_or_default().to_owned());
    let mut sections = sections(product, given);
    let (verdict, faults) = match lead(product, specimen, &mut sections) {
        Ok(lead) => {
            let seats = visit
                .reading(move |app| {
                    let (configuration, standings) = (app.engine.configuration(), app.engine.standings());
                    let most = configuration.rules.partners_per_lead;
                    let on_lists = app.engine.suppressions.now().naming(&Digests::new(&lead));
                    dry_run(&configuration.book, &standings, Some(&on_lists), most, &lead, Utc::now())
                })
                .await?;
            (Some(Verdict::of(seats)), Vec::new())
        }
        Err(faults) => (None, faults),
    };
    let page = TrialPage {
        product: product.as_str(),
        products: choices(Some(product)),
        specimen,
        faulty: sections.iter().flat_map(|section| &section.fields).any(|field| field.fault.is_some()),
        sections,
        faults,
        verdict,
    };
    visit.view(&page)
}

fn product(name: Option<&str>) -> Result<ProductType, Failure> {
    let wrong = || Failure::bad_request("`product` is not what this page offers");
    name.map_or(Ok(ProductType::Loan), |name| ProductType::from_wire(name).ok_or_else(wrong))
}

impl Verdict {
    fn of(seats: Vec<DryRunSeat>) -> Self {
        let (wanted, others): (Vec<_>, Vec<_>) = seats.into_iter().partition(|seat| seat.wanted);
        let mut matched: Vec<Match> = wanted.iter().flat_map(Match::of).collect();
        matched.sort_by(|one, other| {
            let key = |one: &Match| (one.second_look, -one.score.unwrap_or(f64::MAX));
            key(one).0.cmp(&key(other).0).then(key(one).1.total_cmp(&key(other).1))
        });
        Self {
            asked: wanted.iter().filter(|seat| seat.asked).count(),
            seats: wanted.len(),
            matched,
            against: wanted.iter().flat_map(Against::of).collect(),
            not_wanted: others.len(),
        }
    }
}

impl Match {
    fn of(seat: &DryRunSeat) -> Vec<Self> {
        let matched = seat.offers.iter().filter(|offer| offer.matched);
        let told = matched.map(|offer| Self {
            partner: seat.name.clone(),
            offer: offer.name.clone(),
            second_look: seat.second_look,
            apr: offer.apr.map(|apr| written(apr, |value| format!("{value:.2} %"))),
            payment: offer.payment.map(|payment| written(payment, dollars)),
            score: offer.score,
        });
        told.collect()
    }
}

impl Against {
    fn of(seat: &DryRunSeat) -> Vec<Self> {
        let reasons = |refusals: &[crate::hindsight::explanation::Refusal]| {
            refusals.iter().map(|refusal| (refusal.wanted.clone(), refusal.found.clone())).collect()
        };
        if !seat.asked {
            return vec![Self { partner: seat.name.clone(), offer: None, reasons: reasons(&seat.refusals) }];
        }
        let unmatched = seat.offers.iter().filter(|offer| !offer.matched);
        let told = unmatched.map(|offer| Self {
            partner: seat.name.clone(),
            offer: Some(offer.name.clone()),
            reasons: reasons(&offer.refusals),
        });
        told.collect()
    }
}

/// A figure, or from where to where it may be.
fn written(spread: Spread, write: impl Fn(f64) -> String) -> String {
    match (write(spread.min), write(spread.max)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    }
}
