"""What a schema cannot say about requests that are to be accepted."""

import uuid

import schemathesis
from schemathesis import GenerationMode


@schemathesis.hook
def before_call(context, case, kwargs):
    """A key belongs to one body: another body under it is refused, as it should be, so every good submit has its own."""
    generation = case.meta.generation if case.meta else None
    if generation and generation.mode == GenerationMode.POSITIVE and "Idempotency-Key" in (case.headers or {}):
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
