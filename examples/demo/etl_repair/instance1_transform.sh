cat > /task/output/pipeline/transform.py <<'PROGRAM'
"""From order lines to revenue by day and category."""

import re
from datetime import datetime, timezone
from decimal import ROUND_HALF_UP, Decimal

PRICE_FORMS = (
    r"[0-9]+\.[0-9]{2}",
    r"[0-9]{1,3}(,[0-9]{3})*\.[0-9]{2}",
    r"[0-9]{1,3}(\.[0-9]{3})*,[0-9]{2}",
)


def parse_time(text):
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if when.utcoffset() is None else when.astimezone(timezone.utc)


def parse_price(text):
    if not any(re.fullmatch(form, text) for form in PRICE_FORMS):
        return None
    digits = re.sub("[^0-9]", "", text)
    return Decimal(digits) / 100


def parse_quantity(text):
    try:
        return int(text)
    except ValueError:
        return 0


def latest_versions(lines):
    latest = {}
    for position, line in enumerate(lines):
        key = line["order_id"], int(line["line"])
        age = parse_time(line["updated_at"]), position
        if key not in latest or age > latest[key][0]:
            latest[key] = age, line
    return {key: line for key, (_, line) in latest.items()}


def reason_to_reject(line, products, rates):
    checks = (
        ("bad_time", parse_time(line["placed_at"]) is not None),
        ("unknown_sku", line["sku"] in products),
        ("bad_quantity", parse_quantity(line["quantity"]) != 0),
        ("bad_price", parse_price(line["unit_price"]) is not None),
        ("unknown_currency", line["currency"] in rates),
    )
    return next((reason for reason, fine in checks if not fine), None)


def split_usable(lines, products, rates):
    usable, rejects = [], []
    for key, line in sorted(lines.items()):
        reason = reason_to_reject(line, products, rates)
        if reason:
            rejects.append([*key, reason])
        else:
            usable.append(line)
    return usable, rejects


def summarise(lines, products, rates):
    groups = {}
    for line in lines:
        key = str(parse_time(line["placed_at"]).date()), products[line["sku"]]
        group = groups.setdefault(key, {"orders": set(), "units": 0, "revenue": Decimal(0)})
        quantity = parse_quantity(line["quantity"])
        group["orders"].add(line["order_id"])
        group["units"] += quantity
        group["revenue"] += quantity * parse_price(line["unit_price"]) * rates[line["currency"]]
    for group in groups.values():
        group["revenue"] = group["revenue"].quantize(Decimal("0.01"), ROUND_HALF_UP)
    return groups
PROGRAM
mkdir -p /tmp/try && python3 /task/output/pipeline/run.py /task/input/sample /tmp/try && head /tmp/try/*.csv
