"""From the readings of one meter to intervals with their consumption."""


def intervals_of(series, factor):
    for earlier, later in zip(series, series[1:]):
        hours = (later["at"] - earlier["at"]).seconds / 3600
        used = later["kwh"] - earlier["kwh"]
        reason = None
        if used / hours < 0:
            reason = "register_drop"
        if hours >= 6:
            reason = "gap"
        yield {
            "from": earlier["at"],
            "to": later["at"],
            "kwh": used * factor,
            "estimated": later["estimated"],
            "reason": reason,
        }
