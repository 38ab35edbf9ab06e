//! UI events from a client's pages: the start of a visit, the display of an offer.

use uuid::Uuid;

use super::input::{self, UnreadableBody};
use super::section::section;
use crate::record;

section! {
    /// The start of a visit, as the client reports it.
    SessionInitNew {
        /// The session; generated if absent.
        session_uuid: Uuid = "sessionUuid",
    }
}

impl SessionInitNew {
    /// Reads a request body, which may be empty.
    pub fn read(body: &[u8]) -> Result<Self, UnreadableBody> {
        if body.trim_ascii().is_empty() { Ok(Self::default()) } else { input::read(body) }
    }
}

record! {
    /// The start of a visit, as it is stored.
    SessionInit {
        /// The number of the record.
        id: i64,
        /// The record's id.
        uuid: Uuid,
        /// The session, for every lead of the visit.
        session_uuid: Uuid,
        /// When the visit began.
        created_at: super::timestamp::Timestamp,
        /// The company that reported it.
        created_by: Uuid,
    }
}

section! {
    /// The fields of [`OfferDisplayNew`], not yet checked for completeness.
    OfferDisplayFields {
        /// The lead.
        lead_uuid: Uuid = "leadUuid",
        /// The rate table.
        rate_table_uuid: Uuid = "rateTableUuid",
        /// The offer.
        offer_uuid: Uuid = "offerUuid",
    }
}

record! {
    /// The display of an offer, as the client reports it.
    OfferDisplayNew {
        /// The lead.
        lead_uuid: Uuid,
        /// The rate table of the offer.
        rate_table_uuid: Uuid,
        /// The displayed offer.
        offer_uuid: Uuid,
    }
}

impl OfferDisplayNew {
    /// Reads a request body; all three ids are required.
    pub fn read(body: &[u8]) -> Result<Self, UnreadableBody> {
        let OfferDisplayFields { lead_uuid, rate_table_uuid, offer_uuid } = input::read(body)?;
        let ids = [("leadUuid", lead_uuid), ("rateTableUuid", rate_table_uuid), ("offerUuid", offer_uuid)];
        let [(_, Some(lead_uuid)), (_, Some(rate_table_uuid)), (_, Some(offer_uuid))] = ids else {
            return Err(UnreadableBody::missing(ids.map(|(name, id)| (name, id.is_some()))));
        };
        Ok(Self { lead_uuid, rate_table_uuid, offer_uuid })
    }
}

record! {
    /// The display of an offer, as it is stored.
    OfferDisplay {
        /// The number of the record.
        id: i64,
        /// The record's id.
        uuid: Uuid,
        /// The lead.
        lead_uuid: Uuid,
        /// The rate table of the offer.
        rate_table_uuid: Uuid,
        /// The displayed offer.
        offer_uuid: Uuid,
        /// When it was displayed.
        created_at: super::timestamp::Timestamp,
        /// The company that reported it.
        created_by: Uuid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorType;

    #[test]
    fn a_visit_may_begin_without_a_body() {
        for body in ["", " \n", "{}", r#"{"sessionUuid":null}"#, r#"{"sessionUuid":""}"#] {
            assert_eq!(SessionInitNew::read(body.as_bytes()), Ok(SessionInitNew::default()), "{body}");
        }
    }

    #[test]
    fn every_missing_id_is_named() {
        let body = br#"{"rateTableUuid":"0198c1f2-7d5e-7a11-9f3c-2b7d4e6a8c01"}"#;
        let Err(UnreadableBody::Faults(faults)) = OfferDisplayNew::read(body) else { panic!("read") };
        let attributes: Vec<_> = faults.iter().filter_map(|fault| fault.attribute.as_deref()).collect();
        assert_eq!(attributes, ["leadUuid", "offerUuid"]);
        assert!(faults.iter().all(|fault| fault.error_type == Some(ErrorType::Missing)));
    }
}
