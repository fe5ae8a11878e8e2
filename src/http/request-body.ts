import type { z } from 'zod'
import type { Gateway } from '../app/gateway.ts'
import { gatewayError } from '../errors/gateway-error.ts'
import { type BodyLimits, readBodyText } from '../lib/body-reader.ts'
import { parseCountedLenientJson, parseJson } from '../lib/json.ts'
import { JsonCounter } from '../lib/json-counter.ts'
import { JsonError } from '../lib/json-error.ts'
import { spliceJson } from '../lib/json-splice.ts'
import { asObject } from '../lib/json-values.ts'
import { yieldToEventLoop } from '../lib/time-slicer.ts'
import { validateInput } from '../lib/validate-input.ts'
import { bodyPaceOf } from '../pipeline/request/body-pace.ts'
import { isLarge, type RequestSource } from '../pipeline/request/content.ts'
import { enforceSizeLimits } from '../pipeline/request/size-limits.ts'
import type { Operation } from './operation.ts'

/** A management body is a handful of fields. */
const maxJsonBytes = 1024 * 1024
const maxManagementValues = 20_000

/** The text of a body and its validated value. */
export async function readRequestBody(
  gateway: Gateway,
  request: Request,
  operation: Operation,
  schema: z.ZodType,
  deployment: string | undefined,
): Promise<Omit<RequestSource, 'body'> & { body: unknown }> {
  const { limits } = gateway.settings
  const counter = new JsonCounter(operation.inference ? limits.body_values : maxManagementValues)
  try {
    const receivedText = await readBodyText(
      request,
      buildBodyLimits(gateway, request, operation),
      (arrived) => counter.add(arrived),
    )
    const text = receivedText.trim() === '' && operation.optionalBody ? '{}' : receivedText
    if (text.trim() === '')
      throw gatewayError('invalid_request', 'body: is required and must be a JSON object')
    const { valueCount } = counter
    const isLargeBody = isLarge({ text, values: valueCount })
    if (isLargeBody) await yieldToEventLoop()
    const parsed = operation.inference ? parseCountedLenientJson(text) : parseJson(text, counter)
    if (operation.inference) enforceSizeLimits(parsed, valueCount, limits)
    if (isLargeBody) await yieldToEventLoop()
    const prepared = setDeploymentModel(text, parsed, deployment)
    const body = validateBody(prepared.body, valueCount, operation, schema)
    if (isLargeBody) await yieldToEventLoop()
    return { text: prepared.text, body, values: valueCount }
  } catch (error) {
    if (error instanceof JsonError)
      throw gatewayError('malformed_json', `The request body is ${error.message}.`)
    throw error
  }
}

/** In Azure paths the deployment is the model. */
function setDeploymentModel(text: string, body: unknown, deployment: string | undefined) {
  const requestObject = asObject(body)
  if (deployment === undefined || !requestObject) return { text, body }
  const withDeployment = { ...requestObject, model: deployment }
  return { text: spliceJson(text, requestObject, withDeployment), body: withDeployment }
}

function buildBodyLimits(gateway: Gateway, request: Request, operation: Operation): BodyLimits {
  return { maxBytes: maxBytesOf(gateway, request, operation), pace: bodyPaceOf(gateway) }
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
  const rawLimit = isRawBody(request, operation) ? operation.rawBody?.maxBytes?.(gateway.settings) : undefined
  if (rawLimit !== undefined) return rawLimit
  return operation.inference ? gateway.settings.limits.body_bytes : maxJsonBytes
}
