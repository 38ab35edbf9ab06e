"""Makes the Postman collection of the calls that the handbook shows to client developers, one folder a section.

A call is understood as far as the handbook uses `curl`; what it keeps in a variable, the request keeps in one of the collection.
With `--check`, fails when the collection that stands here is another.
"""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any, Iterator

HERE = Path(__file__).parent
HANDBOOK = HERE.parent.parent / "src" / "handbook" / "client.md"
COLLECTION = HERE / "postman.json"
SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"

BEARER = "Authorization: Bearer $OFFERD_TOKEN"
VARIABLES = {"API": "http://127.0.0.1:8080", "INTEGRATIONS": "http://127.0.0.1:8081", "OFFERD_TOKEN": ""}
# What the handbook has a shell make, made before every request.
MADE = [
    'pm.collectionVariables.set("SINCE", new Date(Date.now() - 2 * 60 * 60 * 1000).toISOString());',
    'if (!pm.collectionVariables.get("KEY")) pm.collectionVariables.set("KEY", pm.variables.replaceIn("{{$guid}}"));',
]


def commands() -> Iterator[tuple[str, str]]:
    """Each command with the heading that it stands below."""
    heading, typed, command = "", False, ""
    for line in HANDBOOK.read_text().splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith("```"):
            typed = line == "```console"
        elif typed:
            command = f"{command}\n{line}" if command else line.removeprefix("$ ")
            if not command.endswith("\\") and command.count("'") % 2 == 0:
                yield heading, command
                command = ""


def item(command: str) -> dict[str, Any] | None:
    """The request of a command; nothing where it is none."""
    kept = re.match(r"([A-Z]+)=\$\((.*)\)$", command, re.DOTALL)
    name, call = (kept[1], kept[2]) if kept else ("", command)
    if not call.startswith("curl "):
        return None
    call, _, status = call.partition("    # status ")
    call, _, picked = call.partition(" | jq -r ")
    words = iter(shlex.split(call.replace("\\\n", " "))[1:])
    method, url, body, headers, told = "", "", None, [], ""
    for word in words:
        match word:
            case "-s" | "-N":
                pass
            case "-X":
                method = next(words)
            case "-H":
                headers.append(next(words))
            case "-d":
                body = next(words)
            case "-o":
                next(words)
            case "-w":
                told = next(words).removeprefix("%header{").removesuffix("}")
            case _ if word.startswith("$"):
                url = word
            case _:
                raise ValueError(f"curl {word} is not understood: {command}")
    method = method or ("GET" if body is None else "POST")
    request: dict[str, Any] = {"method": method, "url": placed(url)}
    request["header"] = [dict(zip(("key", "value"), placed(one).split(": ", 1))) for one in headers if one != BEARER]
    if BEARER not in headers:
        request["auth"] = {"type": "noauth"}
    if body is not None:
        request["body"] = {"mode": "raw", "raw": placed(body), "options": {"raw": {"language": "json"}}}
    tests = [expectation(status, any(one.startswith("If-None-Match") for one in headers))]
    if name:
        value = f'pm.response.headers.get("{told}")' if told else f"pm.response.json(){shlex.split(picked)[0]}"
        tests.append(f'pm.collectionVariables.set("{name}", {value});')
    made: dict[str, Any] = {"name": f"{method} {title(url)}", "request": request, "event": [script("test", tests)]}
    if status.startswith("3"):
        made["protocolProfileBehavior"] = {"followRedirects": False}
    return made


def expectation(status: str, conditional: bool) -> str:
    wanted = [int(status)] if status else [200, 201, 304] if conditional else [200, 201]
    return f'pm.test("is answered as it should be", () => pm.expect(pm.response.code).to.be.oneOf({json.dumps(wanted)}));'


def placed(text: str) -> str:
    """The variables as Postman writes them."""
    return re.sub(r"\$([A-Z_]+)", r"{{\1}}", text)


def title(url: str) -> str:
    path = re.sub(r"^\$(API|INTEGRATIONS)", "", url.split("?")[0])
    return re.sub(r"\$([A-Z]+)", lambda one: f"{{{one[1].lower()}}}", path)


def script(listen: str, lines: list[str]) -> dict[str, Any]:
    return {"listen": listen, "script": {"type": "text/javascript", "exec": lines}}


def collection() -> str:
    folders: dict[str, list[dict[str, Any]]] = {}
    for heading, command in commands():
        made = item(command)
        if made:
            folders.setdefault(heading, []).append(made)
    whole = {
        "info": {
            "name": "offerd",
            "description": "The calls of the handbook for client developers. Set OFFERD_TOKEN to a confidential test token.",
            "schema": SCHEMA,
        },
        "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{OFFERD_TOKEN}}", "type": "string"}]},
        "event": [script("prerequest", MADE)],
        "variable": [{"key": key, "value": value} for key, value in VARIABLES.items()],
        "item": [{"name": heading, "item": items} for heading, items in folders.items()],
    }
    return json.dumps(whole, indent=2) + "\n"


if __name__ == "__main__":
    made = collection()
    if "--check" not in sys.argv:
        COLLECTION.write_text(made)
    elif COLLECTION.read_text() != made:
        sys.exit(f"{COLLECTION.name} is not of the calls that {HANDBOOK.name} shows: make it with {Path(__file__).name}")
