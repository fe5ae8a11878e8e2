import type { ReplyEvent } from '../../call/event.ts'

/** Changes a reply on its way to the client, such as a content filter does. */
export interface ReplyTransform {
  /** The events that replace this one. A thrown error ends the reply with that error. */
  transform(event: ReplyEvent): ReplyEvent[]
  /** The events still buffered when the upstream has ended. */
  end(): ReplyEvent[]
}

/** Reads a reply as the client receives it. */
export interface ReplyObserver {
  add(event: ReplyEvent): void
}

/** The stages a reply passes between the upstream's decoder and the client's encoder. Empty for most requests. */
export class ReplyPipeline {
  readonly #transforms: readonly ReplyTransform[]
  readonly #observers: readonly ReplyObserver[]
  #isEnded = false

  constructor(transforms: readonly ReplyTransform[], observers: readonly ReplyObserver[]) {
    this.#transforms = transforms
    this.#observers = observers
  }

  get hasTransforms(): boolean {
    return this.#transforms.length > 0
  }
  get hasObservers(): boolean {
    return this.#observers.length > 0
  }

  push(event: ReplyEvent): readonly ReplyEvent[] {
    const events = this.hasTransforms ? this.#transformFrom(0, [event]) : [event]
    this.observe(events)
    return events
  }

  /** Idempotent. */
  end(): readonly ReplyEvent[] {
    if (this.#isEnded || !this.hasTransforms) return []
    this.#isEnded = true
    const events = this.#transforms.flatMap((transform, index) =>
      this.#transformFrom(index + 1, transform.end()),
    )
    this.observe(events)
    return events
  }

  /** For replies that are passed through and decoded only for the observers. */
  observe(events: readonly ReplyEvent[]): void {
    for (const observer of this.#observers) for (const event of events) observer.add(event)
  }

  #transformFrom(index: number, events: ReplyEvent[]): ReplyEvent[] {
    return this.#transforms
      .slice(index)
      .reduce((list, stage) => list.flatMap((event) => stage.transform(event)), events)
  }
}
