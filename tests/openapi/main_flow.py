"""The main flow by the client that openapi-python-client generates: every answer is read as its model."""

import os
import sys
import time
from datetime import datetime, timedelta, timezone

from offerd_client import AuthenticatedClient
from offerd_client.api.analytics import list_lead_events
from offerd_client.api.leads import get_lead
from offerd_client.api.offer_previews import preview_loan_offers
from offerd_client.api.rate_tables import get_rate_table, submit_lead, submit_lead_and_wait
from offerd_client.api.ui_events import init_session, record_offer_display
from offerd_client.api.ui_utilities import list_universities
from offerd_client.models import (
    ApiError,
    ErrorType,
    Lead,
    LeadCreateData,
    LeadCreditInformation,
    LeadEventResponse,
    LeadLoanInformation,
    LeadPersonalInformation,
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

PATIENCE_S = 60


def answer(model, found):
    """What was found, which must be the model and not a failure."""
    assert isinstance(found, model), f"{model.__name__} was wanted, got {found!r}"
    return found


def lead(session: SessionInit) -> LeadCreateData:
    return LeadCreateData(
        product_types=[ProductType.LOAN, ProductType.CREDIT_CARD],
        session_uuid=session.session_uuid,
        personal_information=LeadPersonalInformation(state=State.WA),
        loan_information=LeadLoanInformation(purpose=LoanPurpose.DEBT_CONSOLIDATION, loan_amount=10000),
        credit_information=LeadCreditInformation(provided_credit_rating=ProvidedCreditRating.GOOD),
    )


def complete(client: AuthenticatedClient, table: RateTable) -> RateTable:
    """Polls as clients do, until nobody is outstanding."""
    give_up = time.monotonic() + PATIENCE_S
    while table.pending_responses:
        assert time.monotonic() < give_up, "the rate table never completes"
        time.sleep(0.2)
        table = answer(RateTable, get_rate_table.sync(table.uuid, client=client))
    return table


def main(api: str, integrations: str) -> None:
    token = os.environ["OFFERD_TOKEN"]
    client = AuthenticatedClient(base_url=api, token=token)

    session = answer(SessionInit, init_session.sync(client=client, body=SessionInitNew()))
    table = complete(client, answer(RateTable, submit_lead.sync(client=client, body=lead(session))))
    assert table.loan_amount == 10000
    assert table.loan_offers and table.credit_card_offers, "the sample partners offer loans and cards"
    scores = [offer.recommendation_score for offer in table.loan_offers]
    assert scores == sorted(scores, reverse=True), "the best offer stands first"
    assert all(offer.product_type == ProductType.LOAN for offer in table.loan_offers)
    assert all(offer.details.card_image_url for offer in table.credit_card_offers)

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

    since = datetime.now(timezone.utc) - timedelta(hours=2)
    page = answer(LeadEventResponse, list_lead_events.sync(client=client, timestamp=since))
    assert "timestamp=" in page.next_url and page.should_continue_polling in (True, False)

    names = list_universities.sync(client=client, name="washington", limit=5)
    assert names and all(isinstance(name, str) for name in names) and len(names) <= 5

    blocking = AuthenticatedClient(base_url=integrations, token=token)
    whole = answer(RateTable, submit_lead_and_wait.sync(client=blocking, body=lead(session)))
    assert whole.pending_responses == [] and whole.loan_offers

    recent = list_lead_events.sync(client=client, timestamp=datetime.now(timezone.utc))
    assert isinstance(recent, list) and isinstance(recent[0], ApiError), f"errors were wanted, got {recent!r}"
    assert (recent[0].attribute, recent[0].type_) == ("timestamp", ErrorType.MALFORMED)


if __name__ == "__main__":
    main(*sys.argv[1:])
    print("the main flow works by the generated client")
