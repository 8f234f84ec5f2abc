"""Invented secrets of every kind, put together at run time: none opens anything, and no scanner of
repositories takes this file for one that holds some.
"""

from __future__ import annotations

import base64
import json
import random
import string
from typing import NamedTuple

HEX, ALNUM = "0123456789abcdef", string.ascii_letters + string.digits
BASE64, URLSAFE, UPPER = ALNUM + "+/", ALNUM + "_-", string.ascii_uppercase + "234567"


class Plant(NamedTuple):
    """A secret in a text.

    Attributes:
        name: of its kind, and where it stands.
        text: that holds it.
        secret: what must go.
        sure: whether :func:`redact` replaces it, too; else the thorough level alone.
    """

    name: str
    text: str
    secret: str
    sure: bool = False


def chars(name: str, length: int, alphabet: str = ALNUM) -> str:
    """Random characters, always the same for a name; the first of them are of every class."""
    source = random.Random(name)
    classes = [string.digits, string.ascii_lowercase, string.ascii_uppercase]
    first = [c for kind in classes if (c := source.choice(kind)) in alphabet]
    return "".join(first + [source.choice(alphabet) for _ in range(length - len(first))])


def _token(prefix: str, length: int, alphabet: str = ALNUM) -> Plant:
    secret = prefix + chars(prefix, length, alphabet)
    return Plant(prefix, f"use {secret} for it", secret, sure=True)


def _block(begin: str, end: str, name: str) -> Plant:
    """A private key; what must go is a line of it."""
    lines = [chars(f"{name} {n}", 64, BASE64) for n in range(6)]
    key = "\n".join([f"-----{begin}-----", "", *lines, f"-----{end}-----"])
    return Plant(name, f"$ cat key\n{key}\n$ ls", lines[4], sure=True)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _tokens() -> list[Plant]:
    return [
        _token("gh" + "p_", 36),
        _token("github" + "_pat_", 82, ALNUM + "_"),
        _token("gl" + "pat-", 20, URLSAFE),
        _token("s" + "k-", 48),
        _token("s" + "k-proj-", 64, URLSAFE),
        _token("s" + "k-ant-api03-", 93, URLSAFE),
        _token("gs" + "k_", 52),
        _token("xa" + "i-", 80),
        _token("ppl" + "x-", 48),
        _token("r" + "8_", 37),
        _token("nv" + "api-", 64, URLSAFE),
        _token("h" + "f_", 34),
        _token("da" + "pi", 32, HEX),
        _token("shp" + "at_", 32, HEX),
        _token("shp" + "ss_", 32, HEX),
        _token("gl" + "sa_", 41, ALNUM + "_"),
        _token("sb" + "p_", 40, HEX),
        _token("hv" + "s.", 95, URLSAFE),
        _token("hv" + "b.", 140, URLSAFE),
        _token("do" + "p_v1_", 64, HEX),
        _token("AK" + "IA", 16, UPPER),
        _token("AI" + "za", 35, URLSAFE),
        _token("GOC" + "SPX-", 28, URLSAFE),
        _token("ya" + "29.", 60, URLSAFE),
        _token("xox" + "b-", 24, string.digits),
        _token("xap" + "p-1-", 40, URLSAFE),
        _token("sk_" + "live_", 24),
        _token("wh" + "sec_", 32),
        _token("np" + "m_", 36),
        _token("py" + "pi-AgEI", 90, URLSAFE),
        _sendgrid(),
        _token("lin" + "_api_", 40),
        _token("nt" + "n_", 46),
        _token("fig" + "d_", 40, URLSAFE),
        _token("dckr" + "_pat_", 27, URLSAFE),
        _token("tsk" + "ey-auth-", 30, ALNUM),
        _token("pul" + "-", 40, HEX),
        _token("rubygems" + "_", 48, HEX),
        _token("pscale" + "_tkn_", 43, URLSAFE),
        _token("ATA" + "TT3", 180, URLSAFE),
        _token("PMA" + "K-", 59, HEX),
        _token("xkey" + "sib-", 64, HEX),
        _token("dp" + ".pt.", 43),
        _token("glr" + "tr-", 20, URLSAFE),
        _token("CFP" + "AT-", 43, URLSAFE),
        _token("s" + "l.", 130, URLSAFE),
        _token("s" + "k.eyJ1Ijoi" + "Ab9" * 8 + ".", 24, URLSAFE),
        _token("HRK" + "U-AA", 58, URLSAFE),
        _token("nap" + "i_", 40, ALNUM),
        _token("CCI" + "PAT_", 42, ALNUM),
        _token("EA" + "AA", 60, URLSAFE),
        _token("EA" + "ACEd", 120),
        _token("access-pro" + "duction-", 36, HEX + "-"),
        _token("rzp_" + "live_", 14),
        _token("ci" + "o", 32),
        _token("ic" + "o-", 32),
        _token("A21" + "AA", 92, URLSAFE),
        _token("v1." + "0-" + "ab" * 12 + "-", 146, HEX),
        _token("AAAA" + "Zx3-_9a:APA" + "91b", 134, URLSAFE),
        _token("RWRTY" + "0Iy", 200, BASE64),
        _token("A" * 22 + "bcd%2B", 80),
        _token("access_token" + "$production$" + "9x" * 8 + "$", 32, HEX),
        *_named_keys(),
        _token("AGE-SECRET" + "-KEY-1", 58, UPPER),
        _token("eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiI0MiJ9.", 43, URLSAFE),
    ]


def _named_keys() -> list[Plant]:
    """Tokens with a form at their end, or of a name in front of them."""
    relic, devops = chars("relic", 36, HEX) + "NR" + "AL", chars("devops", 76) + "AZ" + "DOab12"
    okta, apim, asana = chars("okta", 42, URLSAFE), chars("apim", 32, HEX), chars("asana", 32, HEX)
    vault = chars("ansible", 80, HEX)
    return [
        Plant("relic", f"use {relic} for it", relic, sure=True),
        Plant("devops", f"use {devops} for it", devops, sure=True),
        Plant("okta", f"Authorization: SS{'WS'} {okta}", okta, sure=True),
        Plant("apim", f'"Ocp-Apim-Subscription-Key": "{apim}"', apim, sure=True),
        Plant("asana", f"use 1/1203456789012345:{asana} for it", asana, sure=True),
        Plant("ansible", f"$ANSIBLE_VAULT;1.1;AES256\n{vault}\n{vault}", vault, sure=True),
    ]


def _sendgrid() -> Plant:
    secret = "SG" + f".{chars('sendgrid', 22)}.{chars('sendgrid key', 43)}"
    return Plant("SendGrid key", f"key {secret}", secret, sure=True)


def _keys() -> list[Plant]:
    private = "PRIVATE " + "KEY"
    putty = [chars(f"putty {n}", 64, BASE64) for n in range(3)]
    lines = "\n".join(putty)
    pem = f"-----BEGIN {private}-----\n{chars('pem', 64, BASE64)}\n-----END {private}-----\n"
    kinds = ["RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", ""]
    return [
        *[_block(f"BEGIN {kind}{private}", f"END {kind}{private}", f"{kind}PEM") for kind in kinds],
        _block(f"BEGIN PGP {private} BLOCK", f"END PGP {private} BLOCK", "PGP"),
        _block("BEGIN OpenVPN Static " + "key V1", "END OpenVPN Static " + "key V1", "OpenVPN"),
        _block(f"BEGIN SSH2 ENCRYPTED {private}", f"END SSH2 ENCRYPTED {private}", "SSH2"),
        Plant("PEM, its end cut off", pem[:80], pem[32:75], sure=True),
        Plant("PEM, its head cut off", "3\n" + pem[28:], pem[40:80], sure=True),
        Plant(
            "PuTTY",
            "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPublic-Lines: 2\nAAAAC3\n"
            f"Private-Lines: 3\n{lines}\nPrivate-MAC: 0a",
            putty[1],
            sure=True,
        ),
        Plant("base64 of a PEM", f"key: {_encoded(pem)}", _encoded(pem)[:60], sure=True),
        Plant(
            "base64 of a PEM within", f"k: {_encoded('{' + pem)}", _encoded(pem)[20:60], sure=True
        ),
        Plant("JWK", _jwk(), chars("jwk", 43, URLSAFE), sure=True),
        Plant(
            "WireGuard",
            f"[Interface]\nPrivateKey = {chars('wg', 43, BASE64)}=",
            chars("wg", 43, BASE64),
            sure=True,
        ),
    ]


def _jwk() -> str:
    return json.dumps({"kty": "OKP", "crv": "Ed25519", "d": chars("jwk", 43, URLSAFE)})


def _addresses() -> list[Plant]:
    """Secrets in URLs."""
    token, pw = chars("url", 40), "Basalt" + "-Heron7"
    slack = f"T0{chars('team', 8, UPPER)}/B0{chars('bot', 8, UPPER)}/{chars('slack', 24)}"
    telegram = "7482910" + f"355:AA{chars('telegram', 33, URLSAFE)}"
    discord = f"MT{chars('id', 22)}.{chars('when', 6)}.{chars('discord', 38, URLSAFE)}"
    teams = f"{chars('a', 8, HEX)}-1b2c@{chars('b', 12, HEX)}/IncomingWebhook/{chars('c', 32, HEX)}"
    sas = chars("sas", 43) + "%3D"
    return [
        Plant("password in a URL", f"postgres://shop:{pw}@db:5432/shop", pw, sure=True),
        Plant(
            "token in a URL", f"git clone https://{token}@git.example.org/x.git", token, sure=True
        ),
        Plant("short token in a URL", f"https://{token[:12]}@git.example.org/x.git", token[:12]),
        Plant("Slack webhook", f"https://hooks.slack.com/services/{slack}", slack, sure=True),
        Plant(
            "Discord webhook",
            f"curl https://discord.com/api/webhooks/112233445566778899/{token}",
            token,
            sure=True,
        ),
        Plant("Teams webhook", f"https://x.webhook.office.com/webhookb2/{teams}", teams, sure=True),
        Plant(
            "Zapier webhook",
            f"https://hooks.zapier.com/hooks/catch/12/{token[:9]}/",
            token[:9],
            sure=True,
        ),
        Plant("a webhook of one's own", f"https://chat.example.org/hooks/{token[:26]}", token[:26]),
        Plant("Telegram bot", f"https://api.telegram.org/bot{telegram}/getMe", telegram, sure=True),
        Plant("Discord bot", f"client.login('{discord}')", discord, sure=True),
        Plant(
            "S3 signature",
            f"https://b.s3.amazonaws.com/k?X-Amz-Signature={token}",
            token,
            sure=True,
        ),
        Plant("S3 session", f"...&X-Amz-Security-Token={token}&X", token, sure=True),
        Plant("GCS signature", f"https://storage/x?X-Goog-Signature={token}", token, sure=True),
        Plant("Azure SAS", f"https://x.blob.core/y?sv=2022&sig={sas}&se=1", sas, sure=True),
        Plant("CloudFront", f"https://d1.cloudfront.net/x?Signature={token}&K=1", token, sure=True),
        Plant("key parameter", f"GET /v1/x?alt=json&key={token}", token, sure=True),
        Plant("token parameter", f"https://x/y?access_token={token}", token, sure=True),
        Plant(
            "Azure storage",
            f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={chars('az', 86, BASE64)}==;",
            chars("az", 86, BASE64),
            sure=True,
        ),
    ]


def _commands() -> list[Plant]:
    """Secrets that programs are given."""
    pw, word, words = "Basalt" + "7Heron", "quartz" + "egret", "Otter " + "and 9 lynx"
    login = "wren:" + pw
    return [
        Plant("mysql", f"mysql -h db -u root -p{pw} shop -e 'select 1'", pw),
        Plant("mysql, letters", f"mysqldump -uroot -p{word} shop > x.sql", word),
        Plant("sshpass", f"sshpass -p {word} ssh me@host", word),
        Plant("sshpass, quoted", f"sshpass -p '{words}' ssh me@host", words),
        Plant("redis-cli", f"redis-cli -h cache -a {word} ping", word),
        Plant("mongosh", f"mongosh -u root -p {word} --host db", word),
        Plant("docker login", f"docker login -u me -p {word} reg.example.org", word),
        Plant("ldapsearch", f"ldapsearch -x -D cn=admin -w {word} -b dc=x", word),
        Plant("zip", f"zip -r -P {word} out.zip x", word),
        Plant("7z", f"7z x -p{word} out.7z", word),
        Plant("smbclient", f"smbclient -U me%{word} //h/s", word),
        Plant("htpasswd -b", f"htpasswd -bc .htpasswd me {word}", word),
        Plant("openssl", f"openssl rsa -in k.pem -passin pass:{word}", word),
        Plant("sudo -S", f"echo {word} | sudo -S apt update", word),
        Plant("chpasswd", f"echo 'me:{word}' | sudo chpasswd", word),
        Plant("curl -u", f"curl -u me:{word} https://x", word),
        Plant("--password, with a space", f"run --password '{words}' --all", words),
        Plant("--password=", f"run --password={word}", word),
        Plant("--password, letters", f"run --password {word} --all", word),
        Plant("SQL", f"CREATE USER x IDENTIFIED BY '{word}';", word),
        Plant("PostgreSQL role", f"ALTER ROLE x WITH PASSWORD '{word}';", word),
        Plant("netrc", f"machine x login me password {word}", word),
        Plant(
            "Authorization: Basic",
            f"Authorization: Basic {_encoded(login)}",
            _encoded(login),
            sure=True,
        ),
    ]


def _files() -> list[Plant]:
    """Secrets as lines of files and headers."""
    pw, word, token = "Basalt" + "7Heron", "quartz" + "egret", chars("file", 40)
    login, salt = _encoded("wren:" + pw), chars("salt", 8)
    words = "ripple velvet tunnel orbit candy gossip lemon pyramid sketch walnut fabric zebra"
    key = "gh" + f"p_{chars('encoded', 36)}"
    return [
        Plant("cookie", f"Cookie: theme=dark; sid={token}", token),
        Plant("set-cookie", f"Set-Cookie: session={token}; Path=/; HttpOnly", token),
        Plant("cookie of curl", f"curl -s -b 'sid={token}' https://x", token),
        Plant("cookie of a browser", f".x.org\tTRUE\t/\tFALSE\t1999999999\tsid\t{token}", token),
        Plant("session", f'{{"sessionid": "{token}"}}', token),
        Plant("Docker auth", f'{{"auths": {{"x": {{"auth": "{login}"}}}}}}', login),
        Plant("npmrc", f"//registry.x/:_auth={login}", login),
        Plant(
            "htpasswd, apr1", f"me:$apr1${salt}${chars('apr1', 22)}", chars("apr1", 22), sure=True
        ),
        Plant(
            "htpasswd, bcrypt", f"me:$2y$10${chars('bcrypt', 53)}", chars("bcrypt", 53), sure=True
        ),
        Plant("htpasswd, SHA", f"me:{{SHA}}{chars('sha', 27)}=", chars("sha", 27), sure=True),
        Plant(
            "shadow",
            f"root:$6${salt}${chars('six', 86)}:19000:0:9:7:::",
            chars("six", 86),
            sure=True,
        ),
        Plant(
            "shadow, yescrypt",
            f"me:$y$j9T${chars('ys', 22)}${chars('y', 43)}:1::",
            chars("y", 43),
            sure=True,
        ),
        Plant(
            "argon2",
            f"$argon2id$v=19$m=65536,t=3,p=4${salt}${chars('a2', 43)}",
            chars("a2", 43),
            sure=True,
        ),
        Plant("pgpass", f"db.internal:5432:shop:ada:{word}", word),
        Plant("pgpass, any", f"x\n*:*:*:ada:{word}\ny", word),
        Plant("XML", f"<server><password>{word}</password></server>", word),
        Plant("XML, a sentence", f"<db:Password>{pw} x y</db:Password>", pw),
        Plant("XML attribute", f'<add key="DbPassword" value="{word}" />', word),
        Plant("plist", f"<key>ApiToken</key>\n  <string>{word}</string>", word),
        Plant("connection string", f"Server=x;User ID=sa;Password={word};Encrypt=no", word),
        Plant("Passwort", f"Das Passwort: {pw}", pw),
        Plant("Kennwort", f"Kennwort lautet {pw} bitte", pw),
        Plant("contraseña", f"la contraseña: {pw}", pw),
        Plant("mot de passe", f"Mot de passe : {pw}", pw),
        Plant("пароль", f"Пароль: {pw}", pw),
        Plant("密码", f"密码\uff1a{pw}", pw),
        Plant("seed phrase", f"My seed phrase is: {words}", words),
        Plant("seed phrase alone", f"I wrote it down:\n{words}\nand hid it", words),
        Plant("seed phrase, restored", f"restore with: {words}", words),
        Plant("terraform", f'variable "db_password" {{\n  default = "{pw}"\n}}', pw),
        Plant("recovery codes", "Recovery codes:\n1. 8f3k-2m9x\n2. q7w2-e4r5", "q7w2-e4r5"),
        Plant("blanks", '[client]\nuser=me\npassword="u#91 kelp"\n', "u#91 kelp"),
        Plant("brackets", "- ADMIN_PASSWORD=Wz5(tulpe)Qd", "Wz5(tulpe)Qd"),
        Plant("signing key", f"signKey: {token}", token),
        Plant("base64 of a token", f"data:\n  value: {_encoded(key)}", _encoded(key)),
    ]


PLANTS = [*_tokens(), *_keys(), *_addresses(), *_commands(), *_files()]
