cp -r /task/input/pipeline /task/output/ && chmod -R u+w /task/output/pipeline
cat > /task/output/pipeline/readers.py <<'PROGRAM'
"""Read the three input files."""

import csv
import json
from decimal import Decimal


def _rows(path, **how):
    # utf-8-sig drops the byte order mark of products.csv; newline="" lets csv handle line breaks inside quotes
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, **how))


def read_orders(path):
    return _rows(path)


def read_products(path):
    return {row["sku"]: row["category"] for row in _rows(path, delimiter=";")}


def read_rates(path):
    return {code: Decimal(rate) for code, rate in json.loads(path.read_text(encoding="utf-8")).items()}
PROGRAM
cat > /task/output/pipeline/writers.py <<'PROGRAM'
"""Write the two output files."""

import csv


def _write(path, header, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def write_revenue(path, groups):
    rows = [[*key, len(group["orders"]), group["units"], group["revenue"]] for key, group in sorted(groups.items())]
    _write(path, ["date", "category", "orders", "units", "revenue_eur"], rows)


def write_rejects(path, rejects):
    _write(path, ["order_id", "line", "reason"], rejects)
PROGRAM
ls -l /task/output/pipeline
