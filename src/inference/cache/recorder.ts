import { type Reply, ReplyCollector, type ReplyEvent } from '../../formats/call/event.ts'
import { estimateJsonLength } from '../../platform/json/long-json.ts'
import type { ReplyObserver } from '../reply/transforms.ts'

/** Collects a reply for the cache; `restart` is called for each attempt. */
export class ReplyRecorder implements ReplyObserver {
  readonly #maxLength: number
  #collector = new ReplyCollector()
  #length = 0

  /** Longer replies, in characters, are not recorded. */
  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  /** The recorded reply; null if it is too long. */
  get reply(): Reply | null {
    return this.#length > this.#maxLength ? null : this.#collector.reply
  }

  restart(): this {
    this.#collector = new ReplyCollector()
    this.#length = 0
    return this
  }

  add(event: ReplyEvent): void {
    if (this.#length > this.#maxLength) return
    this.#length += lengthOf(event)
    if (this.#length <= this.#maxLength) this.#collector.add(event)
    else this.#collector = new ReplyCollector()
  }
}

/** Estimates the characters of the content; the rest of an event is small. */
function lengthOf(event: ReplyEvent): number {
  if (event.type === 'part-start') return estimateJsonLength(event.content)
  if (event.type !== 'part-delta') return 0
  return Object.values(event.delta).reduce<number>(
    (length, value) => length + (typeof value === 'string' ? value.length : estimateJsonLength(value)),
    0,
  )
}
