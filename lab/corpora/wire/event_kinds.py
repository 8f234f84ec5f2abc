"""Tasks on logs and streams of events."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta

from pydantic import JsonValue

from lab.corpora import world
from lab.corpora.drafts import Built, Draft, json_text, jsonl_text

_PATHS = ("/cart", "/login", "/orders", "/search", "/stock", "/reports/daily")
_ERRORS = ("KeyError", "ValueError", "TimeoutError", "ZeroDivisionError", "PermissionError")
_MODULES = ("cart", "billing", "stock", "mail", "search")
_WORDS = ("retry later", "no space left", "a=b failed", "closed by peer", "ok so far")

Row = dict[str, JsonValue]


def sessions(draft: Draft) -> Built:
    """Events become sessions of their users, divided by pauses."""
    rng = draft.rng
    limit, noise = rng.choice((15, 20, 30, 45)), rng.choice(("ping", "poll", "beat"))
    users = sorted({world.person(rng)[0].lower() for _ in range(6 if draft.hard else 3)})
    events: list[Row] = []
    gold: list[JsonValue] = []
    for user in users:
        time = world.day(rng) + timedelta(hours=7, minutes=rng.randrange(60))
        for number in range(max(2, draft.rows // len(users) // 3)):
            start, count = time, rng.randint(1, 4) + (number == 0)
            for event in range(count):
                # A pause of exactly the limit is none.
                time += timedelta(
                    minutes=(limit if event == 1 else rng.randint(1, limit)) * (event > 0)
                )
                events.append(
                    {"user": user, "time": _utc(time), "action": rng.choice(("view", "add"))}
                )
            gold.append({"user": user, "start": _utc(start), "end": _utc(time), "events": count})
            pause = limit + rng.randint(1, limit - 1)
            if draft.hard:
                middle = time + timedelta(minutes=pause // 2)
                events.append({"user": user, "time": _utc(middle), "action": noise})
            time += timedelta(minutes=pause)
    if draft.dirty:
        rng.shuffle(events)
    prompt = (
        "Divide the events of every user into sessions. Take the events of a user by time; a new "
        f"session begins where more than {limit} minutes have passed since the user's event "
        f"before. Events whose action is {noise} are left out beforehand. Write a list of objects "
        "`user`, `start` and `end` (times of the first and the last event, as they stand in the "
        "input) and `events` (how many), sorted by user, then by start."
    )
    return Built(prompt, {"events.jsonl": jsonl_text([*events])}, json_text(gold))


def _utc(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def errors(draft: Draft) -> Built:
    """An access log becomes error rates of paths."""
    rng = draft.rng
    least = rng.choice((400, 500))
    time = world.day(rng) + timedelta(hours=9)
    lines: list[str] = []
    counts: dict[str, list[int]] = {}
    for number in range(draft.rows * 2):
        path, time = rng.choice(_PATHS), time + timedelta(seconds=rng.randint(1, 90))
        status = rng.choice((200, 200, 201, 304, 399, 400, 404, 500, 503))
        method = rng.choice(("GET", "POST", "OPTIONS" if draft.hard else "GET"))
        requested = f"{path}/" if draft.hard and rng.random() < 0.3 else path
        requested += f"?id={rng.randrange(99)}" if draft.dirty and rng.random() < 0.4 else ""
        stamp = f"10.0.0.{rng.randrange(2, 250)} - - [{time:%d/%b/%Y:%H:%M:%S} +0000]"
        lines.append(f'{stamp} "{method} {requested} HTTP/1.1" {status} {rng.randrange(90, 9000)}')
        if method != "OPTIONS":
            count = counts.setdefault(path, [0, 0])
            count[0] += 1
            count[1] += status >= least
        if draft.dirty and number % 9 == 4:
            lines.append(rng.choice(("# log rotated", "upstream timed out (110)", f"{stamp} -")))
    rows: list[JsonValue] = [
        {"path": path, "requests": requests, "errors": faults, "rate": 100 * faults / requests}
        for path, (requests, faults) in sorted(
            counts.items(), key=lambda item: (-item[1][1] / item[1][0], item[0])
        )
    ]
    prompt = (
        "Write a list with one object for each path of the access log: `path`, `requests`, "
        f"`errors` (requests with a status of {least} or more) and `rate` (errors in percent of "
        "requests, rounded to 2 decimals), sorted by rate from high to low, then by path. The path "
        "counts without its query (from ? on) and without a slash at its end. Leave out lines that "
        "have no request and status, and requests with the method OPTIONS."
    )
    return Built(prompt, {"access.log": "\n".join(lines) + "\n"}, json_text(rows))


def traces(draft: Draft) -> Built:
    """Stack traces in a log are grouped by their last frame and counted."""
    rng = draft.rng
    time = world.day(rng) + timedelta(hours=3)
    frames = {
        (rng.choice(_ERRORS), f"{rng.choice(_MODULES)}.py", rng.randrange(8, 200))
        for _ in range(8 if draft.hard else 4)
    }
    lines: list[str] = []
    counts: dict[tuple[str, str, int], int] = {}
    ordered = sorted(frames)
    for number in range(draft.rows // 2):
        time += timedelta(seconds=rng.randint(5, 900))
        lines.append(f"{time:%Y-%m-%d %H:%M:%S} INFO request {number} began")
        frame = ordered[number % 2] if number < 4 else rng.choice(ordered)
        counts[frame] = counts.get(frame, 0) + 1
        lines.append(f"{time:%Y-%m-%d %H:%M:%S} ERROR request {number} failed")
        if draft.hard and number % 3 == 1:
            lines += [*_trace(draft, rng.choice(ordered)), ""]
            lines += ["During handling of the above exception, another exception occurred:", ""]
        lines += _trace(draft, frame)
    gold: list[JsonValue] = [
        {"error": error, "file": file, "line": line, "count": count}
        for (error, file, line), count in sorted(counts.items(), key=lambda i: (-i[1], i[0]))
    ]
    prompt = (
        "Count the errors of the log by their cause. A line with ERROR is followed by the lines of "
        "its stack trace, up to the next line that begins with a date. The last line of a trace "
        "that is not empty begins with the name of the error and a colon; the last line above it "
        "that begins with '  File' names the file and the line. Where a trace has several parts, "
        "only the last part counts. Write a list of objects `error`, `file`, `line` (a number) and "
        "`count`, sorted by count from high to low, then by error, file and line."
    )
    return Built(prompt, {"app.log": "\n".join(lines) + "\n"}, json_text(gold))


def _trace(draft: Draft, last_frame: tuple[str, str, int]) -> list[str]:
    rng = draft.rng
    error, file, line = last_frame
    lines = ["Traceback (most recent call last):"]
    if draft.dirty:
        frame = f'  File "{rng.choice(_MODULES)}.py", line {rng.randrange(8, 200)}, in run'
        lines += [frame, "    return step(data)"]
    message = f"request {rng.randrange(99)}: {rng.choice(_WORDS)}" if draft.dirty else "bad input"
    return [
        *lines,
        f'  File "{file}", line {line}, in step',
        "    check(row)",
        f"{error}: {message}",
    ]


def pairs(draft: Draft) -> Built:
    """Lines of key=value with quotes become objects."""
    rng = draft.rng
    lines: list[str] = []
    gold: list[JsonValue] = []
    for number in range(draft.rows):
        message = rng.choice(_WORDS)
        if draft.hard:
            message = rng.choice((message, f'he said "{message}"', f"C:\\{message}"))
        row: Row = {
            "level": rng.choice(("info", "warn", "error")),
            "user": " ".join(world.person(rng)),
            "took": rng.choice((rng.randrange(900), rng.randrange(900) / 4)),
            "cached": rng.random() < 0.5,
            "code": str(rng.randrange(100, 999)),
            "msg": message,
        }
        words = [
            # Texts that look like numbers, and those with spaces, stand in quotes.
            f"{key}={value}" if key == "level" else f"{key}={json.dumps(value)}"
            for key, value in row.items()
        ]
        if draft.dirty and number % 3 == 1:
            row["slow"] = True
            words.insert(rng.randrange(1, 5), "slow")
        if draft.hard and number % 4 == 2:
            row["proxy"] = None
            words.append("proxy=")
        rng.shuffle(words)
        lines.append(" ".join(words))
        gold.append(row)
    prompt = (
        "Every line of the log is a list of key=value, with spaces between them. Write a list with "
        "one object for each line. A value in double quotes is a text, whatever is in it (spaces, "
        'digits, =), without the quotes; in it \\" stands for a quote and \\\\ for a backslash. '
        "Without quotes true and false are booleans, digits with or without a decimal point are "
        "numbers, no value at all (`key=`) is null, and all else is a text. A word without = is a "
        "key with the value true."
    )
    return Built(prompt, {"app.log": "\n".join(lines) + "\n"}, json_text(gold))


def zones(draft: Draft) -> Built:
    """Times in several zones become UTC, and events are sorted by them."""
    rng = draft.rng
    offsets = rng.sample((-480, -300, -210, 60, 120, 330, 345, 540), 5)
    names = dict(
        zip(rng.sample(("NST", "EMT", "FLT", "HMT", "LST", "SPT"), 5), offsets, strict=True)
    )
    events: list[JsonValue] = []
    moments: list[tuple[datetime, str]] = []
    for number in range(draft.rows):
        moment = world.day(rng, 40) + timedelta(minutes=rng.randrange(1440))
        name = rng.choice(list(names))
        local = moment + timedelta(minutes=names[name])
        ways: list[str | int] = [
            f"{local:%Y-%m-%d %H:%M} {name}",
            f"{local:%Y-%m-%dT%H:%M:00}{_offset(names[name])}",
            f"{moment:%Y-%m-%dT%H:%M:00Z}",
            int((moment - datetime(1970, 1, 1)).total_seconds()),
        ]
        way = number if number < 2 else rng.randrange(4 if draft.hard else 3 if draft.dirty else 2)
        events.append({"id": f"E{100 + number}", "at": ways[way]})
        moments.append((moment, f"E{100 + number}"))
    gold: list[JsonValue] = [{"id": name, "utc": _utc(moment)} for moment, name in sorted(moments)]
    prompt = (
        "Write a list with one object for each event, `id` and `utc`, sorted by utc, then by id. "
        "`utc` is the time `at` in UTC, as in 2025-03-04T09:05:00Z. `at` is a local time with an "
        "offset from UTC (+02:00 is two hours ahead of UTC), a time with Z (it is UTC already), "
        "a local time with the name of a zone, whose offset `zones.json` gives, or a number: "
        "seconds since 1970-01-01 in UTC."
    )
    files = {
        "events.jsonl": jsonl_text(events),
        "zones.json": json_text({name: _offset(minutes) for name, minutes in names.items()}),
    }
    return Built(prompt, files, json_text(gold))


def _offset(minutes: int) -> str:
    hours, rest_minutes = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest_minutes:02}"


def percentiles(draft: Draft) -> Built:
    """Times of requests become percentiles of endpoints, by the nearest rank."""
    rng = draft.rng
    high = rng.choice((75, 90, 95))
    requests: list[JsonValue] = []
    times: dict[str, list[int]] = {}
    for _ in range(draft.rows * 2):
        path, took = rng.choice(_PATHS[: 6 if draft.hard else 3]), rng.randrange(3, 4000)
        duration: JsonValue = took
        if draft.dirty and rng.random() < 0.4:
            duration = rng.choice((f"{took}ms", f"{took / 1000}s" if draft.hard else f"{took}ms"))
        status = rng.choice((200, 200, 404, 499, 500, 503))
        requests.append({"path": path, "status": status, "took": duration})
        if status < 500:
            times.setdefault(path, []).append(took)
    gold: dict[str, JsonValue] = {}
    for path, values in times.items():
        ranked = sorted(values)
        low, upper = (ranked[math.ceil(p * len(ranked) / 100) - 1] for p in (50, high))
        gold[path] = {"count": len(ranked), "p50": low, f"p{high}": upper}
    prompt = (
        "Write one object: path -> an object with `count`, `p50` and "
        f"`p{high}` of the milliseconds that its requests took. The percentile p of n values: sort "
        "them; it is the value number p/100 * n, counted from 1, the number rounded up to a whole "
        "one (the nearest rank; nothing is interpolated). `took` is a number of milliseconds, or a "
        "text with ms or s (seconds). Requests with a status of 500 or more do not count."
    )
    return Built(prompt, {"requests.jsonl": jsonl_text(requests)}, json_text(gold))
