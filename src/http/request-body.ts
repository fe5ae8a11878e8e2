import type { z } from 'zod'
import { findModelOrRouter } from '../catalog/router-models.ts'
import { mayHaveSynonyms, translateFieldNames, translateSynonyms } from '../formats/synonyms.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { isLarge, largeTextLength, type RequestSource } from '../inference/request/content.ts'
import { enforceSizeLimits } from '../inference/request/size-limits.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { bodyPaceOf, declaredLengthOf, readBodyText } from '../platform/http/body-reader.ts'
import { parseCountedLenientJson, parseJson, parseRaw } from '../platform/json/json.ts'
import { maxShapes } from '../platform/json/json-bounds.ts'
import { JsonCounter } from '../platform/json/json-counter.ts'
import { JsonError } from '../platform/json/json-error.ts'
import { countJsonValues, isShallow } from '../platform/json/json-size.ts'
import { spliceJson } from '../platform/json/json-splice.ts'
import { asObject } from '../platform/json/json-values.ts'
import { parseCountedLongJson } from '../platform/json/long-json.ts'
import { yieldToEventLoop } from '../platform/time/time-slicer.ts'
import { validateInput } from '../platform/validation/validate-input.ts'
import type { Operation } from './operation.ts'

/** A management body is a handful of fields. */
const maxJsonBytes = 1024 * 1024
const maxManagementValues = 20_000
/** A body that is read before its sender is known. */
const maxCredentialBytes = 16 * 1024

/** Length above which the values of a body are counted before it is parsed. */
const maxUncountedBytes = 512 * 1024
/** One that has many members takes milliseconds to parse, and to count: not in the same turn of the event loop. */
const longTextLength = 64 * 1024

/** What a body is validated against. */
interface BodyRules {
  schema: z.ZodType
  /** In Azure paths the deployment is the model. */
  deployment: string | undefined
}

/** The text of a body and its validated value. */
export async function readRequestBody(
  gateway: Gateway,
  request: Request,
  operation: Operation,
  { schema, deployment }: BodyRules,
): Promise<Omit<RequestSource, 'body'> & { body: unknown }> {
  try {
    const { limits: bounds } = gateway.settings
    // A prompt with no more bytes than it may have values is counted once it is parsed.
    const uncountedBytes = operation.inference ? Math.min(maxUncountedBytes, bounds.body_values) : 0
    const isCountedLater = declaredLengthOf(request) <= uncountedBytes
    const counter = isCountedLater ? null : createCounter(gateway, operation)
    const limits = { maxBytes: maxBytesOf(gateway, request, operation), pace: bodyPaceOf(gateway) }
    const received = await readBodyText(request, limits, counter ? (part) => counter.add(part) : undefined)
    const text = received.trim() === '' ? requireOptional(operation) : received
    const { value, values } = await parseText(text, counter, operation)
    const isLargeBody = isLarge({ text, values })
    if (operation.inference && values > Math.min(bounds.list_entries, bounds.parts))
      enforceSizeLimits(value, bounds)
    if (isLargeBody) await yieldToEventLoop()
    const isUnchanged = operation.inference && deployment === undefined && !mayHaveSynonyms(text)
    const source = { text, body: value }
    const prepared = isUnchanged ? source : prepareBody(gateway, operation, source, deployment)
    const body = validateBody(prepared.body, values, operation, schema)
    if (isLargeBody) await yieldToEventLoop()
    return { text: prepared.text, body, values }
  } catch (error) {
    if (error instanceof JsonError)
      throw gatewayError('malformed_json', `The request body is ${error.message}.`)
    throw error
  }
}

/** The text of an empty body. */
function requireOptional({ optionalBody }: Operation): string {
  if (optionalBody) return '{}'
  throw gatewayError('invalid_request', 'body: is required and must be a JSON object')
}

/** The value of a text, and how many values it has. */
async function parseText(
  text: string,
  arrivalCounter: JsonCounter | null,
  operation: Operation,
): Promise<{ value: unknown; values: number }> {
  // A text with few brackets is cheaper to count once it is parsed.
  const counter = arrivalCounter ?? (isShallow(text) ? null : countText(text))
  if (!counter) {
    const value = parseRaw(text)
    if (text.length > longTextLength) await yieldToEventLoop()
    return { value, values: countJsonValues(value) }
  }
  if (isLarge({ text, values: counter.valueCount })) await yieldToEventLoop()
  const hasPrompts = operation.inference ?? operation.hasPrompts
  const value = hasPrompts ? await parsePrompt(text) : parseJson(text, counter)
  return { value, values: counter.valueCount }
}

/** The long strings of a long prompt are not copied. */
function parsePrompt(text: string): unknown {
  return text.length > largeTextLength ? parseCountedLongJson(text) : parseCountedLenientJson(text)
}

/** Counts the values of a body before it is parsed, and of a long one as it arrives. */
function createCounter({ settings }: Gateway, { inference, hasPrompts }: Operation): JsonCounter {
  const bounds = { values: settings.limits.body_values, shapes: maxShapes }
  return new JsonCounter((inference ?? hasPrompts) ? bounds : { values: maxManagementValues })
}

function countText(text: string): JsonCounter {
  const counter = new JsonCounter()
  counter.add(text)
  return counter
}

/** Translates a body to the names of this API. In Azure paths the deployment is the model. */
function prepareBody(
  { catalog }: Gateway,
  { inference }: Operation,
  source: { text: string; body: unknown },
  deployment: string | undefined,
) {
  const { text } = source
  const received = asObject(source.body)
  if (!received) return source
  const named = inference ? received : translateFieldNames(received)
  const translated = mayHaveSynonyms(text)
    ? translateSynonyms(named, (name) => findModelOrRouter(catalog, name) !== undefined)
    : named
  const prepared = deployment === undefined ? translated : { ...translated, model: deployment }
  return prepared === received ? source : { text: spliceJson(text, received, prepared), body: prepared }
}

function validateBody(body: unknown, values: number, operation: Operation, schema: z.ZodType): unknown {
  const { alternateFormat, isPlain } = operation.inference ?? {}
  if (isPlain?.(body)) return body
  const isAlternate =
    alternateFormat && typeof body === 'object' && body !== null && alternateFormat.field in body
  return validateInput(isAlternate ? alternateFormat.body : schema, body, 'body', values)
}

/** Whether the handler reads the body itself. An operation may accept JSON besides a form. */
export function isRawBody(request: Request, { body, rawBody }: Operation): boolean {
  if (!rawBody) return false
  const contentType = request.headers.get('content-type')?.toLowerCase() ?? ''
  return !body || contentType.startsWith(rawBody.contentType)
}

export function maxBytesOf(gateway: Gateway, request: Request, operation: Operation): number {
  const { rawBody } = operation
  const rawLimit = rawBody && isRawBody(request, operation) ? rawBody.maxBytes?.(gateway.settings) : undefined
  if (rawLimit !== undefined) return rawLimit
  if (operation.hasOwnCredential) return maxCredentialBytes
  return (operation.inference ?? operation.hasPrompts) ? gateway.settings.limits.body_bytes : maxJsonBytes
}
