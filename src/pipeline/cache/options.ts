import { sha256 } from '../../lib/crypto.ts'
import { findStringEnd } from '../../lib/json-string.ts'
import { asNumber, type JsonObject } from '../../lib/json-values.ts'
import type { EffectivePolicy } from '../../policy/effective.ts'
import type { InferenceRequest } from '../request/inference-request.ts'

/** What a request says about earlier answers. */
export interface CacheOptions {
  enabled: boolean
  ttlSeconds: number
  /** What is there is to be made anew. */
  shouldRefresh: boolean
}

const defaultSeconds = 300
const maxSeconds = 86_400

/** A preset may forbid it; otherwise the headers have the first word and the preset, null without one, the second. */
export function parseCacheOptions(headers: Headers, preset: JsonObject | null): CacheOptions {
  const request = parseFlag(headers.get('x-service-cache'))
  const allowed = preset?.cache_enabled
  const seconds = Number.parseInt(headers.get('x-service-cache-ttl') ?? '', 10)
  const wished = Number.isNaN(seconds) ? (asNumber(preset?.cache_ttl_seconds) ?? defaultSeconds) : seconds
  return {
    enabled: allowed !== false && (request ?? allowed === true),
    ttlSeconds: Math.min(Math.max(wished, 1), maxSeconds),
    shouldRefresh: parseFlag(headers.get('x-service-cache-clear')) ?? false,
  }
}

/** Undefined for what is neither. */
function parseFlag(text: string | null): boolean | undefined {
  const word = text?.trim().toLowerCase()
  return word === 'true' ? true : word === 'false' ? false : undefined
}

/** Whoever must not have anything retained elsewhere does not want it retained here. */
export function forbidsRetention({ keyContext, options }: InferenceRequest): boolean {
  const enforced = Object.values(keyContext.policy.enforce_zdr).some(({ value }) => value)
  return enforced || options.routing.zdr === true
}

/**
 * Equal for two requests only if they come from one key, and a provider would be sent the same for both.
 * A change of policy gives every request another key: what it forbids is not found any more.
 */
export function computeCacheHash(request: InferenceRequest): string {
  const { caller, format, content, region, httpRequest, options } = request
  const { call, body, verbatim } = content
  const passed = format.dialect?.passthrough.headers ?? []
  const around = [
    format.name,
    call.stream,
    region,
    options.models,
    options.strict,
    passed.map((name) => httpRequest.headers.get(name)),
    request.presetId,
    withoutBudgets(request.keyContext.policy),
    // Null for exactly what the client sent; otherwise with what a preset, the path or another stage changed.
    body === verbatim?.body ? null : body,
  ]
  const hash = sha256(`${JSON.stringify(around)}\n${stripWhitespace(verbatim?.text ?? '')}`)
  return `${caller.organizationId} ${caller.key.id} ${hash}`
}

/** What is spent changes nothing about an answer. */
function withoutBudgets({ budgets: _, ...rules }: EffectivePolicy): Omit<EffectivePolicy, 'budgets'> {
  return rules
}

/** The same JSON with nothing between its words. Not parsed: that would make equals of different numbers. */
function stripWhitespace(json: string): string {
  let text = ''
  for (let at = 0; at < json.length; ) {
    const quote = json.indexOf('"', at)
    const start = quote === -1 ? json.length : quote
    const end = quote === -1 ? json.length : findStringEnd(json, quote + 1) + 1
    text += json.slice(at, start).replace(/\s+/g, '') + json.slice(start, end)
    at = end
  }
  return text
}
