import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import { isTextType, type PlacedText, type TextPlace } from './texts.ts'

/** The fields of a body by what is known of them. */
export interface BodyFields {
  /** All that the schema names. The names of others are texts too. */
  known: ReadonlySet<string>
  /** Fields without text of the client: numbers, one of a fixed list of values, or the name of a model. */
  structural: ReadonlySet<string>
}

type TextMapper = (text: string, place: TextPlace) => string

/** Every text of a body for a task other than text, in a fixed order. */
export function collectBodyTexts(body: JsonObject, fields: BodyFields): PlacedText[] {
  const texts: PlacedText[] = []
  const collect: TextMapper = (text, place) => {
    texts.push({ text, place })
    return text
  }
  mapBody(body, fields, collect)
  return texts
}

/** The body with other texts, in the order of `collectBodyTexts`; null is the same text. */
export function replaceBodyTexts(
  body: JsonObject,
  fields: BodyFields,
  texts: readonly (string | null)[],
): JsonObject {
  let index = 0
  return mapBody(body, fields, (text) => texts[index++] ?? text)
}

/** Fields that the model reads. */
const promptFields: ReadonlySet<string> = new Set([
  'input',
  'query',
  'documents',
  'prompt',
  'instructions',
  'input_references',
])
/** Fields that can have media. */
const mediaFields: ReadonlySet<string> = new Set([...promptFields, 'frame_images', 'input_reference'])

const parameter: TextPlace = { part: 'parameter', role: null, message: null }
const promptText: TextPlace = { part: 'text', role: 'user', message: null }

function mapBody(body: JsonObject, { known, structural }: BodyFields, map: TextMapper): JsonObject {
  const asParameter = (text: string) => map(text, parameter)
  return mapEntries(body, (name, value) => {
    if (structural.has(name)) return { [name]: value }
    if (name === 'provider') return { [name]: mapOptions(value, asParameter) }
    if (!known.has(name)) return mapJson({ [name]: value }, asParameter)
    if (!mediaFields.has(name))
      return { [name]: typeof value === 'string' ? asParameter(value) : mapJson(value, asParameter) }
    const place = promptFields.has(name) ? promptText : parameter
    return { [name]: mapValue(value, name, (text, part) => map(text, part ? { ...place, part } : place)) }
  })
}

/** Maps the options for providers, the only part of the preferences that is sent on. */
function mapOptions(provider: unknown, map: (text: string) => string): unknown {
  const preferences = asObject(provider)
  if (preferences?.options === undefined) return provider
  const options = mapJson(preferences.options, map)
  return options === preferences.options ? provider : { ...preferences, options }
}

type PartMapper = (text: string, part?: TextPlace['part']) => string

/** The keys of content parts. */
const partKeys: ReadonlySet<string> = new Set([
  ...['type', 'text', 'content', 'data', 'format', 'frame_type', 'url', 'image', 'image_url'],
  ...['input_audio', 'input_video', 'input_file', 'audio_url', 'video_url'],
])
const typeKeys: ReadonlySet<string> = new Set(['type', 'frame_type'])
const typeNames: ReadonlySet<unknown> = new Set([...partKeys, 'first_frame', 'last_frame'])
const urlKeys: ReadonlySet<string> = new Set(['url', 'image', 'image_url', 'input_reference'])

function mapValue(value: unknown, key: string, map: PartMapper): unknown {
  if (typeof value === 'string') return urlKeys.has(key) ? mapUrl(value, map) : map(value)
  // Tokens have no text.
  if (Array.isArray(value)) return typeof value[0] === 'number' ? value : mapItems(value, key, map)
  const object = asObject(value)
  if (!object) return value
  return mapEntries(object, (name, inner) => {
    if (typeKeys.has(name) && typeNames.has(inner)) return { [name]: inner }
    if (!partKeys.has(name)) return mapJson({ [name]: inner }, (text) => map(text, 'parameter'))
    if (name === 'data' && typeof inner === 'string') return { [name]: mapData(inner, object.format, map) }
    return { [name]: mapValue(inner, name, map) }
  })
}

function mapItems(items: unknown[], key: string, map: PartMapper): unknown[] {
  const mapped = items.map((item) => mapValue(item, key, map))
  return mapped.some((item, index) => item !== items[index]) ? mapped : items
}

const dataUrlPattern = /^data:([^;,]{0,100})[^,]{0,200},/i

function mapUrl(url: string, map: PartMapper): string {
  const [head] = dataUrlPattern.exec(url.slice(0, maxHeadLength)) ?? []
  return head === undefined ? map(url, 'url') : mapData(url, undefined, map)
}

const maxHeadLength = 400

/** Base64, alone or as a data URL: only that of a text can be read. */
function mapData(data: string, format: unknown, map: PartMapper): string {
  const [head = '', mediaType] = dataUrlPattern.exec(data.slice(0, maxHeadLength)) ?? []
  if (!isTextType(typeof format === 'string' ? format : (mediaType ?? ''))) return data
  const text = Buffer.from(data.slice(head.length), 'base64').toString()
  const mapped = map(text, 'file')
  return mapped === text ? data : head + Buffer.from(mapped).toString('base64')
}

/** A value of any form is one JSON text. */
function mapJson<T>(value: T, map: (text: string) => string): T {
  if (typeof value !== 'object' || value === null) return value
  const text = JSON.stringify(value)
  const mapped = map(text)
  return mapped === text ? value : JSON.parse(mapped)
}

/** The same object if no entry changes. */
function mapEntries(object: JsonObject, map: (name: string, value: unknown) => JsonObject): JsonObject {
  let isChanged = false
  const entries: [string, unknown][] = []
  for (const [name, value] of Object.entries(object)) {
    const mapped = Object.entries(map(name, value))
    isChanged ||= mapped[0]?.[0] !== name || mapped[0]?.[1] !== value
    entries.push(...mapped)
  }
  return isChanged ? Object.fromEntries(entries) : object
}
