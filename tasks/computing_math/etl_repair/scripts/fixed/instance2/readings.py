"""Read meters and readings."""

import csv
from datetime import UTC, datetime
from fractions import Fraction

KWH = {"Wh": Fraction(1, 1000), "kWh": Fraction(1), "MWh": Fraction(1000)}


def read_meters(path):
    with path.open(newline="", encoding="utf-8") as file:
        return {
            row["meter_id"]: {"site": row["site"], "factor": Fraction(row["factor"])} for row in csv.DictReader(file)
        }


def read_readings(path, meters):
    """meter -> readings in order of time, one for each instant"""
    found = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["meter_id"] not in meters:
                continue
            at = datetime.fromisoformat(row["read_at"]).astimezone(UTC)
            reading = {
                "at": at,
                "kwh": Fraction(row["register"]) * KWH[row["unit"]],
                "estimated": row["quality"] == "E",
            }
            series = found.setdefault(row["meter_id"], {})
            if at not in series or reading["estimated"] <= series[at]["estimated"]:
                series[at] = reading
    return {meter: [series[at] for at in sorted(series)] for meter, series in found.items()}
