import { asNumber, asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { PartDelta } from '../call/event.ts'
import type { ReasoningFormat, ReasoningPart, ServerToolPart } from '../call/part.ts'
import { nameServerTool } from '../call/server-tools.ts'
import { decodeReasoningFormat, encodeReasoningFormat, type FormatNames } from '../reasoning-format.ts'

/** An entry for a tool that the gateway ran. */
const serverToolType = 'reasoning.server_tool_call'

/** Undefined for an entry of another type. */
export function decodeServerTool(entry: JsonObject): ServerToolPart | undefined {
  const [id, tool] = [asString(entry.tool_call_id), asString(entry.tool_name)]
  if (entry.type !== serverToolType || id === undefined || tool === undefined) return undefined
  const [args, result] = [asString(entry.arguments) || '{}', asString(entry.result) ?? '']
  const part: ServerToolPart = { kind: 'server-tool', id, tool, arguments: args, result, item: {} }
  if (entry.is_error === true) part.isError = true
  return part
}

/** The format of an entry. A signed entry without a format has the documented default. */
export function decodeEntryFormat(entry: JsonObject): ReasoningFormat {
  const name = asString(entry.format)
  if (name === undefined) return isSigned(entry) ? 'vendor_a-v1' : 'unknown'
  return decodeReasoningFormat(name) ?? 'unknown'
}

export function isSigned(entry: JsonObject): boolean {
  return (
    (asString(entry.signature) ?? '') !== '' ||
    (entry.type === 'reasoning.encrypted' && (asString(entry.data) ?? '') !== '')
  )
}

/** The delta of an entry, and the part it starts, if any. */
export interface DetailUpdate {
  newPart: ReasoningPart | null
  delta: PartDelta
}

interface OpenDetail {
  id: string | undefined
  format: ReasoningFormat
  type: string
  index: number | undefined
  sections: number
  hasText: boolean
  isSigned: boolean
}

/**
 * Groups entries into parts, whole or streamed. Entries with the same id belong together. Without ids, an
 * entry continues the open part if its index is the same or the next one and its type can follow.
 */
export class DetailReader {
  #current: OpenDetail | null = null

  /** The next entry starts a new part. */
  close(): void {
    this.#current = null
  }

  read(entry: JsonObject): DetailUpdate | null {
    const type = asString(entry.type)
    if (type !== 'reasoning.text' && type !== 'reasoning.summary' && type !== 'reasoning.encrypted')
      return null
    const id = asString(entry.id)
    const [format, index] = [decodeEntryFormat(entry), asNumber(entry.index)]
    const previous = this.#current
    const isContinuation =
      previous !== null &&
      previous.format === format &&
      previous.id === id &&
      canContinue(previous, type, index)
    const current = isContinuation
      ? previous
      : { id, format, type: '', index: undefined, sections: 0, hasText: false, isSigned: false }
    const delta = this.#applyEntry(current, entry, type, index)
    this.#current = current
    return { newPart: isContinuation ? null : newReasoningPart(id, format), delta }
  }

  #applyEntry(current: OpenDetail, entry: JsonObject, type: string, index: number | undefined): PartDelta {
    const delta: PartDelta = {}
    if (type === 'reasoning.summary') {
      const isNewSection = current.type !== type || (index !== undefined && index !== current.index)
      if (isNewSection || current.sections === 0) current.sections++
      delta.summary = asString(entry.summary) ?? ''
      delta.section = current.sections - 1
    } else if (type === 'reasoning.text') {
      current.hasText = true
      const [text, signature] = [asString(entry.text), asString(entry.signature)]
      if (text) delta.text = text
      if (signature) {
        delta.signature = signature
        current.isSigned = true
      }
    } else {
      // This vendor has signatures only: its encrypted entry carries one.
      if (current.format === 'vendor_c-v1') delta.signature = asString(entry.data) ?? ''
      else delta.encrypted = asString(entry.data) ?? ''
      current.isSigned = true
    }
    current.type = type
    current.index = index
    return delta
  }
}

function canContinue(previous: OpenDetail, type: string, index: number | undefined): boolean {
  const isSameIndex = index === undefined || previous.index === undefined || index === previous.index
  if (previous.id !== undefined && type !== 'reasoning.encrypted') return true
  if (type === previous.type) {
    // A signature ends its text, unless an index says that the text continues.
    if (isSameIndex) return type !== 'reasoning.encrypted' && !(previous.isSigned && index === undefined)
    return type === 'reasoning.summary' && index === (previous.index ?? 0) + 1
  }
  const isAdjacent = isSameIndex || index === (previous.index ?? 0) + 1
  if (type === 'reasoning.encrypted') return !previous.isSigned && (previous.id !== undefined || isSameIndex)
  return type === 'reasoning.text' && previous.type === 'reasoning.summary' && isAdjacent
}

function newReasoningPart(id: string | undefined, format: ReasoningFormat): ReasoningPart {
  return { kind: 'reasoning', ...(id !== undefined && { id }), text: '', summary: [], format }
}

/** Decodes a whole array of entries; entries of unknown type are returned unmodified. */
export function decodeReasoningDetails(details: unknown): (ReasoningPart | JsonObject)[] {
  const reader = new DetailReader()
  const parts: (ReasoningPart | JsonObject)[] = []
  let open: ReasoningPart | null = null
  for (const item of Array.isArray(details) ? details : []) {
    const entry = asObject(item)
    if (!entry) continue
    const update = reader.read(entry)
    if (!update) {
      parts.push(entry)
      continue
    }
    if (update.newPart) {
      open = update.newPart
      parts.push(open)
    }
    if (open) appendDelta(open, update.delta)
  }
  return parts
}

function appendDelta(part: ReasoningPart, delta: PartDelta): void {
  part.text += delta.text ?? ''
  if (delta.summary !== undefined) {
    const section = delta.section ?? 0
    part.summary[section] = (part.summary[section] ?? '') + delta.summary
  }
  if (delta.signature !== undefined) part.signature = (part.signature ?? '') + delta.signature
  if (delta.encrypted !== undefined) part.encrypted = (part.encrypted ?? '') + delta.encrypted
}

/** Numbers entries so that `DetailReader` restores the same parts: one index per section, a gap between parts. */
export class DetailNumbering {
  #next = 0
  readonly #names: FormatNames | undefined

  constructor(names?: FormatNames) {
    this.#names = names
  }

  nextWriter(): DetailWriter {
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
  #hasStarted = false
  #lastType = ''
  hasText = false
  readonly #names: FormatNames | undefined
  readonly #onIndexUsed: (index: number) => void

  constructor(start: number, names: FormatNames | undefined, use: (index: number) => void) {
    this.#index = start
    this.#names = names
    this.#onIndexUsed = use
  }

  writeSummary(part: ReasoningPart, summary: string, section: number): JsonObject {
    if (this.#hasStarted && section !== this.#section) this.#index++
    this.#section = section
    return this.#writeEntry(part, 'reasoning.summary', { summary })
  }

  writeText(part: ReasoningPart, text: string, signature?: string): JsonObject {
    if (this.#hasStarted && this.#lastType !== 'reasoning.text') this.#index++
    if (text !== '') this.hasText = true
    return this.#writeEntry(part, 'reasoning.text', { text, ...(signature !== undefined && { signature }) })
  }

  writeServerTool(part: ServerToolPart): JsonObject {
    const { id, arguments: args, result = '', isError } = part
    this.#onIndexUsed(this.#index)
    return {
      type: serverToolType,
      tool_name: nameServerTool(part),
      tool_call_id: id,
      arguments: args,
      result,
      ...(isError && { is_error: true }),
      format: encodeReasoningFormat('unknown', this.#names),
      index: this.#index,
    }
  }

  writeEncrypted(part: ReasoningPart, data: string): JsonObject {
    return this.#writeEntry(part, 'reasoning.encrypted', { data })
  }

  #writeEntry(part: ReasoningPart, type: string, fields: JsonObject): JsonObject {
    this.#hasStarted = true
    this.#lastType = type
    this.#onIndexUsed(this.#index)
    const id = part.id === undefined ? {} : { id: part.id }
    return {
      type,
      ...fields,
      ...id,
      format: encodeReasoningFormat(part.format, this.#names),
      index: this.#index,
    }
  }
}

/** A signature without readable text. */
export function isBareSignature(part: ReasoningPart): boolean {
  return part.format === 'vendor_c-v1' && part.text === '' && part.signature !== undefined
}

/** All entries of a complete part. */
export function encodeReasoningDetails(part: ReasoningPart, writer: DetailWriter): JsonObject[] {
  const entries = part.summary.map((summary, section) => writer.writeSummary(part, summary, section))
  if (isBareSignature(part)) entries.push(writer.writeEncrypted(part, part.signature ?? ''))
  else if (part.text !== '' || part.signature !== undefined) {
    entries.push(writer.writeText(part, part.text, part.signature))
  }
  if (part.encrypted !== undefined) entries.push(writer.writeEncrypted(part, part.encrypted))
  return entries
}

/** The human-readable text of a part. */
export function readableTextOf(part: ReasoningPart): string {
  return part.text !== '' ? part.text : part.summary.join('\n\n')
}
