"""Read the three input files."""

import json


def read_orders(path):
    """One dict for each line of the file."""
    first, *rest = path.read_text(encoding="utf-8").split("\n")
    names = first.split(",")
    orders = []
    for line in rest:
        if line:
            fields = [field.strip('"') for field in line.split(",")]
            orders.append(dict(zip(names, fields, strict=True)))
    return orders


def read_products(path):
    """sku -> category"""
    first, *rest = path.read_text(encoding="utf-8").splitlines()
    names = first.split(";")
    rows = [dict(zip(names, line.split(";"))) for line in rest]
    return {row["sku"]: row["category"] for row in rows}


def read_rates(path):
    return {currency: float(rate) for currency, rate in json.loads(path.read_text(encoding="utf-8")).items()}
