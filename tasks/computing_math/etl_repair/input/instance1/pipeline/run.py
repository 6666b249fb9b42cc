"""Nightly revenue: python3 run.py INPUT_DIR OUTPUT_DIR (see SPEC.md)."""

import sys
from pathlib import Path

from readers import read_orders, read_products, read_rates
from transform import latest_versions, split_usable, summarise
from writers import write_rejects, write_revenue


def main(source, target):
    products = read_products(source / "products.csv")
    rates = read_rates(source / "rates.json")
    lines = latest_versions(read_orders(source / "orders.csv"))
    usable, rejects = split_usable(lines, products, rates)
    write_revenue(target / "daily_revenue.csv", summarise(usable, products, rates))
    write_rejects(target / "rejects.csv", rejects)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
