"""Functions of this skill, each proven on the tasks named below it by running it."""

import functools
import os

FILES = {}


def for_files(*names):
    def mark(function):
        @functools.wraps(function)
        def call(*values, **named):
            try:
                return function(*values, **named)
            except Exception as error:
                near = [name for name, files in FILES.items() if all(map(os.path.exists, files))]
                near = ", ".join(name for name in near if name != function.__name__) or "none"
                raise RuntimeError(
                    f"{function.__name__} is not for this task, or its values are wrong: {error!r}."
                    f" Functions of helpers for files like these: {near}."
                ) from None

        FILES[function.__name__] = names
        return call

    return mark


def __getattr__(name):
    words = set(name.split("_"))
    shared = {text: len(words & set(text.split("_"))) for text in FILES}
    best = [text for text in FILES if shared[text] == max(shared.values()) > 0]
    if len(best) == 1 and not name.startswith("__"):
        return globals()[best[0]]
    raise AttributeError(f"no function {name!r}; there are {', '.join(FILES)}")



@for_files('events.jsonl')
def divide_events_by_user(value, action, *_, **__):
    """Divide the events of every user into sessions. ... new session begins where more than <value> minutes have passed since the ... Events whose action is <action> are left out beforehand."""
    value = int(float(value))
    import json
    from datetime import datetime, timedelta
    from itertools import groupby
    with open('events.jsonl', encoding='utf-8') as source:
        events = [json.loads(line) for line in source if line.strip()]
    events = sorted(((e['user'], e['time']) for e in events if e['action'] != action))
    sessions = []
    for user, group in groupby(events, key=lambda event: event[0]):
        before = None
        for _, time in group:
            at = datetime.fromisoformat(time.replace('Z', '+00:00'))
            if before is None or at - before > timedelta(minutes=value):
                sessions.append({'user': user, 'start': time, 'end': time, 'events': 0})
            sessions[-1]['end'] = time
            sessions[-1]['events'] += 1
            before = at
    with open('output.json', 'w', encoding='utf-8') as target:
        json.dump(sessions, target, indent=1)
    return ''
# proven on: wire-train-000, wire-train-008, wire-train-016, wire-train-024, wire-train-032, wire-train-040, wire-train-048, wire-train-056, wire-train-064


@for_files('access.log')
def rate_by_path(status, *_, **__):
    """Write a list with one object for each path of ... errors (requests with a status of <status> or more) and rate (errors ..."""
    status = int(float(status))
    import json
    import re
    from collections import Counter
    requests, errors = (Counter(), Counter())
    with open('access.log', encoding='utf-8') as log:
        for line in log:
            match = re.search('"(\\S+) (\\S+)[^"]*" (\\d{3})\\b', line)
            if not match or match[1] == 'OPTIONS':
                continue
            path = match[2].split('?')[0].rstrip('/') or '/'
            requests[path] += 1
            errors[path] += int(match[3]) >= status
    rows = [{'path': path, 'requests': n, 'errors': errors[path], 'rate': round(100 * errors[path] / n, 2)} for path, n in requests.items()]
    rows.sort(key=lambda row: (-row['rate'], row['path']))
    with open('output.json', 'w', encoding='utf-8') as target:
        json.dump(rows, target, indent=1)
    return ''
# proven on: wire-train-002, wire-train-010, wire-train-018, wire-train-026, wire-train-034, wire-train-042, wire-train-050, wire-train-058, wire-train-066


@for_files('app.log')
def count_errors_by_trace(*_, **__):
    """Count the errors of the log by their cause."""
    import json
    import re
    from collections import Counter
    with open('app.log', encoding='utf-8') as log:
        blocks = re.split('^(?=\\d{4}-\\d\\d-\\d\\d)', log.read(), flags=re.M)
    causes = Counter()
    for block in blocks:
        head, _, trace = block.partition('\n')
        places = re.findall('^  File "(.+?)", line (\\d+)', trace, re.M)
        if ' ERROR ' in head and places:
            error = trace.rstrip().splitlines()[-1].split(':')[0]
            file, line = places[-1]
            causes[error, file, int(line)] += 1
    rows = [{'error': error, 'file': file, 'line': line, 'count': count} for (error, file, line), count in sorted(causes.items(), key=lambda item: (-item[1], item[0]))]
    with open('output.json', 'w', encoding='utf-8') as target:
        json.dump(rows, target, indent=1)
    return ''
# proven on: wire-train-003, wire-train-011, wire-train-019, wire-train-027, wire-train-035, wire-train-043, wire-train-051, wire-train-059, wire-train-067


@for_files('app.log')
def parse_log(*_, **__):
    """Every line of the log is a list of key=value, with spaces between them."""
    import json
    import re

    def typed(value):
        if value.startswith('"'):
            return re.sub('\\\\(.)', '\\1', value[1:-1])
        if value in ('true', 'false', ''):
            return {'true': True, 'false': False, '': None}[value]
        if re.fullmatch('\\d+(\\.\\d+)?', value):
            return float(value) if '.' in value else int(value)
        return value
    rows = []
    with open('app.log', encoding='utf-8') as log:
        for line in log:
            pairs = re.findall('([^\\s=]+)(=?)("(?:\\\\.|[^"\\\\])*"|\\S*)', line)
            rows.append({key: typed(value) if sign else True for key, sign, value in pairs})
    with open('output.json', 'w', encoding='utf-8') as target:
        json.dump(rows, target, indent=1)
    return ''
# proven on: wire-train-004, wire-train-012, wire-train-020, wire-train-028, wire-train-036, wire-train-044, wire-train-052, wire-train-060, wire-train-068


@for_files('records.jsonl', 'schema.json')
def check_records(*_, **__):
    """Check every line of records.jsonl against schema.json (field -> rules) and write a list of objects line (from ..."""
    import json

    def problem(rules, value):
        if value is None:
            return 'missing' if rules.get('required') else None
        number = isinstance(value, (int, float)) and (not isinstance(value, bool))
        fits = {'string': isinstance(value, str), 'boolean': isinstance(value, bool), 'number': number, 'integer': number and value == int(value)}
        if not fits[rules['type']]:
            return 'type'
        if 'min' in rules and value < rules['min']:
            return 'min'
        if 'max' in rules and value > rules['max']:
            return 'max'
        if 'one_of' in rules and value not in rules['one_of']:
            return 'one_of'
    with open('schema.json', encoding='utf-8') as source:
        schema = json.load(source)
    found = []
    with open('records.jsonl', encoding='utf-8') as source:
        for line, text in enumerate(source, 1):
            record = json.loads(text)
            problems = [(field, problem(rules, record.get(field))) for field, rules in schema.items()]
            problems += [(field, 'unknown') for field in record if field not in schema]
            found += [{'line': line, 'field': field, 'problem': name} for field, name in problems if name]
    with open('output.json', 'w', encoding='utf-8') as target:
        json.dump(found, target, indent=1)
    return ''
# proven on: wire-train-005, wire-train-013, wire-train-021, wire-train-029, wire-train-037, wire-train-045, wire-train-053, wire-train-061, wire-train-069


@for_files('events.jsonl', 'zones.json')
def sort_events_by_utc(*_, **__):
    """Write a list with one object for each event, id and utc, sorted by utc, then by id. ..."""
    import json
    from datetime import datetime, timezone
    with open('zones.json', encoding='utf-8') as source:
        zones = json.load(source)

    def utc(at):
        if isinstance(at, (int, float)):
            time = datetime.fromtimestamp(at, timezone.utc)
        else:
            local, _, zone = at.rpartition(' ')
            text = local + zones[zone] if zone in zones else at.replace('Z', '+00:00')
            time = datetime.fromisoformat(text).astimezone(timezone.utc)
        return time.strftime('%Y-%m-%dT%H:%M:%SZ')
    with open('events.jsonl', encoding='utf-8') as source:
        events = [json.loads(line) for line in source]
    rows = [{'id': event['id'], 'utc': utc(event['at'])} for event in events]
    rows.sort(key=lambda row: (row['utc'], row['id']))
    with open('output.json', 'w', encoding='utf-8') as target:
        json.dump(rows, target, indent=1)
    return ''
# proven on: wire-train-006, wire-train-014, wire-train-022, wire-train-030, wire-train-038, wire-train-046, wire-train-054, wire-train-062, wire-train-070


@for_files('requests.jsonl')
def percentile_by_request(value, *_, **__):
    """Write one object: path -> an object with count, p50 and p<value> of the milliseconds that its ..."""
    value = int(float(value))
    import json
    import re
    from decimal import Decimal
    from pathlib import Path
    UNITS = {'': 1, 'ms': 1, 's': 1000}

    def percentile(values, p):
        rank, rest = divmod(p * len(values), 100)
        return sorted(values)[rank if rest else rank - 1]
    requests = [json.loads(line) for line in Path('requests.jsonl').read_text(encoding='utf-8').splitlines()]
    took = {}
    for request in requests:
        if request['status'] >= 500:
            continue
        number, unit = re.fullmatch('([\\d.]+) *(ms|s|)', str(request['took'])).groups()
        took.setdefault(request['path'], []).append(float(Decimal(number) * UNITS[unit]))
    result = {}
    for path, values in took.items():
        result[path] = {'count': len(values)}
        for p in (50, value):
            result[path][f'p{p}'] = percentile(values, p)
    Path('output.json').write_text(json.dumps(result, indent=2), encoding='utf-8')
    return ''
# proven on: wire-train-007, wire-train-015, wire-train-023, wire-train-031, wire-train-039, wire-train-047, wire-train-055, wire-train-063, wire-train-071


@for_files('base.json', 'local.json')
def merge_settings_those_2(*_, **__):
    """Merge the settings of local.json into those of base.json and write the result. Where both have a list, the result is the list of local."""
    import json
    from pathlib import Path

    def merge(base, local):
        for key in list(local):
            value = local[key]
            if key.endswith('!'):
                base[key.removesuffix('!')] = value
            elif value is None:
                base.pop(key, None)
            elif type(value) is dict and type(base.get(key)) is dict:
                merge(base[key], value)
            else:
                base[key] = value
    settings = json.loads(Path('base.json').read_text(encoding='utf-8'))
    merge(settings, json.loads(Path('local.json').read_text(encoding='utf-8')))
    Path('output.json').write_text(json.dumps(settings, indent=2), encoding='utf-8')
    return ''
# proven on: wire-train-017, wire-train-025, wire-train-033, wire-train-041, wire-train-057, wire-train-065
