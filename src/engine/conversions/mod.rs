//! What happens to an offer afterwards: a [`click`] on it, and what its partner reports ([`partner_events`]), which [`attribution`]
//! ties to the lead. Each is one commit ([`writing`]): a lead event, a lead action, and what it earns. A [`preview_click`] is
//! counted, and no more.

pub mod attribution;
pub mod click;
pub mod partner_events;
pub mod preview_click;
pub mod writing;
