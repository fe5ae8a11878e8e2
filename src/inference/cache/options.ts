import {
  type CacheScope,
  cacheModes,
  cacheScopes,
  minCacheThreshold,
} from '../../formats/schema/cache-fields.ts'
import { listServiceHeaders, readServiceHeader } from '../../formats/synonyms.ts'
import type { EffectivePolicy } from '../../governance/policy/effective.ts'
import { sha256 } from '../../platform/crypto/crypto.ts'
import { findStringEnd } from '../../platform/json/json-string.ts'
import { asNumber, type JsonObject } from '../../platform/json/json-values.ts'
import type { ClientFormat } from '../request/client-format.ts'
import type { RequestContent } from '../request/content.ts'
import type { MeasuredContent, RequestFormat, RequestState } from '../request/inference-request.ts'

/** The response cache options of a request. */
export interface CacheOptions {
  enabled: boolean
  ttlSeconds: number
  /** Whether the stored reply is deleted first. */
  shouldRefresh: boolean
  /** Null unless a reply to a similar request is good enough. */
  semantic: SemanticOptions | null
}

/** The options of the semantic cache. */
export interface SemanticOptions {
  scope: CacheScope
  /** The cosine similarity that a hit needs; null for that of the settings. */
  threshold: number | null
}

const defaultSeconds = 300
const maxSeconds = 86_400

/** Headers with which the client enables or disables the cache. Most requests have neither. */
export const [cacheHeader, cacheSynonym] = listServiceHeaders('cache')

/** A preset can disable the cache; otherwise headers take precedence over the preset, which is null if there is none. */
export function parseCacheOptions(headers: Headers, preset: JsonObject | null): CacheOptions {
  const requested = parseFlag(readServiceHeader(headers, 'cache'))
  const allowed = preset?.cache_enabled
  const seconds = Number.parseInt(readServiceHeader(headers, 'cache-ttl') ?? '', 10)
  const ttlSeconds = Number.isNaN(seconds) ? (asNumber(preset?.cache_ttl_seconds) ?? defaultSeconds) : seconds
  return {
    enabled: allowed !== false && (requested ?? allowed === true),
    ttlSeconds: Math.min(Math.max(ttlSeconds, 1), maxSeconds),
    shouldRefresh: parseFlag(readServiceHeader(headers, 'cache-clear')) ?? false,
    semantic: parseSemanticOptions(headers, preset),
  }
}

function parseSemanticOptions(headers: Headers, preset: JsonObject | null): SemanticOptions | null {
  const read = <T extends string>(name: string, values: readonly T[], field: unknown): T | undefined =>
    parseName(readServiceHeader(headers, name), values) ?? values.find((value) => value === field)
  if (read('cache-mode', cacheModes, preset?.cache_mode) !== 'semantic') return null
  const requested = Number.parseFloat(readServiceHeader(headers, 'cache-threshold') ?? '')
  const threshold = Number.isNaN(requested) ? (asNumber(preset?.cache_threshold) ?? null) : requested
  return {
    scope: read('cache-scope', cacheScopes, preset?.cache_scope) ?? 'key',
    threshold: threshold === null ? null : Math.min(Math.max(threshold, minCacheThreshold), 1),
  }
}

/** Parses one of the values; undefined for anything else. */
function parseName<T extends string>(text: string | null, values: readonly T[]): T | undefined {
  const name = text?.trim().toLowerCase()
  return values.find((value) => value === name)
}

/** Parses `true` or `false`; undefined for any other value. */
function parseFlag(text: string | null): boolean | undefined {
  const value = text?.trim().toLowerCase()
  return value === 'true' ? true : value === 'false' ? false : undefined
}

/**
 * A request whose reply can be cached. For text, the encoded request may also depend on the client's own text and
 * headers.
 */
export interface CacheableRequest extends RequestState {
  format: RequestFormat & Partial<Pick<ClientFormat, 'wireFormat'>>
  content: MeasuredContent & Partial<Pick<RequestContent, 'verbatim'>>
}

/**
 * Computes a hash that is equal for two requests only if they come from the same key and would send the same to a
 * provider. The policy is part of it, so that a change of policy invalidates every entry.
 */
export function computeCacheHash(request: CacheableRequest): string {
  const { caller, content } = request
  const { call, body, verbatim } = content
  const inputs = [
    ...listCacheInputs(request),
    // Null if no preset, path or other stage has changed the body: then the text below is enough.
    body === verbatim?.body ? null : body,
    verbatim ? null : call,
  ]
  const hash = sha256(`${JSON.stringify(inputs)}\n${stripWhitespace(verbatim?.text ?? '')}`)
  return `${caller.organizationId} ${caller.key.id} ${hash}`
}

/** What a reply depends on besides the body of its request. */
export function listCacheInputs(request: CacheableRequest): unknown[] {
  const { format, content, region, httpRequest, options, keyContext } = request
  const forwarded = format.wireFormat?.passthrough.headers ?? []
  return [
    format.name,
    content.call.stream,
    region,
    options.models,
    options.strict,
    forwarded.map((name) => httpRequest.headers.get(name)),
    request.presetId,
    omitBudgets(keyContext.policy),
    keyContext.defaultPlugins,
    // What the client prefers is in the text.
    ...(request.rule ? [options.preferences] : []),
  ]
}

/** Budgets do not affect a reply. */
function omitBudgets({ budgets: _, ...rules }: EffectivePolicy): Omit<EffectivePolicy, 'budgets'> {
  return rules
}

/** Removes whitespace between tokens. Not parsed, because that would make different numbers equal. */
export function stripWhitespace(json: string): string {
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
