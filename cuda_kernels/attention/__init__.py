"""Attention forward with online softmax, rotary embedding, and writes into a KV cache.

For heads of 32, 64 and 128 of f32, f16 and bf16:

- `attention_{dtype}_{dim}` may take a mask of the keys, [batch, 1, 1, keys], such as that of padded
  sentences.
- `masked_attention_{dtype}_{dim}` takes a mask for each query, [batch, heads, queries, keys], and
  `bool_masked_attention_{dtype}_{dim}` the same of bools, as PyTorch does: True for a key seen.
- The masks of both may have one sequence, one head or one row for all. `mask_spans_bool`, or of the
  mask's type, reads a mask once; with its result as `spans` attention skips the keys that nobody
  sees, and reads bits in place of the mask where it only hides keys.
- `cached_attention_{dtype}_{dim}` takes how many keys each sequence has so far, [batch] of i32.
- `paged_attention_{dtype}` has keys and values in pages, of which a table says which a sequence
  has; `cached_attention_{dtype}_{f8}` and `paged_attention_{dtype}_{f8}` have those of 8 bits,
  f8e4m3fn or f8e5m2, with scales. They take heads of any size up to 256.
- `packed_attention_{dtype}` takes sequences of different lengths behind each other,
  [rows, heads, dim], with offsets of both queries and keys (`cu_seqlens`), and a window of keys to
  the left and to the right. It takes heads of any size up to 256.
- `attention_by_position_{dtype}_{dim}` gives [batch, queries, heads, dim], as projections take it.
- `attention_bshd_{dtype}_{dim}` and its masked forms have all operands so, as projections leave
  them, too.
- `flat_attention_{dtype}_{dim}` and its masked forms have heads in the batch, [batch, rows, dim],
  as `iree_linalg_ext.attention` has it.

Without a `{dim}` in the name, `attention_{dtype}`, `attention_bshd_{dtype}`, their masked forms and
`cached_attention_{dtype}` take heads of any size up to 256, of which values may have another than
queries and keys.
`capped_attention_{dtype}` and its masked forms are the same with a soft cap c of scores, which
makes s of them c tanh(s / c) before the mask is added, and with sinks, a score of each head that no
key has; a cap of 0 is none, and sinks may be left out. `with_scores` makes the same with a
`cd.Function` in the soft cap's place.

`latent_attention_{dtype}` and `paged_latent_attention_{dtype}` are a decoding step of DeepSeek's
multi-head latent attention: a cache of vectors of 576 that all heads share.

`rotary_{dtype}`, `rotary_by_position_{dtype}` and `write_cache_{dtype}` are what a decoder does to
queries, keys and values first; `write_pages_{dtype}` and `write_pages_{dtype}_{f8}` write into
caches in pages, `write_pages_bshd_...` where these are by position, or into those of 8 bits.
`rotary_any_{dtype}` and `rotary_any_by_position_{dtype}` take pairs beside each other, too, and
turn a part of a head. `_bshd` in place of `_by_position` leaves heads where they are: [batch,
length, heads, dim]. A kernel is declared when its name is first used.
"""

from cuda_kernels.attention.names import (
    ANY_HEAD,
    ATTENTION,
    BSHD,
    BSHD_ANY_HEAD,
    BY_POSITION,
    CACHED,
    CACHED_ANY_HEAD,
    CACHED_SMALL,
    CAPPED,
    FLAT,
    LATENT,
    PACKED,
    PAGED,
    SPANS,
    WRITE_PAGES,
)
from cuda_kernels.shared.lazily import each_type, from_modules, lazily

__getattr__, __dir__ = lazily(
    globals(),
    from_modules(
        __name__,
        {
            "choices": [
                *(*ATTENTION, *BY_POSITION, *BSHD, *CACHED),
                *(*ANY_HEAD, *BSHD_ANY_HEAD, *CAPPED, *CACHED_ANY_HEAD),
                *(*CACHED_SMALL, *PAGED, "with_scores"),
            ],
            "flat": FLAT,
            "latent": LATENT,
            "mask_spans": SPANS,
            "packed": PACKED,
            "simt": ["declare"],
            "rotary": each_type("rotary", "rotary_apart", "rotary_by_position", "rotary_bshd"),
            "rotary_any": each_type("rotary_any", "rotary_any_by_position", "rotary_any_bshd"),
            "write_cache": [*each_type("write_cache"), *WRITE_PAGES],
        },
    ),
)
