import type { PartDelta } from '../../call/event.ts'
import type { ReasoningFormat, ReasoningPart } from '../../call/part.ts'
import { type JsonObject, numberOf, objectOf, textOf } from '../../lib/loose.ts'
import { type FormatNames, formatName, reasoningFormatOf } from '../reasoning-format.ts'

/** Whose an entry is. One that is signed and does not say is of the documented default. */
export function formatOf(entry: JsonObject): ReasoningFormat {
  const told = textOf(entry.format)
  if (told === undefined) return isSigned(entry) ? 'vendor_a-v1' : 'unknown'
  return reasoningFormatOf(told) ?? 'unknown'
}

export function isSigned(entry: JsonObject): boolean {
  return (
    (textOf(entry.signature) ?? '') !== '' ||
    (entry.type === 'reasoning.encrypted' && (textOf(entry.data) ?? '') !== '')
  )
}

/** What an entry adds, and whether it begins a new part. */
export interface Placed {
  fresh: ReasoningPart | null
  delta: PartDelta
}

interface Current {
  id: string | undefined
  format: ReasoningFormat
  type: string
  index: number | undefined
  sections: number
  text: boolean
  sealed: boolean
}

/**
 * Gathers entries into parts, whole or in pieces. Entries with one id belong together. Without ids, an
 * entry continues its part when its index is the same or the next one, and its kind can follow.
 */
export class DetailReader {
  #current: Current | null = null

  /** Nothing that follows belongs to what came before. */
  close(): void {
    this.#current = null
  }

  read(entry: JsonObject): Placed | null {
    const type = textOf(entry.type)
    if (type !== 'reasoning.text' && type !== 'reasoning.summary' && type !== 'reasoning.encrypted')
      return null
    const id = textOf(entry.id)
    const [format, index] = [formatOf(entry), numberOf(entry.index)]
    const held = this.#current
    const continues = held !== null && held.format === format && held.id === id && follows(held, type, index)
    const current = continues
      ? held
      : { id, format, type: '', index: undefined, sections: 0, text: false, sealed: false }
    const delta = this.#add(current, entry, type, index)
    this.#current = current
    return { fresh: continues ? null : emptyPart(id, format), delta }
  }

  #add(current: Current, entry: JsonObject, type: string, index: number | undefined): PartDelta {
    const delta: PartDelta = {}
    if (type === 'reasoning.summary') {
      const newSection = current.type !== type || (index !== undefined && index !== current.index)
      if (newSection || current.sections === 0) current.sections++
      delta.summary = textOf(entry.summary) ?? ''
      delta.section = current.sections - 1
    } else if (type === 'reasoning.text') {
      current.text = true
      const [text, signature] = [textOf(entry.text), textOf(entry.signature)]
      if (text) delta.text = text
      if (signature) {
        delta.signature = signature
        current.sealed = true
      }
    } else {
      // That vendor's parts have signatures only: an entry with nothing to read carries one.
      if (current.format === 'vendor_c-v1') delta.signature = textOf(entry.data) ?? ''
      else delta.encrypted = textOf(entry.data) ?? ''
      current.sealed = true
    }
    current.type = type
    current.index = index
    return delta
  }
}

function follows(held: Current, type: string, index: number | undefined): boolean {
  const same = index === undefined || held.index === undefined || index === held.index
  if (held.id !== undefined && type !== 'reasoning.encrypted') return true
  if (type === held.type) {
    // A signature ends what it signs; only an index can say otherwise.
    if (same) return type !== 'reasoning.encrypted' && !(held.sealed && index === undefined)
    return type === 'reasoning.summary' && index === (held.index ?? 0) + 1
  }
  const near = same || index === (held.index ?? 0) + 1
  if (type === 'reasoning.encrypted') return !held.sealed && (held.id !== undefined || same)
  return type === 'reasoning.text' && held.type === 'reasoning.summary' && near
}

function emptyPart(id: string | undefined, format: ReasoningFormat): ReasoningPart {
  return { kind: 'reasoning', ...(id !== undefined && { id }), text: '', summary: [], format }
}

/** The parts of a whole list of entries; what is not of the known types comes as it is. */
export function readDetails(details: unknown): (ReasoningPart | JsonObject)[] {
  const reader = new DetailReader()
  const parts: (ReasoningPart | JsonObject)[] = []
  let open: ReasoningPart | null = null
  for (const item of Array.isArray(details) ? details : []) {
    const entry = objectOf(item)
    if (!entry) continue
    const placed = reader.read(entry)
    if (!placed) {
      parts.push(entry)
      continue
    }
    if (placed.fresh) {
      open = placed.fresh
      parts.push(open)
    }
    if (open) extend(open, placed.delta)
  }
  return parts
}

function extend(part: ReasoningPart, delta: PartDelta): void {
  part.text += delta.text ?? ''
  if (delta.summary !== undefined) {
    const section = delta.section ?? 0
    part.summary[section] = (part.summary[section] ?? '') + delta.summary
  }
  if (delta.signature !== undefined) part.signature = (part.signature ?? '') + delta.signature
  if (delta.encrypted !== undefined) part.encrypted = (part.encrypted ?? '') + delta.encrypted
}

/** Numbers entries so that `DetailReader` finds the same parts again: one number a section, a gap between parts. */
export class DetailNumbers {
  #next = 0
  readonly #names: FormatNames | undefined

  constructor(names?: FormatNames) {
    this.#names = names
  }

  part(): DetailWriter {
    const start = this.#next
    this.#next += 2
    return new DetailWriter(start, this.#names, (used) => {
      this.#next = Math.max(this.#next, used + 2)
    })
  }
}

/** Writes the entries of one part. */
export class DetailWriter {
  #index: number
  #section = 0
  #started = false
  #last = ''
  hasText = false
  readonly #names: FormatNames | undefined
  readonly #use: (index: number) => void

  constructor(start: number, names: FormatNames | undefined, use: (index: number) => void) {
    this.#index = start
    this.#names = names
    this.#use = use
  }

  summary(part: ReasoningPart, summary: string, section: number): JsonObject {
    if (this.#started && section !== this.#section) this.#index++
    this.#section = section
    return this.#entry(part, 'reasoning.summary', { summary })
  }

  text(part: ReasoningPart, text: string, signature?: string): JsonObject {
    if (this.#started && this.#last !== 'reasoning.text') this.#index++
    if (text !== '') this.hasText = true
    return this.#entry(part, 'reasoning.text', { text, ...(signature !== undefined && { signature }) })
  }

  encrypted(part: ReasoningPart, data: string): JsonObject {
    return this.#entry(part, 'reasoning.encrypted', { data })
  }

  #entry(part: ReasoningPart, type: string, fields: JsonObject): JsonObject {
    this.#started = true
    this.#last = type
    this.#use(this.#index)
    const id = part.id === undefined ? {} : { id: part.id }
    return { type, ...fields, ...id, format: formatName(part.format, this.#names), index: this.#index }
  }
}

/** A signature that belongs to no readable text. */
export function isBareSignature(part: ReasoningPart): boolean {
  return part.format === 'vendor_c-v1' && part.text === '' && part.signature !== undefined
}

/** All entries of a finished part. */
export function writeDetails(part: ReasoningPart, writer: DetailWriter): JsonObject[] {
  const entries = part.summary.map((summary, section) => writer.summary(part, summary, section))
  if (isBareSignature(part)) entries.push(writer.encrypted(part, part.signature ?? ''))
  else if (part.text !== '' || part.signature !== undefined) {
    entries.push(writer.text(part, part.text, part.signature))
  }
  if (part.encrypted !== undefined) entries.push(writer.encrypted(part, part.encrypted))
  return entries
}

/** What a person can read of it. */
export function readableOf(part: ReasoningPart): string {
  return part.text !== '' ? part.text : part.summary.join('\n\n')
}
