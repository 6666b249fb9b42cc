"""Read the three input files."""

import csv
import json
from decimal import Decimal


def read_orders(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_products(path):
    """sku -> category"""
    with path.open(newline="", encoding="utf-8-sig") as file:
        return {row["sku"]: row["category"] for row in csv.DictReader(file, delimiter=";")}


def read_rates(path):
    return {currency: Decimal(rate) for currency, rate in json.loads(path.read_text(encoding="utf-8")).items()}
