"""Values as texts that another process can read, and digests of values that are the same in every process.

A stored value has a declared type that pydantic knows, or it is plain JSON; anything else is refused when it is saved.
Loading gives an equal value of the same type: `encode` proves it for each value. Nothing is ever pickled, and a journal
makes no module load.

values       `encode`, `decode`: values of declared types, with the proof
details      `encode_detail`: what a node kept, as JSON, lossy
failures     `encode_error`, `decode_error`
fields       errors, and values of any type, as fields of stored values
digests      `digest`: equal for equal values, in every process
schemas      how pydantic writes and reads a type for us
proof        whether what was loaded is what was stored
attributes   values without a declared type, with what they are
parts        what values are made of, and which of it is secret
classes      names of classes, and classes by name
plain        plain JSON and its texts
"""

from .details import encode_detail
from .digests import digest
from .failures import decode_error, encode_error
from .fields import StoredError, StoredValue
from .parts import holds_secret
from .values import Withheld, decode, encode

__all__ = [
    "StoredError",
    "StoredValue",
    "Withheld",
    "decode",
    "decode_error",
    "digest",
    "encode",
    "encode_detail",
    "encode_error",
    "holds_secret",
]
