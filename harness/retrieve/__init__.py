"""Files to documents, chunks and vectors; indexes that find them again, with citations."""

from __future__ import annotations

from harness.retrieve.chunk import Chunk, Chunking, chunk_document, estimate_tokens
from harness.retrieve.document import Document, Heading, Page
from harness.retrieve.encoder import Encoder, EncoderKind, open_encoder
from harness.retrieve.filters import Condition, parse_condition
from harness.retrieve.flat import FlatIndex
from harness.retrieve.hit import Arm, Hit
from harness.retrieve.index import Changed, Index
from harness.retrieve.language import identify_language
from harness.retrieve.local import LocalIndex
from harness.retrieve.opening import create_index, describe_index, open_index
from harness.retrieve.parse import Parsed, ParseOptions, parse_file, parse_paths
from harness.retrieve.rerank import Reranker, open_reranker
from harness.retrieve.search import SearchOptions

__all__ = [
    "Arm",
    "Changed",
    "Chunk",
    "Chunking",
    "Condition",
    "Document",
    "Encoder",
    "EncoderKind",
    "FlatIndex",
    "Heading",
    "Hit",
    "Index",
    "LocalIndex",
    "Page",
    "ParseOptions",
    "Parsed",
    "Reranker",
    "SearchOptions",
    "chunk_document",
    "create_index",
    "describe_index",
    "estimate_tokens",
    "identify_language",
    "open_encoder",
    "open_index",
    "open_reranker",
    "parse_condition",
    "parse_file",
    "parse_paths",
]
