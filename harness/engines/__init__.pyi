from .serving import Chat as Chat
from .serving import serve as serve
from .serving import served_app as served_app
from .weights import KNOWN as KNOWN
from .weights import is_pulled as is_pulled
from .weights import location as location
from .weights import pull as pull
