"""The `stream-json` output that several agent CLIs share: one JSON object a line, the last one tells the result."""

from __future__ import annotations

import json


def last_result(tail: str) -> str:
    """The text of the last `result` line of a stream-json transcript; what else is there is not trusted to be JSON."""
    for line in reversed(tail.splitlines()):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and record.get("type") == "result":
            text = record.get("result") or record.get("error") or ""
            return text if isinstance(text, str) else json.dumps(text)
    return tail[-400:].strip()
