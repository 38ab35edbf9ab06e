"""A client that refuses what it does not know: models made of the document that forbid every further field, and every answer of
every kind of lead read by them."""

import json
import os
import sys
import urllib.request
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from offerd_models import (
    ApiError,
    CreditCardOffer,
    FeaturedFinancialInstitution,
    Lead,
    LeadClientTagsResponse,
    LeadCreateData,
    LeadEventResponse,
    LeadExplanation,
    LeadPayoutResponse,
    LoanOffer,
    OfferDisplay,
    RateTable,
    SavingsOffer,
    SessionInit,
)
from pydantic import TypeAdapter, ValidationError

ARRAYS = ("creditCardOffers", "loanOffers", "mortgageOffers", "savingsOffers", "specialOffers")


def call(method: str, url: str, body: object = None, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    sent = {"Authorization": f"Bearer {os.environ['OFFERD_TOKEN']}", "Content-Type": "application/json"} | (headers or {})
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, sent, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def read(model: Any, method: str, url: str, body: object = None, headers: dict[str, str] | None = None) -> Any:
    """What is answered, which must be the model and nothing more."""
    _, answer = call(method, url, body, headers)
    try:
        TypeAdapter(model).validate_json(answer)
    except ValidationError as error:
        sys.exit(f"{method} {url}: {error}")
    return json.loads(answer)


def main(api: str, integrations: str, leads: str) -> None:
    shown: set[str] = set()
    for file in sorted(Path(leads).glob("*.json")):
        lead = json.loads(file.read_text())
        TypeAdapter(LeadCreateData).validate_python(lead)
        table = read(RateTable, "POST", f"{integrations}/blocking/leads/rateTables", lead)
        read(RateTable, "GET", f"{api}/originator/rateTables/{table['uuid']}")
        read(Lead, "GET", f"{api}/leads/{table['leadUuid']}")
        read(LeadExplanation, "GET", f"{api}/leads/{table['leadUuid']}/explanation")
        for offers in ARRAYS:
            shown |= {offers} if table[offers] else set()
            for offer in table[offers][:1]:
                seen = {"leadUuid": table["leadUuid"], "rateTableUuid": table["uuid"], "offerUuid": offer["uuid"]}
                read(OfferDisplay, "POST", f"{api}/uiEvent/offerDisplays", seen)
    assert shown == set(ARRAYS), f"the sample leads have offers of every kind, got {sorted(shown)}"

    slow = json.loads(Path(leads, "personal_loan.json").read_text()) | {"clientTags": {"sandbox": ["slow"]}}
    assert read(RateTable, "POST", f"{api}/leads/rateTables", slow)["pendingResponses"]

    read(SessionInit, "POST", f"{api}/uiEvent/sessionInits", {})
    read(list[LoanOffer], "GET", f"{api}/offerPreview/loanOffers?loanAmount=10000")
    read(list[CreditCardOffer], "GET", f"{api}/offerPreview/creditCardOffers")
    read(list[SavingsOffer], "GET", f"{api}/offerPreview/savingsOffers")
    read(list[str], "GET", f"{api}/leads/universities?limit=3")
    read(list[FeaturedFinancialInstitution], "GET", f"{api}/uiUtil/featuredFinancialInstitutions")

    since = (datetime.now(timezone.utc) - timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    newer = {"API-Version": "2025-04-01"}
    for feed, page in (
        ("leadEvents", LeadEventResponse),
        ("leadPayouts", LeadPayoutResponse),
        ("leadClientTags", LeadClientTagsResponse),
    ):
        read(page, "GET", f"{api}/supplyAnalytics/{feed}?timestamp={since}")
        read(page, "GET", f"{api}/supplyAnalytics/{feed}?sinceTimestamp={since}", None, newer)

    faults = read(list[ApiError], "POST", f"{api}/leads/rateTables", {"productTypes": ["yacht"]})
    assert faults[0]["attribute"] == "productTypes[0]"
    try:
        TypeAdapter(RateTable).validate_python(table | {"surprise": 1})
    except ValidationError:
        print("a client that refuses every further field reads every answer")
    else:
        sys.exit("the models let a further field pass")


if __name__ == "__main__":
    main(*sys.argv[1:])
