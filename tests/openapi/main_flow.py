"""The whole flow by the client that openapi-python-client generates: every answer is read as its model."""

import os
import sys
import uuid
from datetime import datetime, timedelta, timezone
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx
from httpx_sse import connect_sse
from offerd_client import AuthenticatedClient
from offerd_client.api.analytics import list_lead_events
from offerd_client.api.leads import get_lead
from offerd_client.api.offer_previews import preview_loan_offers
from offerd_client.api.rate_tables import get_rate_table, submit_lead, submit_lead_and_wait
from offerd_client.api.ui_events import init_session, record_offer_display
from offerd_client.api.ui_utilities import list_universities
from offerd_client.models import (
    ApiError,
    ClientTags,
    ErrorType,
    Lead,
    LeadCreateData,
    LeadCreditInformation,
    LeadEventResponse,
    LeadLoanInformation,
    LeadPersonalInformation,
    ListLeadEventsAPIVersion,
    LoanOffer,
    LoanPurpose,
    OfferDisplay,
    OfferDisplayNew,
    ProductType,
    ProvidedCreditRating,
    RateTable,
    SessionInit,
    SessionInitNew,
    State,
)

PATIENCE = httpx.Timeout(60)

Model = TypeVar("Model")


def answer(model: type[Model], found: object) -> Model:
    """What was found, which must be the model and not a failure."""
    assert isinstance(found, model), f"{model.__name__} was wanted, got {found!r}"
    return found


def lead(session: SessionInit) -> LeadCreateData:
    """A lead whose partners answer slowly."""
    return LeadCreateData(
        product_types=[ProductType.LOAN, ProductType.CREDIT_CARD],
        session_uuid=session.session_uuid,
        personal_information=LeadPersonalInformation(state=State.WA),
        loan_information=LeadLoanInformation(purpose=LoanPurpose.DEBT_CONSOLIDATION, loan_amount=10000),
        credit_information=LeadCreditInformation(provided_credit_rating=ProvidedCreditRating.GOOD),
        client_tags=ClientTags.from_dict({"sandbox": ["slow"]}),
    )


def submitted(client: AuthenticatedClient, body: LeadCreateData) -> tuple[RateTable, str]:
    """A submit that is sent again under its key is taken once."""
    key = str(uuid.uuid4())
    first = submit_lead.sync_detailed(client=client, body=body, idempotency_key=key)
    table = answer(RateTable, first.parsed)
    assert table.pending_responses, "slow partners are outstanding"
    again = submit_lead.sync(client=client, body=body, idempotency_key=key)
    assert answer(RateTable, again).uuid == table.uuid
    return table, first.headers["ETag"]


def polled(client: AuthenticatedClient, table: RateTable, tag: str) -> RateTable:
    """Waits for each change, until nobody is outstanding."""
    while table.pending_responses:
        changed = get_rate_table.sync_detailed(table.uuid, client=client, prefer="wait=20", if_none_match=tag)
        if changed.status_code != 304:
            table, tag = answer(RateTable, changed.parsed), changed.headers["ETag"]
    unchanged = get_rate_table.sync_detailed(table.uuid, client=client, if_none_match=tag)
    assert unchanged.status_code == 304, "a complete table never changes"
    return table


def streamed(client: AuthenticatedClient, table: RateTable) -> list[RateTable]:
    """Every version of the table, until it is complete."""
    path = f"/originator/rateTables/{table.uuid}/events"
    with connect_sse(client.get_httpx_client(), "GET", path) as source:
        return [RateTable.from_dict(event.json()) for event in source.iter_sse()]


def feeds(client: AuthenticatedClient) -> None:
    """Each page goes on where the one before ended."""
    newer = ListLeadEventsAPIVersion.VALUE_0
    since = datetime(2026, 1, 1, tzinfo=timezone.utc)
    first = list_lead_events.sync(client=client, api_version=newer, since_timestamp=since)
    token = parse_qs(urlsplit(answer(LeadEventResponse, first).next_url).query)["paginationToken"][0]
    second = list_lead_events.sync(client=client, api_version=newer, pagination_token=token)
    seen = {event.id for event in answer(LeadEventResponse, first).data}
    assert all(event.id not in seen for event in answer(LeadEventResponse, second).data), "nothing is told twice"

    since = datetime.now(timezone.utc) - timedelta(hours=2)
    page = answer(LeadEventResponse, list_lead_events.sync(client=client, timestamp=since))
    assert "timestamp=" in page.next_url and page.should_continue_polling in (True, False)
    recent = list_lead_events.sync(client=client, timestamp=datetime.now(timezone.utc))
    assert isinstance(recent, list), f"errors were wanted, got {recent!r}"
    assert (recent[0].attribute, recent[0].type_) == ("timestamp", ErrorType.MALFORMED)


def faults(client: AuthenticatedClient) -> None:
    refused = submit_lead.sync(client=client, body=LeadCreateData(loan_information=LeadLoanInformation(loan_amount=-1)))
    assert isinstance(refused, list), f"errors were wanted, got {refused!r}"
    assert [answer(ApiError, fault).attribute for fault in refused] == ["loanInformation.loanAmount"]


def main(api: str, integrations: str) -> None:
    token = os.environ["OFFERD_TOKEN"]
    client = AuthenticatedClient(base_url=api, token=token, timeout=PATIENCE)

    session = answer(SessionInit, init_session.sync(client=client, body=SessionInitNew()))
    pending, tag = submitted(client, lead(session))
    table = polled(client, pending, tag)
    assert table.loan_amount == 10000
    assert table.loan_offers and table.credit_card_offers, "the sample partners offer loans and cards"
    scores = [offer.recommendation_score for offer in table.loan_offers]
    assert all(isinstance(score, float) for score in scores)
    assert scores == sorted(scores, key=lambda score: -float(score or 0)), "the best offer stands first"
    assert all(offer.product_type == ProductType.LOAN for offer in table.loan_offers)
    assert all(offer.details.card_image_url for offer in table.credit_card_offers)
    assert streamed(client, table)[-1].to_dict() == table.to_dict(), "a stream ends with the complete table"

    read = answer(Lead, get_lead.sync(table.lead_uuid, client=client))
    assert read.uuid == table.lead_uuid and read.session_uuid == session.session_uuid
    assert isinstance(read.loan_information, LeadLoanInformation)
    assert read.loan_information.purpose == LoanPurpose.DEBT_CONSOLIDATION
    assert read.is_test and read.created_at <= read.updated_at

    previews = preview_loan_offers.sync(client=client, loan_amount=10000, zip_code="98101")
    assert previews and all(isinstance(offer, LoanOffer) for offer in previews)

    seen = OfferDisplayNew(table.lead_uuid, table.uuid, table.loan_offers[0].uuid)
    display = answer(OfferDisplay, record_offer_display.sync(client=client, body=seen))
    assert display.offer_uuid == table.loan_offers[0].uuid

    names = list_universities.sync(client=client, name="washington", limit=5)
    assert names and all(isinstance(name, str) for name in names) and len(names) <= 5

    blocking = AuthenticatedClient(base_url=integrations, token=token, timeout=PATIENCE)
    whole = answer(RateTable, submit_lead_and_wait.sync(client=blocking, body=lead(session)))
    assert whole.pending_responses == [] and whole.loan_offers

    feeds(client)
    faults(client)


if __name__ == "__main__":
    main(*sys.argv[1:])
    print("the whole flow works by the generated client")
