mkdir -p ~/work && cat > ~/work/reconcile.py <<'PROGRAM'
import csv
import re
from datetime import datetime
from decimal import Decimal, ROUND_HALF_UP

import openpyxl

IN, OUT = "/task/input/", "/task/output/"


def cents(value):
    return value.quantize(Decimal("0.01"), ROUND_HALF_UP)


def number_of(text):
    found = re.search(r"inv[^0-9]*(20[0-9]{2})[^0-9]?([0-9]{4})", str(text).lower())
    return "INV-%s-%s" % found.groups() if found else None


invoices, seen_twice = {}, set()


def add(number, currency, amount, month):
    if number in invoices:
        seen_twice.add(number)
    invoices[number] = (currency, amount, month)


for row in csv.DictReader(open(IN + "invoices_erp.csv", encoding="utf-8-sig")):
    amount = Decimal(row["Gross Amount"].replace(",", ""))
    add(number_of(row["Invoice No."]), row["Currency"], amount, row["Invoice Date"][:7])

for row in openpyxl.load_workbook(IN + "invoices_portal.xlsx")["Portal export"].iter_rows(values_only=True):
    number = number_of(row[1])
    if number:
        day = row[2] if isinstance(row[2], datetime) else datetime.strptime(row[2], "%d.%m.%Y")
        add(number, row[3], cents(Decimal(str(row[4]))), day.strftime("%Y-%m"))

rates = {}
for row in csv.DictReader(open(IN + "fx_rates.csv")):
    rates[row["month"], row["currency"]] = Decimal(row["eur_per_unit"])

payments, unmatched = {}, {}
lines = open(IN + "bank_statement.csv", encoding="cp1252").read().splitlines()
for row in csv.DictReader(lines[1:], delimiter=";"):
    amount = -Decimal(row["Amount"].replace(".", "").replace(",", "."))
    number = number_of(row["Purpose"])
    if row["Type"] == "SUPPLIER" and number not in invoices:
        unmatched[row["Bank reference"]] = amount
    elif row["Type"] == "SUPPLIER":
        payments[number] = amount
    elif row["Type"] == "RETURN":
        payments[number] = Decimal(0)

book = openpyxl.Workbook()
sheet = book.active
sheet.title = "Reconciliation"
sheet.append(["invoice_no", "currency", "amount", "amount_eur", "paid_eur", "balance_eur", "status"])
exceptions = []
for number, (currency, amount, month) in sorted(invoices.items()):
    eur = cents(amount * rates.get((month, currency), Decimal(1)))
    paid = payments.get(number, Decimal(0))
    balance = eur - paid
    if paid == 0:
        status = "open"
    elif abs(balance) <= Decimal("0.02"):
        status = "paid"
    else:
        status = "part_paid" if balance > 0 else "overpaid"
    sheet.append([number, currency, float(amount), float(eur), float(paid), float(balance), status])
    if number in seen_twice:
        exceptions.append(("duplicate_invoice", number, eur))
    if status == "part_paid":
        exceptions.append(("part_payment", number, balance))
    if status == "overpaid":
        exceptions.append(("overpayment", number, -balance))
book.save(OUT + "reconciliation.xlsx")
exceptions += [("unmatched_payment", reference, amount) for reference, amount in unmatched.items()]
with open(OUT + "exceptions.csv", "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file)
    writer.writerow(["type", "reference", "amount_eur"])
    writer.writerows(sorted(exceptions))
print(len(invoices), "invoices,", len(payments), "with a payment,", len(exceptions), "exceptions")
PROGRAM
wc -l ~/work/reconcile.py
