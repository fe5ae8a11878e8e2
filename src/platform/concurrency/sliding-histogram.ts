export interface Quantiles {
  p50: number
  p75: number
  p90: number
  p99: number
}

/** Adjacent buckets differ by 10 %, so a quantile is accurate to 5 %. */
const bucketGrowth = 1.1
const minValue = 0.5
const bucketCount = 180

/** Saturates: more samples of a bucket in one slot do not change the quantiles noticeably. */
const maxCountPerBucket = 0xffff

/** The distribution of recent values in time slots: small, and cheap to add to. */
export class SlidingHistogram {
  readonly #slotMs: number
  /** The time slot stored at each index. */
  readonly #stamps: Float64Array
  /** The buckets of each index; allocated with the first value. */
  #counts: Uint16Array | null = null

  constructor(slotMs: number, slots: number) {
    this.#slotMs = slotMs
    this.#stamps = new Float64Array(slots).fill(-1)
  }

  add(now: number, value: number): void {
    this.#counts ??= new Uint16Array(this.#stamps.length * bucketCount)
    const slot = Math.floor(now / this.#slotMs)
    const index = slot % this.#stamps.length
    if (this.#stamps[index] !== slot) {
      this.#stamps[index] = slot
      this.#counts.fill(0, index * bucketCount, (index + 1) * bucketCount)
    }
    const at = index * bucketCount + bucketOf(value)
    this.#counts[at] = Math.min(maxCountPerBucket, (this.#counts[at] ?? 0) + 1)
  }

  /** Includes slots that are partly in the window; null without values. */
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

/** The middle of the bucket that contains the value of this rank. */
function valueAt(counts: Uint32Array, rank: number): number {
  let cumulative = 0
  for (const [bucket, count] of counts.entries()) {
    cumulative += count
    if (cumulative >= rank) return minValue * bucketGrowth ** (bucket - 0.5)
  }
  return minValue * bucketGrowth ** bucketCount
}
