import type { ReplyEvent } from '../../call/event.ts'
import { newReplySummary, type Relay, type ReplyWriter } from '../../dialects/dialect.ts'
import type { ReplyLimits } from '../../dialects/reply-losses.ts'
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

  write(event: ReplyEvent): string {
    const { hasTransforms, hasObservers } = this.#pipeline
    return hasTransforms || hasObservers
      ? this.#writeAll(this.#pipeline.push(event))
      : this.#writer.write(event)
  }

  end: Relay['end'] = (usage, cost) => this.#writeAll(this.#pipeline.end()) + this.#writer.end(usage, cost)
  fail: Relay['fail'] = (error) => this.#writer.fail(error)

  #writeAll(events: readonly ReplyEvent[]): string {
    let text = ''
    for (const event of events) text += this.#writer.write(event)
    return text
  }
}
