cp -r /task/input/pipeline /task/output/ && chmod -R u+w /task/output/pipeline && cd /task/output/pipeline
cat > readings.py <<'PROGRAM'
"""Read meters and readings."""

import csv
from datetime import datetime, timezone
from decimal import Decimal

IN_KWH = {"Wh": Decimal("0.001"), "kWh": Decimal(1), "MWh": Decimal(1000)}


def _rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def read_meters(path):
    return {row["meter_id"]: {"site": row["site"], "factor": Decimal(row["factor"])} for row in _rows(path)}


def read_readings(path, meters):
    """meter -> readings in order of time; of several at one instant, measured beats estimated, then the later line"""
    best = {}
    for position, row in enumerate(_rows(path)):
        if row["meter_id"] not in meters:
            continue
        at = datetime.fromisoformat(row["read_at"]).astimezone(timezone.utc)
        rank = row["quality"] == "M", position
        reading = {"at": at, "kwh": Decimal(row["register"]) * IN_KWH[row["unit"]], "estimated": row["quality"] == "E"}
        key = row["meter_id"], at
        if key not in best or rank > best[key][0]:
            best[key] = rank, reading
    found = {}
    for (meter, _), (_, reading) in sorted(best.items(), key=lambda item: item[0]):
        found.setdefault(meter, []).append(reading)
    return found
PROGRAM
cat > intervals.py <<'PROGRAM'
"""From the readings of one meter to intervals with their consumption."""

from datetime import timedelta


def intervals_of(series, factor):
    for earlier, later in zip(series, series[1:]):
        used = later["kwh"] - earlier["kwh"]
        reason = None
        if used < 0 and used + 1000000 < 500:
            used += 1000000
        if used < 0:
            reason = "register_drop"
        if later["at"] - earlier["at"] > timedelta(hours=6):
            reason = "gap"
        yield {
            "from": earlier["at"],
            "to": later["at"],
            "kwh": used * factor,
            "estimated": earlier["estimated"] or later["estimated"],
            "reason": reason,
        }
PROGRAM
cat > spread.py <<'PROGRAM'
"""Spread an interval's consumption over the hours that it covers."""

from datetime import timedelta
from fractions import Fraction

HOUR = timedelta(hours=1)


def spread(hours, site, interval):
    start, end = interval["from"], interval["to"]
    while start < end:
        hour = start.replace(minute=0, second=0, microsecond=0)
        stop = min(end, hour + HOUR)
        share = Fraction((stop - start).seconds, int((end - interval["from"]).total_seconds()))
        entry = hours.setdefault((site, hour), {"kwh": Fraction(0), "estimated": False})
        entry["kwh"] += Fraction(interval["kwh"]) * share
        entry["estimated"] = entry["estimated"] or interval["estimated"]
        start = stop
PROGRAM
cat > writers.py <<'PROGRAM'
"""Write the two output files."""

import csv
from decimal import ROUND_HALF_UP, Decimal


def _write(path, header, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def _time(at):
    return at.strftime("%Y-%m-%dT%H:%MZ")


def _kwh(value):
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return exact.quantize(Decimal("0.001"), ROUND_HALF_UP)


def write_hourly(path, hours):
    rows = [
        [site, _time(hour), _kwh(entry["kwh"]), int(entry["estimated"])] for (site, hour), entry in sorted(hours.items())
    ]
    _write(path, ["site", "hour_utc", "kwh", "estimated"], rows)


def write_unusable(path, unusable):
    rows = [[meter, _time(each["from"]), _time(each["to"]), each["reason"]] for meter, each in unusable]
    _write(path, ["meter_id", "from_utc", "to_utc", "reason"], sorted(rows))
PROGRAM
ls -l
