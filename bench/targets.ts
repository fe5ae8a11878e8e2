import { type Figure, type Measurements, summarize } from './summary.ts'

export interface Target {
  name: string
  unit: string
  atMost: number
  /** Null if it, or what it is compared with, was not measured. */
  value: number | null
}

/** The performance targets of the project. */
export function buildTargets(measured: Measurements): Target[] {
  const summary = summarize(measured.samples)
  const of = (scenario: string) => summary[scenario]?.headgate
  const { steps = [], idleBytes = null } = measured.memory.headgate ?? {}
  const perStream = steps.length === 0 ? null : Math.max(...steps.map((step) => step.bytesPerStream)) / 1024
  const manyKeys = medianOf(summary.small?.['many-keys']?.cpuMicros)
  const limits = medianOf(summary.small?.limits?.cpuMicros)
  const manyLimits = medianOf(summary.small?.['many-limits']?.cpuMicros)
  const oneKey = medianOf(of('small')?.cpuMicros)
  const target = (name: string, unit: string, atMost: number, value: Figure | number | null | undefined) => ({
    name,
    unit,
    atMost,
    value: typeof value === 'number' ? value : medianOf(value),
  })
  return [
    target('CPU of a 1 KB request', 'x relay', 2.2, of('small')?.timesRelay),
    target('CPU of a 1 KB request', 'x Portkey', 0.1, of('small')?.timesPortkey),
    target('CPU of a stream event', 'x relay', 1.4, of('event')?.timesRelay),
    target('CPU of a 300 KB prompt', 'x relay', 1.5, of('prompt')?.timesRelay),
    target('CPU of a request, 1,000 a second', 'x relay', 2.2, of('rate-1000')?.timesRelay),
    target('time over the relay, 200 a second, p50', 'ms', 0.4, of('rate-200')?.overRelayP50),
    target('idle memory', 'MB', 80, idleBytes === null ? null : idleBytes / 1024 / 1024),
    target('memory of an open stream', 'KB', 30, perStream),
    target('first token later than direct, p50', 'ms', 1, of('first')?.addedFirstP50),
    target('CPU the ledger adds to a 1 KB request', 'us', 20, of('small')?.ledgerMicros),
    target('the ledger at the end of a reply, 1,000 a second, p99', 'ms', 10, of('rate-1000')?.ledgerP99),
    target(
      'one key with all the traffic',
      'x many keys',
      1.05,
      oneKey && manyKeys ? oneKey / manyKeys : null,
    ),
    target('10,000 declared limits', 'x 10 limits', 1.05, limits && manyLimits ? manyLimits / limits : null),
    target('CPU of an embedding as float', 'x relay', 2, of('embedding-float')?.timesRelay),
    target('CPU of an embedding as base64', 'x relay', 2, of('embedding-base64')?.timesRelay),
    target('CPU of an image of 5 MB', 'x relay', 2, of('image')?.timesRelay),
  ]
}

function medianOf(figure: Figure | null | undefined): number | null {
  return figure?.median ?? null
}

export function formatVerdict({ atMost, value, unit }: Target): string {
  if (value === null) return 'not measured'
  const over = value - atMost
  if (over <= 0) return `met (${percent(-over, atMost)} to spare)`
  return `missed by ${over.toFixed(2)} ${unit} (${percent(over, atMost)})`
}

function percent(part: number, whole: number): string {
  return `${((part / whole) * 100).toFixed(0)} %`
}
