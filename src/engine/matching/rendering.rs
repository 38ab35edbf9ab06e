//! Renders a rate table by joining prepared templates with the few values that a table stores.

use bytes::Bytes;
use serde::Serialize;
use uuid::Uuid;

use crate::rate_table::table::Table;
use crate::records::templates::Templates;
use offerd_model::{BaseUrl, Originator, Partner, ProductSubType, ProductType, Timestamp};
use offerd_partners::Fingerprint;
use offerd_partners::base_url::absolute_in;
use offerd_partners::offer_json::{OfferPlace, write_offer};

/// The specification's RateTable as JSON. `base_url` is the base of all addresses and relative URLs.
///
/// # Errors
/// The fingerprint of a template that the store does not have.
pub fn render(table: &Table, base_url: &BaseUrl, templates: &Templates) -> Result<Bytes, Fingerprint> {
    let mut out = Vec::with_capacity(1024 + table.offers() * 2048);
    write_json(&mut out, &RenderedHeader::of(table, base_url, templates));
    out.pop();

    for (name, offers) in table.arrays() {
        write_name(&mut out, name);
        out.push(b'[');
        for (nth, offer) in offers.iter().enumerate() {
            if nth > 0 {
                out.push(b',');
            }
            let uuid = templates.ids.offer(table.head().uuid, offer.number);
            let url = base_url.absolute(format_args!("/click/{uuid}"));
            let place = OfferPlace { uuid, url: &url, rank: nth + 1, made_at: table.head().created_at };
            let template = templates.of(&offer.quote)?;
            write_offer(&mut out, &template, &offer.quote, place);
        }
        out.push(b']');
    }

    write_name(&mut out, "pendingOriginators");
    write_json(&mut out, &pending_originators(table));
    write_name(&mut out, "pendingResponses");
    write_json(&mut out, &pending_responses(table));
    out.push(b'}');
    Ok(absolute_in(out, base_url).into())
}

fn pending_originators(table: &Table) -> Vec<&Originator> {
    let pending = table.progress().pending().map(|seat| &table.seats()[seat]);
    let loans = pending.filter(|seat| seat.product_type == ProductType::Loan);
    let mut originators: Vec<&Originator> = loans.map(|seat| &seat.originator).collect();
    originators.dedup_by_key(|originator| &originator.key);
    originators
}

fn pending_responses(table: &Table) -> Vec<PendingResponse<'_>> {
    let mut pending: Vec<PendingResponse> = Vec::new();
    for seat in table.progress().pending().map(|seat| &table.seats()[seat]) {
        match pending.iter_mut().find(|response| response.partner.uuid == seat.partner.uuid) {
            Some(response) => {
                response.product_types.push(seat.product_type);
                let listed = &mut response.offer_catalog_product_types;
                let others = seat.sub_types.iter().filter(|sub_type| !listed.contains(sub_type));
                listed.extend(others.copied().collect::<Vec<_>>());
            }
            None => pending.push(PendingResponse {
                partner: &seat.partner,
                product_types: vec![seat.product_type],
                offer_catalog_product_types: seat.sub_types.clone(),
            }),
        }
    }
    pending
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RenderedHeader {
    uuid: Uuid,
    lead_uuid: Uuid,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    loan_amount: Option<i32>,
    partner_page_url: String,
    embed_url: String,
}

impl RenderedHeader {
    fn of(table: &Table, base_url: &BaseUrl, templates: &Templates) -> Self {
        let head = table.head();
        let page = base_url.absolute(format_args!("/offers/{}", templates.ids.page(head.uuid)));
        Self {
            uuid: head.uuid,
            lead_uuid: head.lead,
            created_at: Timestamp::at(head.created_at),
            loan_amount: head.loan_amount,
            embed_url: format!("{page}/embed"),
            partner_page_url: page,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PendingResponse<'a> {
    partner: &'a Partner,
    product_types: Vec<ProductType>,
    offer_catalog_product_types: Vec<ProductSubType>,
}

fn write_name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(out, value).expect("writing to memory does not fail");
}
