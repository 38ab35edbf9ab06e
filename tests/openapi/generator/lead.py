"""A lead of every section, by the client that openapi-generator makes; its table is read until it is complete."""

import os
import sys
from pathlib import Path

import offerd_generated as offerd

lead = offerd.LeadCreateData.from_json(Path(sys.argv[1]).read_text())
with offerd.ApiClient(offerd.Configuration(host=os.environ["API"], access_token=os.environ["OFFERD_TOKEN"])) as client:
    tables = offerd.RateTablesApi(client)
    table = tables.submit_lead(lead)
    while table.pending_responses:
        table = tables.get_rate_table(table.uuid, prefer="wait=20")
assert table.loan_offers and table.credit_card_offers and table.savings_offers and table.mortgage_offers
try:
    offerd.RateTablesApi(client).submit_lead(offerd.LeadCreateData(uuid=table.lead_uuid))
except offerd.ApiException as refused:
    assert refused.status == 409 and refused.data[0].type == offerd.ErrorType.DUPLICATE, refused
else:
    sys.exit("a lead that exists is refused")
print("a lead of every section works by openapi-generator in Python")
