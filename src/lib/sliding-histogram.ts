export interface Quantiles {
  p50: number
  p75: number
  p90: number
  p99: number
}

/** Neighbouring buckets differ by a tenth: a quantile is right to five parts in a hundred. */
const bucketGrowth = 1.1
const minValue = 0.5
const bucketCount = 180

/** A slot that has seen more of one bucket than this knows enough of it. */
const maxCountPerBucket = 0xffff

/** How values were spread over the last while, in slots of time: small, and cheap to add to. */
export class SlidingHistogram {
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
    this.#counts ??= new Uint16Array(this.#stamps.length * bucketCount)
    const cacheKey = Math.floor(now / this.#slotMs)
    const index = cacheKey % this.#stamps.length
    if (this.#stamps[index] !== cacheKey) {
      this.#stamps[index] = cacheKey
      this.#counts.fill(0, index * bucketCount, (index + 1) * bucketCount)
    }
    const at = index * bucketCount + bucketOf(value)
    this.#counts[at] = Math.min(maxCountPerBucket, (this.#counts[at] ?? 0) + 1)
  }

  /** Of the slots that reach into the window; null where there is nothing to tell from. */
  quantiles(now: number, windowMs: number): Quantiles | null {
    if (!this.#counts) return null
    const oldest = (now - windowMs) / this.#slotMs - 1
    const newest = now / this.#slotMs
    const all = new Uint32Array(bucketCount)
    let count = 0
    for (const [index, stamp] of this.#stamps.entries()) {
      if (stamp <= oldest || stamp > newest) continue
      for (let bucket = 0; bucket < bucketCount; bucket++) {
        const inBucket = this.#counts[index * bucketCount + bucket] ?? 0
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
  if (!(value > minValue)) return 0
  return Math.min(bucketCount - 1, Math.ceil(Math.log(value / minValue) / Math.log(bucketGrowth)))
}

/** The middle of the bucket in which the value of this rank lies. */
function valueAt(counts: Uint32Array, rank: number): number {
  let cumulative = 0
  for (const [bucket, count] of counts.entries()) {
    cumulative += count
    if (cumulative >= rank) return minValue * bucketGrowth ** (bucket - 0.5)
  }
  return minValue * bucketGrowth ** bucketCount
}
