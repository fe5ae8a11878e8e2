import { asObject, asString, isBlank } from '../json/json-values.ts'

interface ErrorFrame {
  event: 'error'
  data: string
}

const errorLine = /^error: ?(.+)$/m

/** The error in a block without data: an `error:` line or a bare JSON object, which no event stream should have. */
export function findBareError(block: string): ErrorFrame | null {
  const text = errorLine.exec(block)?.[1]
  if (text !== undefined) return toErrorFrame(text)
  const parsed = /^\s*[{[]/.test(block) ? parseJson(block) : undefined
  const object = asObject(Array.isArray(parsed) ? parsed[0] : parsed)
  return object && !isBlank(object.error) ? toErrorFrame(JSON.stringify(object)) : null
}

/** An `error` event whose data is an object with an `error` object, whatever form the error has. */
export function toErrorFrame(data: string): ErrorFrame {
  const object = asObject(parseJson(data))
  if (object && asObject(object.error)) return { event: 'error', data }
  if (!object) return { event: 'error', data: JSON.stringify({ error: { message: data } }) }
  const { error, ...fields } = object
  const message = asString(fields.message) || asString(error)
  return { event: 'error', data: JSON.stringify({ ...fields, error: { ...fields, message } }) }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
