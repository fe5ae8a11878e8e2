import { z } from 'zod'
import { getDestination } from '../../../delivery/destinations/all.ts'
import { areSecretsHeldBack, openConfig, originOf } from '../../../delivery/destinations/config.ts'
import type { Probe } from '../../../delivery/destinations/destination.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { EgressError, sendBuffered } from '../../../platform/http/egress-client.ts'
import type { DestinationRow } from './record.ts'

export const testResult = z
  .strictObject({
    delivered: z.boolean(),
    status: z
      .int()
      .nullable()
      .describe('The HTTP status of the destination; null if nothing was sent or received.'),
    error: z.string().nullable(),
    duration_ms: z.number(),
  })
  .meta({ id: 'ObservabilityTestResult' })

type TestOutcome = Omit<z.output<typeof testResult>, 'duration_ms'>

/** A client waits for the result. */
const limits = { timeoutMs: 10_000, maxBytes: 64 * 1024 }

export async function testDestination(
  gateway: Gateway,
  row: DestinationRow,
): Promise<z.output<typeof testResult>> {
  const startedAt = performance.now()
  const outcome = await sendTest(gateway, row)
  return { ...outcome, duration_ms: Math.round(performance.now() - startedAt) }
}

async function sendTest(gateway: Gateway, row: DestinationRow): Promise<TestOutcome> {
  const kind = getDestination(row.type)
  const config = openConfig(gateway.vault, row)
  gateway.audit.secretUses.add('destination', row.id)
  const target = kind.target(config)
  if (target === null)
    return createNotSentOutcome(`config.${kind.address} is not set: set it to send reports.`)
  if (areSecretsHeldBack(kind, config, row.secrets_origin)) {
    return createNotSentOutcome(
      `The secrets were entered for ${row.secrets_origin ?? 'no address'} and are not sent to this origin: enter all of them again.`,
    )
  }
  const probe = await kind.probe(config, target)
  if (URL.parse(probe.request.url)?.origin !== originOf(kind, config)) {
    return createNotSentOutcome('The address resolves to a different origin than the one entered.')
  }
  return deliverProbe(probe, gateway.settings.egress.allow_private)
}

async function deliverProbe(
  { request, accepted = [] }: Probe,
  allowPrivate: readonly string[],
): Promise<TestOutcome> {
  try {
    const { status } = await sendBuffered(request, { ...limits, allowPrivate })
    const delivered = (status >= 200 && status < 300) || accepted.includes(status)
    return { delivered, status, error: delivered ? null : describeStatus(status) }
  } catch (error) {
    if (error instanceof EgressError) return createNotSentOutcome(error.message)
    throw error
  }
}

function describeStatus(status: number): string {
  if (status >= 300 && status < 400) return 'The destination returned a redirect, which is not followed.'
  return `The destination returned status ${status}.`
}

function createNotSentOutcome(error: string): TestOutcome {
  return { delivered: false, status: null, error }
}
