"""Token counts where no provider counts: an estimate from the text's length, and it says so wherever it is shown."""

from __future__ import annotations

import json
import re
from typing import Any

CHARACTERS_PER_TOKEN = 4
"""The usual rule of thumb for English and code; off by a third either way is normal."""

TOKENS_PER_PICTURE = 1500
"""About what providers count for a 1280 x 800 screenshot."""

_PICTURE = re.compile(r"(?:data:image/[\w.+-]{1,40};base64,)?[A-Za-z0-9+/]{1024}")


def tokens_of_text(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def tokens_of_body(body: Any) -> int:
    """Tokens that a request's body would cost as input; pictures (long base64 strings) count as pictures."""
    characters = pictures = 0
    waiting = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            if len(value) > 1024 and _PICTURE.match(value):
                pictures += 1
            else:
                characters += len(value)
        elif isinstance(value, dict):
            characters += sum(map(len, value))
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        else:
            characters += len(json.dumps(value))
    return -(-characters // CHARACTERS_PER_TOKEN) + pictures * TOKENS_PER_PICTURE
