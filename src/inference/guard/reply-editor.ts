import type { ChoiceEnd, PartDelta, ReplyEvent } from '../../formats/call/event.ts'
import type { OutputPart } from '../../formats/call/part.ts'
import type { TextPlace } from '../../formats/call/texts.ts'
import type { ReplyFeature } from '../../formats/reply-losses.ts'
import type { ReplyTransform } from '../reply/transforms.ts'
import {
  type EditedText,
  PartFilter,
  type PartFilterContext,
  splitPart,
  type TextField,
} from './part-filter.ts'

type PartStart = Extract<ReplyEvent, { type: 'part-start' }>

/** Edits every text of a reply on its way to the client. */
export abstract class ReplyEditor implements ReplyTransform, PartFilterContext {
  readonly losses = new Set<ReplyFeature>()
  readonly #parts = new Map<string, { choice: number; part: number; filter: PartFilter }>()

  /** Opens a text that arrives in deltas. */
  abstract openText(content: OutputPart, field: TextField): EditedText

  /** Edits a whole text. */
  abstract editText(text: string, part: TextPlace['part']): Promise<string>

  abstract editJson<T extends object>(value: T, part: TextPlace['part']): Promise<T>

  addLoss(feature: ReplyFeature): void {
    this.losses.add(feature)
  }

  async transform(event: ReplyEvent): Promise<ReplyEvent[]> {
    switch (event.type) {
      case 'part-start':
        return this.#startPart(event)
      case 'part-delta': {
        const { choice, part, delta } = event
        const deltas = (await this.#parts.get(keyOf(event))?.filter.add(delta)) ?? []
        return deltas.map((released) => ({ type: 'part-delta', choice, part, delta: released }))
      }
      case 'part-end':
        return [
          ...(await this.#endParts(({ choice, part }) => choice === event.choice && part === event.part)),
          event,
        ]
      case 'choice-end':
        return [
          ...(await this.#endParts(({ choice }) => choice === event.choice)),
          await this.#editEnd(event),
        ]
      case 'reply-end':
      case 'reply-error':
        return [...(await this.end()), event]
      default:
        return [event]
    }
  }

  end(): Promise<ReplyEvent[]> {
    return this.#endParts(() => true)
  }

  async #startPart({ type, choice, part, content: received }: PartStart): Promise<ReplyEvent[]> {
    const { content, deltas } = splitPart(received)
    const filter = new PartFilter(content, this)
    this.#parts.set(keyOf({ choice, part }), { choice, part, filter })
    const events: ReplyEvent[] = [{ type, choice, part, content: await this.#editContent(content) }]
    for (const delta of deltas)
      for (const released of await filter.add(delta))
        events.push({ type: 'part-delta', choice, part, delta: released })
    return events
  }

  /** Edits the fields of a part besides its texts. Ids stay: they connect calls and results. */
  async #editContent(content: OutputPart): Promise<OutputPart> {
    switch (content.kind) {
      case 'tool-call':
        return { ...content, name: await this.editText(content.name, 'name') }
      case 'server-tool':
        return {
          ...content,
          arguments: await this.editText(content.arguments, 'tool-call'),
          item: await this.editJson(content.item, 'tool-call'),
          ...(content.use && { use: await this.editJson(content.use, 'tool-call') }),
        }
      case 'opaque':
        return { ...content, value: await this.editJson(content.value, 'text') }
      case 'image':
        return content.source.kind === 'data'
          ? content
          : { ...content, source: await this.editJson(content.source, 'url') }
      default:
        return content
    }
  }

  async #editEnd(event: ChoiceEnd): Promise<ChoiceEnd> {
    const { explanation, stopSequence } = event
    if (explanation === undefined && stopSequence === undefined) return event
    return {
      ...event,
      ...(explanation !== undefined && { explanation: await this.editText(explanation, 'text') }),
      ...(stopSequence !== undefined && { stopSequence: await this.editText(stopSequence, 'text') }),
    }
  }

  async #endParts(isEnded: (place: { choice: number; part: number }) => boolean): Promise<ReplyEvent[]> {
    const events: ReplyEvent[] = []
    for (const [key, { choice, part, filter }] of [...this.#parts]) {
      if (!isEnded({ choice, part })) continue
      this.#parts.delete(key)
      const deltas: PartDelta[] = await filter.end()
      for (const delta of deltas) events.push({ type: 'part-delta', choice, part, delta })
    }
    return events
  }
}

function keyOf({ choice, part }: { choice: number; part: number }): string {
  return `${choice} ${part}`
}
