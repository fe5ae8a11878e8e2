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

/** A slot that has seen more of one bucket than this knows enough of it. */
const mostCounted = 0xffff

/** How values were spread over the last while, in slots of time: small, and cheap to add to. */
export class Samples {
  readonly #slotMs: number
  /** The slot of time that stands at each place. */
  readonly #stamps: Float64Array
  /** Bucket by bucket for each place; nothing before the first value. */
  #counts: Uint16Array | null = null

  constructor(slotMs: number, slots: number) {
    this.#slotMs = slotMs
    this.#stamps = new Float64Array(slots).fill(-1)
  }

  add(now: number, value: number): void {
    this.#counts ??= new Uint16Array(this.#stamps.length * buckets)
    const slot = Math.floor(now / this.#slotMs)
    const place = slot % this.#stamps.length
    if (this.#stamps[place] !== slot) {
      this.#stamps[place] = slot
      this.#counts.fill(0, place * buckets, (place + 1) * buckets)
    }
    const at = place * buckets + bucketOf(value)
    this.#counts[at] = Math.min(mostCounted, (this.#counts[at] ?? 0) + 1)
  }

  /** Of the slots that reach into the window; null where there is nothing to tell from. */
  quantiles(now: number, windowMs: number): Quantiles | null {
    if (!this.#counts) return null
    const oldest = (now - windowMs) / this.#slotMs - 1
    const newest = now / this.#slotMs
    const all = new Uint32Array(buckets)
    let count = 0
    for (const [place, stamp] of this.#stamps.entries()) {
      if (stamp <= oldest || stamp > newest) continue
      for (let bucket = 0; bucket < buckets; bucket++) {
        const inBucket = this.#counts[place * buckets + bucket] ?? 0
        all[bucket] = (all[bucket] ?? 0) + inBucket
        count += inBucket
      }
    }
    if (count === 0) return null
    const at = (share: number) => valueAt(all, Math.ceil(share * count))
    return { p50: at(0.5), p75: at(0.75), p90: at(0.9), p99: at(0.99) }
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
