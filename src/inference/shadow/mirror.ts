import type { Caller } from '../../access/caller.ts'
import type { ModelCall } from '../../formats/call/call.ts'
import type { DataRegion } from '../../formats/vocabulary.ts'
import type { KeyContext } from '../../gateway/account-cache.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { ApiKey } from '../../identity/keys.ts'
import { meterSubjects } from '../../ledger/meter-subjects.ts'
import { LinkedAbortController } from '../../platform/concurrency/linked-abort-controller.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { asObject, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { estimateJsonLength } from '../../platform/json/long-json.ts'
import { type LoggedRequest, logOf } from '../../platform/logging/request-log.ts'
import { buildComparisonInsert, type SkipReason } from '../../storage/shadows/comparison-store.ts'
import { findEnabledShadow, type Shadow } from '../../storage/shadows/shadow.ts'
import { ReplyRecorder } from '../cache/recorder.ts'
import type { HandleInferenceFn } from '../nested/call-model.ts'
import type { ClientFormat } from '../request/client-format.ts'
import type { RequestSource } from '../request/content.ts'
import type { SettledReply } from '../request/inference-request.ts'
import { newGenerationId } from '../request/parse.ts'
import { compareSides, type SideOutcome } from './compare.ts'
import { describeSide } from './side.ts'
import { skip } from './skip.ts'

/** A request that has been answered elsewhere, to be sent again. */
export interface MirroredRequest {
  /** The request in the form of its client. */
  body: JsonObject
  source: Pick<RequestSource, 'text' | 'values'>
  format: ClientFormat
  call: Pick<ModelCall, 'format' | 'tools'>
  region: DataRegion
  httpRequest: Request
  tags: readonly string[]
  /** Where the original may not be sent must the mirror not be sent either. */
  preferences: { data_collection?: unknown; zdr?: unknown }
  /** The context of the original's key; null: that of the key of the shadow. */
  keyContext: KeyContext | null
  /** Whether the contents of the original are stored; null: as for other requests with the key of the context. */
  logsContent: boolean | null
  original: SideOutcome
}

/** Characters of a reply that is compared. */
export const maxReplyLength = 1024 * 1024

/** Bytes that a request takes while it waits. */
export function measureMirror({ source, original }: MirroredRequest): number {
  return Buffer.byteLength(source.text) + (original.reply === null ? 0 : estimateJsonLength(original.reply))
}

/** Sends a mirror, and stores how its reply differs. Never throws, because it is not awaited. */
export async function runMirror(
  gateway: Gateway,
  shadow: Shadow,
  request: MirroredRequest,
  { handle, signal }: { handle: HandleInferenceFn; signal: AbortSignal },
): Promise<void> {
  try {
    // It may have waited for hours.
    const current = await findEnabledShadow(gateway.db, shadow)
    if (!current) return skip(gateway, shadow.id, 'disabled')
    const key = await gateway.accounts.findKeyById(current.keyId)
    if (!key) return skip(gateway, shadow.id, 'rejected')
    const context = request.keyContext ?? (await gateway.accounts.findContext(key))
    const mirror = new Mirror(gateway, current, request)
    await mirror.send(handle, key, context, signal)
  } catch (err) {
    logOf(gateway, toLogged(request)).warn({ err, shadow: shadow.id }, 'a mirror was not compared')
    skip(gateway, shadow.id, 'internal')
  }
}

function toLogged({ httpRequest, original }: MirroredRequest): LoggedRequest {
  const { generation_id: id } = original
  return { httpRequest, ...(id !== null && { id }) }
}

class Mirror {
  readonly #gateway: Gateway
  readonly #shadow: Shadow
  readonly #request: MirroredRequest
  readonly #recorder = new ReplyRecorder(maxReplyLength)
  #settled: SettledReply | null = null

  constructor(gateway: Gateway, shadow: Shadow, request: MirroredRequest) {
    this.#gateway = gateway
    this.#shadow = shadow
    this.#request = request
  }

  async send(
    handle: HandleInferenceFn,
    key: ApiKey,
    context: KeyContext,
    shutdown: AbortSignal,
  ): Promise<void> {
    const startedAt = performance.now()
    const id = newGenerationId()
    const abort = new LinkedAbortController([shutdown], this.#shadow.timeoutMs)
    let error: unknown = null
    try {
      const response = await handle(this.#gateway, this.#buildIncoming(id, key, context, abort.signal))
      await discard(response)
    } catch (cause) {
      error = cause
    } finally {
      abort.close()
    }
    const settled = this.#settled as SettledReply | null
    if (!settled?.candidate) return this.#skip(error, abort)
    const side = describeSide(id, settled, performance.now() - startedAt, this.#recorder.reply)
    if (abort.isTimedOut && side.status !== 'completed')
      Object.assign(side, { status: 'failed', error: 'timeout' })
    await this.#store(side)
  }

  #skip(error: unknown, abort: LinkedAbortController): void {
    const reason = abort.signal.aborted && !abort.isTimedOut ? 'shutdown' : reasonOf(error)
    skip(this.#gateway, this.#shadow.id, reason)
  }

  async #store(side: SideOutcome): Promise<void> {
    const { original, call, logsContent } = this.#request
    const comparison = compareSides(original, side, { call, logsContent: logsContent === true })
    const { db, clock, statementWriter } = this.#gateway
    await statementWriter.write(buildComparisonInsert(db, this.#shadow.id, clock.now(), comparison))
  }

  #buildIncoming(id: string, key: ApiKey, context: KeyContext, signal: AbortSignal) {
    const { format, region, httpRequest, tags, source } = this.#request
    const body = this.#buildBody()
    const userAgent = httpRequest.headers.get('user-agent')
    const caller: Caller = {
      key,
      organizationId: key.organization_id,
      userId: null,
      session: null,
      workload: null,
    }
    return {
      id,
      caller,
      region,
      body,
      source: { text: JSON.stringify(body), body, values: source.values },
      format,
      tags,
      httpRequest: new Request(httpRequest.url, {
        method: 'POST',
        headers: userAgent === null ? {} : { 'user-agent': userAgent },
        signal,
      }),
      isNested: true as const,
      keyContext: buildContext(context, this.#shadow, key, this.#request.logsContent),
      replyObservers: [() => this.#recorder.restart()],
      onSettled: [
        (settled: SettledReply) => {
          this.#settled = settled
        },
      ],
    }
  }

  #buildBody(): JsonObject {
    const { body, preferences } = this.#request
    const { target } = this.#shadow
    const { models: _models, fallbacks: _fallbacks, ...rest } = body
    const sent = { ...asObject(body.provider), ...omitUndefined(preferences) }
    const provider = choosePlace(sent, target)
    return {
      ...(target.model === null ? body : { ...rest, model: target.model }),
      ...(Object.keys(provider).length > 0 && { provider }),
    }
  }
}

/** The preferences of a mirror. Only what `target.only` names may be more than the original may use. */
function choosePlace(sent: JsonObject, { only, ignore }: Shadow['target']): JsonObject {
  const { priority: _priority, order, ...rest } = sent
  const ignored = Array.isArray(sent.ignore) ? sent.ignore : []
  return omitUndefined({
    ...rest,
    order: only ? undefined : order,
    only: only ?? sent.only,
    ignore: ignore || ignored.length > 0 ? [...ignored, ...(ignore ?? [])] : undefined,
  })
}

/**
 * What the original may do, the mirror may do too, but at the cost of the key of the shadow: no meter and no limit of the
 * original is used but the credits of the organization, and nothing is exported.
 */
function buildContext(
  context: KeyContext,
  shadow: Shadow,
  key: ApiKey,
  logsContent: boolean | null,
): KeyContext {
  const spender = meterSubjects.key(key.id)
  return {
    ...context,
    meterScopes: [
      meterSubjects.organization(key.organization_id),
      meterSubjects.workspace(key.workspace_id),
      spender,
    ],
    limits: [
      ...context.limits.filter(({ kind }) => kind === 'credits'),
      { kind: 'key', subject: spender, window: 'day', includeByok: true, amount: shadow.dailyNanos },
    ],
    declaredLimits: null,
    freeSubject: spender,
    tagRules: null,
    priority: 'low',
    maxPriority: 'high',
    destinations: [],
    routingRules: null,
    shadows: null,
    isMirror: true,
    logging: logsContent === null ? context.logging : logsContent ? { samplingRate: 1, keyIds: null } : null,
  }
}

async function discard(response: Response): Promise<void> {
  for await (const _bytes of response.body ?? []);
}

/** Why a mirror was not sent to a provider. */
function reasonOf(error: unknown): SkipReason {
  if (!(error instanceof GatewayError)) return 'internal'
  const { status } = error.row
  if (status === 402) return 'budget'
  if (status === 429) return 'rate_limit'
  if (status === 403) return 'policy'
  if (status === 404 || status === 503) return 'no_endpoints'
  return status < 500 ? 'invalid' : 'internal'
}
