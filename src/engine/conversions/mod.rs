//! What happens to an offer after it is shown: a [`click`], and [`partner_events`], with the lead by
//! [`attribution`]. Each is one commit ([`writing`]). A [`preview_click`] is only counted. Test leads request
//! events by a tag ([`sandbox_reports`]).

pub mod attribution;
pub mod click;
pub mod partner_events;
pub mod preview_click;
pub mod sandbox_reports;
pub mod writing;
