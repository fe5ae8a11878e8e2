import type { ReplyEvent } from '../../formats/call/event.ts'
import type { Citation } from '../../formats/call/part.ts'
import type { ReplyTransform } from '../reply/transforms.ts'

/** Cites the sources that were added to the prompt, as citations of the whole first text of each choice. */
export class CiteSources implements ReplyTransform {
  readonly #sources: readonly Citation[]
  /** The first text of each choice: its part, and its length so far; null once it is cited. */
  readonly #texts = new Map<number, { part: number; length: number } | null>()

  constructor(sources: readonly Citation[]) {
    this.#sources = sources
  }

  transform(event: ReplyEvent): ReplyEvent[] {
    if (event.type === 'part-start' && event.content.kind === 'text' && !this.#texts.has(event.choice))
      this.#texts.set(event.choice, { part: event.part, length: event.content.text.length })
    if (event.type !== 'part-delta' && event.type !== 'part-end') return [event]
    const { choice, part } = event
    const text = this.#texts.get(choice)
    if (text?.part !== part) return [event]
    if (event.type === 'part-delta') {
      text.length += event.delta.text?.length ?? 0
      return [event]
    }
    this.#texts.set(choice, null)
    const cited = this.#sources.map(
      (source): ReplyEvent => ({
        type: 'part-delta',
        choice,
        part,
        delta: { citation: { ...source, start: 0, end: text.length } },
      }),
    )
    return [...cited, event]
  }

  end(): ReplyEvent[] {
    return []
  }
}
