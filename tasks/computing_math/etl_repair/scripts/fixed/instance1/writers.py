"""Write the two output files."""

import csv
from decimal import ROUND_HALF_UP, Decimal


def write_revenue(path, groups):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["date", "category", "orders", "units", "revenue_eur"])
        for (day, category), group in sorted(groups.items()):
            revenue = group["revenue"].quantize(Decimal("0.01"), ROUND_HALF_UP)
            writer.writerow([day, category, len(group["orders"]), group["units"], f"{revenue:.2f}"])


def write_rejects(path, rejects):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["order_id", "line", "reason"])
        writer.writerows(rejects)
