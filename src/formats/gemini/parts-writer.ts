import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { appendAnnotations, copyPart, type PartDelta } from '../call/event.ts'
import type { OutputPart, ReasoningPart, ToolCallPart } from '../call/part.ts'
import { encodeOutputPart } from './output-parts-encode.ts'
import { isBareSignature, nativeFormat, packForeignReasoning } from './thoughts.ts'

/**
 * The streamed parts of one candidate. Text is written immediately, tool calls whole and in order. Reasoning
 * gets its signature when it ends, which the start of another part implies.
 */
export class PartsWriter {
  readonly #parts: OutputPart[] = []
  readonly #showsReasoning: boolean
  /** Open reasoning parts by index, with the text already sent. */
  readonly #openReasoning = new Map<number, { part: ReasoningPart; visibleText: string; section: number }>()
  /** Tool calls that have not been written, in order. */
  readonly #heldToolCalls = new Map<number, { toolCall: ToolCallPart; isComplete: boolean }>()
  /** Signatures by tool call id, and the one for the next part. */
  readonly #toolCallSignatures = new Map<string, string>()
  #pendingSignature: string | undefined

  constructor(showsReasoning: boolean) {
    this.#showsReasoning = showsReasoning
  }

  listParts(): OutputPart[] {
    return this.#parts.filter((part) => part !== undefined)
  }

  start(index: number, content: OutputPart): JsonObject[] {
    const before = this.#endReasoning()
    if (content.kind === 'reasoning') return [...before, ...this.#startReasoning(index, content)]
    const part = copyPart(content)
    this.#parts[index] = part
    if (part.kind === 'tool-call') {
      this.#heldToolCalls.set(index, { toolCall: part, isComplete: false })
      return before
    }
    return [...before, ...this.#attachSignature(encodeOutputPart(part))]
  }

  append(index: number, delta: PartDelta): JsonObject[] {
    const part = this.#parts[index]
    switch (part?.kind) {
      case 'reasoning':
        return this.#appendReasoning(index, part, delta)
      case 'tool-call':
        part.arguments += delta.arguments ?? ''
        return []
      case 'text':
        appendAnnotations(part, delta)
        part.text += delta.text ?? ''
        return this.#attachSignature(encodeOutputPart({ kind: 'text', text: delta.text ?? '' }))
      case 'refusal':
        return this.#attachSignature(encodeOutputPart({ kind: 'text', text: delta.text ?? '' }))
      case 'audio': {
        const { data = '', transcript } = delta
        return this.#attachSignature(
          encodeOutputPart({ ...part, data, ...omitUndefined({ transcript: transcript ?? '' }) }),
        )
      }
      default:
        return []
    }
  }

  end(index: number): JsonObject[] {
    const held = this.#heldToolCalls.get(index)
    if (held) {
      held.isComplete = true
      return this.#releaseToolCalls()
    }
    return this.#openReasoning.has(index) ? this.#endReasoning(index) : []
  }

  /** Ends the candidate and writes what is still open. */
  finish(): JsonObject[] {
    const thoughts = this.#endReasoning()
    for (const held of this.#heldToolCalls.values()) held.isComplete = true
    const toolCalls = this.#releaseToolCalls()
    const last =
      this.#pendingSignature === undefined ? [] : [{ text: '', thoughtSignature: this.#pendingSignature }]
    this.#pendingSignature = undefined
    return [...thoughts, ...toolCalls, ...last]
  }

  #releaseToolCalls(): JsonObject[] {
    const released: JsonObject[] = []
    // Indexes increase with the start of parts, so the map is in order.
    for (const [index, { toolCall, isComplete }] of this.#heldToolCalls) {
      if (!isComplete) break
      this.#heldToolCalls.delete(index)
      released.push(
        ...this.#attachSignature(encodeOutputPart(toolCall), this.#toolCallSignatures.get(toolCall.id)),
      )
    }
    return released
  }

  #attachSignature([first, ...others]: JsonObject[], ownSignature?: string): JsonObject[] {
    if (!first) return []
    const signature = ownSignature ?? this.#pendingSignature
    if (ownSignature === undefined) this.#pendingSignature = undefined
    return [signature === undefined ? first : { ...first, thoughtSignature: signature }, ...others]
  }

  #startReasoning(index: number, content: ReasoningPart): JsonObject[] {
    const { text, summary, signature, encrypted, ...rest } = content
    const part: ReasoningPart = { ...rest, text: '', summary: [] }
    this.#parts[index] = part
    const first = this.#appendReasoning(index, part, omitUndefined({ text, signature, encrypted }))
    return [
      ...first,
      ...summary.flatMap((sectionText, section) =>
        this.#appendReasoning(index, part, { summary: sectionText, section }),
      ),
    ]
  }

  #appendReasoning(index: number, part: ReasoningPart, delta: PartDelta): JsonObject[] {
    const reasoning = this.#openReasoning.get(index) ?? {
      part: createEmptyPart(part),
      visibleText: '',
      section: 0,
    }
    this.#openReasoning.set(index, reasoning)
    const open = reasoning.part
    open.text += delta.text ?? ''
    if (delta.signature !== undefined) open.signature = (open.signature ?? '') + delta.signature
    if (delta.encrypted !== undefined) open.encrypted = (open.encrypted ?? '') + delta.encrypted
    let visible = delta.text ?? ''
    if (delta.summary !== undefined) {
      const section = delta.section ?? Math.max(0, open.summary.length - 1)
      while (open.summary.length <= section) open.summary.push('')
      open.summary[section] += delta.summary
      const gap = section !== reasoning.section && reasoning.visibleText !== '' && delta.summary !== ''
      if (open.text === '') visible = (gap ? '\n\n' : '') + delta.summary
      if (delta.summary !== '') reasoning.section = section
    }
    if (!this.#showsReasoning || visible === '') return []
    reasoning.visibleText += visible
    return [...this.#flushSignature(), { text: visible, thought: true }]
  }

  #flushSignature(): JsonObject[] {
    const pending = this.#pendingSignature
    this.#pendingSignature = undefined
    return pending === undefined ? [] : [{ text: '', thoughtSignature: pending }]
  }

  /** Ends one reasoning part, or all. A later delta for it opens a new one. */
  #endReasoning(only?: number): JsonObject[] {
    return [...this.#openReasoning].flatMap(([index, { part }]) => {
      if (only !== undefined && index !== only) return []
      this.#openReasoning.delete(index)
      return this.#encodeSignature(part)
    })
  }

  #encodeSignature(part: ReasoningPart): JsonObject[] {
    if (isBareSignature(part)) {
      if (part.id !== undefined) {
        this.#toolCallSignatures.set(part.id, part.signature ?? '')
        return []
      }
      const before = this.#flushSignature()
      this.#pendingSignature = part.signature
      return before
    }
    const isForeign = part.format !== nativeFormat && !isEmpty(part)
    const signature = isForeign ? packForeignReasoning(part, this.#showsReasoning) : part.signature
    return signature === undefined ? [] : [{ text: '', thought: true, thoughtSignature: signature }]
  }
}

function createEmptyPart({ signature: _, encrypted: __, ...part }: ReasoningPart): ReasoningPart {
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
