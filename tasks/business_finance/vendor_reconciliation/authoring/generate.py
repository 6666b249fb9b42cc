"""Make input/ and reference/ of every instance from a seed: `python generate.py` beside the task's main.py.

The truth (invoices and what was paid for each) is drawn first; the files are then written from it with the mess that
such files have. The oracle never sees this script: it has to find its way back from the files.
"""

from __future__ import annotations

import csv
import io
import random
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import openpyxl
from openpyxl.styles import Font

TASK = Path(__file__).resolve().parent.parent
CENT = Decimal("0.01")
SMALL = Decimal("0.02")

VENDORS = (
    ("Nordwind Logistik GmbH", "NORDWIND LOGISTIK", "EUR"),
    ("Bláa Orkan ehf.", "Blaa Orkan ehf", "EUR"),
    ("Harrow & Pike Ltd", "HARROW AND PIKE LTD", "GBP"),
    ("Cascade Tooling, Inc.", "CASCADE TOOLING INC", "USD"),
    ("Société Lumen SARL", "SOCIETE LUMEN", "EUR"),
    ("Kestrel Office Supplies", "KESTREL OFFICE", "GBP"),
    ("Zürcher Präzision AG", "ZUERCHER PRAEZISION AG", "CHF"),
    ("Bayou Packaging LLC", "BAYOU PACKAGING", "USD"),
    ("Tavolo Verde S.r.l.", "TAVOLO VERDE SRL", "EUR"),
)

# instance: seed, first month, invoices, rates by month (EUR for one unit)
INSTANCES = {
    "instance1": (20250114, date(2025, 1, 1), 24),
    "instance2": (20250422, date(2025, 4, 1), 32),
    "instance3": (20250709, date(2025, 7, 1), 40),
}
RATES = {"USD": (9125, 9325), "GBP": (11625, 11975), "CHF": (10325, 10675)}
"""In 1/10000, drawn in steps of 50: with rates that end in 25 or 75, whole cents can come to half a cent in EUR."""


@dataclass
class Invoice:
    number: str
    vendor: tuple[str, str, str]
    day: date
    currency: str
    amount: Decimal
    eur: Decimal
    payments: list[Decimal] = field(default_factory=list)
    returned: Decimal | None = None
    copies: tuple[str, ...] = ("erp",)

    @property
    def paid(self) -> Decimal:
        return sum(self.payments, Decimal(0)) - (self.returned or Decimal(0))

    @property
    def balance(self) -> Decimal:
        return self.eur - self.paid

    @property
    def status(self) -> str:
        if not self.paid:
            return "open"
        if self.balance > SMALL:
            return "part_paid"
        return "overpaid" if self.balance < -SMALL else "paid"


def main() -> None:
    for name, (seed, first, count) in INSTANCES.items():
        make(name, random.Random(seed), first, count)


def make(name: str, rng: random.Random, first: date, count: int) -> None:
    months = [first, month_after(first), month_after(month_after(first))]
    rates = {
        (month, currency): Decimal(rng.randrange(low, high, 50)) / 10000
        for month in months
        for currency, (low, high) in RATES.items()
    }
    invoices = draw_invoices(rng, months, rates, count)
    unmatched = draw_unmatched(rng, months, invoices)
    target = TASK / "input" / name
    target.mkdir(parents=True, exist_ok=True)
    write_erp(rng, target / "invoices_erp.csv", invoices)
    write_portal(rng, target / "invoices_portal.xlsx", invoices, first)
    write_bank(rng, target / "bank_statement.csv", invoices, unmatched, months)
    write_rates(target / "fx_rates.csv", rates)
    write_reference(TASK / "reference" / name, invoices, unmatched)


def draw_invoices(rng: random.Random, months: list[date], rates: dict, count: int) -> list[Invoice]:
    numbers = rng.sample(range(1001, 1001 + 4 * count), count)
    kinds = (["exact"] * 9 + ["parts"] * 4 + ["part_open"] * 4 + ["open"] * 3 + ["over", "returned", "small"]) * 4
    invoices = []
    for position, number in enumerate(sorted(numbers)):
        month = months[position * 3 // count]
        trap = position % 4 == 1
        vendor = rng.choice([each for each in VENDORS if not trap or each[2] != "EUR"])
        currency = vendor[2]
        rate = Decimal(1) if currency == "EUR" else rates[month, currency]
        amount = draw_amount(rng, rate, trap=trap)
        invoice = Invoice(
            number=f"INV-{month.year}-{number}",
            vendor=vendor,
            day=month + timedelta(days=rng.randrange(27)),
            currency=currency,
            amount=amount,
            eur=(amount * rate).quantize(CENT, ROUND_HALF_UP),
            copies=rng.choice((("erp",), ("erp",), ("erp",), ("portal",), ("erp", "portal"), ("erp", "erp"))),
        )
        pay(rng, invoice, kinds[(position * 5) % 23])
        invoices.append(invoice)
    return invoices


def draw_amount(rng: random.Random, rate: Decimal, *, trap: bool) -> Decimal:
    """trap: the amount in EUR ends in exactly half a cent, and rounding a binary float goes the wrong way."""
    for _ in range(200_000):
        amount = Decimal(rng.randrange(18_000, 1_900_000)) / 100
        exact = amount * rate
        rounded = exact.quantize(CENT, ROUND_HALF_UP)
        if not trap:
            return amount.quantize(CENT)
        if exact - exact.quantize(CENT, "ROUND_DOWN") == Decimal("0.005") and round(
            float(amount) * float(rate), 2
        ) != float(rounded):
            return amount.quantize(CENT)
    raise AssertionError(f"no amount is a trap at rate {rate}")


def pay(rng: random.Random, invoice: Invoice, kind: str) -> None:
    eur = invoice.eur
    if kind == "exact":
        invoice.payments = [eur]
    elif kind == "parts":
        first = (eur * rng.randrange(25, 60) / 100).quantize(CENT)
        second = ((eur - first) * rng.randrange(30, 70) / 100).quantize(CENT)
        invoice.payments = [first, second, eur - first - second] if rng.random() < 0.4 else [first, eur - first]
    elif kind == "part_open":
        first = (eur * rng.randrange(20, 45) / 100).quantize(CENT)
        second = (eur * rng.randrange(10, 40) / 100).quantize(CENT)
        invoice.payments = [first, second] if rng.random() < 0.6 else [first]
    elif kind == "over":
        invoice.payments = [eur, eur]
    elif kind == "returned":
        invoice.payments, invoice.returned = [eur], eur
    elif kind == "small":
        invoice.payments = [eur - CENT]


def draw_unmatched(
    rng: random.Random, months: list[date], invoices: list[Invoice]
) -> list[tuple[date, tuple, str, Decimal]]:
    """Supplier payments that belong to no invoice: no number at all, or one that nobody has booked."""
    known = {invoice.number for invoice in invoices}
    stranger = next(f"INV-{months[0].year}-{n}" for n in range(9001, 9100) if f"INV-{months[0].year}-{n}" not in known)
    return [
        (
            rng.choice(months) + timedelta(days=rng.randrange(27)),
            rng.choice(VENDORS),
            purpose,
            Decimal(rng.randrange(5_000, 90_000)) / 100,
        )
        for purpose in ("deposit trade fair", f"{stranger} thank you", "reissued cheque, see letter")
    ]


def write_erp(rng: random.Random, path: Path, invoices: list[Invoice]) -> None:
    """Comma, UTF-8 with BOM, CRLF, ISO days, amounts with thousands separators; some invoices twice."""
    rows = [invoice for invoice in invoices for copy in invoice.copies if copy == "erp"]
    rng.shuffle(rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(["Invoice No.", "Vendor", "Invoice Date", "Terms", "Currency", "Gross Amount"])
    seen: set[str] = set()
    for invoice in rows:
        number = invoice.number if invoice.number not in seen else f" {invoice.number.lower()}"
        seen.add(invoice.number)
        terms = rng.choice(("30 days net", "14 days 2%, 30 days net", "upon receipt"))
        writer.writerow(
            [number, invoice.vendor[0], invoice.day.isoformat(), terms, invoice.currency, f"{invoice.amount:,.2f}"]
        )
    path.write_bytes(text.getvalue().encode("utf-8-sig"))


def write_portal(rng: random.Random, path: Path, invoices: list[Invoice], first: date) -> None:
    """A sheet with a title above its header, numbers written in their own way, days as dates or as text."""
    book = openpyxl.Workbook()
    book.properties.created = book.properties.modified = datetime(first.year, first.month, 28)  # noqa: DTZ001
    sheet = book.active
    sheet.title = "Portal export"
    sheet["A1"] = "Supplier portal: submitted invoices"
    sheet["A1"].font = Font(bold=True, size=14)
    sheet["A2"] = f"Period from {first:%B %Y}, all entities"
    sheet.append([])
    sheet.append(["Supplier", "Your reference", "Submitted", "Curr.", "Total incl. VAT", "Comment"])
    for invoice in invoices:
        if "portal" not in invoice.copies:
            continue
        _, year, digits = invoice.number.split("-")
        number = rng.choice(
            (f"INV {year} {digits}", f"inv{year}-{digits}", f"INV-{year}-{digits}", f"Inv.{year}/{digits}")
        )
        submitted = invoice.day if rng.random() < 0.6 else f"{invoice.day:%d.%m.%Y}"
        comment = rng.choice((None, None, "PO attached", "please confirm receipt"))
        sheet.append([invoice.vendor[1], number, submitted, invoice.currency, float(invoice.amount), comment])
    help_sheet = book.create_sheet("Help")
    help_sheet["A1"] = "Dates are invoice dates. Totals are in the invoice's currency."
    book.save(path)


def write_bank(rng: random.Random, path: Path, invoices: list[Invoice], unmatched: list, months: list[date]) -> None:
    """Semicolons, decimal commas, days as dd.mm.yyyy, Windows-1252; two pages overlap: some lines are there twice."""
    lines = []
    for invoice in invoices:
        day = invoice.day
        for number, amount in enumerate(invoice.payments):
            day += timedelta(days=rng.randrange(6, 19))
            lines.append(
                (day, "SUPPLIER", invoice.vendor[1], purpose(rng, invoice, number, len(invoice.payments)), -amount)
            )
        if invoice.returned:
            day += timedelta(days=3)
            lines.append(
                (day, "RETURN", invoice.vendor[1], f"RETURNED {invoice.number} account closed", invoice.returned)
            )
    lines += [(day, "SUPPLIER", vendor[1], text, -amount) for day, vendor, text, amount in unmatched]
    for month in months:
        lines.append(
            (month + timedelta(days=26), "PAYROLL", "Salaries", f"Payroll {month:%m/%Y}", -Decimal("48210.77"))
        )
        lines.append((month + timedelta(days=27), "FEE", "Bank", "Account fee INV-0000", -Decimal("12.90")))
        lines.append((month + timedelta(days=12), "CREDIT", "Customer receipts", "Sundry", Decimal("15300.00")))
    lines.sort(key=lambda line: (line[0], line[3]))
    references = {id(line): f"BR{lines[0][0]:%y}{index:05d}" for index, line in enumerate(lines, start=310)}
    overlap = len(lines) // 2
    paged = lines[: overlap + 3] + lines[overlap:]
    for line in unmatched:
        matching = next(each for each in lines if each[3] == line[2] and each[4] == -line[3])
        REFERENCES[line[2], line[3]] = references[id(matching)]
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator="\r\n")
    writer.writerow(["Account", "DE00 0000 0000 0000 0000 00", "", "", "", "", ""])
    writer.writerow(["Booking date", "Bank reference", "Type", "Counterparty", "Purpose", "Amount", "Currency"])
    for line in paged:
        day, kind, counterparty, words, amount = line
        writer.writerow([f"{day:%d.%m.%Y}", references[id(line)], kind, counterparty, words, german(amount), "EUR"])
    path.write_bytes(text.getvalue().encode("cp1252"))


REFERENCES: dict[tuple[str, Decimal], str] = {}


def purpose(rng: random.Random, invoice: Invoice, number: int, count: int) -> str:
    _, year, digits = invoice.number.split("-")
    written = rng.choice((invoice.number, f"INV {year} {digits}", f"inv{year}{digits}", f"Inv.no. {year}/{digits}"))
    if count > 1:
        return f"{written} {rng.choice(('part', 'instalment', 'Teilz.'))} {number + 1}"
    return rng.choice((written, f"payment {written}", f"Re: {written} - ref {rng.randrange(100, 999)}"))


def german(amount: Decimal) -> str:
    return f"{amount:,.2f}".translate({ord(","): ".", ord("."): ","})


def write_rates(path: Path, rates: dict) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["month", "currency", "eur_per_unit"])
        for (month, currency), rate in sorted(rates.items()):
            writer.writerow([f"{month:%Y-%m}", currency, f"{rate:.4f}"])


def write_reference(folder: Path, invoices: list[Invoice], unmatched: list) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "reconciliation.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["invoice_no", "currency", "amount", "amount_eur", "paid_eur", "balance_eur", "status"])
        for each in sorted(invoices, key=lambda invoice: invoice.number):
            money = [f"{value:.2f}" for value in (each.amount, each.eur, each.paid, each.balance)]
            writer.writerow([each.number, each.currency, *money, each.status])
    rows = [("duplicate_invoice", each.number, each.eur) for each in invoices if len(each.copies) > 1]
    rows += [("part_payment", each.number, each.balance) for each in invoices if each.status == "part_paid"]
    rows += [("overpayment", each.number, -each.balance) for each in invoices if each.status == "overpaid"]
    rows += [("unmatched_payment", REFERENCES[text, amount], amount) for _, _, text, amount in unmatched]
    with (folder / "exceptions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["type", "reference", "amount_eur"])
        for kind, reference, amount in sorted(rows):
            writer.writerow([kind, reference, f"{amount:.2f}"])


def month_after(month: date) -> date:
    return (month + timedelta(days=32)).replace(day=1)


if __name__ == "__main__":
    main()
