"""Make the sample data in input/ and the held-back cases in reference/: `python generate.py` beside the task's main.py.

For every case the truth is drawn first and the expected output is summed from it; the input files are then written from
it with the mess that the pipelines have to cope with. Neither pipeline is run here.
"""

from __future__ import annotations

import csv
import io
import json
import math
import random
from datetime import UTC, datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path

TASK = Path(__file__).resolve().parent.parent


def main() -> None:
    revenue(TASK / "input/instance1/sample", None, random.Random(11), lines=60, mess=0.3)
    cases = TASK / "reference/instance1"
    for name, seed, lines, mess in (
        ("quiet", 12, 14, 0.0),
        ("mess", 13, 120, 0.5),
        ("borders", 14, 48, 0.2),
        ("large", 15, 1500, 0.2),
    ):
        revenue(cases / name / "input", cases / name / "expected", random.Random(seed), lines=lines, mess=mess)
    consumption(TASK / "input/instance2/sample", None, random.Random(21), days=2, meters=3, mess=0.1)
    cases = TASK / "reference/instance2"
    for name, seed, days, meters, mess in (
        ("calm", 22, 1, 2, 0.0),
        ("autumn", 23, 2, 3, 0.12),
        ("trouble", 24, 2, 4, 0.3),
        ("large", 25, 5, 5, 0.06),
    ):
        consumption(
            cases / name / "input", cases / name / "expected", random.Random(seed), days=days, meters=meters, mess=mess
        )


# instance1: nightly revenue

CATEGORIES = ("Audio", "Home, Garden", "Kitchen", 'Tools 1/2"', "Toys")
OFFSETS = (-480, -300, 0, 60, 120, 330, 540)
NOTES = ("", "", "", "gift", "fragile, handle with care", 'engraving: "Ada"', "leave at door\nring twice", "été")


def revenue(source: Path, expected: Path | None, rng: random.Random, *, lines: int, mess: float) -> None:
    rates = {"EUR": Decimal(1)} | {
        code: Decimal(rng.randrange(8025, 12075, 50)) / 10000 for code in ("USD", "GBP", "CHF")
    }
    products = {f"SKU-{rng.randrange(100, 999)}{letter}": rng.choice(CATEGORIES) for letter in "ABCDEFGHIJ"}
    midnight = datetime(2025, rng.randrange(1, 12), rng.randrange(3, 26), tzinfo=UTC)
    rows, groups, rejects = [], {}, []
    order, number = 0, 0
    for _ in range(lines):
        if number == 0 or rng.random() < 0.6:
            order, number = order + 1, 0
        number += 1
        key = (f"W{midnight:%m%d}-{order:04d}", number)
        placed = midnight + timedelta(minutes=rng.choice((rng.randrange(-400, 400), rng.randrange(0, 2880))))
        sku, currency = rng.choice(tuple(products)), rng.choice(tuple(rates))
        quantity = rng.choice((1, 1, 2, 3, 12, -1, -2))
        price = draw_price(rng, rates[currency] * quantity)
        updated = placed + timedelta(minutes=rng.randrange(5, 600))
        row = {
            "order_id": key[0],
            "line": key[1],
            "updated_at": written(rng, updated),
            "placed_at": written(rng, placed),
            "sku": sku,
            "quantity": quantity,
            "unit_price": write_price(rng, price),
            "currency": currency,
            "note": rng.choice(NOTES),
        }
        reason = spoil(rng, row) if rng.random() < mess / 3 else None
        history = []
        if rng.random() < mess:
            history = [older(rng, row, updated - timedelta(minutes=rng.choice((0, 1, 30, 500))))]
        rows.append((rng.random(), [*history, row]))
        if reason:
            rejects.append((*key, reason))
        else:
            group = groups.setdefault(
                (f"{placed:%Y-%m-%d}", products[sku]), {"orders": set(), "units": 0, "eur": Decimal(0)}
            )
            group["orders"].add(key[0])
            group["units"] += quantity
            group["eur"] += quantity * price * rates[currency]
    source.mkdir(parents=True, exist_ok=True)
    # versions keep their order, since of two equally late ones the later in the file counts
    flat = [row for _, versions in sorted(rows, key=lambda each: each[0]) for row in versions]
    save(source / "orders.csv", list(flat[0]), [list(row.values()) for row in flat])
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator="\n")
    writer.writerow(["sku", "name", "category"])
    writer.writerows([sku, f"Item {sku[4:]}", category] for sku, category in products.items())
    (source / "products.csv").write_bytes(text.getvalue().encode("utf-8-sig"))
    (source / "rates.json").write_text(
        json.dumps({code: str(rate) for code, rate in rates.items()}) + "\n", encoding="utf-8"
    )
    if expected is None:
        return
    expected.mkdir(parents=True, exist_ok=True)
    save(
        expected / "daily_revenue.csv",
        ["date", "category", "orders", "units", "revenue_eur"],
        [
            [
                day,
                category,
                len(group["orders"]),
                group["units"],
                f"{group['eur'].quantize(Decimal('0.01'), ROUND_HALF_UP):.2f}",
            ]
            for (day, category), group in sorted(groups.items())
        ],
    )
    save(expected / "rejects.csv", ["order_id", "line", "reason"], sorted(rejects))


def draw_price(rng: random.Random, factor: Decimal) -> Decimal:
    """Half of the prices come to exactly half a cent in EUR, as far as that is possible."""
    for _ in range(400 if rng.random() < 0.5 else 1):
        price = Decimal(rng.randrange(199, 250_000)) / 100
        if abs(price * factor * 100) % 1 == Decimal("0.5"):
            break
    return price.quantize(Decimal("0.01"))


def written(rng: random.Random, moment: datetime) -> str:
    offset = rng.choice(OFFSETS)
    text = moment.astimezone(timezone(timedelta(minutes=offset))).isoformat(timespec="seconds")
    return text.replace("+00:00", "Z") if offset == 0 else text


def write_price(rng: random.Random, price: Decimal) -> str:
    plain = f"{price:,.2f}"
    return rng.choice((f"{price:.2f}", plain, plain.translate({ord(","): ".", ord("."): ","})))


def older(rng: random.Random, row: dict, updated: datetime) -> dict:
    """An earlier version of the line, that no longer counts: other quantity, other price, sometimes unusable."""
    return row | {
        "updated_at": written(rng, updated),
        "quantity": rng.choice((1, 4, 7, "", "x")),
        "unit_price": rng.choice(("9.99", "1.049,00", "")),
        "sku": row["sku"] if rng.random() < 0.7 else "SKU-000Z",
    }


def spoil(rng: random.Random, row: dict) -> str:
    reason = rng.choice(("bad_time", "unknown_sku", "bad_quantity", "bad_price", "unknown_currency"))
    choices = {
        "bad_time": ("placed_at", ("", "2025-13-01T10:00:00Z", "2025-03-01T10:00:00", "yesterday")),
        "unknown_sku": ("sku", ("SKU-000Z", "")),
        "bad_quantity": ("quantity", ("0", "", "1.5", "two")),
        "bad_price": ("unit_price", ("", "-12.00", "n/a", "12.5", "1.234.50,1")),
        "unknown_currency": ("currency", ("XXX", "", "eur")),
    }
    column, values = choices[reason]
    row[column] = rng.choice(values)
    later = {"bad_time": "unit_price", "unknown_sku": "quantity", "bad_quantity": "currency"}.get(reason)
    if later and rng.random() < 0.4:  # a second fault, that a later rule would name
        row[later] = ""
    return reason


# instance2: hourly consumption

ROOM = 1_000_000_000  # thousandths of a kWh
SITES = ("Cold store", "Hall A", "Hall B")
FACTORS = (Fraction(1), Fraction(3, 2), Fraction(40))


def consumption(
    source: Path, expected: Path | None, rng: random.Random, *, days: int, meters: int, mess: float
) -> None:
    first = datetime(2025, 10, 25, 20, 0, tzinfo=UTC)  # clocks go back on the 26th at 01:00 UTC
    rows, hours, unusable, names = [], {}, [], {}
    for number in range(meters):
        meter = f"M-{rng.randrange(10, 99)}{number}"
        site, factor = SITES[number % len(SITES)], FACTORS[number % len(FACTORS)]
        names[meter] = (site, factor)
        at = first + timedelta(minutes=rng.randrange(0, 30, 5))
        register = (
            ROOM - rng.randrange(20_000, 90_000) if rng.random() < 0.4 + mess else rng.randrange(1_000_000, 80_000_000)
        )
        estimated = False
        add_reading(rng, rows, meter, at, register, estimated, mess)
        while at < first + timedelta(days=days):
            step = timedelta(minutes=rng.choice((15, 20, 30, 45, 60, 90)))
            used, reason = rng.randrange(40, 9_000), None
            dice = rng.random()
            if dice < mess / 8:
                step, reason = timedelta(minutes=rng.choice((365, 420, 600))), "gap"
            elif dice < mess / 4 and register > 2_000_000:
                used, reason = -rng.randrange(1_000_000, 2_000_000), "register_drop"
            elif dice < mess / 3:
                step = timedelta(minutes=360)
            later, was = at + step, estimated
            register = (register + used) % ROOM
            estimated = rng.random() < mess / 2
            add_reading(rng, rows, meter, later, register, estimated, mess)
            if reason:
                unusable.append((meter, f"{at:%Y-%m-%dT%H:%MZ}", f"{later:%Y-%m-%dT%H:%MZ}", reason))
            else:
                minutes = int(step.total_seconds()) // 60
                for minute in range(0, minutes, 5):
                    hour = (at + timedelta(minutes=minute)).replace(minute=0)
                    entry = hours.setdefault((site, hour), [Fraction(0), False])
                    entry[0] += Fraction(used * 5, minutes) * factor
                    entry[1] |= was or estimated
            at = later
    if mess:
        rows.append((rng.random(), ["M-000", written_local(first), "12.5", "kWh", "M"]))
    source.mkdir(parents=True, exist_ok=True)
    flat = [row for _, row in sorted(rows, key=lambda each: each[0])]
    save(source / "readings.csv", ["meter_id", "read_at", "register", "unit", "quality"], flat)
    factors = [[meter, site, f"{float(factor):g}"] for meter, (site, factor) in names.items()]
    save(source / "meters.csv", ["meter_id", "site", "factor"], factors)
    if expected is None:
        return
    expected.mkdir(parents=True, exist_ok=True)
    save(
        expected / "hourly.csv",
        ["site", "hour_utc", "kwh", "estimated"],
        [
            [site, f"{hour:%Y-%m-%dT%H:%MZ}", f"{Decimal(math.floor(total + Fraction(1, 2))) / 1000:.3f}", int(flag)]
            for (site, hour), (total, flag) in sorted(hours.items())
        ],
    )
    save(expected / "unusable.csv", ["meter_id", "from_utc", "to_utc", "reason"], sorted(unusable))


def add_reading(
    rng: random.Random, rows: list, meter: str, at: datetime, register: int, estimated: bool, mess: float
) -> None:
    """One reading somewhere in the file; with some mess also a worse one at the same instant, which doesn't count."""
    place = rng.random()
    unit = rng.choice(("kWh", "kWh", "Wh", "MWh")) if mess else "kWh"
    rows.append((place, [meter, written_local(at), write_register(register, unit), unit, "E" if estimated else "M"]))
    if rng.random() < mess:
        wrong = write_register(register + rng.randrange(-900, 900), "kWh")
        other = at.isoformat(timespec="seconds").replace("+00:00", "Z")
        if estimated or rng.random() < 0.5:  # equals: the one further down counts, so the wrong one stands above
            rows.append((place - 1, [meter, other, wrong, "kWh", "E" if estimated else "M"]))
        else:
            rows.append((rng.random() * 2 - 0.5, [meter, other, wrong, "kWh", "E"]))


def written_local(at: datetime) -> str:
    """As a meter in Central Europe writes it."""
    summer = at < datetime(2025, 10, 26, 1, 0, tzinfo=UTC)
    return at.astimezone(timezone(timedelta(hours=2 if summer else 1))).isoformat(timespec="seconds")


def write_register(thousandths: int, unit: str) -> str:
    value = Decimal(thousandths % ROOM)
    return {"Wh": f"{value}", "kWh": f"{value / 1000:.3f}", "MWh": f"{value / 1000000:.6f}"}[unit]


def save(path: Path, header: list, rows: list) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8", newline="")


if __name__ == "__main__":
    main()
