import type { ReplyEvent } from '../../formats/call/event.ts'
import type { Usage, UsageCost } from '../../formats/call/usage.ts'
import { addLosses, type ReplyLimits } from '../../formats/reply-losses.ts'
import { newReplySummary, type Relay, type ReplyWriter } from '../../formats/wire-format.ts'
import type { Awaitable } from './join-texts.ts'
import { recordEvent } from './summary.ts'
import type { ReplyPipeline } from './transforms.ts'

/** Writes the events of a reply in the client's format, after its transforms. */
export class EventEncoder {
  readonly #writer: ReplyWriter
  readonly #limits: ReplyLimits
  readonly #pipeline: ReplyPipeline
  readonly summary = newReplySummary()

  constructor(writer: ReplyWriter, limits: ReplyLimits, pipeline: ReplyPipeline) {
    this.#writer = writer
    this.#limits = limits
    this.#pipeline = pipeline
  }

  get finalBody() {
    return this.#writer.finalBody
  }

  /** Comes before `write`, so that a reply beyond its limits can be stopped unwritten. */
  record(event: ReplyEvent): void {
    recordEvent(this.summary, event, this.#limits)
  }

  /** A promise only if there are transforms. */
  write(event: ReplyEvent): Awaitable<string> {
    const { hasTransforms, hasObservers } = this.#pipeline
    if (!hasTransforms && !hasObservers) return this.#writer.write(event)
    const events = this.#pipeline.push(event)
    return events instanceof Promise ? events.then((list) => this.#writeAll(list)) : this.#writeAll(events)
  }

  end(usage: Usage, cost: UsageCost): Awaitable<string> {
    if (!this.#pipeline.hasTransforms) return this.#writer.end(usage, cost)
    return this.#pipeline.end().then((events) => this.#writeAll(events) + this.#writer.end(usage, cost))
  }

  fail: Relay['fail'] = (error) => this.#writer.fail(error)

  #writeAll(events: readonly ReplyEvent[]): string {
    addLosses(this.summary.losses, this.#pipeline.losses)
    let text = ''
    for (const event of events) text += this.#writer.write(event)
    return text
  }
}
