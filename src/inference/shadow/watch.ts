import type { Gateway } from '../../gateway/gateway.ts'
import { sha256 } from '../../platform/crypto/crypto.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import type { SkipReason } from '../../storage/shadows/comparison-store.ts'
import type { Shadow } from '../../storage/shadows/shadow.ts'
import { ReplyRecorder } from '../cache/recorder.ts'
import type { HandleInferenceFn } from '../nested/call-model.ts'
import type {
  IncomingRequest,
  InferenceRequest,
  SettledReply,
  Unguarded,
} from '../request/inference-request.ts'
import { type MirroredRequest, maxReplyLength, measureMirror, runMirror } from './mirror.ts'
import { describeSide } from './side.ts'
import { skip } from './skip.ts'

type ParsedRequest = Unguarded<InferenceRequest>

/** A request that shadows mirror once its reply has ended. */
export interface WatchedRequest {
  /** It is not mirrored. */
  release(reason: SkipReason): void
}

/** Chooses the shadows that mirror a request, and watches its reply for them; null if there are none. */
export function watchRequest(
  gateway: Gateway,
  incoming: IncomingRequest,
  request: ParsedRequest,
  { shadows, handle }: { shadows: readonly Shadow[]; handle: HandleInferenceFn },
): WatchedRequest | null {
  const chosen = shadows.filter((shadow) => isChosen(shadow, request))
  const watched = chosen.filter((shadow) => {
    const reason = findObstacle(shadow, incoming, request)
    if (reason) skip(gateway, shadow.id, reason)
    return reason === null
  })
  return watched.length === 0 ? null : new RequestWatch(gateway, incoming, request, watched, handle)
}

/** The same on every node, and independent for each shadow. */
function isChosen(
  { id, models, sharePpm }: Shadow,
  { id: requestId, content, options }: ParsedRequest,
): boolean {
  if (models && !models.has(content.received.model ?? options.models[0] ?? '')) return false
  return sharePpm === 1_000_000 || isInShare(id, requestId, sharePpm)
}

export function isInShare(shadowId: string, requestId: string, sharePpm: number): boolean {
  const hash = Number.parseInt(sha256(`${shadowId} ${requestId}`).slice(0, 8), 16)
  return hash < (sharePpm / 1_000_000) * 2 ** 32
}

/** Plugins that only check or repair text. */
const harmlessPlugins: ReadonlySet<string> = new Set([
  'moderation',
  'response-healing',
  'context-compression',
])

function findObstacle(
  { maxBodyBytes }: Shadow,
  { source }: IncomingRequest,
  { content, work }: ParsedRequest,
): SkipReason | null {
  const hasTools = !content.plain && (content.call.tools ?? []).some(({ kind }) => kind === 'native')
  if (hasTools || content.body.mcp_servers !== undefined) return 'tools'
  if (work?.plugins.some(({ id }) => !harmlessPlugins.has(id))) return 'plugins'
  return Buffer.byteLength(source.text) > maxBodyBytes ? 'too_large' : null
}

class RequestWatch implements WatchedRequest {
  readonly #gateway: Gateway
  readonly #incoming: IncomingRequest
  readonly #request: ParsedRequest
  readonly #shadows: readonly Shadow[]
  readonly #handle: HandleInferenceFn
  readonly #recorder = new ReplyRecorder(maxReplyLength)
  readonly #call: MirroredRequest['call']
  #isOver = false

  constructor(
    gateway: Gateway,
    incoming: IncomingRequest,
    request: ParsedRequest,
    shadows: readonly Shadow[],
    handle: HandleInferenceFn,
  ) {
    this.#gateway = gateway
    this.#incoming = incoming
    this.#request = request
    this.#shadows = shadows
    this.#handle = handle
    const { tools, format } = request.content.plain ? {} : request.content.call
    this.#call = { ...(tools && { tools }), ...(format && { format }) }
    request.replyObservers = [...request.replyObservers, () => this.#recorder.restart()]
    request.onSettled = [...request.onSettled, (settled) => this.#settle(settled)]
  }

  /** Must not throw: the client waits for the end of its reply. */
  #settle(settled: SettledReply): void {
    if (this.#isOver) return
    const obstacle = !settled.candidate ? 'rejected' : settled.status === 'cancelled' ? 'canceled' : null
    if (obstacle) {
      this.release(obstacle)
      return
    }
    this.#isOver = true
    try {
      this.#add(settled)
    } catch (err) {
      logOf(this.#gateway, this.#request).warn({ err }, 'a request was not mirrored')
    }
  }

  #add(settled: SettledReply): void {
    const { startedAt, id } = this.#request
    const latencyMs = performance.now() - startedAt
    const original = describeSide(id, settled, latencyMs, this.#recorder.reply)
    const { region, httpRequest, format } = this.#incoming
    const { options, keyContext, logsContent } = this.#request
    const { data_collection, zdr } = options.preferences
    const request: MirroredRequest = {
      ...{ body: this.#incoming.body, source: this.#incoming.source, format, call: this.#call },
      ...{ region, httpRequest, tags: options.tags, preferences: { data_collection, zdr } },
      ...{ keyContext, logsContent, original },
    }
    for (const shadow of this.#shadows) this.#addFor(shadow, request)
  }

  #addFor(shadow: Shadow, request: MirroredRequest): void {
    const gateway = this.#gateway
    const isAdded = gateway.mirrors.add({
      shadowId: shadow.id,
      concurrency: shadow.concurrency,
      bytes: measureMirror(request),
      run: (signal) => runMirror(gateway, shadow, request, { handle: this.#handle, signal }),
      drop: () => skip(gateway, shadow.id, 'shutdown'),
    })
    if (!isAdded) skip(gateway, shadow.id, 'queue_full')
  }

  release(reason: SkipReason): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const { id } of this.#shadows) skip(this.#gateway, id, reason)
  }
}
