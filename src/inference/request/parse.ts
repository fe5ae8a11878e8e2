import { isRouterSlug } from '../../catalog/router-models.ts'
import { selectTargets } from '../../delivery/outbox.ts'
import type { KeyContext } from '../../gateway/account-cache.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { newTimeOrderedHex } from '../../platform/crypto/ids.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { Funds } from '../hold/funds.ts'
import { RequestContent } from './content.ts'
import type { IncomingRequest, InferenceRequest, ModelRequest, Unguarded } from './inference-request.ts'
import { inlineFiles } from './inline-files.ts'
import { parseOptions } from './options.ts'
import { resolvePlugins } from './plugins.ts'
import { expandPreset } from './preset.ts'
import { shouldLogContent } from './retention.ts'
import { recordSpans } from './spans.ts'
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
  const keyContext = await gateway.accounts.findContext(caller.key)
  const { body, presetId } = await expandPreset(gateway, caller.key, format.presetTarget, incoming.body)
  const parsed = RequestContent.parse(format, body, incoming.source)
  const content = parsed.plain ? parsed : await inlineFiles(gateway, incoming, parsed)
  const request: Unguarded<InferenceRequest> = {
    ...describeRequest(gateway, incoming, body, keyContext, startedAt),
    caller,
    region: incoming.region,
    httpRequest: incoming.httpRequest,
    format,
    presetId,
    content,
    funds: null,
    replyTransforms: incoming.replyTransforms ?? none,
    replyFilters: none,
    replyObservers: none,
  }
  const { onAdmitted, store, isNested, outer, onSettled } = incoming
  if (onAdmitted) request.onAdmitted = onAdmitted
  if (store) request.store = store
  if (isNested) request.isNested = isNested
  if (outer) request.outer = outer
  if (onSettled) request.onSettled = onSettled
  if (request.work || incoming.outerFunds) request.funds = createFunds(request, incoming)
  return request
}

/** Null for a request that pays for one reply. */
export function createFunds(
  request: Unguarded<ModelRequest>,
  { outerFunds }: Pick<IncomingRequest, 'outerFunds'>,
): Funds | null {
  const { work } = request
  return work || outerFunds ? new Funds(request, work?.bill ?? null, outerFunds ?? null) : null
}

const none: readonly never[] = []

const noHeaders: Readonly<Record<string, string>> = {}

type RequestDescription = Omit<
  ModelRequest,
  'caller' | 'region' | 'httpRequest' | 'format' | 'content' | 'presetId' | 'hits' | 'funds'
>

/** What is known of every request besides its content. */
export function describeRequest(
  gateway: Gateway,
  incoming: Pick<IncomingRequest, 'caller' | 'region' | 'httpRequest' | 'id' | 'isNested'>,
  body: JsonObject,
  keyContext: KeyContext,
  startedAt: number,
): RequestDescription {
  const { caller, region, httpRequest, id = newGenerationId() } = incoming
  const options = parseOptions(body, httpRequest.headers, keyContext.defaultModel)
  const { destinations } = keyContext
  const facts = { id, region, keyHash: caller.key.hash, sessionId: options.sessionId }
  const exportTargets = destinations.length === 0 ? null : selectTargets(destinations, facts)
  return {
    keyContext,
    options,
    exportTargets,
    logsContent:
      keyContext.logging !== null &&
      shouldLogContent(keyContext.logging, { id, keyId: caller.key.id, region }),
    id,
    at: gateway.clock.now(),
    startedAt,
    spans:
      gateway.tracer || exportTargets
        ? recordSpans(gateway, httpRequest, startedAt, exportTargets !== null)
        : null,
    onSettled: none,
    replyHeaders: noHeaders,
    work: resolveWork(body, options.models, keyContext, incoming.isNested ?? false),
  }
}

function resolveWork(
  body: JsonObject,
  models: readonly string[],
  { defaultPlugins }: KeyContext,
  isNested: boolean,
): RequestWork | null {
  const hasVariant = models.some((slug) => slug.includes(':'))
  // What a request asks of another model has the plugins of that request behind it; only checks apply again.
  const defaults = isNested ? defaultPlugins.filter(({ id }) => id === 'moderation') : defaultPlugins
  const mayHavePlugins =
    hasVariant || defaults.length > 0 || body.plugins !== undefined || body.transforms !== undefined
  const work = mayHavePlugins ? resolvePlugins(body, models, defaults) : null
  return work ?? (models.some(isRouterSlug) ? new RequestWork([]) : null)
}
