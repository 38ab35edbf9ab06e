//! The world as it is: tables of what is really sent, seen and set, each row with its right value and where it was seen.

mod clicks;
mod proxies;
mod settings;
mod time;
mod volumes;
