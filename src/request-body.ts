import type { z } from 'zod'
import { fail } from './errors.ts'
import type { Gateway } from './gateway.ts'
import { type BodyLimits, readText } from './lib/body.ts'
import { check } from './lib/check.ts'
import { parseCountedPrompt, parseJson } from './lib/json.ts'
import { JsonCounter } from './lib/json-counter.ts'
import { JsonError } from './lib/json-error.ts'
import { spliceJson } from './lib/json-splice.ts'
import { objectOf } from './lib/loose.ts'
import { nextTurn } from './lib/turns.ts'
import type { Operation } from './operation.ts'
import { isLarge, type Source } from './pipeline/asked.ts'
import { refuseExcess } from './pipeline/excess.ts'
import { paceOf } from './pipeline/pace.ts'

/** A management body is a handful of fields. */
const maxJsonBytes = 1024 * 1024
const maxManagementValues = 20_000

/** A body as it came, and what its schema made of it. */
export async function readBody(
  gateway: Gateway,
  request: Request,
  operation: Operation,
  schema: z.ZodType,
  deployment: string | undefined,
): Promise<Omit<Source, 'body'> & { body: unknown }> {
  const { limits } = gateway.settings
  const counter = new JsonCounter(operation.inference ? limits.body_values : maxManagementValues)
  try {
    const sent = await readText(request, bodyLimits(gateway, operation), (arrived) => counter.add(arrived))
    const text = sent.trim() === '' && operation.optionalBody ? '{}' : sent
    if (text.trim() === '') throw fail('invalid_request', 'body: a JSON object is required.')
    const { values } = counter
    const large = isLarge({ text, values })
    if (large) await nextTurn()
    const parsed = operation.inference ? parseCountedPrompt(text) : parseJson(text, counter)
    if (operation.inference) refuseExcess(parsed, values, limits)
    if (large) await nextTurn()
    const named = withModel(text, parsed, deployment)
    const body = checkedBody(named.body, values, operation, schema)
    if (large) await nextTurn()
    return { text: named.text, body, values }
  } catch (error) {
    if (error instanceof JsonError) throw fail('malformed_json', `The request body is ${error.message}.`)
    throw error
  }
}

/** At the path of a deployment, that is the model. */
function withModel(text: string, body: unknown, deployment: string | undefined) {
  const given = objectOf(body)
  if (deployment === undefined || !given) return { text, body }
  const named = { ...given, model: deployment }
  return { text: spliceJson(text, given, named), body: named }
}

function bodyLimits(gateway: Gateway, operation: Operation): BodyLimits {
  return { maxBytes: maxBytesOf(gateway, operation), pace: paceOf(gateway) }
}

function checkedBody(body: unknown, values: number, operation: Operation, schema: z.ZodType): unknown {
  const { also, isPlain } = operation.inference ?? {}
  if (isPlain?.(body)) return body
  const other = also && typeof body === 'object' && body !== null && also.field in body
  return check(other ? also.body : schema, body, 'body', values)
}

/** The largest body that an operation takes. */
export function maxBytesOf(gateway: Gateway, operation: Operation): number {
  if (operation.inference) return gateway.settings.limits.body_bytes
  return operation.rawBody?.maxBytes ?? maxJsonBytes
}
