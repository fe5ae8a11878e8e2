import { endOfString } from '../lib/json-string.ts'
import { type JsonObject, numberOf } from '../lib/loose.ts'
import { sha256 } from '../lib/secret.ts'
import type { EffectivePolicy } from '../policy/effective.ts'
import type { Asked } from './asked.ts'

/** What a request says about earlier answers. */
export interface CacheWish {
  enabled: boolean
  seconds: number
  /** What is there is to be made anew. */
  clears: boolean
}

const defaultSeconds = 300
const mostSeconds = 86_400

/** A preset may forbid it; otherwise the headers have the first word and the preset, null without one, the second. */
export function readCacheWish(headers: Headers, preset: JsonObject | null): CacheWish {
  const asked = flagOf(headers.get('x-service-cache'))
  const allowed = preset?.cache_enabled
  const seconds = Number.parseInt(headers.get('x-service-cache-ttl') ?? '', 10)
  const wished = Number.isNaN(seconds) ? (numberOf(preset?.cache_ttl_seconds) ?? defaultSeconds) : seconds
  return {
    enabled: allowed !== false && (asked ?? allowed === true),
    seconds: Math.min(Math.max(wished, 1), mostSeconds),
    clears: flagOf(headers.get('x-service-cache-clear')) ?? false,
  }
}

/** Undefined for what is neither. */
function flagOf(text: string | null): boolean | undefined {
  const word = text?.trim().toLowerCase()
  return word === 'true' ? true : word === 'false' ? false : undefined
}

/** Whoever must not have anything retained elsewhere does not want it retained here. */
export function forbidsRetention({ standing, wishes }: Asked): boolean {
  const enforced = Object.values(standing.policy.enforce_zdr).some(({ value }) => value)
  return enforced || wishes.provider.zdr === true
}

/**
 * Equal for two requests only if they come from one key, and a provider would be sent the same for both.
 * A change of policy gives every request another key: what it forbids is not found any more.
 */
export function cacheKey(asked: Asked): string {
  const { caller, format, body, call, region, request, source, wishes } = asked
  const passed = format.dialect?.same.headers ?? []
  const around = [
    format.name,
    call.stream,
    region,
    wishes.models,
    wishes.strict,
    passed.map((name) => request.headers.get(name)),
    asked.presetId,
    rulesOf(asked.standing.policy),
    // With what a preset, the path or an earlier response added.
    body === source.body ? null : body,
  ]
  const hash = sha256(`${JSON.stringify(around)}\n${withoutSpaces(source.text)}`)
  return `${caller.organizationId} ${caller.key.id} ${hash}`
}

/** What is spent changes nothing about an answer. */
function rulesOf({ budgets: _, ...rules }: EffectivePolicy): Omit<EffectivePolicy, 'budgets'> {
  return rules
}

/** The same JSON with nothing between its words. Not parsed: that would make equals of different numbers. */
function withoutSpaces(json: string): string {
  let text = ''
  for (let at = 0; at < json.length; ) {
    const quote = json.indexOf('"', at)
    const start = quote === -1 ? json.length : quote
    const end = quote === -1 ? json.length : endOfString(json, quote + 1) + 1
    text += json.slice(at, start).replace(/\s+/g, '') + json.slice(start, end)
    at = end
  }
  return text
}
