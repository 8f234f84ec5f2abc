from .session import Terminal as Terminal
