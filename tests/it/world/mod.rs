//! What partners, spreadsheets, proxies and phones really send: a table for each kind, with the right value and where it was seen.

mod causes;
mod clicks;
mod files;
mod partners;
mod people;
mod proxies;
mod settings;
mod time;
mod truth;
mod volumes;
