import { findByokKey } from '../../catalog/byok-keys.ts'
import { findModel } from '../../catalog/lookup.ts'
import { simulators } from '../../catalog/providers/simulators.ts'
import type { VideoCall, VideoProgress } from '../../formats/call/video.ts'
import type { VideoWireFormat } from '../../formats/video/wire-format.ts'
import type { DataRegion } from '../../formats/vocabulary.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { EgressError, sendStreaming } from '../../platform/http/egress-client.ts'
import { openJobRequest, readSent, type VideoJob } from '../../storage/video-jobs.ts'
import { timeoutError, UpstreamError, unexpectedReplyError } from '../failures/errors.ts'
import { createCandidate } from '../routing/candidate.ts'
import { resolveAccess, type UpstreamAccess } from '../upstream/access.ts'
import { readJsonBody } from '../upstream/decode-reply.ts'
import { UpstreamExchange } from '../upstream/exchange.ts'
import { send } from '../upstream/send.ts'
import { findVideoWireFormat } from './problems.ts'

/** The provider of a job, with the credential that the job was created with. */
export interface JobUpstream {
  poll(): Promise<VideoProgress>
  /** The bytes of a finished video. */
  download(url: string): AsyncIterable<Uint8Array>
}

/** The credential of the job is gone, so its state cannot be read any more. */
export class LostCredentialError extends Error {}

const pollTimeoutMs = 60_000
const downloadTimeoutMs = 600_000

/** Opens the upstream of a job. Throws an `UpstreamError` while the endpoint is not in the catalog. */
export async function openJobUpstream(gateway: Gateway, job: VideoJob): Promise<JobUpstream> {
  const model = findModel(gateway.catalog, job.model)?.model
  const endpoint = model?.endpoints.find(({ id }) => id === job.endpoint_id)
  if (!model || !endpoint) throw unexpectedReplyError('The endpoint of the job is not in the catalog.')
  const simulator = simulators.get(endpoint.provider.slug)?.video
  const upstreamId = job.upstream_id ?? ''
  if (simulator) {
    return {
      poll: async () => simulator.poll(upstreamId, gateway.clock.now()),
      download: () => simulator.render(readJobCall(gateway, job)),
    }
  }
  const byokKey = job.byok_key_id === null ? null : await findByokKey(gateway.db, job.byok_key_id)
  if (byokKey === undefined) throw new LostCredentialError('The BYOK key of the job was deleted.')
  const access = resolveAccess(gateway, createCandidate(model, endpoint, byokKey), job.region as DataRegion)
  const wireFormat = findVideoWireFormat(endpoint)
  if (!wireFormat) throw unexpectedReplyError('The endpoint of the job has no format for videos.')
  return {
    poll: () => poll(gateway, access, wireFormat, upstreamId),
    download: (url) => download(gateway, access, wireFormat, url),
  }
}

/** The call as it was sent. */
function readJobCall({ vault }: Gateway, job: VideoJob): VideoCall {
  return { ...openJobRequest(vault, job).call, ...readSent(job)?.chosen }
}

async function withExchange<T>(
  gateway: Gateway,
  timeoutMs: number,
  work: (exchange: UpstreamExchange) => Promise<T>,
): Promise<T> {
  const exchange = new UpstreamExchange(new AbortController().signal, gateway)
  exchange.setTimeout(timeoutMs)
  try {
    return await work(exchange)
  } catch (error) {
    throw exchange.toError(error)
  } finally {
    exchange.release()
  }
}

function poll(
  gateway: Gateway,
  access: UpstreamAccess,
  wireFormat: VideoWireFormat,
  upstreamId: string,
): Promise<VideoProgress> {
  return withExchange(gateway, pollTimeoutMs, async (exchange) => {
    const path = wireFormat.buildPollPath(upstreamId)
    const target = { method: 'GET' as const, path, access, upstream: wireFormat, isAdapted: false }
    const upstream = await send(gateway, exchange, { ...target, headers: {}, body: null })
    const progress = wireFormat.decodeProgress(await readJsonBody(exchange, upstream), upstreamId)
    if (!progress) throw unexpectedReplyError('The provider sent the state of a job in another format.')
    return progress
  })
}

/** The credential is sent to the provider's own server only. */
async function* download(
  gateway: Gateway,
  access: UpstreamAccess,
  wireFormat: VideoWireFormat,
  url: string,
): AsyncGenerator<Uint8Array> {
  const exchange = new UpstreamExchange(new AbortController().signal, gateway)
  exchange.setTimeout(downloadTimeoutMs)
  try {
    const response = isOwn(access, url)
      ? await requestOwn(gateway, exchange, access, wireFormat, url)
      : await requestPublic(gateway, exchange, url)
    for await (const chunk of response.body ?? []) yield chunk
  } catch (error) {
    throw exchange.toError(error)
  } finally {
    exchange.abort()
  }
}

function isOwn({ baseUrl }: UpstreamAccess, url: string): boolean {
  return url.startsWith('/') || URL.parse(url)?.origin === new URL(baseUrl).origin
}

async function requestOwn(
  gateway: Gateway,
  exchange: UpstreamExchange,
  access: UpstreamAccess,
  wireFormat: VideoWireFormat,
  url: string,
): Promise<Response> {
  const { origin, pathname, search } = new URL(
    url.startsWith('/') ? access.baseUrl + url + access.query : url,
  )
  const { response } = await send(gateway, exchange, {
    method: 'GET',
    path: pathname + search,
    headers: { accept: 'video/mp4, */*' },
    body: null,
    upstream: wireFormat,
    access: { ...access, baseUrl: origin, query: '' },
    isAdapted: false,
    acceptsRedirect: true,
  })
  const location = response.headers.get('location')
  if (response.ok || location === null) return response
  await response.body?.cancel()
  return requestPublic(gateway, exchange, new URL(location, access.baseUrl).href)
}

/** Requests an address that the provider chose, without the credential. */
async function requestPublic(gateway: Gateway, exchange: UpstreamExchange, url: string): Promise<Response> {
  const { egress, limits } = gateway.settings
  try {
    const response = await sendStreaming(
      { url, method: 'GET', headers: { accept: 'video/mp4, */*', 'user-agent': 'headgate' } },
      { allowPrivate: egress.allow_private, connectMs: limits.connect, signal: exchange.signal },
    )
    if (response.ok) return response
    await response.body?.cancel()
    throw new UpstreamError({
      kind: 'provider_unavailable',
      status: response.status,
      message: `The video could not be downloaded: status ${response.status}.`,
    })
  } catch (error) {
    if (exchange.signal.aborted || !(error instanceof EgressError)) throw error
    throw error.kind === 'timeout' ? timeoutError() : unexpectedReplyError(error.message)
  }
}
