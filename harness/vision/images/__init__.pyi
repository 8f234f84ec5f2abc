from .opening import fit as fit
from .packing import IMAGE_SUFFIXES as IMAGE_SUFFIXES
from .packing import Packed as Packed
from .packing import PackedImage as PackedImage
from .packing import image_files as image_files
from .packing import pack_bytes as pack_bytes
from .packing import pack_file as pack_file
from .packing import pack_files as pack_files
