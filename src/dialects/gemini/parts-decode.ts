import type {
  FilePart,
  ImagePart,
  InputPart,
  OpaquePart,
  OutputPart,
  TextPart,
  ToolResultPart,
} from '../../call/part.ts'
import { badField } from '../../errors.ts'
import { type JsonObject, objectOf, textOf } from '../../lib/loose.ts'
import { inlinePart, linkedPart } from './media.ts'
import { field, listOf, objectField } from './names.ts'
import { ownFormat, signatureOf, unpackForeign } from './thoughts.ts'

type Part = InputPart | OutputPart

/** Ids that we gave to calls the vendor gave none: never sent to an upstream of this format. */
export const mintedPrefix = 'gcall_'

interface OpenCall {
  id: string
  name: string
  minted: boolean
  answered: boolean
}

/** The calls of a conversation, to find which one a result belongs to. */
export class CallBook {
  readonly #calls: OpenCall[] = []

  add(name: string, given: string | undefined): string {
    const id = given || `${mintedPrefix}${this.#calls.length}`
    this.#calls.push({ id, name, minted: !given, answered: false })
    return id
  }

  /** By id, or else the first call of that name that still waits. */
  answer(name: string | undefined, given: string | undefined): string {
    const waiting = this.#calls.filter((call) => !call.answered)
    const found =
      (given && waiting.find((call) => call.id === given)) ||
      waiting.find((call) => call.name === name && (call.minted || !given))
    if (found) found.answered = true
    return found ? found.id : given || this.add(name ?? '', undefined)
  }
}

interface Reading {
  calls: CallBook
  unknown: Set<string>
  path: string
  /** What a model said: clients keep a streamed answer as the pieces it came in. */
  joined: boolean
}

/** Fields beside a part's content that no other format has. */
const besides = ['videoMetadata', 'mediaResolution', 'partMetadata']

/** Adds to the parts of a message what a content has. */
export function decodeParts(value: unknown, reading: Reading, parts: Part[] = []): Part[] {
  listOf(value).forEach((entry, at) => {
    const part = typeof entry === 'string' ? { text: entry } : objectOf(entry)
    if (part) decodePart(part, parts, { ...reading, path: `${reading.path}.${at}` })
  })
  return parts
}

function decodePart(part: JsonObject, parts: Part[], reading: Reading): void {
  const signature = textOf(field(part, 'thoughtSignature'))
  const text = textOf(part.text)
  if (part.thought === true && text !== undefined) {
    addThought(text, signature, parts)
    return
  }
  const [name, decode] = handlers.find(([known]) => field(part, known) !== undefined) ?? []
  if (!name || !decode || part.thought === true) {
    if (Object.keys(part).length > 0) parts.push({ kind: 'opaque', dialect: 'gemini', value: part })
    return
  }
  const decoded = decode(field(part, name), reading)
  if (signature !== undefined) addSignature(signature, decoded, parts)
  addDecoded(decoded, parts, reading.joined)
  for (const word of besides) if (field(part, word) !== undefined) reading.unknown.add(word)
}

/** An empty text says nothing: it is where the vendor puts a late signature, or ends a stream. */
function addDecoded(decoded: Part, parts: Part[], joined: boolean): void {
  const last = parts.at(-1)
  if (!joined || decoded.kind !== 'text') parts.push(decoded)
  else if (last?.kind === 'text') last.text += decoded.text
  else if (decoded.text !== '') parts.push(decoded)
}

/** Thoughts that follow each other are one, as they are when they come in a stream. */
function addThought(text: string, signature: string | undefined, parts: Part[]): void {
  const last = parts.at(-1)
  const open =
    last?.kind === 'reasoning' && last.format === ownFormat && last.signature === undefined ? last : undefined
  const before = (open?.text ?? '') + text
  const foreign = signature === undefined ? null : unpackForeign(signature, before)
  if (open) parts.pop()
  if (foreign) {
    if (foreign.rest !== '') parts.push(thought(foreign.rest, undefined))
    parts.push(foreign.part)
  } else if (before !== '' || signature !== undefined) parts.push(thought(before, signature))
}

function thought(text: string, signature: string | undefined): OutputPart {
  const base = { kind: 'reasoning' as const, text, summary: [], format: ownFormat } as const
  return signature === undefined ? { ...base, summary: [] } : { ...base, summary: [], signature }
}

function addSignature(signature: string, owner: Part, parts: Part[]): void {
  const foreign = unpackForeign(signature, '')
  parts.push(foreign?.part ?? signatureOf(signature, owner.kind === 'tool-call' ? owner.id : undefined))
}

type Handler = (value: unknown, reading: Reading) => Part

const handlers: [string, Handler][] = [
  ['functionCall', decodeCall],
  ['functionResponse', decodeResponse],
  ['inlineData', decodeInline],
  ['fileData', decodeFile],
  ['text', (value) => ({ kind: 'text', text: textOf(value) ?? '' })],
]

function decodeCall(value: unknown, { calls, path }: Reading): Part {
  const call = objectOf(value) ?? {}
  const name = textOf(call.name)
  if (!name) throw badField(`${path}.functionCall.name`, 'is required')
  const id = calls.add(name, textOf(call.id))
  return { kind: 'tool-call', id, name, arguments: JSON.stringify(call.args ?? {}) }
}

function decodeInline(value: unknown, { path }: Reading): Part {
  const blob = objectOf(value) ?? {}
  const data = textOf(blob.data)
  const mediaType = textOf(field(blob, 'mimeType'))
  if (data === undefined) throw badField(`${path}.inlineData.data`, 'is required')
  if (!mediaType) throw badField(`${path}.inlineData.mimeType`, 'is required')
  const part = inlinePart(mediaType, data)
  const filename = textOf(field(blob, 'displayName'))
  return part.kind === 'file' && filename ? { ...part, filename } : part
}

function decodeFile(value: unknown, { path }: Reading): Part {
  const file = objectOf(value) ?? {}
  const uri = textOf(field(file, 'fileUri'))
  if (!uri) throw badField(`${path}.fileData.fileUri`, 'is required')
  return linkedPart(uri, textOf(field(file, 'mimeType')))
}

function decodeResponse(value: unknown, reading: Reading): Part {
  const given = objectOf(value) ?? {}
  const name = textOf(given.name)
  const result: ToolResultPart = {
    kind: 'tool-result',
    id: reading.calls.answer(name, textOf(given.id)),
    ...resultOf(objectField(given, 'response')),
  }
  if (name) result.name = name
  for (const entry of listOf(given.parts)) result.content.push(attachment(entry, reading))
  for (const word of ['willContinue', 'scheduling']) {
    if (field(given, word) !== undefined) reading.unknown.add(`functionResponse.${word}`)
  }
  return result
}

/** The words of a result: a lone `output`, `result` or `error` is only the vendor's wrapping. */
function resultOf(response: JsonObject | undefined): Pick<ToolResultPart, 'content' | 'isError'> {
  if (!response) return { content: [] }
  const [key, ...others] = Object.keys(response)
  const only = key !== undefined && others.length === 0 ? response[key] : undefined
  if (key === 'error' && only !== undefined) {
    return { content: [textPart(typeof only === 'string' ? only : JSON.stringify(only))], isError: true }
  }
  if ((key === 'output' || key === 'result') && typeof only === 'string') return { content: [textPart(only)] }
  return { content: [textPart(JSON.stringify(response))] }
}

function textPart(text: string): TextPart {
  return { kind: 'text', text }
}

function attachment(value: unknown, reading: Reading): TextPart | ImagePart | FilePart | OpaquePart {
  const part = objectOf(value) ?? {}
  const inline = field(part, 'inlineData')
  const file = field(part, 'fileData')
  if (inline === undefined && file === undefined) return { kind: 'opaque', dialect: 'gemini', value: part }
  const decoded = inline === undefined ? decodeFile(file, reading) : decodeInline(inline, reading)
  return decoded.kind === 'image' || decoded.kind === 'file'
    ? decoded
    : { kind: 'opaque', dialect: 'gemini', value: part }
}
