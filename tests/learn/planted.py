"""Secrets of many kinds, and a session that is full of them. None of them opens anything."""

from __future__ import annotations

from tests.learn.clients import Event

# Put together here, so that no scanner of repositories takes them for real ones.
PLANTED: dict[str, str] = {
    "OpenAI key": "sk-" + "proj-4fQ9zXw2LmN8vRt6YbKe",
    "Anthropic key": "sk-" + "ant-api03-Zk3pW7uT1qV5sR9yXc",
    "GitHub token": "ghp" + "_9aB8cD7eF6gH5iJ4kL3mN2oP1qR0sT",
    "AWS key id": "AKIA" + "Q3EGRTY7WPLK2M5N",
    "AWS secret": "wJalrXUtnFEMI/K7MDENG" + "/bPxRfiCYzQ8vT1kLm",
    "Slack token": "xoxb" + "-2416-8831-Tq5LmZ9wXr",
    "bearer token": "mF_9.B5f-4.1Jq" + "MzQ7vRt2LkPw",
    "JSON web token": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiI0MiIsIm4iOiJBZGEifQ.c2lnbmF0dXJl",
    "Google key": "AIza" + "SyD4fQ9zXw2LmN8vRt6YbKe3pW7uT1qV5sR",
    "private key": "MIIEowIBAAKCAQEAt7Qw" + "9zXv2LmN8RtYbKe3pW7uT1qV5sR4fA",
    "database password": "gr4nite" + "-Otter-71",
    "variable": "correcthorse" + "battery",
    "Stripe key": "sk_" + "live_4fQ9zXw2LmN8vRt6",
    "Hugging Face token": "hf" + "_ZkWpTqVsRyXcLmNbKeJdFgHaQwErTyUiOp",
    "quoted password": "s3same" + "Street!",
    "login": "T4pestry" + "#88",
    "email address": "ada.byron" + "@analytical-engines.org",
    "header": "wq7Rt2Lk" + "Pw9zXv",
    "dotted property": "hunt3r" + "Wolf",
    "flag": "m4rble" + "Finch",
    "hyphenated field": "tulip" + "9ocean4",
    "password with marks": "Basalt$" + "Heron9",
    "quoted password with marks": "Gr4nite{" + "$Lynx",
    "password in a list's marks": "Quartz,7" + "<Egret",
    "words in a variable": "correct ibis" + " staple",
    "named key": "qv8w2e5r" + "7t1y4u6i",
}


def events(secrets: dict[str, str], prompt: str) -> tuple[Event, ...]:
    """A session whose texts hold every secret: in prompts, commands, outputs and bare."""
    key = (
        "-----BEGIN RSA " + f"PRIVATE KEY-----\n{secrets['private key']}\nq8vT1kLm==\n"
        "-----END RSA " + "PRIVATE KEY-----"
    )
    settings = f"""AWS_SECRET_ACCESS_KEY={secrets["AWS secret"]}
ADMIN_TOKEN={secrets["variable"]}
DATABASE_URL=postgres://shop:{secrets["database password"]}@db.internal:5432/shop
STRIPE={secrets["Stripe key"]}
smtp: {{"password": "{secrets["quoted password"]}"}}
spring.datasource.password={secrets["dotted property"]}
push: {{"x-auth-token": "{secrets["hyphenated field"]}"}}
DB_PASSWORD={secrets["password with marks"]}
REDIS_PASSWORD={secrets["password in a list's marks"]}
mail: {{"password": "{secrets["quoted password with marks"]}"}}
VAULT_PASSPHRASE="{secrets["words in a variable"]}"
MAPS_KEY={secrets["named key"]}
"""
    return (
        ("user", f"{prompt} My key is {secrets['OpenAI key']}, mail {secrets['email address']}."),
        ("say", f"I will use {secrets['Anthropic key']} and {secrets['GitHub token']}."),
        ("sh", "cat .env", settings, 0),
        ("sh", f"curl -H 'x-api-key: {secrets['header']}' http://x/w", "ok", 0),
        ("sh", f"import-prices --password {secrets['flag']} --all", "ok", 0),
        ("sh", f"curl -H 'Authorization: Bearer {secrets['bearer token']}' http://x/y", "ok", 0),
        ("sh", f"curl -u ada:{secrets['login']} http://x/z", secrets["JSON web token"], 0),
        ("sh", "cat id_rsa keys.txt", f"{key}\n{secrets['AWS key id']} {secrets['Google key']}", 0),
        ("edit", "prices.py"),
        ("sh", "env | sort", f"SLACK={secrets['Slack token']}\n{secrets['Hugging Face token']}", 0),
        # Bare, without the name that gave them away:
        ("say", f"The store opens with {secrets['database password']} or {secrets['variable']}."),
        ("sh", "pytest -q", "....\n4 passed in 0.10s", 0),
    )
