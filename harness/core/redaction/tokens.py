"""Secrets that give themselves away: tokens of vendors, keys, hashes of passwords, logins in URLs.

Prefixes, alphabets and lengths are those that the vendors publish and that scanners of repositories
(gitleaks, detect-secrets) look for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from harness.core.redaction.form import Form, Span, by, compiled, form

BLOCK = 20_000
"""Characters of a private key at most."""
_ALPHABETS = {"a": "A-Za-z0-9", "u": "A-Z0-9-", "w": "A-Za-z0-9_-", "d": "A-Za-z0-9_.~+/=-"}
_W = "[A-Za-z0-9_-]"
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""Before a word, or behind a written-out line end or tab: a log within a log holds those."""
# kind | first characters | which follow (see _ALPHABETS) | how many at least
_PREFIXES = """
API key | gsk_ xai- pplx- csk- fw_ tgp_v1_ r8_ rpa_ e2b_ jina_ | a | 20
API key | nvapi- tvly- pcsk_ lsv2_pt_ lsv2_sk_ wandb_v1_ | w | 20
API key | sk_ fc- key- dapi AKCp oy2 sqp_ squ_ sqa_ pnu_ pnb_ rnd_ nfp_ bkua_ ABSK | a | 30
GitHub token | ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ | w | 20
GitLab token | glpat- gldt- glrt- glptt- glcbt- glsoat- glffct- glft- glimt- glagent- | w | 20
GitLab token | gloas- glrtr- | w | 20
Slack token | xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- xwfp- | w | 10
Google token | GOCSPX- ya29. | w | 20
Google API key | AIza | w | 35
Stripe key | sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_ whsec_ | a | 10
Vault token | hvs. hvb. hvr. | w | 20
cloud key | LTAI AKID AKLT ATBB | a | 24
cloud key | dop_v1_ doo_v1_ dor_v1_ pul- tskey- dckr_pat_ dckr_oat_ fo1_ AQVN vcp_ | w | 20
cloud key | fm1r_ fm1a_ fm2_ ops_ dt0c01. pscale_tkn_ pscale_oauth_ pscale_pw_ sgp_ | d | 30
cloud key | dp.pt. dp.st. dp.ct. dp.sa. | d | 20
service token | hf_ api_org_ npm_ lin_api_ lin_oauth_ ntn_ secret_ rdme_ EZAK EZTK CLOJARS_ | a | 30
service token | shpat_ shpca_ shppa_ shpss_ sbp_ shippo_live_ shippo_test_ rubygems_ | a | 20
service token | glsa_ sb_secret_ figd_ figo_ sq0atp- sq0csp- PMAK- NRAK- NRII- NRJS- | w | 18
service token | duffel_live_ duffel_test_ FLWSECK- FLWSECK_TEST- xkeysib- xsmtpsib- | w | 12
service token | pypi- ATATT3 ATCTT3 phx_ tfp_ p8e- sha256~ sntryu_ | w | 30
service token | glc_ sntrys_ | d | 30
service token | CFPAT- HRKU- CCIPAT_ CCIPRJ_ ico- EAAA A21AA | w | 30
service token | napi_ rzp_live_ rzp_test_ | a | 14
service token | access-production- access-development- access-sandbox- | w | 30
service token | EAA | a | 90
private key | AGE-SECRET-KEY- AGE-PLUGIN- | u | 20
private key | nsec1 xprv | a | 50
"""
# kind | what a long run holds | pattern
_SHAPES = {
    "sk- pk- rk-": (  # no words that hyphens join
        "API key",
        rf"(?:sk|pk|rk)-(?:(?=[a-z_-]{{0,40}}[0-9A-Z]){_W}{{16,}}|[a-z]{{20,}}{_W}*)",
    ),
    "AKIA ASIA ABIA ACCA": ("AWS key id", r"A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}(?![0-9A-Za-z])"),
    "SG.": ("service token", rf"SG\.{_W}{{16,}}\.{_W}{{16,}}"),
    "SK": ("service token", r"SK[0-9a-f]{32}(?![0-9A-Za-z])"),
    "pat": ("service token", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ".atlasv1.": ("service token", rf"[A-Za-z0-9]{{14}}\.atlasv1\.{_W}{{40,}}"),
    "-us": ("service token", r"[0-9a-f]{32}-us\d{1,2}(?!\w)"),
    "A3-": ("cloud key", r"A3-[A-Z0-9]{6}-[A-Z0-9-]{20,40}"),
    "Q~": ("cloud key", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    "v1.0-": ("cloud key", r"v1\.0-[0-9a-f]{20,}+-[0-9a-f]{60,}"),
    "sl.": ("service token", rf"sl\.(?:u\.)?{_W}{{50,}}"),
    ".eyJ": ("service token", rf"[st]k\.eyJ{_W}{{20,}}\.{_W}{{20,}}"),
    "cio": ("service token", r"cio(?=[a-zA-Z]{0,30}\d)[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    "NRAL": ("service token", r"[0-9a-f]{36}NRAL(?![A-Za-z0-9])"),
    "AZDO JQQJ99": ("cloud key", r"[A-Za-z0-9]{52}(?:[A-Za-z0-9]{24}AZDO|JQQJ99)[A-Za-z0-9]{4,26}"),
    "M N O": ("bot token", rf"[MNO][DTjz]{_W}{{18,28}}\.{_W}{{6}}\.{_W}{{27,45}}(?!{_W})"),
}


def _token_forms() -> Iterator[Form]:
    for row in filter(None, _PREFIXES.splitlines()):
        kind, prefixes, alphabet, least = (cell.strip() for cell in row.split("|"))
        starts = "|".join(map(re.escape, prefixes.split()))
        run = rf"(?:{starts})[\w.~-]{{{4 if alphabet == 'd' else least}}}"
        pattern = rf"{_START}(?:{starts})[{_ALPHABETS[alphabet]}]{{{least},}}"
        yield Form(kind, by(pattern), tuple(prefixes.split()), run)
    for hints, (kind, pattern) in _SHAPES.items():
        yield Form(kind, by(_START + pattern), tuple(hints.split()), pattern)
    # Only where such a run starts: the search for the second dot would go over it again and again.
    start, jwt = rf"(?:(?<!{_W})|(?<=\\[nrt]))", rf"eyJ{_W}{{8,}}+\.{_W}{{8,}}+\.{_W}*+(?:\.{_W}+)*"
    yield Form("JSON web token", by(start + jwt), ("eyJ",), rf"eyJ{_W}{{8}}")


_BLOCK_MARK = (
    r"-{4,5} ?(?P<mark>BEGIN|END) "
    r"(?=[^\n-]{0,40}(?:PRIVATE|SECRET|[Ss]tatic) [Kk](?:EY|ey))[A-Za-z0-9 ]{0,60}-{4,5}"
)
_BLOCK_LINES = (
    r"(?:\\+[nrt]|[\s\"',|>+]|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\n\\]{0,99}"
    r"|[A-Za-z0-9/=])*+"
)
_BLOCK_LINES_BACK = r"(?:[nrt]\\+|[\s\"',|>+]|[A-Za-z0-9/=])*+"


def _key_blocks(text: str) -> Iterator[Span]:
    """Private keys between their marks; of one that was cut off, the lines that are left."""
    marks = list(compiled(_BLOCK_MARK).finditer(text))
    searched = 0  # before it, nothing is looked at again
    for mark, after in pairwise([*marks, None]):
        assert mark is not None
        start, end = mark.span()
        if mark["mark"] == "END":
            head = text[max(searched, start - BLOCK) : start][::-1]
            lines = compiled(_BLOCK_LINES_BACK).match(head)
            size = len(lines[0]) if lines else 0
            if compiled(r"[A-Za-z0-9+/]{40}").search(head, 0, size):
                yield start - len(head[:size].rstrip()), end
        elif after is not None and after["mark"] == "END" and after.start() - end <= BLOCK:
            end = after.end()
            yield start, end
        else:
            lines = compiled(_BLOCK_LINES).match(text, end, end + BLOCK)
            size = len(lines[0].rstrip()) if lines else 0
            if size >= 24:
                end += size
                yield start, end
        searched = max(searched, end)


TOKENS: tuple[Form, ...] = (
    Form("private key", _key_blocks, ("private key", "secret key", "static key")),
    form(  # PuTTY
        "private key",
        r"Private-Lines:\s*\d+(?P<value>(?:\\+[nr]|\s|[A-Za-z0-9+/=]){24,})",
        hints="private-lines",
    ),
    form(  # base64 of `-----BEGIN `, but of no certificate
        "private key",
        r"(?:LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM)|0tLS0tQkVHSU4g(?!Q0VSV|UFVCT)",
        r"|tLS0tLUJFR0lOI(?!ENFUlR|FBVQk))[A-Za-z0-9_+/-]{40,}={0,2}",
        hints="ls0tls1crudjti 0tls0tqkvhsu4g tls0tlujfr0loi",
    ),
    form("private key", rf"\"d\"\s*:\s*\"(?P<value>{_W}{{30,}})\"", hints='"kty"'),
    form(
        "private key",
        r"<(?:D|P|Q|DP|DQ|InverseQ)>(?P<value>[A-Za-z0-9+/=\s]{20,4000})</",
        hints="rsakeyvalue",
    ),
    form(
        "private key",
        r"(?:PrivateKey|PresharedKey)\s*=\s*(?P<value>[A-Za-z0-9+/]{42,43}=)",
        hints="privatekey presharedkey",
    ),
    *_token_forms(),
    form("Google token", rf"(?<![\w/])1//0{_W}{{20,}}", hints="1//0"),
    form("service token", rf"(?<!{_W})AAAA{_W}{{7}}:APA91b{_W}{{60,}}", hints=":apa91b"),
    form("private key", r"(?<![\w/+])RWRTY0Iy[\w+/]{60,}={0,2}", hints="rwrty0iy"),
    form(
        "private key",
        r"\$ANSIBLE_VAULT;[\d.]{1,9};AES(?:256)?(?:;[\w.-]{1,40})?(?P<value>(?:\\+[nr]|\s|[0-9a-f]){40,}+)",
        hints="$ansible_vault",
    ),
    form(  # of X
        "bearer token",
        r"(?<!\w)A{20,22}(?=[A-Za-z0-9]{0,80}%)[A-Za-z0-9%]{60,}",
        hints="aaaaaaaaaaaaaaaaaaaa",
    ),
    form("service token", r"(?i)\bSSWS\s+(?P<value>[\w-]{20,})", hints="ssws"),
    form(
        "service token",
        r"(?i)ocp-apim-subscription-key[\"'\\]{0,3}\s{0,3}[:=]\s{0,3}[\"'\\]{0,3}(?P<value>[a-z0-9]{16,})",
        hints="ocp-apim",
    ),
    form(
        "service token",
        r"(?<![\w/])[012]/\d{12,20}(?:/\d{12,20})?:(?P<value>[0-9a-f]{32})(?![0-9a-f])",
        hints="0/ 1/ 2/",
    ),
    form(
        "service token",
        r"access_token\$(?:production|sandbox)\$[0-9a-z]{10,20}\$(?P<value>[0-9a-f]{32})",
        hints="access_token$",
    ),
    form("bot token", rf"(?<!\d)\d{{6,12}}:AA{_W}{{30,40}}(?!{_W})", hints=":aa"),
    form(
        "bearer token",
        r"(?i)(?<![a-z0-9])bearer\s+(?=\S{0,99}\d)[a-z0-9._~+/-]{16,}=*",
        r"|(?<![a-z0-9])authorization[\"'\\]{0,3}\s*[:=]\s*[\"'\\]{0,3}",
        r"(?P<value>(?:bearer\s+[a-z0-9._~+/-]{16,}|(?:basic|token|apikey)\s+[a-z0-9+/._-]{8,})=*)",
        hints="bearer authorization",
    ),
    form(  # neither a variable nor what an earlier redaction has left
        "password in a URL",
        r"(?<=://)[^\s/:@\"'<>{}$]*+:(?P<value>(?!\[REDACTED\]@|\$\w)[^\s/@\"'<>{}]{3,}+)(?=@)",
        hints="://",
    ),
    form(
        "token in a URL",
        r"(?<=://)(?P<value>(?=[\w.~%-]{0,99}\d)[\w.~%-]{16,}+)(?=@)",
        hints="://",
    ),
    form(
        "webhook",
        r"(?i)(?:hooks\.slack\.com/(?:services|workflows|triggers)|hooks\.zapier\.com/hooks/catch",
        r"|discord(?:app)?\.com/api/(?:v\d+/)?webhooks|office(?:365)?\.com/webhook(?:b2)?",
        r"|hook\.[a-z0-9.]{0,20}make\.com|maker\.ifttt\.com/trigger/[^\s/]{1,99}/(?:json/)?with/key",
        r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook)/(?P<value>[\w@/+-]{8,})",
        hints="hooks.slack hooks.zapier /webhook make.com/ ifttt open-apis/bot",
    ),
    form(
        "signed URL",
        r"(?i)x-(?:amz|goog)-(?:signature|credential|security-token)=(?P<value>[\w%+/=.~-]{8,})",
        hints="x-amz- x-goog-",
    ),
    form(
        "signed URL",
        r"(?i)(?:[?&;]|\\u0026)(?:sig|signature|policy|key-pair-id|(?:aws|oss)accesskeyid|access_token",
        r"|refresh_token|id_token|client_secret|api_?key|auth_?token|private_token)=",
        r"(?P<value>[A-Za-z0-9_%+/=.~-]{8,})",
        hints="? & u0026",
    ),
    form(
        "key in a URL",
        r"(?i)[?&](?:key|token|code|auth|secret|password|pwd|pass)=",
        r"(?P<value>(?=[^\s&]{0,99}\d)[A-Za-z0-9_%+/=.~-]{16,})",
        hints="? &",
    ),
    form(
        "storage key",
        r"(?i)(?:account|sharedaccess|sharedsecret|access)key=(?P<value>[a-z0-9+/]{20,}={0,2})",
        hints="accountkey= accesskey= sharedsecretkey=",
    ),
    form(
        "password hash",
        r"\$(?<![\w$]\$)(?:apr1|[156]|y|gy|7|2[abxy]?|argon2(?:id|i|d)|P|H|scrypt|md5)",
        r"\$[./A-Za-z0-9$=,+-]{22,200}",
        hints="$",
    ),
    form(
        "password hash",
        r"(?i)pbkdf2_?\w{0,10}\$\d+\$[\w./+-]{1,64}\$[\w./+=-]{20,}",
        hints="pbkdf2",
    ),
    form(
        "password hash",
        r"(?i)\{s?sha(?:256|512)?\}(?P<value>[a-z0-9+/]{24,}={0,2})",
        hints="{s",
    ),
    form("password hash", r"(?i):(?P<value>[0-9a-f]{32}:[0-9a-f]{32}):::", hints=":::"),
)
