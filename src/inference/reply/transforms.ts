import type { ReplyEvent } from '../../formats/call/event.ts'
import type { ReplyFeature } from '../../formats/reply-losses.ts'
import type { Awaitable } from './join-texts.ts'

/** Changes a reply on its way to the client, such as a content filter does. */
export interface ReplyTransform {
  /** The events that replace this one. A thrown error ends the reply with that error. */
  transform(event: ReplyEvent): Awaitable<ReplyEvent[]>
  /** The events still buffered when the upstream has ended. */
  end(): Awaitable<ReplyEvent[]>
  /** Features that it has removed from the reply so far. */
  readonly losses?: ReadonlySet<ReplyFeature>
}

/** Reads a reply as the client receives it. */
export interface ReplyObserver {
  add(event: ReplyEvent): void
}

/** A pipeline for one attempt; `transcript` is the first to observe it. */
export function createPipeline(
  stages: {
    replyTransforms: readonly (() => ReplyTransform)[]
    replyFilters: readonly (() => ReplyTransform)[]
    replyObservers: readonly (() => ReplyObserver)[]
    restoreReply: (() => ReplyTransform) | null
  },
  transcript: ReplyObserver | null,
): ReplyPipeline {
  const { replyTransforms, replyFilters, replyObservers, restoreReply } = stages
  const hasStages =
    transcript || restoreReply || replyTransforms.length + replyFilters.length + replyObservers.length > 0
  if (!hasStages) return noStages
  const observers = replyObservers.map((create) => create())
  return new ReplyPipeline(
    [...replyTransforms, ...replyFilters].map((create) => create()),
    transcript ? [transcript, ...observers] : observers,
    restoreReply?.(),
  )
}

/** The stages a reply passes between the upstream's decoder and the client's encoder. Empty for most requests. */
export class ReplyPipeline {
  readonly #transforms: readonly ReplyTransform[]
  readonly #observers: readonly ReplyObserver[]
  readonly #last: ReplyTransform | undefined
  readonly hasTransforms: boolean
  readonly hasObservers: boolean
  #isEnded = false
  #processing: Promise<ReplyEvent[]> = Promise.resolve([])

  /** `last`: a transform for the client alone: observers do not see its changes. */
  constructor(
    transforms: readonly ReplyTransform[],
    observers: readonly ReplyObserver[],
    last?: ReplyTransform,
  ) {
    this.#transforms = transforms
    this.#observers = observers
    this.#last = last
    this.hasTransforms = transforms.length > 0 || last !== undefined
    this.hasObservers = observers.length > 0
  }

  get losses(): ReplyFeature[] {
    const transforms = this.#last ? [...this.#transforms, this.#last] : this.#transforms
    return transforms.flatMap(({ losses }) => [...(losses ?? [])])
  }

  /** A promise only if there are transforms. */
  push(event: ReplyEvent): Awaitable<readonly ReplyEvent[]> {
    if (this.hasTransforms) return this.#enqueue(() => this.#process(0, [event]))
    this.observe([event])
    return [event]
  }

  /** Ends the transforms. Idempotent. */
  async end(): Promise<readonly ReplyEvent[]> {
    if (this.#isEnded) return []
    this.#isEnded = true
    return this.#enqueue(() => this.#end())
  }

  /** Passes events to the observers when the reply is passed through and decoded only for them. */
  observe(events: readonly ReplyEvent[]): void {
    for (const observer of this.#observers) for (const event of events) observer.add(event)
  }

  /** Events are transformed one after the other; after an error there are no more. */
  #enqueue(work: () => Promise<ReplyEvent[]>): Promise<ReplyEvent[]> {
    this.#processing = this.#processing.then(work)
    return this.#processing
  }

  async #end(): Promise<ReplyEvent[]> {
    const events: ReplyEvent[] = []
    for (const [index, transform] of this.#transforms.entries())
      events.push(...(await this.#process(index + 1, await transform.end())))
    if (this.#last) events.push(...(await this.#last.end()))
    return events
  }

  async #process(index: number, events: ReplyEvent[]): Promise<ReplyEvent[]> {
    let processed = events
    for (const stage of this.#transforms.slice(index)) {
      const next: ReplyEvent[] = []
      for (const event of processed) next.push(...(await stage.transform(event)))
      processed = next
    }
    this.observe(processed)
    if (!this.#last) return processed
    const changed: ReplyEvent[] = []
    for (const event of processed) changed.push(...(await this.#last.transform(event)))
    return changed
  }
}

/** A shared pipeline that changes and observes nothing. */
const noStages = new ReplyPipeline([], [])
