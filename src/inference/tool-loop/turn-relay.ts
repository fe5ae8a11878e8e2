import type { Message } from '../../formats/call/call.ts'
import { type ChoiceEnd, ReplyCollector, type ReplyEvent } from '../../formats/call/event.ts'
import type { OutputPart, ToolCallPart } from '../../formats/call/part.ts'
import type { PreparedTools } from '../tools/prepared-tools.ts'
import type { Turn } from '../upstream/turn.ts'
import type { CitationWriter } from './citations.ts'
import type { ServerCall } from './tool-calls.ts'

interface RelayContext {
  functions: PreparedTools['functions']
  citations: CitationWriter
  takePart: () => number
}

/** Passes one turn on to the client, except for calls of server tools and the end. */
export class TurnRelay {
  readonly turn: Turn
  readonly #context: RelayContext
  readonly #collector = new ReplyCollector()
  /** The numbers of the parts in the reply, by their number in the turn. */
  readonly #numbers = new Map<number, number>()
  readonly #replaced = new Map<OutputPart, ToolCallPart>()
  #hasPassedCalls = false
  #hasText = false

  constructor(turn: Turn, context: RelayContext) {
    this.turn = turn
    this.#context = context
  }

  /** Whether the turn called tools of the client. */
  get hasPassedCalls(): boolean {
    return this.#hasPassedCalls
  }

  get hasText(): boolean {
    return this.#hasText
  }

  get end(): ChoiceEnd | null {
    return this.#collector.reply.choices[0]?.end ?? null
  }

  /** The model's message, for the next turn. */
  get message(): Message {
    return { role: 'assistant', parts: this.#parts }
  }

  get #parts(): OutputPart[] {
    const parts = (this.#collector.reply.choices[0]?.parts ?? []).filter((part) => part !== undefined)
    return parts.map((part) => this.#replaced.get(part) ?? part)
  }

  /** The calls of server tools. */
  listCalls(): ServerCall[] {
    return this.#parts.flatMap((part) => {
      const target = part.kind === 'tool-call' ? this.#context.functions.get(part.name) : undefined
      return target ? [{ call: part as ToolCallPart, target }] : []
    })
  }

  /** Replaces a call: the replacement is run, and is part of the next turn. */
  replaceCall(call: ToolCallPart, replacement: ToolCallPart): void {
    this.#replaced.set(call, replacement)
  }

  async *relay(isFirst: boolean): AsyncGenerator<ReplyEvent> {
    if (!isFirst) yield { type: 'reply-start' }
    for (let event = await this.turn.next(); event; event = await this.turn.next()) {
      this.#collector.add(event)
      yield* this.#pass(event, isFirst)
    }
  }

  #pass(event: ReplyEvent, isFirst: boolean): ReplyEvent[] {
    switch (event.type) {
      case 'reply-start': {
        const { id: _id, ...rest } = event
        return [isFirst ? event : rest]
      }
      case 'part-start':
      case 'part-delta':
      case 'part-end':
        return event.choice === 0 ? this.#passPart(event) : []
      case 'usage':
      case 'reply-error':
        return [event]
      default:
        return []
    }
  }

  #passPart(event: Extract<ReplyEvent, { type: 'part-start' | 'part-delta' | 'part-end' }>): ReplyEvent[] {
    const { citations, functions, takePart } = this.#context
    if (event.type === 'part-start') {
      const { content } = event
      if (content.kind === 'tool-call' && functions.has(content.name)) return []
      if (content.kind === 'tool-call') this.#hasPassedCalls = true
      if (content.kind === 'text' && content.text !== '') this.#hasText = true
      this.#numbers.set(event.part, takePart())
    } else if (event.type === 'part-delta' && event.delta.text) this.#hasText = true
    const part = this.#numbers.get(event.part)
    return part === undefined ? [] : citations.write({ ...event, part })
  }
}
