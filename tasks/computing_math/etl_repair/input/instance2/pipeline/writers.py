"""Write the two output files."""


def write_hourly(path, hours):
    with path.open("w") as file:
        file.write("site,hour_utc,kwh,estimated\n")
        for (site, hour), entry in sorted(hours.items()):
            file.write(f"{site},{hour:%Y-%m-%dT%H:%MZ},{round(entry['kwh'], 3)},{int(entry['estimated'])}\n")


def write_unusable(path, unusable):
    with path.open("w") as file:
        for meter, interval in unusable:
            file.write(
                f"{meter},{interval['from']:%Y-%m-%dT%H:%MZ},{interval['to']:%Y-%m-%dT%H:%MZ},{interval['reason']}\n"
            )
