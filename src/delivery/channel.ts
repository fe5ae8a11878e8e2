import type { Selectable } from 'kysely'
import type { Gateway } from '../gateway/gateway.ts'
import { fullMask } from '../platform/crypto/mask.ts'
import type { DestinationTable } from '../platform/db/schema.ts'
import {
  type BufferedResponse,
  EgressError,
  type EgressRequest,
  sendBuffered,
} from '../platform/http/egress-client.ts'
import { parseRetryAfter } from '../platform/http/retry-after.ts'
import { subsystemLog } from '../platform/logging/subsystem-log.ts'
import { getDestination } from './destinations/all.ts'
import { areSecretsHeldBack, listSecretValues, openConfig, originOf } from './destinations/config.ts'
import type { Destination, DestinationConfig, Exporter } from './destinations/destination.ts'
import type { GenerationEvent } from './destinations/event.ts'

/** The address and the exporter of a destination, with its secrets. */
export interface Channel {
  kind: Destination
  config: DestinationConfig
  target: string
  exporter: Exporter
}

export type DestinationRow = Selectable<DestinationTable>

/** A text: why nothing can be sent. */
export function openChannel({ vault }: Pick<Gateway, 'vault'>, row: DestinationRow): Channel | string {
  const kind = getDestination(row.type)
  const config = openConfig(vault, row)
  const target = kind.target(config)
  if (target === null) return `config.${kind.address} is not set: set it to send events.`
  if (areSecretsHeldBack(kind, config, row.secrets_origin)) return heldBackMessage
  return { kind, config, target, exporter: kind.exporter }
}

export const heldBackMessage =
  'The secrets were entered for another address and are not sent to this one: enter all of them again.'

export type SendOutcome =
  | { kind: 'accepted' }
  /** The destination does not accept the events themselves: sending them again would not help. */
  | { kind: 'rejected'; error: string }
  /** The destination rejects some of the events, and does not say which: the others must not be sent again. */
  | { kind: 'partial'; error: string }
  /** The events are sent again later. */
  | { kind: 'failed'; error: string; retryAfterMs?: number | undefined }
  /** The destination accepts no more events. */
  | { kind: 'gone'; error: string }

/** Maximum bytes of the response. */
const maxBytes = 256 * 1024
const maxErrorLength = 500

/** Sends events in one request. */
export async function sendEvents(
  gateway: Gateway,
  channel: Channel,
  events: readonly GenerationEvent[],
): Promise<SendOutcome> {
  const { settings, metrics } = gateway
  const request = await encodeEvents(gateway, channel, events)
  if (typeof request === 'string') return { kind: 'rejected', error: request }
  if (URL.parse(request.url)?.origin !== originOf(channel.kind, channel.config))
    return { kind: 'failed', error: 'The address resolves to a different origin than the one entered.' }
  const startedAt = performance.now()
  try {
    const response = await sendBuffered(request, {
      allowPrivate: settings.egress.allow_private,
      timeoutMs: settings.observability.timeout,
      maxBytes,
    })
    return await readOutcome(channel, response)
  } catch (error) {
    if (error instanceof EgressError) return { kind: 'failed', error: error.message }
    throw error
  } finally {
    metrics.recordDeliveryRequest(channel.kind.type, (performance.now() - startedAt) / 1000)
  }
}

/** A text: why the events cannot be encoded. */
async function encodeEvents(
  { clock, log }: Gateway,
  { exporter, config, target, kind }: Channel,
  events: readonly GenerationEvent[],
): Promise<EgressRequest | string> {
  try {
    return await exporter.encode(config, target, events, clock.now())
  } catch (err) {
    subsystemLog(log, 'delivery').warn({ err, type: kind.type }, 'events could not be encoded')
    return 'The event could not be encoded.'
  }
}

/** Statuses that reject the events of a request: others of the 4xx range are about the destination. */
const rejectingStatuses: ReadonlySet<number> = new Set([400, 413, 422])

async function readOutcome(
  channel: Channel,
  { status, headers, bytes }: BufferedResponse,
): Promise<SendOutcome> {
  const { exporter } = channel
  const failure = await tryRead(() => exporter.findFailure?.(status, new TextDecoder().decode(bytes)))
  if (failure !== undefined)
    return { kind: 'failed', error: toError(channel, failure), retryAfterMs: parseRetryAfter(headers) }
  if (status >= 200 && status < 300) {
    const rejection = await tryRead(() => exporter.findRejection?.(bytes))
    if (rejection === undefined) return { kind: 'accepted' }
    return { kind: 'partial', error: toError(channel, rejection) }
  }
  const error = describeStatus(status)
  if (status === 410) return { kind: 'gone', error }
  if (rejectingStatuses.has(status)) return { kind: 'rejected', error }
  return { kind: 'failed', error, retryAfterMs: parseRetryAfter(headers) }
}

/** A response that cannot be read says nothing but its status. */
async function tryRead(
  read: () => Promise<string | undefined> | string | undefined,
): Promise<string | undefined> {
  try {
    return await read()
  } catch {
    return undefined
  }
}

function describeStatus(status: number): string {
  if (status >= 300 && status < 400) return 'The destination returned a redirect, which is not followed.'
  return `The destination returned status ${status}.`
}

/** A destination may quote what it was sent. */
function toError({ kind, config }: Channel, text: string): string {
  const redacted = listSecretValues(kind, config).reduce(
    (rest, secret) => rest.replaceAll(secret, fullMask),
    text,
  )
  return redacted.slice(0, maxErrorLength)
}
