cat /task/output/exceptions.csv
python3 - <<'PROGRAM'
import collections
import openpyxl
rows = list(openpyxl.load_workbook("/task/output/reconciliation.xlsx")["Reconciliation"].iter_rows(values_only=True))
print(rows[0])
print(collections.Counter(row[6] for row in rows[1:]))
print("total balance", round(sum(row[5] for row in rows[1:]), 2))
PROGRAM
