export type RequestBody = Record<string, unknown>

/** A request that is never sent: only its route and its price are quoted. */
export interface SavedRequest {
  id: string
  name: string
  /** Null: as the server detects it from the body. */
  format: QuoteFormat | null
  body: RequestBody
}

export const quoteFormats = ['chat', 'messages', 'responses', 'completions'] as const
export type QuoteFormat = (typeof quoteFormats)[number]

/** Each is quoted twice, and a quote counts toward the requests of a minute. */
export const maxRequests = 20
/** Characters of a body: the storage of a browser is limited. */
const maxBodyLength = 100_000
const maxNameLength = 100

/** Tells them apart in the list; it is never sent. */
function newId(): string {
  return Math.random().toString(36).slice(2)
}

/** The request, or what is wrong with it. */
export function readRequest(value: unknown): SavedRequest | string {
  if (!isObject(value)) return 'A request is an object with "name", "format" and "body".'
  const { name, format, body } = value
  if (typeof name !== 'string' || name.trim() === '') return 'A request needs a "name".'
  if (!isObject(body)) return `The body of "${name}" must be a JSON object.`
  if (JSON.stringify(body).length > maxBodyLength) {
    return `The body of "${name}" is longer than ${maxBodyLength.toLocaleString('en')} characters.`
  }
  const known = quoteFormats.find((candidate) => candidate === format) ?? null
  if (known === null && format !== null && format !== undefined) {
    return `The format of "${name}" must be one of ${quoteFormats.join(', ')}.`
  }
  return { id: newId(), name: name.trim().slice(0, maxNameLength), format: known, body: { ...body } }
}

export function readBody(text: string): RequestBody | string {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? { ...value } : 'Write the body as a JSON object.'
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** Writes a file, without the ids, which have a meaning in one browser only. */
export function writeSet(requests: SavedRequest[]): string {
  return JSON.stringify(
    requests.map(({ name, format, body }) => ({ name, format, body })),
    null,
    2,
  )
}

/** The requests of a file, or what is wrong with it. */
export function readSet(text: string): SavedRequest[] | string {
  let values: unknown
  try {
    values = JSON.parse(text)
  } catch {
    return 'The file is not JSON.'
  }
  if (!Array.isArray(values)) return 'The file must have a JSON array of requests.'
  if (values.length > maxRequests) return `A set has at most ${maxRequests} requests.`
  const requests = values.map(readRequest)
  return (
    requests.find((request) => typeof request === 'string') ??
    requests.filter((request) => typeof request !== 'string')
  )
}

/** Reads the storage of the browser; values that are not requests are omitted. */
export function readStored(value: unknown): SavedRequest[] {
  if (!Array.isArray(value)) return []
  return value
    .flatMap((item) => {
      const request = readRequest(item)
      if (typeof request === 'string') return []
      return [{ ...request, ...(typeof item.id === 'string' && { id: item.id }) }]
    })
    .slice(0, maxRequests)
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
