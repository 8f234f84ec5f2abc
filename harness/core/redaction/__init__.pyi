from .redactor import REDACTED as REDACTED
from .redactor import Redactor as Redactor
from .redactor import find_secrets as find_secrets
from .redactor import redact as redact
from .redactor import until_secret as until_secret
