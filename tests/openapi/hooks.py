"""What a schema cannot say about requests that are to be accepted."""

import uuid
from datetime import date

import schemathesis
from hypothesis import strategies
from schemathesis import GenerationMode


FIRST_BIRTH = "1900-01-01"
LONGEST_KEY = 255


def plausible_births(lead):
    """Nobody is born before 1900 or tomorrow: no schema says so of a date."""
    for section in ("personalInformation", "coApplicantInformation"):
        person = lead.get(section)
        born = person.get("dateOfBirth") if isinstance(person, dict) else None
        if born and not FIRST_BIRTH <= born <= date.today().isoformat():
            person["dateOfBirth"] = FIRST_BIRTH


schemathesis.openapi.format("ip", strategies.ip_addresses().map(str))


def without_blanks(value):
    """Empty text is read as an attribute that is not given, which no schema says: such a value would be no fault."""
    if isinstance(value, dict):
        return {key: without_blanks(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_blanks(each) for each in value]
    return "x" if isinstance(value, str) and not value.strip() else value


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """A stream's schema is that of an event's data. Here it would be held against the event with its other lines."""
    stream = raw_schema["paths"].get("/originator/rateTables/{uuid}/events")
    if stream:
        stream["get"]["responses"]["200"]["content"]["text/event-stream"] = {}


@schemathesis.hook
def before_call(context, case, kwargs):
    """A key belongs to one body: another body under it is refused, as it should be, so every good submit has its own."""
    generation = case.meta.generation if case.meta else None
    key = (case.headers or {}).get("Idempotency-Key")
    if not generation or generation.mode != GenerationMode.POSITIVE:
        # HTTP drops blanks around a value, so a key that is bad only by them is a good one on the wire.
        if isinstance(key, str) and key != key.strip():
            case.headers["Idempotency-Key"] = key.strip().ljust(LONGEST_KEY + 1, "x")
        case.body = without_blanks(case.body)
        return
    if key is not None:
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    if isinstance(case.body, dict):
        plausible_births(case.body)
