//! What partners, spreadsheets, proxies and phones really send: a table for each kind, with the right value and where it was seen.

mod files;
mod partners;
mod people;
mod truth;
