//! What happens to an offer after it is shown: a [`click`], and the partner's reports ([`partner_events`]),
//! which [`attribution`] ties to the lead. Each is one commit ([`writing`]): a lead event, a lead action and
//! a payout. A [`preview_click`] is only counted.

pub mod attribution;
pub mod click;
pub mod partner_events;
pub mod preview_click;
pub mod writing;
