"""The oracle's work, done inside the machine from the input files alone: python3 reconcile.py INPUT OUTPUT."""

import csv
import datetime
import re
import sys
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import openpyxl

CENT = Decimal("0.01")
SMALL = Decimal("0.02")


def canonical(written):
    """INV-2025-1234 from whatever a source or a purpose writes, or None."""
    match = re.search(r"inv\D{0,6}(20\d\d)\W?(\d{4})(?!\d)", str(written), re.IGNORECASE)
    return f"INV-{match[1]}-{match[2]}" if match else None


def month_of(value):
    if isinstance(value, (datetime.datetime, datetime.date)):
        return f"{value:%Y-%m}"
    _, month, year = str(value).split(".")
    return f"{year}-{int(month):02d}"


def read_invoices(folder):
    """number -> (currency, amount, month), and how often each number occurs."""
    invoices, copies = {}, Counter()
    with (folder / "invoices_erp.csv").open(newline="", encoding="utf-8-sig") as file:
        for row in csv.DictReader(file):
            number = canonical(row["Invoice No."])
            copies[number] += 1
            amount = Decimal(row["Gross Amount"].replace(",", ""))
            invoices[number] = (row["Currency"], amount, row["Invoice Date"][:7])
    sheet = openpyxl.load_workbook(folder / "invoices_portal.xlsx", data_only=True)["Portal export"]
    rows = list(sheet.iter_rows(values_only=True))
    header = next(index for index, row in enumerate(rows) if row[0] == "Supplier")
    for _, written, submitted, currency, total, *_ in rows[header + 1 :]:
        number = canonical(written)
        if number is None:
            continue
        copies[number] += 1
        invoices.setdefault(number, (currency, Decimal(str(total)).quantize(CENT), month_of(submitted)))
    return invoices, copies


def read_bank(folder):
    """bank reference -> (type, purpose, amount paid)."""
    lines = (folder / "bank_statement.csv").read_text(encoding="cp1252").splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("Booking date"))
    payments = {}
    for row in csv.DictReader(lines[start:], delimiter=";"):
        if row["Type"] in ("SUPPLIER", "RETURN"):
            amount = Decimal(row["Amount"].replace(".", "").replace(",", "."))
            payments[row["Bank reference"]] = (row["Type"], row["Purpose"], -amount)
    return payments


def status_of(paid, balance):
    if paid == 0:
        return "open"
    if abs(balance) <= SMALL:
        return "paid"
    return "part_paid" if balance > 0 else "overpaid"


def main(source, target):
    invoices, copies = read_invoices(source)
    with (source / "fx_rates.csv").open(newline="", encoding="utf-8") as file:
        rates = {(row["month"], row["currency"]): Decimal(row["eur_per_unit"]) for row in csv.DictReader(file)}

    paid, exceptions = Counter(), []
    for reference, (kind, purpose, amount) in read_bank(source).items():
        number = canonical(purpose)
        if number in invoices:
            paid[number] += amount
        elif kind == "SUPPLIER":
            exceptions.append(("unmatched_payment", reference, amount))

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Reconciliation"
    sheet.append(["invoice_no", "currency", "amount", "amount_eur", "paid_eur", "balance_eur", "status"])
    for number in sorted(invoices):
        currency, amount, month = invoices[number]
        rate = Decimal(1) if currency == "EUR" else rates[month, currency]
        eur = (amount * rate).quantize(CENT, ROUND_HALF_UP)
        total = Decimal(paid[number])
        balance = eur - total
        status = status_of(total, balance)
        sheet.append([number, currency, float(amount), float(eur), float(total), float(balance), status])
        if copies[number] > 1:
            exceptions.append(("duplicate_invoice", number, eur))
        if status == "part_paid":
            exceptions.append(("part_payment", number, balance))
        if status == "overpaid":
            exceptions.append(("overpayment", number, -balance))
    book.save(target / "reconciliation.xlsx")

    with (target / "exceptions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["type", "reference", "amount_eur"])
        for kind, reference, amount in sorted(exceptions):
            writer.writerow([kind, reference, f"{amount:.2f}"])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
