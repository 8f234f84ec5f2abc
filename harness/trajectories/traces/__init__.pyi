from .langfuse import (
    is_langfuse as is_langfuse,
)
from .langfuse import (
    read_langfuse as read_langfuse,
)
from .langsmith import (
    is_langsmith as is_langsmith,
)
from .langsmith import (
    read_langsmith as read_langsmith,
)
from .otel import (
    is_otel as is_otel,
)
from .otel import (
    read_otel as read_otel,
)
