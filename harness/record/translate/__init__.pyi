from .transport import ChatTransport as ChatTransport
