"""Spread an interval's consumption over the hours that it covers."""

from datetime import timedelta
from fractions import Fraction

HOUR = timedelta(hours=1)


def spread(hours, site, interval):
    length = interval["to"] - interval["from"]
    hour = interval["from"].replace(minute=0, second=0, microsecond=0)
    while hour < interval["to"]:
        inside = min(hour + HOUR, interval["to"]) - max(hour, interval["from"])
        share = Fraction(inside // timedelta(seconds=1), length // timedelta(seconds=1))
        entry = hours.setdefault((site, hour), {"kwh": Fraction(0), "estimated": False})
        entry["kwh"] += interval["kwh"] * share
        entry["estimated"] |= interval["estimated"]
        hour += HOUR
