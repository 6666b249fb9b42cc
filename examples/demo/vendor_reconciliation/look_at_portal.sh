python3 - <<'PROGRAM'
import openpyxl
book = openpyxl.load_workbook("/task/input/invoices_portal.xlsx")
for sheet in book:
    print(sheet.title, sheet.dimensions)
    for row in sheet.iter_rows(max_row=9, values_only=True):
        print("  ", row)
PROGRAM
