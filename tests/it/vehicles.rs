//! Vehicles: look-ups by year, make, model and trim, and the vehicle of a lead.

use hyper::Method;
use serde_json::{Value, json};

use crate::conformance::schema::{Edition, assert_conforms};
use crate::kit::partners::prompt_partners;
use crate::kit::{Answer, Daemon, Plan};

fn plan() -> Plan {
    Daemon::with_partners(prompt_partners(1))
}

/// Asks as a page does, with the publishable token.
async fn look_up(daemon: &Daemon, query: &str) -> Answer {
    let url = format!("{}/leads/vehicles/{query}", daemon.api);
    daemon.request(Method::GET, &url, &daemon.publishable, "").await
}

async fn found(daemon: &Daemon, query: &str) -> Value {
    let answer = look_up(daemon, query).await;
    assert_eq!(answer.status, 200, "{query}");
    answer.json()
}

#[tokio::test]
async fn each_look_up_narrows_the_next_down_to_a_car_that_a_lead_can_name() {
    let daemon = plan().start().await;
    let years = found(&daemon, "years?minYear=2019&maxYear=2021").await;
    assert_conforms(Edition::Current, "VehicleYears", &years);
    assert_eq!(years, json!([2019, 2020, 2021]));
    let makes = found(&daemon, "makes?year=2021").await;
    assert_conforms(Edition::Current, "VehicleNames", &makes);
    assert!(makes.as_array().unwrap().contains(&json!("Toyota")), "{makes}");
    let models = found(&daemon, "models?year=2021&make=Toyota").await;
    assert_conforms(Edition::Current, "VehicleNames", &models);
    assert!(models.as_array().unwrap().contains(&json!("Camry")), "{models}");
    let trims = found(&daemon, "trims?year=2021&make=toyota&model=camry&unknown=1").await;
    assert_conforms(Edition::Current, "VehicleTrims", &trims);
    let car = &trims[0];
    assert_eq!((&car["year"], &car["model"], &car["trim"]), (&json!(2021), &json!("Camry"), &json!("LE")));
    assert!(car["ucgVehicleId"].as_i64().unwrap() > 0);

    let daemon = daemon.kill().start().await;
    assert_eq!(found(&daemon, "trims?year=2021&make=Toyota&model=Camry").await, trims, "ids stay");
    let about = json!({"monthlyPayment": 389, "estimatedMileage": 41200, "vehicleUuid": car["uuid"]});
    let table = daemon.submit(json!({"vehicleInformation": about}).to_string()).await.json();
    let lead = daemon.get(&format!("/leads/{}", table["leadUuid"].as_str().unwrap())).await.json();
    assert_eq!(lead["vehicleInformation"], about);
}

#[tokio::test]
async fn what_is_not_given_narrows_nothing_and_what_there_is_not_is_an_empty_array() {
    let daemon = plan().start().await;
    let all = found(&daemon, "trims").await;
    assert_eq!(found(&daemon, "trims?make=&model=").await, all, "forms send what was left empty");
    assert!(all.as_array().unwrap().len() > 500);
    for query in
        ["years?minYear=2090", "makes?year=1900", "models?make=Nobody", "trims?year=2021&make=Nobody"]
    {
        assert_eq!(found(&daemon, query).await, json!([]), "{query}");
    }
}

#[tokio::test]
async fn what_does_not_fit_is_named_with_what_was_found() {
    let daemon = plan().start().await;
    for (query, attributes) in [
        ("years?minYear=MMXX&maxYear=1.5", vec!["minYear", "maxYear"]),
        ("makes?year=", vec!["year"]),
        ("models?year=2147483648&make=Toyota", vec!["year"]),
        ("trims?year=20x1", vec!["year"]),
    ] {
        let answer = look_up(&daemon, query).await;
        assert_eq!(
            (answer.status, answer.attributes()),
            (400, attributes.into_iter().map(str::to_owned).collect())
        );
        assert_conforms(Edition::Current, "ApiErrors", &answer.json());
    }
    let told = look_up(&daemon, "trims?year=20x1").await.json();
    let message = "Query parameter year must be an integer from -2147483648 to 2147483647";
    let wanted = json!([{
        "attribute": "year", "type": "malformed", "message": message,
        "details": {"fault": "kind", "specified": "20x1"},
    }]);
    assert_eq!(told, wanted);
}

#[tokio::test]
async fn bad_vehicles_of_a_lead_are_named() {
    let daemon = plan().start().await;
    let wrong =
        json!({"vehicleInformation": {"monthlyPayment": -1, "estimatedMileage": 1e9, "vehicleUuid": "7"}});
    let attributes = ["monthlyPayment", "estimatedMileage", "vehicleUuid"];
    let attributes = attributes.map(|name| format!("vehicleInformation.{name}"));
    assert_eq!(daemon.submit(wrong.to_string()).await.attributes(), attributes);
}

#[tokio::test]
async fn the_numbers_of_a_vehicle_and_of_its_plate_have_a_length_and_letters_of_their_own() {
    let daemon = plan().start().await;
    let attributes = async |vin: &str, plate: &str| {
        let about = json!({"vehicleIdentificationNumber": vin, "licensePlateNumber": plate});
        let answer = daemon.submit(json!({"vehicleInformation": about}).to_string()).await;
        if answer.status == 200 { Vec::new() } else { answer.attributes() }
    };
    let (vin, plate) =
        ("vehicleInformation.vehicleIdentificationNumber", "vehicleInformation.licensePlateNumber");
    for good in [("1ALDN4VR0MA000017", "7QXK204"), ("1aldn4vr0ma000017", "AB-12 C"), ("", "")] {
        assert_eq!(attributes(good.0, good.1).await, <[String; 0]>::default(), "{good:?}");
    }
    for bad in [
        "1ALDN4VR0MA00001",
        "1ALDN4VR0MA0000177",
        "1ALDN4VR0MAI00017",
        "1ALDN4VR0MAO00017",
        "1ALDN4VR0MAq00017",
    ] {
        assert_eq!(attributes(bad, "7QXK204").await, [vin], "{bad}");
    }
    for bad in ["1234567890123", "7QXK_204", "7QXK2é"] {
        assert_eq!(attributes("1ALDN4VR0MA000017", bad).await, [plate], "{bad}");
    }
}

#[tokio::test]
async fn look_ups_want_a_token_and_are_not_of_the_older_edition() {
    let daemon = plan().start().await;
    for name in ["years", "makes", "models", "trims"] {
        let url = format!("{}/leads/vehicles/{name}", daemon.api);
        assert_eq!(daemon.request(Method::GET, &url, "", "").await.status, 401, "{name}");
        let v1 = [("accept", "application/vnd.offerd.v1+json")];
        let answer = daemon.request_with(Method::GET, &url, &daemon.publishable, &v1, "").await;
        assert_eq!(answer.status, 415, "{name}");
    }
}

#[tokio::test]
async fn an_operators_list_is_checked_taken_in_and_exchanged_by_a_reload() {
    let plan = plan();
    let file = plan.directory().join("cars.csv");
    let plan = plan.setting("reference.vehicles", &file.display().to_string());
    std::fs::write(
        &file,
        "years,make,model,trim\n2020,Aldine,,S\n20x0,Aldine,Vireo,S\n2020,Aldine,Vireo, S,L\n",
    )
    .unwrap();
    let checked = plan.command(&["check"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(64));
    let told = String::from_utf8(checked.stderr).unwrap();
    assert!(told.contains("cars.csv:2: `model` is missing"), "{told}");
    assert!(told.contains("cars.csv:3: `years` must be a year"), "{told}");
    assert!(told.contains("cars.csv:4: cannot be read as CSV"), "{told}");

    std::fs::write(&file, "years,make,model,trim\n2019-2020,Aldine,Vireo,S\n").unwrap();
    let daemon = plan.start().await;
    assert_eq!(found(&daemon, "years").await, json!([2019, 2020]));
    let ids = found(&daemon, "trims").await;

    std::fs::write(&file, "years,make,model,trim\n,,,\n").unwrap();
    assert_eq!(daemon.command(&["reload"]).status.code(), Some(64));
    assert_eq!(found(&daemon, "trims").await, ids, "a list with faults changes nothing");
    std::fs::write(&file, "years,make,model,trim\n2018-2020,Aldine,Vireo,S\n2020,Aldine,Vireo,L\n").unwrap();
    assert_eq!(daemon.command(&["reload"]).status.code(), Some(0));
    let now = found(&daemon, "trims").await;
    assert_eq!(now.as_array().unwrap().len(), 4);
    assert!(ids.as_array().unwrap().iter().all(|car| now.as_array().unwrap().contains(car)), "{now}");
}

#[tokio::test]
async fn a_long_list_is_read_part_by_part() {
    let plan = plan().setting("reference.vehicles_per_answer", "1000");
    let file = plan.directory().join("cars.csv");
    let rows: String = (0..2_500).map(|nth| format!("2020,Aldine,Vireo {nth:04},S\n")).collect();
    std::fs::write(&file, format!("years,make,model,trim\n{rows}")).unwrap();
    let daemon = plan.setting("reference.vehicles", &file.display().to_string()).start().await;
    assert_eq!(look_up(&daemon, "models?year=2020&make=Aldine").await.status, 400, "it is too long for one");
    for question in ["models?year=2020&make=aldine", "trims?make=Aldine"] {
        let mut all = Vec::new();
        for offset in [0, 1_000, 2_000, 3_000] {
            let part = found(&daemon, &format!("{question}&limit=1000&offset={offset}")).await;
            all.extend(part.as_array().unwrap().clone());
        }
        let models: Vec<_> =
            all.iter().map(|one| one.get("model").unwrap_or(one).as_str().unwrap()).collect();
        assert_eq!(models.len(), 2_500, "{question}");
        assert!(models.is_sorted_by(|one, next| one < next), "each once, in order");
    }
    assert_eq!(found(&daemon, "models?offset=2000").await.as_array().unwrap().len(), 500, "the rest fits");
    assert_eq!(found(&daemon, "makes?limit=5").await, json!(["Aldine"]));
    for (query, attributes) in
        [("models?limit=1001", ["limit"]), ("makes?offset=-1", ["offset"]), ("trims?limit=0", ["limit"])]
    {
        let answer = look_up(&daemon, query).await;
        assert_eq!(
            (answer.status, answer.attributes()),
            (400, attributes.map(str::to_owned).to_vec()),
            "{query}"
        );
    }
}

#[test]
fn a_list_that_is_no_file_or_has_no_end_is_refused_and_of_many_faults_the_first_are_told() {
    let plan = plan();
    let place = plan.directory().join("cars.csv");
    let plan = plan.setting("reference.vehicles", &place.display().to_string());
    let check = || {
        let checked = plan.command(&["check"]).output().unwrap();
        assert_eq!(checked.status.code(), Some(64));
        String::from_utf8(checked.stderr).unwrap()
    };
    std::fs::create_dir(&place).unwrap();
    assert!(check().contains("cars.csv: cannot be read: it is not a regular file"), "{}", check());
    std::fs::remove_dir(&place).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&place).status().unwrap().success());
    assert!(check().contains("it is not a regular file"), "{}", check());
    std::fs::remove_file(&place).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &place).unwrap();
    assert!(check().contains("it is not a regular file"), "{}", check());
    std::fs::remove_file(&place).unwrap();
    std::fs::File::create(&place).unwrap().set_len(1 << 40).unwrap();
    assert!(check().contains("it has more than 33554432 bytes"), "{}", check());
    std::fs::write(&place, format!("years,make,model,trim\n{}", "x,Aldine,Vireo,S\n".repeat(30_000)))
        .unwrap();
    let told = check();
    assert_eq!(told.matches("must be a year from").count(), 20, "{told}");
    assert!(told.contains("cars.csv:21: `years`") && told.contains("has 29980 faults more"), "{told}");
}

#[tokio::test]
async fn a_question_with_too_many_answers_says_what_would_narrow_it() {
    let plan = plan().setting("reference.vehicles_per_answer", "1000");
    let file = plan.directory().join("cars.csv");
    let rows: String = (0..11).map(|nth| format!("1900-1999,Aldine,Vireo,S{nth}\n")).collect();
    std::fs::write(&file, format!("years,make,model,trim\n{rows}")).unwrap();
    let daemon = plan.setting("reference.vehicles", &file.display().to_string()).start().await;
    let answer = look_up(&daemon, "trims?make=Aldine").await;
    assert_eq!(
        (answer.status, answer.attributes()),
        (400, ["year", "make", "model"].map(str::to_owned).to_vec())
    );
    assert_eq!(answer.json()[0]["details"], json!({"found": "1100"}));
    let message = answer.json()[0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("limit and offset"), "{message}");
    assert_eq!(found(&daemon, "trims?year=1950").await.as_array().unwrap().len(), 11);
    let metrics = daemon.metrics().await;
    assert!(
        metrics.contains(r#"offerd_http_requests_refused_total{reason="vehicles_per_answer"} 1"#),
        "{metrics}"
    );
}
