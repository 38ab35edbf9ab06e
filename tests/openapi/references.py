"""Two newer versions of the interface, against our document and against the list of differences that the handbook gives.

What a version says is made of `tests/specification` and the facts of `newer.json` there. A difference is named as the handbook
names it: `GET /path` for an operation that we lack, `Type.field` for a field that we lack, do not always answer with, or take
or give otherwise, `Type=value` for a value that we refuse, and a status for one that we also answer with. A difference that is
not listed is a fault, and so is a listed one that is none any more. What remains of each version without its differences is
written down as a document, for schemathesis to hold our answers against.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

Schema = dict[str, Any]

HERE = Path(__file__).parent
SPECIFICATION = HERE.parent / "specification"
HANDBOOK = HERE.parent.parent / "src" / "handbook" / "moving.md"
LEADS = HERE.parent / "leads"

VERSIONS = ("1.58", "1.106")
FORMATS = {"uuid", "date", "date-time", "int32", "int64", "double", "uri", "url"}
CLOSED = {"additionalProperties", "unevaluatedProperties", "writtenWhole", "$comment"}


# What a version says.


def reference(version: str, facts: Schema, examples: Schema) -> Schema:
    """A version as an OpenAPI document."""
    schemas = specification()
    for each in VERSIONS:
        # Values are added as time goes on, and clients expect more of them. Types stand once, where they came first or last.
        for name, told in facts["types"][each].items():
            if each == version or isinstance(told, list) or name not in schemas:
                extend(schemas, name, told)
    operations = dict(facts["operations"]["specification"])
    for each in VERSIONS[: VERSIONS.index(version) + 1]:
        operations |= facts["operations"].get(each, {})
    paths: Schema = {}
    for name, told in operations.items():
        method, path = name.split(" ")
        paths.setdefault(path, {})[method.lower()] = operation(path, told, examples)
    info = {"title": f"version {version}", "version": version}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def specification() -> Schema:
    """The types of the specification, open, and without what we add to them."""
    schemas: Schema = {}
    for file in ("types", "enumerations", "lead", "rate_table", "analytics", "ui", "errors"):
        schemas |= json.loads((SPECIFICATION / f"{file}.json").read_text())["$defs"]
    return {name: opened(schema) for name, schema in schemas.items()}


def opened(schema: Any) -> Any:
    if isinstance(schema, list):
        return [opened(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: opened(value) for key, value in schema.items() if key not in CLOSED}
    if isinstance(kept.get("$ref"), str):
        kept["$ref"] = "#/components/schemas/" + kept["$ref"].rsplit("/", 1)[1]
    for name, field in schema.get("properties", {}).items():
        if isinstance(field, dict) and field.get("$comment", "").startswith("Addition"):
            del kept["properties"][name]
            if "required" in kept:
                kept["required"] = [other for other in kept["required"] if other != name]
    return kept


def extend(schemas: Schema, name: str, told: Any) -> None:
    """Adds what a version says of a type."""
    if isinstance(told, list):
        values = schemas.setdefault(name, {"type": "string", "enum": []})["enum"]
        values += [value for value in told if value not in values]
    elif isinstance(told, str):
        schemas[name] = typed(told)
    else:
        schema = schemas.setdefault(name, {"type": "object"})
        for field, kind in told.items():
            schema.setdefault("properties", {})[field.rstrip("*")] = typed(kind)
            if field.endswith("*") and field.rstrip("*") not in schema.setdefault("required", []):
                schema["required"].append(field.rstrip("*"))


def typed(told: str) -> Schema:
    """`array of X`, `A | B`, `string [uuid]`, or the name of a type."""
    if " | " in told:
        return {"anyOf": [typed(each) for each in told.split(" | ")]}
    if told.startswith("array of "):
        return {"type": "array", "items": typed(told.removeprefix("array of "))}
    kind, _, form = told.partition(" [")
    form = form.rstrip("]")
    if kind == "any":
        return {}
    if kind in ("string", "integer", "number", "boolean", "object"):
        known = {"format": "uri" if form == "url" else form} if form in FORMATS else {}
        return {"type": kind} | known
    return {"$ref": f"#/components/schemas/{kind}"}


def operation(path: str, told: Schema, examples: Schema) -> Schema:
    parameters = [parameter("path", name + "*", "string [uuid]", examples.get(path)) for name in re.findall(r"{(\w+)}", path)]
    for place in ("query", "header"):
        parameters += [parameter(place, name, kind, examples.get(name)) for name, kind in told.get(place, {}).items()]
    made: Schema = {"parameters": parameters, "responses": {}}
    if "body" in told:
        of_body = {name: {"value": value} for name, value in examples.get(told["body"], {}).items()}
        made["requestBody"] = {"content": {"application/json": {"schema": typed(told["body"]), "examples": of_body}}}
    for status, kind in told["answers"].items():
        made["responses"][status] = answer(typed(kind) if kind else None)
    return made


def parameter(place: str, name: str, kind: str, example: Any) -> Schema:
    required = name.endswith("*")
    given = {} if example is None else {"example": example}
    return {"in": place, "name": name.rstrip("*"), "required": required, "schema": typed(kind)} | given


def answer(schema: Schema | None) -> Schema:
    content = {} if schema is None else {"content": {"application/json": {"schema": schema}}}
    return {"description": "An answer."} | content


# How it differs from ours.


class Shape:
    """What a schema comes to: of a choice every alternative."""

    def __init__(self, document: Schema, schema: Schema, sent: bool) -> None:
        self.types: set[str] | None = None
        self.values: set[Any] | None = None
        self.properties: Schema = {}
        self.required: set[str] = set()
        self.items: Schema | None = None
        self.free = not schema
        kind = schema.get("type")
        if kind is not None:
            self.types = {kind} if isinstance(kind, str) else set(kind)
        if "enum" in schema or "const" in schema:
            values = schema.get("enum", [schema.get("const")])
            self.values = {value for value in values if value is not None}
            self.types = self.types or {"null" if value is None else "string" for value in values}
        self.properties |= schema.get("properties", {})
        self.properties |= {alias: self.properties[name] for alias, name in schema.get("x-aliases", {}).items()}
        self.required |= set(schema.get("required", []))
        self.items = schema.get("items")
        if "$ref" in schema:
            self.with_all([Shape(document, resolved(document, schema["$ref"]), sent)])
        self.with_all([Shape(document, part, sent) for part in schema.get("allOf", [])])
        choice = [*schema.get("anyOf", []), *schema.get("oneOf", [])]
        # What is not given may be sent as null, and is left out of answers.
        if not sent:
            choice = [part for part in choice if part != {"type": "null"}]
        if choice:
            self.with_one([Shape(document, part, sent) for part in choice])
        if not sent and self.types:
            self.types -= {"null"}

    def with_all(self, parts: list["Shape"]) -> None:
        for part in parts:
            self.types = part.types if self.types is None else self.types
            self.values = part.values if self.values is None else self.values
            self.items = part.items if self.items is None else self.items
            self.properties = part.properties | self.properties
            self.required |= part.required

    def with_one(self, parts: list["Shape"]) -> None:
        if all(part.types is not None for part in parts):
            self.types = set().union(*(part.types or set() for part in parts))
        texts = [part for part in parts if part.types and "string" in part.types]
        if texts and all(part.values is not None for part in texts):
            self.values = set().union(*(part.values or set() for part in texts))
        objects = [part for part in parts if part.properties]
        for part in objects:
            self.properties = part.properties | self.properties
        if objects:
            self.required |= set.intersection(*(part.required for part in objects))
        self.items = next((part.items for part in parts if part.items is not None), self.items)


def resolved(document: Schema, pointer: str) -> Schema:
    return document["components"]["schemas"][pointer.rsplit("/", 1)[1]]


class Comparison:
    """A version beside ours."""

    def __init__(self, theirs: Schema, ours: Schema) -> None:
        self.theirs, self.ours = theirs, ours
        self.seen: set[tuple[str, bool]] = set()
        self.differences: set[str] = set()
        our_paths = {placeholder(path): operations for path, operations in ours["paths"].items()}
        for path, operations in theirs["paths"].items():
            for method, operation in operations.items():
                mine = our_paths.get(placeholder(path), {}).get(method)
                if mine is None:
                    self.differences.add(f"{method.upper()} {path}")
                else:
                    self.operation(f"{method.upper()} {path}", operation, mine)

    def operation(self, name: str, theirs: Schema, ours: Schema) -> None:
        mine = {(each["in"], each["name"]): each for each in ours.get("parameters", [])}
        for parameter in theirs["parameters"]:
            if parameter["in"] == "path":
                continue
            found = mine.get((parameter["in"], parameter["name"]))
            if found is None:
                self.differences.add(f"{name} {parameter['name']}")
            else:
                taken = found["schema"]
                # Values with commas between them may be one value.
                if taken.get("type") == "array" and parameter["schema"].get("type") != "array":
                    taken = taken["items"]
                self.schema(f"{name} {parameter['name']}", parameter["schema"], taken, sent=True)
        if "requestBody" in theirs:
            self.schema(name, body(theirs["requestBody"]), body(ours["requestBody"]), sent=True)
        for status, answered in ours["responses"].items():
            if status not in theirs["responses"]:
                self.differences.add(status)
            elif body(answered) and body(theirs["responses"][status]):
                self.schema(name, body(theirs["responses"][status]), body(answered), sent=False)

    def schema(self, name: str, theirs: Schema, ours: Schema, sent: bool) -> None:
        """`sent` by a client, or answered by us."""
        if not theirs or not ours:
            return
        if "$ref" in theirs:
            named = theirs["$ref"].rsplit("/", 1)[1]
            if (named, sent) in self.seen and resolved(self.theirs, theirs["$ref"]).get("properties"):
                return
            self.seen.add((named, sent))
        else:
            named = name
        their, our = Shape(self.theirs, theirs, sent), Shape(self.ours, ours, sent)
        if not fits(their.types, our.types) if sent else not fits(our.types, their.types):
            self.differences.add(name)
        self.values(name, named, their, our, sent)
        self.properties(named, their, our, sent)
        if their.items is not None and our.items is not None:
            self.schema(named, their.items, our.items, sent)

    def values(self, name: str, named: str, their: Shape, our: Shape, sent: bool) -> None:
        narrow, wide = (their, our) if sent else (our, their)
        if wide.values is None or "string" not in (narrow.types or {"string"}):
            return
        if narrow.values is None:
            self.differences.add(name)
        else:
            self.differences |= {f"{named}={value}" for value in narrow.values - wide.values if value != ""}

    def properties(self, named: str, their: Shape, our: Shape, sent: bool) -> None:
        if our.types is not None and not our.properties:
            return
        for field, schema in their.properties.items():
            lacks = field not in our.properties
            if lacks or (not sent and field in their.required and field not in our.required):
                self.differences.add(f"{named}.{field}")
            if not lacks:
                self.schema(f"{named}.{field}", schema, our.properties[field], sent)
        if sent:
            self.differences |= {f"{named}.{field}" for field in our.required - their.required}


def fits(narrow: set[str] | None, wide: set[str] | None) -> bool:
    if narrow is None or wide is None:
        return True
    return narrow <= (wide | {"integer"} if "number" in wide else wide)


def body(told: Schema) -> Schema:
    return told.get("content", {}).get("application/json", {}).get("schema", {})


def placeholder(path: str) -> str:
    return re.sub(r"{\w+}", "{}", path)


# What is left of it.


def listed() -> set[str]:
    """What the handbook's tables name in their first column."""
    rows = [line.split("|")[1] for line in HANDBOOK.read_text().splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def without(document: Schema, differences: set[str]) -> Schema:
    """A version as far as ours is like it."""
    schemas = document["components"]["schemas"]
    for path, operations in list(document["paths"].items()):
        for method in list(operations):
            name = f"{method.upper()} {path}"
            if name in differences:
                del operations[method]
                continue
            parameters = operations[method]["parameters"]
            operations[method]["parameters"] = [one for one in parameters if f"{name} {one['name']}" not in differences]
            for status in (each for each in differences if each.isdigit()):
                errors = {"$ref": "#/components/schemas/ApiErrors"} if int(status) >= 400 else None
                operations[method]["responses"].setdefault(status, answer(errors))
    for difference in differences:
        of_value = re.fullmatch(r"(\w+)=(.+)", difference)
        of_field = re.fullmatch(r"(\w+)\.(\w+)", difference)
        if of_value and of_value[2] in schemas.get(of_value[1], {}).get("enum", []):
            schemas[of_value[1]]["enum"].remove(of_value[2])
        elif of_field and of_field[1] in schemas:
            schema = schemas[of_field[1]]
            schema.get("properties", {}).pop(of_field[2], None)
            schema["required"] = [name for name in schema.get("required", []) if name != of_field[2]]
    document["paths"] = {path: operations for path, operations in document["paths"].items() if operations}
    return document


def submit(integrations: str, token: str) -> None:
    """Prints a rate table and its lead, for paths to be about something."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    lead = (LEADS / "everything.json").read_bytes()
    with urlopen(Request(f"{integrations}/blocking/leads/rateTables", lead, headers)) as answer:
        table = json.load(answer)
    print(table["uuid"], table["leadUuid"])


def compare(ours: str, directory: str, table: str, lead: str) -> None:
    """Compares our document with each version, and writes down what is left of them."""
    facts = json.loads((SPECIFICATION / "newer.json").read_text())
    leads = {file.stem: json.loads(file.read_text()) for file in sorted(LEADS.glob("*.json"))}
    examples = {
        "LeadCreateData": leads,
        "timestamp": "2026-01-01T00:00:00Z",
        "/originator/rateTables/{uuid}": table,
        "/leads/{uuid}": lead,
        "/supplyAnalytics/leadsInfo/{leadUuid}": lead,
    }
    document = json.loads(Path(ours).read_text())
    known, found = listed(), set()
    for version in VERSIONS:
        theirs = reference(version, facts, examples)
        found |= Comparison(theirs, document).differences
        Path(directory, f"{version}.json").write_text(json.dumps(without(theirs, known)))
    faults = [f"{name}: differs, and {HANDBOOK.name} does not list it" for name in sorted(found - known)]
    faults += [f"{name}: differs no more, take it out of {HANDBOOK.name}" for name in sorted(known - found)]
    if faults:
        sys.exit("\n".join(faults))
    print(f"{len(known)} differences from versions {' and '.join(VERSIONS)}, all of them listed")


if __name__ == "__main__":
    {"submit": submit, "compare": compare}[sys.argv[1]](*sys.argv[2:])
