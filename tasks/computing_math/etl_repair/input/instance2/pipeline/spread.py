"""Spread an interval's consumption over the hours that it covers."""

from datetime import timedelta

HOUR = timedelta(hours=1)


def spread(hours, site, interval):
    hour = interval["from"].replace(minute=0)
    count = max(1, round((interval["to"] - interval["from"]) / HOUR))
    for _ in range(count):
        entry = hours.setdefault((site, hour), {"kwh": 0.0, "estimated": False})
        entry["kwh"] += interval["kwh"] / count
        entry["estimated"] = interval["estimated"]
        hour += HOUR
