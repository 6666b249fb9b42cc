"""Reconcile supplier invoices from two sources with a bank statement that has part payments, returns and overlaps."""

from pathlib import Path

from ale.computer.paths import INPUT, OUTPUT
from ale.grading import weighted
from ale.grading.table import Field, compare_tables
from ale.task import Task

HERE = Path(__file__).parent

VARIANTS = [
    ("instance1", {"company": "Alder & Finch Instruments", "quarter": "first quarter of 2025"}),
    ("instance2", {"company": "Meridian Greenhouses", "quarter": "second quarter of 2025"}),
    ("instance3", {"company": "Quillon Film Services", "quarter": "third quarter of 2025"}),
]

PROMPT = """\
You keep the accounts payable of {company}. Reconcile the supplier invoices of the {quarter} with the bank statement.

You find in {input}:
- invoices_erp.csv: invoices from our ERP system (CSV, UTF-8; amounts such as 1,234.50).
- invoices_portal.xlsx: invoices that suppliers submitted through the portal (sheet "Portal export").
- bank_statement.csv: the bank's export (semicolons, Windows-1252, days as dd.mm.yyyy, amounts such as -1.234,50, all
  in EUR; money that leaves the account is negative).
- fx_rates.csv: EUR for one unit of a currency, by month.

Deliver two files in {output}.

1. reconciliation.xlsx with a sheet named Reconciliation: a header row, then one row for each invoice, no totals. Write
   values, not formulas. Columns:
   - invoice_no: always in the form INV-2025-1234, however the sources write it (inv20251234, Inv.no. 2025/1234, ...).
   - currency and amount: as invoiced.
   - amount_eur: amount in EUR, rounded half up to cents (0.125 becomes 0.13). Use the rate of the month of the invoice
     date; for EUR the rate is 1.
   - paid_eur: all that was paid for this invoice, in EUR.
   - balance_eur: amount_eur minus paid_eur (negative when too much was paid).
   - status: open (nothing is paid, or all of it came back), paid (the balance is between -0.02 and 0.02, bounds
     included), part_paid (the balance is larger), overpaid (the balance is smaller).
2. exceptions.csv: comma-separated, UTF-8, with the header type,reference,amount_eur and amounts such as 1234.50. One
   row for each of these:
   - duplicate_invoice: an invoice that is in the sources more than once. reference is the invoice_no, amount_eur the
     invoice's amount_eur. Copies agree; the invoice counts once.
   - part_payment: an invoice whose status is part_paid. reference is the invoice_no, amount_eur its balance.
   - overpayment: an invoice whose status is overpaid. reference is the invoice_no, amount_eur what was paid too much
     (positive).
   - unmatched_payment: a payment to a supplier that names no invoice, or none that is in the sources. reference is the
     bank reference, amount_eur the amount paid (positive).

How to read the bank statement:
- Only lines of type SUPPLIER (payments) and RETURN (a payment that came back; it reduces what was paid) count.
- The invoice is named in the purpose. An invoice may be paid in several parts.
- The statement's pages overlap: the same bank reference a second time is the same payment.
"""


def load():
    return [
        Task(
            description=PROMPT.format(input=INPUT, output=OUTPUT, **settings),
            instance=name,
            metadata=settings,
        )
        for name, settings in VARIANTS
    ]


async def start(task, session):
    """The input files are all there is to this machine."""


async def solve(task, session):
    await session.write_file("/home/agent/reconcile.py", (HERE / "scripts" / "reconcile.py").read_text("utf-8"))
    await session.run_command(["python3", "/home/agent/reconcile.py", INPUT, OUTPUT])


async def evaluate(task, session):
    cents = {"kind": "number", "absolute": 0.005}
    invoices = compare_tables(
        task.output_dir / "reconciliation.xlsx",
        task.reference_dir / "reconciliation.csv",
        sheet="Reconciliation",
        key=["invoice_no"],
        fields=[
            Field("currency", weight=0.5),
            Field("amount", weight=0.5, **cents),
            Field("amount_eur", weight=1.5, **cents),
            Field("paid_eur", weight=2.5, **cents),
            Field("balance_eur", weight=2.5, **cents),
            Field("status", weight=2.5),
        ],
    )
    exceptions = compare_tables(
        task.output_dir / "exceptions.csv",
        task.reference_dir / "exceptions.csv",
        key=["type", "reference"],
        fields=[Field("amount_eur", **cents)],
    )
    return weighted({"reconciliation.xlsx": (0.7, invoices), "exceptions.csv": (0.3, exceptions)})
