import { resolveNames } from '../../catalog/resolve-names.ts'
import { isRouterSlug } from '../../catalog/router-models.ts'
import { selectTargets } from '../../delivery/outbox.ts'
import type { KeyContext } from '../../gateway/account-cache.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { newTimeOrderedHex } from '../../platform/crypto/ids.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { Funds } from '../hold/funds.ts'
import { RequestContent } from './content.ts'
import type {
  IncomingRequest,
  InferenceRequest,
  MeasuredContent,
  RequestFormat,
  RequestState,
  Unguarded,
} from './inference-request.ts'
import { inlineFiles } from './inline-files.ts'
import { parseOptions, type RequestOptions } from './options.ts'
import { resolvePlugins } from './plugins.ts'
import { expandPreset } from './preset.ts'
import { shouldLogContent } from './retention.ts'
import { applyRoutingRules } from './routing-rules.ts'
import { recordSpans } from './spans.ts'
import { tagTargets } from './tags.ts'
import { RequestWork } from './work.ts'

export function newGenerationId(): string {
  return `gen-${newTimeOrderedHex()}`
}

/** Expands the preset, decodes the body, inlines the files it names and adds the context of the caller's key. */
export async function parseRequest(
  gateway: Gateway,
  incoming: IncomingRequest,
): Promise<Unguarded<InferenceRequest>> {
  const { caller, format } = incoming
  const startedAt = performance.now()
  const keyContext = incoming.keyContext ?? (await gateway.accounts.findContext(caller.key))
  const { model, preset } = incoming.body
  const namesPreset = preset !== undefined || (typeof model === 'string' && model.includes('@preset/'))
  const { body, presetId } = namesPreset
    ? await expandPreset(gateway, caller.key, format.presetTarget, incoming.body)
    : { body: incoming.body, presetId: null }
  const parsed = RequestContent.parse(format, body, incoming.source)
  const content = parsed.plain ? parsed : await inlineFiles(gateway, incoming, parsed)
  return createState(gateway, incoming, { startedAt, keyContext, format, content, presetId })
}

const none: readonly never[] = []

const noHeaders: Readonly<Record<string, string>> = {}

/** The result of parsing the body of a request. */
interface Parsed<F extends RequestFormat, C extends MeasuredContent> {
  startedAt: number
  keyContext: KeyContext
  format: F
  content: C
  presetId: string | null
}

/** Before the guardrails are applied. */
const unguarded = {
  isGuarded: false,
  hits: null,
  placeholders: null,
  completeHits: null,
  restoreReply: null,
}

const noAttempt = {
  span: null,
  replySpan: null,
  candidate: null,
  translation: null,
  transcript: null,
  firstTokenMs: null,
  fallbacks: null,
  room: null,
  queue: null,
}

export function createState<F extends RequestFormat, C extends MeasuredContent>(
  gateway: Gateway,
  incoming: Omit<IncomingRequest, 'body' | 'source' | 'format'>,
  { startedAt, keyContext, format, content, presetId }: Parsed<F, C>,
): Unguarded<RequestState & { format: F; content: C }> {
  const { caller, region, httpRequest, id = newGenerationId(), outerFunds } = incoming
  const defaults = incoming.priority ? { ...keyContext, priority: incoming.priority } : keyContext
  const parsed = parseOptions(content.body, httpRequest.headers, defaults, incoming.tags)
  const at = gateway.clock.now()
  const { routingRules, destinations, logging } = keyContext
  const received = { incoming, format, content, options: parsed, at }
  const ruled = routingRules && applyRoutingRules(gateway, received, routingRules, keyContext)
  const named = ruled?.options ?? parsed
  const hasNames = keyContext.aliases !== null || gateway.catalog.retiring.size > 0
  const options = hasNames ? resolveModels(gateway, named, keyContext, id) : named
  const sampledId = incoming.trace?.sampledId ?? id
  const facts = { id: sampledId, region, keyHash: caller.key.hash, sessionId: options.sessionId }
  const exportTargets = destinations.length === 0 ? null : selectTargets(destinations, facts)
  const isRecorded = gateway.tracer || exportTargets || incoming.trace
  const state: Unguarded<RequestState & { format: F; content: C }> = {
    caller,
    region,
    httpRequest,
    format,
    keyContext,
    content,
    options,
    rule: ruled?.rule ?? null,
    presetId,
    logsContent: logging !== null && shouldLogContent(logging, { id, keyId: caller.key.id, region }),
    exportTargets,
    id,
    at,
    startedAt,
    timeLimitMs: options.attempts?.timeLimitMs ?? null,
    sampledId,
    spans: isRecorded ? recordSpans(gateway, incoming, startedAt, exportTargets !== null) : null,
    isNested: incoming.isNested ?? false,
    outer: incoming.outer ?? null,
    onAdmitted: incoming.onAdmitted ?? null,
    store: incoming.store ?? null,
    onSettled: incoming.onSettled ?? none,
    ...unguarded,
    work: resolveWork(content.body, options.models, keyContext, incoming.isNested ?? false),
    funds: null,
    isRateCounted: false,
    replyTransforms: incoming.replyTransforms ?? none,
    replyFilters: none,
    replyObservers: incoming.replyObservers ?? none,
    replyHeaders: noHeaders,
    plan: null,
    limits: null,
    hold: null,
    attempts: { failed: [], lastStartedAt: startedAt, isOpen: false, ...noAttempt },
    settling: null,
  }
  if (state.work || outerFunds) state.funds = new Funds(state, state.work?.bill ?? null, outerFunds ?? null)
  return state
}

/** The options, with the models that aliases and expired models stand for. */
function resolveModels(
  { catalog, clock }: Gateway,
  options: RequestOptions,
  { aliases, tagRules }: KeyContext,
  id: string,
): RequestOptions {
  const ids = { session: options.sessionId, user: options.user, request: id }
  const named = resolveNames(options.models, { catalog, aliases, now: clock.now(), ids })
  if (!named) return options
  const resolved = { ...options, ...named }
  return named.splits ? { ...resolved, ...tagTargets(options, named.splits, tagRules) } : resolved
}

function resolveWork(
  body: JsonObject,
  models: readonly string[],
  { defaultPlugins }: KeyContext,
  isNested: boolean,
): RequestWork | null {
  let hasVariant = false
  let hasRouter = false
  for (const slug of models) {
    hasVariant ||= slug.includes(':')
    hasRouter ||= isRouterSlug(slug)
  }
  // What a request asks of another model has the plugins of that request behind it; only checks apply again.
  const defaults = isNested ? defaultPlugins.filter(({ id }) => id === 'moderation') : defaultPlugins
  const mayHavePlugins =
    hasVariant || defaults.length > 0 || body.plugins !== undefined || body.transforms !== undefined
  const work = mayHavePlugins ? resolvePlugins(body, models, defaults) : null
  return work ?? (hasRouter ? new RequestWork([]) : null)
}
