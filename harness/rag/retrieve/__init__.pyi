from .chunk import (
    Chunk as Chunk,
)
from .chunk import (
    Chunking as Chunking,
)
from .chunk import (
    chunk_document as chunk_document,
)
from .chunk import (
    estimate_tokens as estimate_tokens,
)
from .document import (
    Document as Document,
)
from .document import (
    Heading as Heading,
)
from .document import (
    Page as Page,
)
from .encoder import (
    Encoder as Encoder,
)
from .encoder import (
    EncoderKind as EncoderKind,
)
from .encoder import (
    open_encoder as open_encoder,
)
from .filters import (
    Condition as Condition,
)
from .filters import (
    parse_condition as parse_condition,
)
from .flat import FlatIndex as FlatIndex
from .hit import (
    Arm as Arm,
)
from .hit import (
    Hit as Hit,
)
from .index import (
    Changed as Changed,
)
from .index import (
    Index as Index,
)
from .language import identify_language as identify_language
from .local import LocalIndex as LocalIndex
from .opening import (
    create_index as create_index,
)
from .opening import (
    describe_index as describe_index,
)
from .opening import (
    open_index as open_index,
)
from .parse import (
    Parsed as Parsed,
)
from .parse import (
    ParseOptions as ParseOptions,
)
from .parse import (
    parse_file as parse_file,
)
from .parse import (
    parse_paths as parse_paths,
)
from .rerank import (
    Reranker as Reranker,
)
from .rerank import (
    open_reranker as open_reranker,
)
from .search import SearchOptions as SearchOptions
