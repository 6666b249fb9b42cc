"""Write the two output files."""

import csv
import math
from fractions import Fraction


def thousandths(kwh):
    """Rounded half up, with three decimals."""
    whole = math.floor(kwh * 1000 + Fraction(1, 2))
    return f"{whole // 1000}.{whole % 1000:03d}"


def write_hourly(path, hours):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["site", "hour_utc", "kwh", "estimated"])
        for (site, hour), entry in sorted(hours.items()):
            writer.writerow([site, f"{hour:%Y-%m-%dT%H:%MZ}", thousandths(entry["kwh"]), int(entry["estimated"])])


def write_unusable(path, unusable):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["meter_id", "from_utc", "to_utc", "reason"])
        for meter, interval in sorted(unusable, key=lambda entry: (entry[0], entry[1]["from"])):
            times = [f"{interval[end]:%Y-%m-%dT%H:%MZ}" for end in ("from", "to")]
            writer.writerow([meter, *times, interval["reason"]])
