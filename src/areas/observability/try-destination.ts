import { z } from 'zod'
import { destinationOf } from '../../destinations/all.ts'
import type { Probe } from '../../destinations/destination.ts'
import type { Gateway } from '../../gateway.ts'
import { DeliveryError, deliver } from '../../lib/deliver.ts'
import { openConfig, originOf } from './config.ts'
import { areHeldBack, type DestinationRow } from './record.ts'

export const testResult = z
  .strictObject({
    delivered: z.boolean(),
    status: z.int().nullable().describe('What the destination answered; null when nothing was sent or came'),
    error: z.string().nullable(),
    duration_ms: z.number(),
  })
  .meta({ id: 'ObservabilityTestResult' })

type Outcome = Omit<z.output<typeof testResult>, 'duration_ms'>

/** Someone waits for the answer. */
const limits = { timeoutMs: 10_000, maxBytes: 64 * 1024 }

export async function tryDestination(
  gateway: Gateway,
  row: DestinationRow,
): Promise<z.output<typeof testResult>> {
  const startedAt = performance.now()
  const outcome = await attempt(gateway, row)
  return { ...outcome, duration_ms: Math.round(performance.now() - startedAt) }
}

async function attempt(gateway: Gateway, row: DestinationRow): Promise<Outcome> {
  const kind = destinationOf(row.type)
  const config = openConfig(gateway.vault, row)
  const target = kind.target(config)
  if (target === null) return notSent(`config.${kind.address} is not set, so there is nowhere to send to.`)
  if (areHeldBack(row, config)) {
    return notSent(
      `The secrets were entered for ${row.secrets_origin ?? 'no address'} and are held back: enter all of them again to send them to this one.`,
    )
  }
  const probe = kind.probe(config, target)
  if (URL.parse(probe.request.url)?.origin !== originOf(kind, config)) {
    return notSent('The address leads somewhere else than it says.')
  }
  return send(probe, gateway.settings.egress.allow_private)
}

async function send({ request, accepted = [] }: Probe, allowPrivate: readonly string[]): Promise<Outcome> {
  try {
    const { status } = await deliver(request, { ...limits, allowPrivate })
    const delivered = (status >= 200 && status < 300) || accepted.includes(status)
    return { delivered, status, error: delivered ? null : refusalOf(status) }
  } catch (error) {
    if (error instanceof DeliveryError) return notSent(error.message)
    throw error
  }
}

function refusalOf(status: number): string {
  if (status >= 300 && status < 400) return 'The destination answered with a redirect, which is not followed.'
  return `The destination answered with status ${status}.`
}

function notSent(error: string): Outcome {
  return { delivered: false, status: null, error }
}
