import { annotate, ownPart, type PartDelta } from '../../call/event.ts'
import type { OutputPart, ReasoningPart, ToolCallPart } from '../../call/part.ts'
import { defined, type JsonObject } from '../../lib/loose.ts'
import { encodeOutput } from './output-encode.ts'
import { isBareSignature, ownFormat, packForeign } from './thoughts.ts'

/**
 * The parts of one answer as they are shown in a stream. Text goes out as it comes. Calls go out whole, in
 * their order. Thinking is signed when it is over, which the start of another part also says.
 */
export class ReplyParts {
  readonly #parts: OutputPart[] = []
  readonly #shown: boolean
  /** Thinking that is not over, by the number of its part, with what was shown of it. */
  readonly #thinking = new Map<number, { part: ReasoningPart; visible: string; section: number }>()
  /** Calls that have not gone out, in order. */
  readonly #calls = new Map<number, { call: ToolCallPart; done: boolean }>()
  /** Signatures for the calls with these ids, and one for whatever follows. */
  readonly #signatures = new Map<string, string>()
  #pending: string | undefined

  constructor(shown: boolean) {
    this.#shown = shown
  }

  contents(): OutputPart[] {
    return this.#parts.filter((part) => part !== undefined)
  }

  start(at: number, content: OutputPart): JsonObject[] {
    const before = this.#endThinking()
    if (content.kind === 'reasoning') return [...before, ...this.#startThinking(at, content)]
    const part = ownPart(content)
    this.#parts[at] = part
    if (part.kind === 'tool-call') {
      this.#calls.set(at, { call: part, done: false })
      return before
    }
    return [...before, ...this.#signed(encodeOutput(part))]
  }

  delta(at: number, delta: PartDelta): JsonObject[] {
    const part = this.#parts[at]
    switch (part?.kind) {
      case 'reasoning':
        return this.#think(at, part, delta)
      case 'tool-call':
        part.arguments += delta.arguments ?? ''
        return []
      case 'text':
        annotate(part, delta)
        part.text += delta.text ?? ''
        return this.#signed(encodeOutput({ kind: 'text', text: delta.text ?? '' }))
      case 'refusal':
        return this.#signed(encodeOutput({ kind: 'text', text: delta.text ?? '' }))
      case 'audio': {
        const { data = '', transcript } = delta
        return this.#signed(encodeOutput({ ...part, data, ...defined({ transcript: transcript ?? '' }) }))
      }
      default:
        return []
    }
  }

  end(at: number): JsonObject[] {
    const held = this.#calls.get(at)
    if (held) {
      held.done = true
      return this.#releaseCalls()
    }
    return this.#thinking.has(at) ? this.#endThinking(at) : []
  }

  /** The answer is over: what was still open. */
  finish(): JsonObject[] {
    const thoughts = this.#endThinking()
    for (const held of this.#calls.values()) held.done = true
    const calls = this.#releaseCalls()
    const last = this.#pending === undefined ? [] : [{ text: '', thoughtSignature: this.#pending }]
    this.#pending = undefined
    return [...thoughts, ...calls, ...last]
  }

  #releaseCalls(): JsonObject[] {
    const released: JsonObject[] = []
    // Parts are numbered as they start: the map has them in order.
    for (const [at, { call, done }] of this.#calls) {
      if (!done) break
      this.#calls.delete(at)
      released.push(...this.#signed(encodeOutput(call), this.#signatures.get(call.id)))
    }
    return released
  }

  #signed([first, ...others]: JsonObject[], own?: string): JsonObject[] {
    if (!first) return []
    const signature = own ?? this.#pending
    if (own === undefined) this.#pending = undefined
    return [signature === undefined ? first : { ...first, thoughtSignature: signature }, ...others]
  }

  #startThinking(at: number, content: ReasoningPart): JsonObject[] {
    const { text, summary, signature, encrypted, ...rest } = content
    const part: ReasoningPart = { ...rest, text: '', summary: [] }
    this.#parts[at] = part
    const first = this.#think(at, part, defined({ text, signature, encrypted }))
    return [
      ...first,
      ...summary.flatMap((words, section) => this.#think(at, part, { summary: words, section })),
    ]
  }

  #think(at: number, part: ReasoningPart, delta: PartDelta): JsonObject[] {
    const thinking = this.#thinking.get(at) ?? { part: blank(part), visible: '', section: 0 }
    this.#thinking.set(at, thinking)
    const open = thinking.part
    open.text += delta.text ?? ''
    if (delta.signature !== undefined) open.signature = (open.signature ?? '') + delta.signature
    if (delta.encrypted !== undefined) open.encrypted = (open.encrypted ?? '') + delta.encrypted
    let visible = delta.text ?? ''
    if (delta.summary !== undefined) {
      const section = delta.section ?? Math.max(0, open.summary.length - 1)
      while (open.summary.length <= section) open.summary.push('')
      open.summary[section] += delta.summary
      const gap = section !== thinking.section && thinking.visible !== '' && delta.summary !== ''
      if (open.text === '') visible = (gap ? '\n\n' : '') + delta.summary
      if (delta.summary !== '') thinking.section = section
    }
    if (!this.#shown || visible === '') return []
    thinking.visible += visible
    return [...this.#flushPending(), { text: visible, thought: true }]
  }

  #flushPending(): JsonObject[] {
    const pending = this.#pending
    this.#pending = undefined
    return pending === undefined ? [] : [{ text: '', thoughtSignature: pending }]
  }

  /** Ends one part of thinking, or all. What comes for it later starts anew. */
  #endThinking(only?: number): JsonObject[] {
    return [...this.#thinking].flatMap(([at, { part }]) => {
      if (only !== undefined && at !== only) return []
      this.#thinking.delete(at)
      return this.#sign(part)
    })
  }

  #sign(part: ReasoningPart): JsonObject[] {
    if (isBareSignature(part)) {
      if (part.id !== undefined) {
        this.#signatures.set(part.id, part.signature ?? '')
        return []
      }
      const before = this.#flushPending()
      this.#pending = part.signature
      return before
    }
    const foreign = part.format !== ownFormat && !isEmpty(part)
    const signature = foreign ? packForeign(part, this.#shown) : part.signature
    return signature === undefined ? [] : [{ text: '', thought: true, thoughtSignature: signature }]
  }
}

function blank({ signature: _, encrypted: __, ...part }: ReasoningPart): ReasoningPart {
  return { ...part, text: '', summary: [] }
}

function isEmpty(part: ReasoningPart): boolean {
  return (
    part.text === '' &&
    part.summary.length === 0 &&
    part.signature === undefined &&
    part.encrypted === undefined
  )
}
