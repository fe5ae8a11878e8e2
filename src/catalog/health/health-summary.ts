import { z } from 'zod'
import { failureFields, lastError, toFailureFields } from './failure-record.ts'
import type { EndpointHealth } from './health.ts'

/** Number of excluded or failing endpoints that are listed; more are only counted. */
const maxListed = 20

const problemStates = ['failing', 'ejected', 'cooling_down'] as const

const problemEndpoint = z
  .strictObject({
    model_id: z.string(),
    tag: z.string(),
    state: z.enum(problemStates),
    ...failureFields,
  })
  .meta({ id: 'EndpointProblem' })

/** A count that only callers who may read the state of the installation see: it shows how much traffic there is. */
export const requestCount = z.int().nullable().describe('Null for the installation without `system:read`.')

export const hourField = z.strictObject({
  until: z.string().describe('The end of the hour; the last one is not over.'),
  uptime: z.int().nullable().describe('In percent, rounded down; null without attempts.'),
  attempts: requestCount,
  failures: requestCount,
})

interface HourCounts {
  endsAt: number
  succeeded: number
  failed: number
}

export function toHour(
  { endsAt, succeeded, failed }: HourCounts,
  showsCounts: boolean,
): z.output<typeof hourField> {
  const attempts = succeeded + failed
  return {
    until: new Date(endsAt).toISOString(),
    uptime: attempts === 0 ? null : Math.floor((succeeded / attempts) * 100),
    attempts: showsCounts ? attempts : null,
    failures: showsCounts ? failed : null,
  }
}

/** The health of several endpoints together. */
export const healthSummaryFields = {
  state: z
    .enum(['unused', 'healthy', 'degraded', 'unavailable', 'no_credential'])
    .describe(
      '`degraded`: some endpoints with traffic are failing or left out. `unavailable`: all of them are left out. `unused`: no traffic since the start, nor in the 24 hours before it.',
    ),
  used_endpoints: z.int().describe('Endpoints with traffic since 24 hours before the start of the process.'),
  problem_count: z.int().describe('Endpoints that are failing or left out.'),
  problems: z.array(problemEndpoint).describe(`The first ${maxListed} of them.`),
  last_error: lastError.nullable().describe('The newest of all endpoints.'),
  requests_last_30m: requestCount.describe(
    'Completed replies. Null for the installation without `system:read`.',
  ),
  uptime_last_1d: z.number().nullable().describe('In percent; null without attempts.'),
  hours: z.array(hourField).describe('The last 24 hours, oldest first; empty without traffic.'),
}

const healthSummary = z.strictObject(healthSummaryFields)
export type HealthSummary = z.output<typeof healthSummary>
type Problem = z.output<typeof problemEndpoint>

export interface MeasuredEndpoint {
  model_id: string
  tag: string
  health: EndpointHealth
}

export function summarizeHealth(
  measured: readonly MeasuredEndpoint[],
  now: number,
  showsCounts: boolean,
): HealthSummary {
  const problems = measured.flatMap((endpoint) => toProblem(endpoint, now))
  const leftOut = problems.filter(({ state }) => state !== 'failing')
  const hours = sumHours(measured, now)
  const succeeded = hours.reduce((sum, hour) => sum + hour.succeeded, 0)
  const attempts = hours.reduce((sum, hour) => sum + hour.failed, succeeded)
  const completed = measured.reduce((sum, { health }) => sum + health.getStats(now).completed30m, 0)
  return {
    state: findState(measured.length, problems.length, leftOut.length),
    used_endpoints: measured.length,
    problem_count: problems.length,
    problems: problems.slice(0, maxListed),
    last_error: findNewestError(measured, now),
    requests_last_30m: showsCounts ? completed : null,
    uptime_last_1d: attempts === 0 ? null : Math.round((succeeded / attempts) * 10_000) / 100,
    hours: hours.map((hour) => toHour(hour, showsCounts)),
  }
}

function findState(used: number, problems: number, leftOut: number): HealthSummary['state'] {
  if (used === 0) return 'unused'
  if (problems === 0) return 'healthy'
  return leftOut === used ? 'unavailable' : 'degraded'
}

function toProblem({ model_id, tag, health }: MeasuredEndpoint, now: number): Problem[] {
  const state = findProblem(health, now)
  return state === null ? [] : [{ model_id, tag, state, ...toFailureFields(health, now) }]
}

function findProblem(health: EndpointHealth, now: number): Problem['state'] | null {
  if (health.isCoolingDown(now)) return 'cooling_down'
  if (health.isEjected(now)) return 'ejected'
  return health.isUnstable(now) ? 'failing' : null
}

function findNewestError(measured: readonly MeasuredEndpoint[], now: number): HealthSummary['last_error'] {
  return measured
    .map(({ health }) => toFailureFields(health, now).last_error)
    .reduce((newest, error) => (error && (!newest || error.at > newest.at) ? error : newest), null)
}

function sumHours(measured: readonly MeasuredEndpoint[], now: number): HourCounts[] {
  const [first = [], ...others] = measured.map(({ health }) => health.getHours(now))
  return first.map((hour, index) => ({
    endsAt: hour.endsAt,
    succeeded: others.reduce((sum, hours) => sum + (hours[index]?.succeeded ?? 0), hour.succeeded),
    failed: others.reduce((sum, hours) => sum + (hours[index]?.failed ?? 0), hour.failed),
  }))
}
