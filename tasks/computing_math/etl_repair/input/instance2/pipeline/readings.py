"""Read meters and readings."""

import csv
from datetime import datetime


def read_meters(path):
    with path.open() as file:
        return {row["meter_id"]: {"site": row["site"], "factor": int(row["factor"])} for row in csv.DictReader(file)}


def read_readings(path, meters):
    """meter -> readings in order of time"""
    found = {}
    with path.open() as file:
        for row in csv.DictReader(file):
            at = datetime.strptime(row["read_at"][:16], "%Y-%m-%dT%H:%M")
            reading = {"at": at, "kwh": float(row["register"]), "estimated": row["quality"] == "E"}
            if row["unit"] == "MWh":
                reading["kwh"] *= 1000
            found.setdefault(row["meter_id"], []).append(reading)
    return found
