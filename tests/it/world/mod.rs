//! The world as it is: what partners, spreadsheets, proxies and phones really send, a table a kind. Each case says where it was seen.

mod partners;
mod truth;
