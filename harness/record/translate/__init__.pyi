from .transport import Translating as Translating
