export interface Quantiles {
  p50: number
  p75: number
  p90: number
  p99: number
}

/** Neighbouring buckets differ by a tenth: a quantile is right to five parts in a hundred. */
const growth = 1.1
const smallest = 0.5
const buckets = 180

/** How values were spread over the last while, in slots of time: small, and cheap to add to. */
export class Samples {
  readonly #slotMs: number
  readonly #slots: ({ slot: number; counts: Uint32Array } | undefined)[]

  constructor(slotMs: number, slots: number) {
    this.#slotMs = slotMs
    this.#slots = new Array(slots).fill(undefined)
  }

  add(now: number, value: number): void {
    const slot = Math.floor(now / this.#slotMs)
    const place = slot % this.#slots.length
    const held = this.#slots[place]
    if (held && held.slot !== slot) {
      held.slot = slot
      held.counts.fill(0)
    }
    const { counts } = held ?? this.#open(place, slot)
    const bucket = bucketOf(value)
    counts[bucket] = (counts[bucket] ?? 0) + 1
  }

  /** Of the slots that reach into the window; null where there is nothing to tell from. */
  quantiles(now: number, windowMs: number): Quantiles | null {
    const oldest = (now - windowMs) / this.#slotMs - 1
    const all = new Uint32Array(buckets)
    let count = 0
    for (const held of this.#slots) {
      if (!held || held.slot <= oldest) continue
      for (let bucket = 0; bucket < buckets; bucket++) {
        const inBucket = held.counts[bucket] ?? 0
        all[bucket] = (all[bucket] ?? 0) + inBucket
        count += inBucket
      }
    }
    if (count === 0) return null
    const at = (share: number) => valueAt(all, Math.ceil(share * count))
    return { p50: at(0.5), p75: at(0.75), p90: at(0.9), p99: at(0.99) }
  }

  #open(place: number, slot: number) {
    const opened = { slot, counts: new Uint32Array(buckets) }
    this.#slots[place] = opened
    return opened
  }
}

function bucketOf(value: number): number {
  if (!(value > smallest)) return 0
  return Math.min(buckets - 1, Math.ceil(Math.log(value / smallest) / Math.log(growth)))
}

/** The middle of the bucket in which the value of this rank lies. */
function valueAt(counts: Uint32Array, rank: number): number {
  let seen = 0
  for (const [bucket, count] of counts.entries()) {
    seen += count
    if (seen >= rank) return smallest * growth ** (bucket - 0.5)
  }
  return smallest * growth ** buckets
}
