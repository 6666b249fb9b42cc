"""Write the two output files."""


def write_revenue(path, groups):
    with path.open("w") as file:
        file.write("date,category,orders,units,revenue_eur\n")
        for (day, category), group in sorted(groups.items()):
            file.write(f"{day},{category},{group['orders']},{group['units']},{round(group['revenue'], 2)}\n")


def write_rejects(path, rejects):
    if not rejects:
        return
    with path.open("w") as file:
        file.write("order_id,line,reason\n")
        for order, line, reason in rejects:
            file.write(f"{order},{line},{reason}\n")
