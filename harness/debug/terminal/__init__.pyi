from .session import Terminal as Terminal
from .session import prompted as prompted
