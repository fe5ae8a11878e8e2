import {
  type AudioSource,
  maxRecordingBytes,
  recordingTooLargeError,
} from '../../../formats/transcriptions/recording.ts'
import { maxReferenceCharacters } from '../../../formats/transcriptions/schema.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { bodyPaceOf } from '../../../platform/http/body-reader.ts'
import { type FormPart, readFormParts } from '../../../platform/http/multipart.ts'
import { parseLenientJson } from '../../../platform/json/json.ts'
import { JsonError } from '../../../platform/json/json-error.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'
import { joinBytes } from '../../../platform/text/join-bytes.ts'

/** Maximum bytes of a field other than the recording and references. */
const maxFieldBytes = 256 * 1024
/** Recordings of known speakers, as data URLs. */
const referencesField = 'known_speaker_references'
const maxFields = 100
/** Maximum values of a field that is JSON. */
const maxValues = 20_000
export const maxFormBytes = maxRecordingBytes + 4 * maxReferenceCharacters + 1024 * 1024

interface TranscriptionUpload {
  fields: JsonObject
  file: AudioSource
}

/** The fields of a form as JSON values, and its file. */
export async function readUpload(gateway: Gateway, request: Request): Promise<TranscriptionUpload> {
  const fields = new FormFields()
  let file: AudioSource | undefined
  const limits = { maxBytes: maxFormBytes, pace: bodyPaceOf(gateway) }
  for await (const part of readFormParts(request, limits)) {
    if (part.name !== 'file') fields.add(part.name, await readText(part))
    else if (file) throw invalidFieldError('file', 'must be sent once')
    else file = await readFile(part)
  }
  if (!file) throw invalidFieldError('file', 'is required')
  return { fields: fields.toJson(), file }
}

async function readFile(part: FormPart): Promise<AudioSource> {
  const { filename, contentType } = part
  const bytes = await collect(part, maxRecordingBytes, () => recordingTooLargeError('file'))
  return { field: 'file', bytes, filename, contentType, format: undefined }
}

async function readText(part: FormPart): Promise<string> {
  const maxBytes = part.name.startsWith(referencesField) ? maxReferenceCharacters : maxFieldBytes
  const isTooLong = () => invalidFieldError(shorten(part.name), `must have at most ${maxBytes} bytes`)
  return Buffer.from(await collect(part, maxBytes, isTooLong)).toString('utf8')
}

async function collect(
  { body }: FormPart,
  maxBytes: number,
  tooLargeError: () => Error,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw tooLargeError()
    chunks.push(chunk)
  }
  return joinBytes(chunks)
}

function shorten(name: string): string {
  return name.slice(0, 100) || 'body'
}

type Parser = (text: string, name: string) => unknown

/** Forms have only texts. Fields that are not here stay texts. */
const parsers: ReadonlyMap<string, Parser> = new Map<string, Parser>([
  ['temperature', parseNumber],
  ['stream', parseBoolean],
  ['provider', parseObject],
  ['trace', parseObject],
  ['chunking_strategy', (text, name) => (text.startsWith('{') ? parseObject(text, name) : text)],
])
const listNames: ReadonlySet<string> = new Set([
  ...['timestamp_granularities', 'include', 'models', 'known_speaker_names', referencesField],
])

/** `name=text`, `name[]=text` for lists, `name[key]=text` for objects. */
class FormFields {
  readonly #fields: JsonObject = {}
  #count = 0

  add(field: string, text: string): void {
    const [, name = '', key] = /^([\w-]{1,100})(?:\[([\w-]{0,100})\])?$/.exec(field) ?? []
    if (name === '' || name === '__proto__' || key === '__proto__')
      throw invalidFieldError(shorten(field), 'is not a valid name of a field')
    if (++this.#count > maxFields) throw invalidFieldError('body', `must have at most ${maxFields} fields`)
    if (key === '' || (key === undefined && listNames.has(name))) this.#addItem(name, text)
    else if (key !== undefined) this.#addKey(name, key, text)
    else if (name in this.#fields) throw invalidFieldError(name, 'must be sent once')
    else this.#fields[name] = parsers.get(name)?.(text, name) ?? text
  }

  toJson(): JsonObject {
    return this.#fields
  }

  #addItem(name: string, text: string): void {
    const items = this.#fields[name] ?? []
    if (!Array.isArray(items)) throw invalidFieldError(name, 'must be sent once')
    this.#fields[name] = [...items, text]
  }

  #addKey(name: string, key: string, text: string): void {
    const object = this.#fields[name] ?? {}
    if (typeof object !== 'object' || Array.isArray(object))
      throw invalidFieldError(name, 'must be sent once')
    this.#fields[name] = { ...object, [key]: /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text }
  }
}

function parseNumber(text: string, name: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value)) throw invalidFieldError(name, 'must be a number')
  return value
}

function parseBoolean(text: string, name: string): boolean {
  if (text !== 'true' && text !== 'false') throw invalidFieldError(name, 'must be true or false')
  return text === 'true'
}

function parseObject(text: string, name: string): unknown {
  try {
    return parseLenientJson(text, maxValues)
  } catch (error) {
    if (error instanceof JsonError)
      throw invalidFieldError(name, `must be a JSON object, and is ${error.message}`)
    throw error
  }
}
