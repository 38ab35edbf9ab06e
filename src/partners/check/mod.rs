//! Checks a declared partner and returns its seats, or every fault with file, line and key.

pub mod checker;
mod conditions;
mod limits;
mod remarks;
mod values;

use std::collections::BTreeSet;
use std::sync::Arc;

use self::checker::PartnerFileChecker;
use self::conditions::NO_ATTRIBUTE;
use super::catalog::{CatalogOffer, CatalogSeat};
use super::declared::{self, DeclaredPartner, Product};
use super::eligibility::{ConditionTest, EligibilityCondition, EligibilityRule, bits};
use super::facts::Subject;
use super::http::HttpPartner;
use super::identity::PartnerIdentity;
use super::seat::{RecordedSeat, Seat};
use super::template::Template;
use offerd_base::declaration::{Fault, KEY_CHARS, Source, TableReading, is_key};
use offerd_model::{Originator, OriginatorImage, Partner, ProductType};

/// Maximum number of offers of a seat; each term counts.
pub const MAX_OFFERS: usize = 100_000;

/// The result of checking a partner file.
#[derive(Debug, Default)]
pub struct CheckedPartner {
    /// Its seats; for a file with faults, those that can be checked further.
    pub seats: Vec<Seat>,
    /// Warnings: legal declarations that may be unintended.
    pub remarks: Vec<Fault>,
    /// Every fault.
    pub faults: Vec<Fault>,
}

/// Checks a partner file.
pub fn seats(key: &str, source: &Source) -> CheckedPartner {
    let mut check = PartnerFileChecker::new(source);
    if !is_key(key) {
        check.at("", format!("the file's name must be {KEY_CHARS}, got `{key}`"));
    }
    let TableReading { value, faults: unread, implied } =
        offerd_base::declaration::read::<DeclaredPartner>(source);
    let Some(declared) = value else {
        let faults = check.into_faults().into_iter().chain(unread).collect();
        return CheckedPartner { faults, ..CheckedPartner::default() };
    };

    let identity = check.within("partner", |check| check.identity(key, &declared.partner));
    if let Some(partner) = source.table().get("partner") {
        check.shown_texts("partner", partner);
    }
    let consents = check.consents(&declared.partner.consents);
    let mut seats = Vec::new();
    for (product_type, product) in &declared.products {
        let place = format!("products.{}", product_type.as_str());
        check.within(&place, PartnerFileChecker::shown_texts_of_offers);
        seats.extend(check.within(&place, |check| check.seat(&identity, &consents, *product_type, product)));
    }
    if declared.products.is_empty() {
        check.at("products", "must have at least one product type");
    }
    let remarks = check.remarks();
    // Unreadable values have stand-ins, whose faults are dropped.
    let stands_in = |fault: &Fault| {
        // An unknown attribute is the primary fault of a condition, so it is kept.
        let is_of_name = fault.message.contains(NO_ATTRIBUTE);
        let mut places = unread.iter().map(|known| &known.key).chain(&implied);
        places.any(|place| within(&fault.key, place) || !is_of_name && within(place, &fault.key))
    };
    let mut faults: Vec<Fault> =
        check.into_faults().into_iter().filter(|fault| fault.key.is_empty() || !stands_in(fault)).collect();
    if !unread.is_empty() {
        seats.clear();
    }
    faults.extend(unread);
    CheckedPartner { seats, remarks, faults }
}

/// Whether a key path equals another one or is inside it.
fn within(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

impl PartnerFileChecker<'_> {
    /// Checks the texts of the offers of the current product.
    fn shown_texts_of_offers(&mut self) {
        let Some(product) = self.table().cloned() else { return };
        if let Some(offers) = product.get("offers") {
            self.shown_texts("offers", offers);
        }
        let own = product.get("http").and_then(|http| http.get("answer")?.get("own"));
        if let Some(own) = own {
            self.shown_texts("http.answer.own", own);
        }
    }

    fn identity(&mut self, key: &str, declared: &declared::Identity) -> PartnerIdentity {
        self.url("image_url", &declared.image_url);
        for (size, url) in &declared.images {
            self.url(&format!("images.{size}"), url);
        }
        for (nth, list) in declared.suppress.iter().enumerate() {
            self.key(&format!("suppress[{nth}]"), list);
        }
        let institution = declared.financial_institution_uuid.unwrap_or(declared.uuid);
        let image =
            |size_key: &str, url: &str| OriginatorImage { size_key: size_key.into(), url: url.into() };
        let images = declared.images.iter().map(|(size_key, url)| image(size_key, url));
        let mut images: Vec<OriginatorImage> = images.collect();
        if images.is_empty() {
            images.push(image("default", &declared.image_url));
        }
        PartnerIdentity {
            key: key.to_owned(),
            partner: Partner {
                uuid: declared.uuid,
                name: declared.name.clone(),
                description: declared.description.clone(),
                disclaimer: declared.disclaimer.clone(),
                supports_pre_select: declared.supports_pre_select,
                should_display_pre_select: declared.should_display_pre_select,
                supports_personalized_offers: declared.supports_personalized_offers,
                image_url: declared.image_url.clone(),
                subtext_override: declared.subtext_override.clone(),
                headquarters: declared.headquarters.clone(),
                assets: declared.assets.clone(),
                brand_name: declared.brand_name.clone(),
                brand_uuid: declared.brand_uuid,
            },
            originator: Originator {
                key: key.to_owned(),
                name: declared.name.clone(),
                description: Some(declared.description.clone()),
                images,
                disclaimer: Some(declared.disclaimer.clone()),
                company_uuid: declared.company_uuid,
                financial_institution_uuid: Some(institution),
            },
            sub_account_id: declared.sub_account_id,
            institution,
            featured: declared.featured,
            marketplace: None,
            suppress: declared.suppress.clone(),
        }
    }

    fn seat(
        &mut self,
        of: &PartnerIdentity,
        consents: &[EligibilityCondition],
        product_type: ProductType,
        product: &Product,
    ) -> Option<Seat> {
        self.combinations(product_type, product);
        let rule = self.needs(&product.needs).and_all(&[asks_for(product_type)]).and_all(consents);
        let rule = self.rule(&product.eligibility).map(|own| rule.and(&own));

        let (of_offers, always) = (Arc::new(of.clone()), EligibilityRule::always());
        let of_seat = rule.as_ref().unwrap_or(&always);
        let shared = CatalogSeat { product_type, identity: &of_offers, rule: of_seat };
        let offers = self.offers(shared, product);
        let http = product.http.as_ref().map(|http| {
            self.within("http", |check| HttpPartner::declared(http, product_type, product, check))
        });
        if let Some(http) = &product.http {
            self.within("http", |check| check.remarks_on(http, product.timeout, product.paused));
        }

        let sub_types: BTreeSet<_> = offers.iter().filter_map(|offer| offer.sub_type).collect();
        let text = RecordedSeat {
            key: of.key.clone(),
            product_type,
            second_look: product.second_look,
            partner: of.partner.clone(),
            originator: of.originator.clone(),
            sub_account_id: of.sub_account_id,
            institution: of.institution,
            sub_types: sub_types.into_iter().collect(),
        };
        Some(Seat {
            identity: of.clone(),
            product_type,
            second_look: product.second_look,
            paused: product.paused,
            limits: self.within("limits", |check| check.limits(&product.limits)),
            exclusive: product.exclusive.clone(),
            priority: product.priority,
            weight: product.weight,
            timeout: product.timeout,
            timeout_line: self.line_of("timeout"),
            adaptive_timeout: product.adaptive_timeout,
            rule: rule?,
            simulate: product.simulate,
            http: http.flatten(),
            offers,
            recorded_text: Template::whole(&text),
            recorded: Arc::new(text),
        })
    }

    /// Keys of a product that exclude each other.
    fn combinations(&mut self, product_type: ProductType, product: &Product) {
        if product.second_look && product_type != ProductType::Other {
            self.at("second_look", "is for `products.other` only");
        }
        if product_type == ProductType::Unknown {
            self.at("", "is not a product that a partner can offer; use `generic` or `other`");
        }
        let is_shorter = |one: declared::Simulate| one.delay_max.is_some_and(|longest| longest < one.delay);
        if product.simulate.is_some_and(is_shorter) {
            self.at("simulate.delay_max", "must not be shorter than `delay`");
        }
        if let Some(declared::AdaptiveTimeout { floor, ceiling, .. }) = product.adaptive_timeout {
            let ceiling = ceiling.unwrap_or(product.timeout);
            if floor > ceiling || ceiling > product.timeout {
                let wanted = "must not exceed `ceiling`, and `ceiling` must not exceed `timeout`";
                self.at("adaptive_timeout.floor", wanted);
            }
        }
        if product.http.is_some() && product.simulate.is_some() {
            self.at("simulate", "is for partners that are not asked over HTTP; use their sandbox");
        }
    }

    /// The offers of a seat, each under the seat's rule.
    fn offers(&mut self, shared: CatalogSeat<'_>, product: &Product) -> Vec<CatalogOffer> {
        let is_priced = product.http.is_none();
        // Counted before terms are expanded, which takes memory for each.
        let count: usize = product.offers.iter().map(|offer| offer.terms.len().max(1)).sum();
        if count > MAX_OFFERS {
            self.at("offers", format!("must be at most {MAX_OFFERS}, terms counted, got {count}"));
            return Vec::new();
        }
        let mut offers = Vec::new();
        let mut keys = BTreeSet::new();
        for (nth, offer) in product.offers.iter().enumerate() {
            self.within(&format!("offers[{nth}]"), |check| {
                if !keys.insert(offer.key.as_str()) {
                    check.at("key", format!("`{}` stands twice", offer.key));
                }
                offers.extend(CatalogOffer::declared(offer, shared, is_priced, check));
            });
        }
        let http = product.http.as_ref();
        let own = http.and_then(|http| Some((http.answer.own.as_ref()?, &http.answer.offer)));
        if let Some((own, answered)) = own {
            if keys.contains(own.key.as_str()) {
                self.at("http.answer.own.key", format!("`{}` is the key of an offer of the file", own.key));
            }
            offers.extend(self.within("http", |check| CatalogOffer::own(own, shared, answered, check)));
        }
        if product.offers.is_empty() && own.is_none() {
            self.at("offers", "must have at least one offer, or `http.answer.own`");
        }
        offers
    }
}

/// The condition that the lead asks for a product type. A lead that names none asks for all product types of
/// the specification.
fn asks_for(product_type: ProductType) -> EligibilityCondition {
    let (subject, test) = (Subject::of("productTypes"), ConditionTest::AnyOf(bits([product_type])));
    EligibilityCondition { subject, test, or_missing: product_type.is_specified() }
}
