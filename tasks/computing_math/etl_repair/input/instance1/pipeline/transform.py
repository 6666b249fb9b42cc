"""From order lines to revenue by day and category."""

from collections import defaultdict


def parse_price(text):
    return float(text.replace(",", ""))


def latest_versions(lines):
    latest = {}
    for line in lines:
        key = (line["order_id"], line["line"])
        if key not in latest or line["updated_at"] > latest[key]["updated_at"]:
            latest[key] = line
    return latest


def reason_to_reject(line, products, rates):
    if not line["placed_at"]:
        return "bad_time"
    if not line["quantity"].isdigit():
        return "bad_quantity"
    if not line["unit_price"]:
        return "bad_price"
    if line["currency"] not in rates:
        return "unknown_currency"
    return None


def split_usable(lines, products, rates):
    usable, rejects = [], []
    for key, line in sorted(lines.items()):
        reason = reason_to_reject(line, products, rates)
        if reason:
            rejects.append((*key, reason))
        else:
            usable.append(line)
    return usable, rejects


def summarise(lines, products, rates):
    groups = defaultdict(lambda: {"orders": 0, "units": 0, "revenue": 0.0})
    for line in lines:
        day = line["placed_at"][:10]
        group = groups[day, products[line["sku"]]]
        quantity = int(line["quantity"])
        group["orders"] += 1
        group["units"] += quantity
        group["revenue"] += round(quantity * parse_price(line["unit_price"]) * rates[line["currency"]], 2)
    return groups
