"""From the readings of one meter to intervals with their consumption."""

from datetime import timedelta
from itertools import pairwise

ROOM = 1_000_000
PLAUSIBLE = 500
LONGEST = timedelta(hours=6)


def intervals_of(series, factor):
    for earlier, later in pairwise(series):
        used, reason = later["kwh"] - earlier["kwh"], None
        if used < 0:
            used += ROOM
            if used >= PLAUSIBLE:
                reason = "register_drop"
        if later["at"] - earlier["at"] > LONGEST:
            reason = "gap"
        yield {
            "from": earlier["at"],
            "to": later["at"],
            "kwh": used * factor,
            "estimated": earlier["estimated"] or later["estimated"],
            "reason": reason,
        }
