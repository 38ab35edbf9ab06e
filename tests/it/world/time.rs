//! Time and place: how old a person is where they live, and times in a query.

use chrono::{DateTime, Utc};
use offerd::model::{CreditBands, Lead};
use offerd::partners::Facts;
use serde_json::json;

use crate::kit::Daemon;
use crate::kit::partners::partner;

/// Where somebody lives, when they were born, a moment, and their age then.
///
/// Seen in age checks of benefit and payment forms whose servers run in UTC: a minor west of Greenwich passes the evening before the
/// birthday. Seen too with the server's own zone, with fixed offsets that forget summer time, and with a state taken for one zone.
const AGES: [(&str, &str, &str, u32); 25] = [
    // The West Coast, in winter and in summer.
    (r#"{"state": "CA"}"#, "2008-11-21", "2026-11-21T00:00:00Z", 17),
    (r#"{"state": "CA"}"#, "2008-11-21", "2026-11-21T07:59:59Z", 17),
    (r#"{"state": "CA"}"#, "2008-11-21", "2026-11-21T08:00:00Z", 18),
    (r#"{"state": "WA"}"#, "2008-07-04", "2026-07-04T06:59:59Z", 17),
    (r#"{"state": "WA"}"#, "2008-07-04", "2026-07-04T07:00:00Z", 18),
    // States in two zones: the western part decides.
    (r#"{"state": "FL"}"#, "2008-11-21", "2026-11-21T05:59:59Z", 17),
    (r#"{"state": "FL"}"#, "2008-11-21", "2026-11-21T06:00:00Z", 18),
    (r#"{"state": "TX"}"#, "2008-11-21", "2026-11-21T06:59:59Z", 17),
    (r#"{"state": "ID"}"#, "2008-11-21", "2026-11-21T07:59:59Z", 17),
    // No summer time in most of Arizona.
    (r#"{"state": "AZ"}"#, "2008-07-04", "2026-07-04T06:59:59Z", 17),
    (r#"{"state": "AZ"}"#, "2008-07-04", "2026-07-04T07:00:00Z", 18),
    // The Aleutians, Hawaii and the Caribbean.
    (r#"{"state": "AK"}"#, "2008-11-21", "2026-11-21T09:59:59Z", 17),
    (r#"{"state": "AK"}"#, "2008-11-21", "2026-11-21T10:00:00Z", 18),
    (r#"{"state": "HI"}"#, "2008-07-04", "2026-07-04T09:59:59Z", 17),
    (r#"{"state": "HI"}"#, "2008-07-04", "2026-07-04T10:00:00Z", 18),
    (r#"{"state": "PR"}"#, "2008-07-04", "2026-07-04T04:00:00Z", 18),
    // The East Coast.
    (r#"{"state": "NY"}"#, "2008-11-21", "2026-11-21T04:59:59Z", 17),
    (r#"{"state": "NY"}"#, "2008-11-21", "2026-11-21T05:00:00Z", 18),
    // Without a state the zipcode names it; without either the strictest of all decides.
    (r#"{"zipcode": "10001"}"#, "2008-11-21", "2026-11-21T05:00:00Z", 18),
    (r#"{"zipcode": "94105-1804"}"#, "2008-11-21", "2026-11-21T07:59:59Z", 17),
    ("{}", "2008-11-21", "2026-11-21T09:59:59Z", 17),
    ("{}", "2008-11-21", "2026-11-21T10:00:00Z", 18),
    // Born on 29 February: a year older on 1 March.
    (r#"{"state": "NY"}"#, "2008-02-29", "2026-02-28T20:00:00Z", 17),
    (r#"{"state": "NY"}"#, "2008-02-29", "2026-03-01T04:59:59Z", 17),
    (r#"{"state": "NY"}"#, "2008-02-29", "2026-03-01T05:00:00Z", 18),
];

#[test]
fn nobody_comes_of_age_before_the_birthday_has_begun_where_they_live() {
    for (place, born, now, age) in AGES {
        let mut person: serde_json::Value = serde_json::from_str(place).unwrap();
        person["dateOfBirth"] = json!(born);
        let lead = json!({ "personalInformation": person }).to_string();
        let lead = Lead::read(lead.as_bytes()).unwrap_or_else(|refusal| panic!("{lead}: {refusal:?}"));
        let at: DateTime<Utc> = now.parse().unwrap();
        let found = Facts::new(&lead, at, CreditBands::Current).age();
        assert_eq!(found, Some(f64::from(age)), "{place}, born {born}, at {now}");
    }
}

/// Times as they stand in a query, and the answer.
///
/// Seen in feeds, logs, FHIR servers and calendars: clients put the text of their own `isoformat` into the address as it is, so the `+`
/// of the offset arrives as a space, and everybody east of Greenwich is refused or is shown nothing.
const QUERY_TIMES: [(&str, u16); 12] = [
    ("2024-11-21T00:15:55.887852+0000", 200),
    ("2024-11-21T00:15:55+00:00", 200),
    ("2024-11-21T05:45:55+05:30", 200),
    ("2024-11-21T00:15:55%2B00:00", 200),
    ("2024-11-21T00:15:55%20%2B0000", 200),
    // As Ruby and SQL write a time, with and without encoding.
    ("2024-11-21%2000:15:55%20%2B0000", 200),
    ("2024-11-21+00:15:55++0000", 200),
    ("2024-11-21+00:15:55", 200),
    ("2024-11-21%2000:15:55%20-0500", 200),
    // What is no time stays none.
    ("2024-11-21T00:15:55+5", 422),
    ("2024-11-21+05:30", 422),
    ("2024-11-21T00:15:55+Berlin", 422),
];

#[tokio::test]
async fn the_plus_of_an_offset_is_read_though_it_arrives_as_a_space() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    for (time, status) in QUERY_TIMES {
        for feed in ["leadEvents", "leadPayouts", "leadClientTags"] {
            let answer = daemon.get(&format!("/supplyAnalytics/{feed}?timestamp={time}")).await;
            assert_eq!(answer.status, status, "{feed} {time}");
            if status == 422 {
                assert_eq!(answer.attributes(), ["timestamp"], "{time}");
                assert!(
                    String::from_utf8_lossy(&answer.body).contains("an ISO 8601 date-time"),
                    "{}",
                    String::from_utf8_lossy(&answer.body)
                );
            }
        }
    }
}

#[tokio::test]
async fn an_offset_that_arrives_as_a_space_counts() {
    let daemon = Daemon::with_partners(vec![partner("bank").savings("")]).start().await;
    // Five and a half hours ahead, so that the time in UTC is the latest that is taken.
    let east = Utc::now() - chrono::TimeDelta::minutes(62) + chrono::TimeDelta::minutes(330);
    let time = east.format("%Y-%m-%dT%H:%M:%S+05:30");
    let answer = daemon.get(&format!("/supplyAnalytics/leadEvents?timestamp={time}")).await;
    assert_eq!(answer.status, 200, "{time}: {}", String::from_utf8_lossy(&answer.body));
}
