"""Hourly consumption: python3 run.py INPUT_DIR OUTPUT_DIR (see SPEC.md)."""

import sys
from pathlib import Path

from intervals import intervals_of
from readings import read_meters, read_readings
from spread import spread
from writers import write_hourly, write_unusable


def main(source, target):
    meters = read_meters(source / "meters.csv")
    readings = read_readings(source / "readings.csv", meters)
    hours, unusable = {}, []
    for meter, series in sorted(readings.items()):
        for interval in intervals_of(series, meters[meter]["factor"]):
            if interval["reason"]:
                unusable.append((meter, interval))
            else:
                spread(hours, meters[meter]["site"], interval)
    write_hourly(target / "hourly.csv", hours)
    write_unusable(target / "unusable.csv", unusable)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
