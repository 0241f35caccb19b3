// The first launches of top_k by delegates: of each span of neighbouring elements, the image that comes first.
//
// The k results of a row lie in the k spans whose delegates come first, of equal ones those of the lowest spans: a result outside
// would have the k delegates of those before it. So all is read once here, and afterwards k spans. A. Gaihre, D. Zheng,
// S. Weitze, L. Li, S. L. Song, C. Ding, X. S. Li and H. Liu, "Dr. Top-k: delegate-centric top-k on GPUs", SC 2021.
//
// Launch: one dimension, GROUP work-items a group, `parts` groups for each row. TEAM work-items have a span, of which each reads every
// TEAM-th pack, and KEPT elements of one or several spans, so that teams read whole lines.
#include "top_k/rows.clh"

#ifndef GROUP
#define GROUP 256
#endif
#ifndef PACK
#define PACK 4  // elements that are read at once
#endif
#ifndef KEPT
#define KEPT 16  // a multiple of OWN
#endif
#ifndef OWN
#define OWN KEPT  // elements of a work-item in a span: a multiple of PACK
#endif
#ifndef TEAM
#define TEAM 32  // a power of two
#endif
#define SPAN (TEAM * OWN)
#define SPANS (KEPT / OWN)  // of a work-item
#ifndef ALIGNED
#define ALIGNED 1  // 1: packs of a row are at multiples of their size
#endif
#include "top_k/collectives.clh"

#if LEVEL == 0
#define ELEMENT KEY
static inline sortable image_of(KEY key) { return order_of(key); }
#else
#define ELEMENT sortable
static inline sortable image_of(sortable image) { return image; }
#endif
#define JOIN_WORDS(a, b) a##b
#define JOIN(a, b) JOIN_WORDS(a, b)
#if LEVEL == 0
typedef JOIN(KEY, PACK) pack_vector;
#elif KEY_BYTES == 8
typedef JOIN(ulong, PACK) pack_vector;
#else
typedef JOIN(uint, PACK) pack_vector;
#endif
typedef union {
  pack_vector all;
  ELEMENT each[PACK];
} pack;

#if SHUFFLE
DEFINE_TEAM_SHUFFLE(team_least, sortable, min)
#else
DEFINE_TEAM_REDUCE(team_least, sortable, min)
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void top_k_delegates(TOP_K_ARGUMENTS) {
  USE_TOP_K_ARGUMENTS;
  local sortable local_keys[GROUP];
  const uint item = get_local_id(0);
  const uint group = (uint)get_group_id(0);
  const ulong row = group / parts;
  const uint lane = item % TEAM;
  const ulong tile = (ulong)(group % parts) * (GROUP * KEPT), first = tile + item / TEAM * SPAN;
#if LEVEL == 0
  global const ELEMENT* elements = in + row_start(row, rows, in_offset, in_pitch, in_stride);
#else
  global const ELEMENT* elements = images + from + row * padded(size);
#endif
  sortable best[SPANS];
#pragma unroll
  for (uint s = 0; s < SPANS; ++s) best[s] = ALL_BITS;
  if (tile + GROUP * KEPT <= size) {
    global const ELEMENT* mine = elements + first + lane * PACK;
    pack p[KEPT / PACK];
#pragma unroll
    for (uint u = 0; u < KEPT / PACK; ++u) {
      const uint at = u / (OWN / PACK) * (GROUP / TEAM * SPAN) + u % (OWN / PACK) * (TEAM * PACK);
#if ALIGNED
      p[u].all = *(global const pack_vector*)(mine + at);
#else
      p[u].all = JOIN(vload, PACK)(0, mine + at);
#endif
    }
#pragma unroll
    for (uint u = 0; u < KEPT / PACK; ++u)
#pragma unroll
      for (uint j = 0; j < PACK; ++j) best[u / (OWN / PACK)] = min(best[u / (OWN / PACK)], image_of(p[u].each[j]));
  } else {
#pragma unroll
    for (uint s = 0; s < SPANS; ++s) {
      const ulong begin = first + s * (GROUP / TEAM * SPAN), end = min(begin + SPAN, (ulong)size);
      for (ulong i = begin + lane; i < end; i += TEAM) best[s] = min(best[s], image_of(elements[i]));
    }
  }
#pragma unroll
  for (uint s = 0; s < SPANS; ++s) {
    const ulong begin = first + s * (GROUP / TEAM * SPAN);
    team_least(&best[s], local_keys, item, TEAM);
    if (lane == 0 && begin < size) images[to + row * padded((size - 1) / SPAN + 1) + begin / SPAN] = best[s];
  }
}
