import type { ReplyEvent } from '../../formats/call/event.ts'
import type { ToolCallPart } from '../../formats/call/part.ts'
import type { ReplyTransform } from './transforms.ts'

/** Sends each tool call at once, when its arguments are complete: some clients do not join its deltas. */
export class ToolCallJoiner implements ReplyTransform {
  readonly #open = new Map<string, ToolCallPart>()

  transform(event: ReplyEvent): ReplyEvent[] {
    if (event.type === 'choice-end') return [...this.#closeAll(event.choice), event]
    if (!('part' in event)) return [event]
    const key = `${event.choice} ${event.part}`
    if (event.type === 'part-start') {
      if (event.content.kind !== 'tool-call') return [event]
      this.#open.set(key, { ...event.content })
      return []
    }
    const call = this.#open.get(key)
    if (!call) return [event]
    if (event.type === 'part-end') return this.#close(key, call)
    call.arguments += event.delta.arguments ?? ''
    return []
  }

  end(): ReplyEvent[] {
    return this.#closeAll()
  }

  /** All calls that were not ended, or those of one choice. */
  #closeAll(choice?: number): ReplyEvent[] {
    const open = [...this.#open].filter(([key]) => choice === undefined || key.startsWith(`${choice} `))
    return open.flatMap(([key, call]) => this.#close(key, call))
  }

  #close(key: string, content: ToolCallPart): ReplyEvent[] {
    this.#open.delete(key)
    const [choice = 0, part = 0] = key.split(' ').map(Number)
    return [
      { type: 'part-start', choice, part, content },
      { type: 'part-end', choice, part },
    ]
  }
}
