"""From order lines to revenue by day and category."""

import re
from collections import defaultdict
from datetime import UTC, datetime
from decimal import Decimal

PRICE = re.compile(r"(\d+|\d{1,3}(?:,\d{3})+)\.\d\d|\d{1,3}(?:\.\d{3})+,\d\d")


def parse_time(text):
    """A time in UTC, or None when it is none or has no offset."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else None


def parse_quantity(text):
    text = text.strip()
    return int(text) if re.fullmatch(r"[+-]?\d{1,9}", text) and int(text) != 0 else None


def parse_price(text):
    text = text.strip()
    if not re.fullmatch(r"\d+[.,]\d\d", text) and not PRICE.fullmatch(text):
        return None
    return Decimal(re.sub(r"[.,]", "", text[:-3]) + "." + text[-2:])


def latest_versions(lines):
    latest = {}
    for line in lines:
        key = (line["order_id"], int(line["line"]))
        if key not in latest or parse_time(line["updated_at"]) >= parse_time(latest[key]["updated_at"]):
            latest[key] = line
    return latest


def reason_to_reject(line, products, rates):
    if parse_time(line["placed_at"]) is None:
        return "bad_time"
    if line["sku"] not in products:
        return "unknown_sku"
    if parse_quantity(line["quantity"]) is None:
        return "bad_quantity"
    if parse_price(line["unit_price"]) is None:
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
    groups = defaultdict(lambda: {"orders": set(), "units": 0, "revenue": Decimal(0)})
    for line in lines:
        day = parse_time(line["placed_at"]).date().isoformat()
        group = groups[day, products[line["sku"]]]
        quantity = parse_quantity(line["quantity"])
        group["orders"].add(line["order_id"])
        group["units"] += quantity
        group["revenue"] += quantity * parse_price(line["unit_price"]) * rates[line["currency"]]
    return groups
