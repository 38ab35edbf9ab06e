//! Checks of single values, shared by all sections.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde::Deserialize;

use super::colour::Colour;
use super::{origin, web_address};
use crate::declaration::{HumanDuration, ValueFaults, unless};

pub(super) const MILLISECOND: Duration = Duration::from_millis(1);
pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const MINUTE: Duration = Duration::from_secs(60);
pub(super) const HOUR: Duration = Duration::from_secs(3600);
pub(super) const DAY: Duration = Duration::from_secs(24 * 3600);
pub(super) const CENTURY: Duration = Duration::from_secs(100 * 31_557_600);
pub(super) const ZERO: Duration = Duration::ZERO;

pub(super) type CheckedValue<T> = Result<T, ValueFaults>;

/// A list of names, or one comma-separated text, as in an environment variable.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "must be a string or a list of strings")]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Vec<String> {
    fn from(names: OneOrMany) -> Self {
        match names {
            OneOrMany::One(names) => {
                let names = names.trim();
                let names = names.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(names);
                let names = names.split(',').map(|name| name.trim().trim_matches(['"', '\'']));
                names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
            }
            OneOrMany::Many(names) => names,
        }
    }
}

pub(super) fn texts(names: OneOrMany) -> CheckedValue<Vec<String>> {
    Ok(names.into())
}

pub(super) fn each<T>(names: OneOrMany, read: impl Fn(&str) -> Result<T, String>) -> CheckedValue<Vec<T>> {
    let (mut all, mut faults) = (Vec::new(), ValueFaults::new());
    for name in Vec::from(names) {
        read(&name).map_or_else(|fault| faults.push(fault), |one| all.push(one));
    }
    unless(faults, all)
}

pub(super) fn origins(wanted: &'static str) -> impl Fn(OneOrMany) -> CheckedValue<Vec<String>> {
    let read = move |text: &str| {
        origin::parse(text).map_err(|why| format!("{wanted}, got `{}`{why}", web_address::shown(text)))
    };
    move |names| each(names, read)
}

/// Like [`origins`], or `*` for all of them.
pub(super) fn origins_or_any(wanted: &'static str) -> impl Fn(OneOrMany) -> CheckedValue<Vec<String>> {
    move |names| {
        let (any, named): (Vec<_>, Vec<_>) = Vec::from(names).into_iter().partition(|name| name == "*");
        Ok([any, origins(wanted)(OneOrMany::Many(named))?].concat())
    }
}

pub(super) fn any_span(span: HumanDuration) -> CheckedValue<Duration> {
    Ok(span.0)
}

pub(super) fn given(text: String) -> CheckedValue<Option<String>> {
    Ok(Some(text).filter(|text| !text.is_empty()))
}

pub(super) fn file(text: String) -> CheckedValue<Option<PathBuf>> {
    Ok(given(text)?.map(PathBuf::from))
}

pub(super) fn path(text: String) -> CheckedValue<PathBuf> {
    file(text)?.ok_or_else(|| vec!["must not be empty".to_owned()])
}

pub(super) fn url(text: String) -> CheckedValue<Option<String>> {
    let Some(text) = given(text)? else { return Ok(None) };
    let faults = web_address::faults(&text).into_iter();
    let faults = faults.map(|wanted| format!("{wanted}, got `{}`", web_address::shown(&text))).collect();
    unless(faults, Some(web_address::in_small_letters(&text)))
}

pub(super) fn address(text: String) -> CheckedValue<SocketAddr> {
    let wanted = "must be an address with a port, such as `127.0.0.1:8080`";
    text.parse().map_err(|_| vec![format!("{wanted}, got `{text}`")])
}

fn network(text: &str) -> Result<IpNet, String> {
    text.parse().map_err(|_| format!("must be networks such as `10.0.0.0/8`, got `{text}`"))
}

pub(super) fn networks(names: OneOrMany) -> CheckedValue<Vec<IpNet>> {
    each(names, network)
}

pub(super) fn networks_or_addresses(names: OneOrMany) -> CheckedValue<Vec<IpNet>> {
    each(names, |text| text.parse::<IpAddr>().map(IpNet::from).or_else(|_| network(text)))
}

/// A text colour with enough contrast on a background.
pub(super) fn colour_on(ground: Colour) -> impl Fn(String) -> CheckedValue<Colour> {
    move |text| {
        let Some(colour) = Colour::parse(&text) else {
            return Err(vec![format!("must be a colour such as `#0b6e4f`, got `{text}`")]);
        };
        let (contrast, least) = (colour.contrast(ground), Colour::LEAST_CONTRAST);
        if contrast >= least {
            return Ok(colour);
        }
        let other = if ground.ink() == Colour::BLACK { "darker" } else { "lighter" };
        // Rounded down, so that a contrast that is too small never looks sufficient.
        let contrast = (contrast * 100.0).floor() / 100.0;
        Err(vec![format!(
            "must have a contrast of at least {least}:1 with its background {ground} to be readable; \
                {colour} has {contrast}:1: choose a {other} colour"
        )])
    }
}

pub(super) fn colour_if_any(ground: Colour) -> impl Fn(String) -> CheckedValue<Option<Colour>> {
    move |text| given(text)?.map(colour_on(ground)).transpose()
}
