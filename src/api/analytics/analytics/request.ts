import { z } from 'zod'
import { granularities } from '../../../analytics/rollups/aggregator.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { utcTimestamp } from '../../../platform/validation/time-schema.ts'
import { dimensions, findDimension, tagDimension } from './dimensions.ts'
import { metrics, metricsByName, requestCount } from './metrics.ts'

export const operators = [
  { name: 'eq', value_type: 'scalar' },
  { name: 'neq', value_type: 'scalar' },
  { name: 'in', value_type: 'array' },
  { name: 'not_in', value_type: 'array' },
  { name: 'gt', value_type: 'scalar' },
  { name: 'gte', value_type: 'scalar' },
  { name: 'lt', value_type: 'scalar' },
  { name: 'lte', value_type: 'scalar' },
] as const

const text = z.string().max(1000)
const scalar = z.union([text, z.number()])
const filterValue = z.union([text, z.number(), z.array(scalar).min(1).max(1000)])
const dimensionName = z.union(
  [z.enum(dimensions.map(({ name }) => name)), z.string().regex(tagDimension)],
  `must be one of ${dimensions.map(({ name }) => name).join(', ')}, or tag: and the name of a tag`,
)
const metricName = z.enum(metrics.map(({ name }) => name))

const filter = z
  .strictObject({
    field: dimensionName.describe('The dimension to filter by; `tag:project` is the tag `project`.'),
    operator: z.enum(operators.map(({ name }) => name)),
    value: filterValue.describe('Ids, not names; a list for `in` and `not_in`.'),
    include_unset: z
      .boolean()
      .optional()
      .describe('With `in` and `not_in`: includes requests without a value.'),
  })
  .meta({ id: 'AnalyticsFilter' })

const classifierFilter = z.strictObject({ field: text, operator: text, value: filterValue })

export const queryBody = z
  .strictObject({
    metrics: z.array(metricName).min(1).max(metrics.length),
    dimensions: z.array(dimensionName).max(2).default([]),
    filters: z.array(filter).max(20).default([]).describe('A request must match all filters.'),
    granularity: z
      .enum(granularities)
      .optional()
      .describe('Returns one row per time bucket. Minutes are limited to three hours.'),
    time_range: z
      .strictObject({ start: utcTimestamp, end: utcTimestamp })
      .optional()
      .describe('The time range in which requests started, end exclusive. Defaults to the last 7 days.'),
    order_by: z
      .strictObject({ field: text, direction: z.enum(['asc', 'desc']) })
      .optional()
      .describe('A metric or dimension of the query, `request_count` or `date`.'),
    limit: z.int().min(1).max(10_000).default(1000),
    group_limit: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .describe(
        'The maximum number of groups, largest first. With a granularity, defaults to as many as fit.',
      ),
    classifier_dimensions: z
      .strictObject({
        classifier_id: z.uuid(),
        dimension_names: z.array(text).max(2).optional(),
        include_nulls: z.boolean().optional(),
      })
      .optional(),
    classifier_filters: z
      .strictObject({ classifier_id: z.uuid(), filters: z.array(classifierFilter).min(1).max(10) })
      .optional(),
  })
  .meta({ id: 'AnalyticsQueryRequest' })

export type QueryBody = z.output<typeof queryBody>
export type RequestFilter = QueryBody['filters'][number]

const dayMs = 86_400_000
const maxShortRangeDays = 31
const maxRangeDays = 365
const maxMinuteRangeMs = 3 * 3_600_000

export interface TimeRange {
  from: number
  to: number
}

/** Rules that the schema cannot express. */
export function resolveTimeRange(body: QueryBody, now: number): TimeRange {
  for (const field of ['classifier_dimensions', 'classifier_filters'] as const) {
    if (body[field]) throw invalidFieldError(field, 'classifiers are not available')
  }
  if (new Set(body.dimensions).size < body.dimensions.length) {
    throw invalidFieldError('dimensions.1', 'is sent twice')
  }
  for (const [index, filter] of body.filters.entries()) validateFilter(filter, `filters.${index}`)
  validateOrder(body)
  const range = parseTimeRange(body, now)
  validateRangeLength(body, range)
  return range
}

function parseTimeRange({ time_range }: QueryBody, now: number): TimeRange {
  if (!time_range) return { from: now - 7 * dayMs, to: now }
  const range = { from: Date.parse(time_range.start), to: Date.parse(time_range.end) }
  if (range.to <= range.from) throw invalidFieldError('time_range.end', 'must be later than time_range.start')
  return range
}

function validateFilter({ operator, value, include_unset }: RequestFilter, path: string): void {
  const expectsList = operators.find(({ name }) => name === operator)?.value_type === 'array'
  if (expectsList !== Array.isArray(value)) {
    throw invalidFieldError(`${path}.value`, expectsList ? 'must be a list' : 'must be a single value')
  }
  if (include_unset !== undefined && !expectsList) {
    throw invalidFieldError(`${path}.include_unset`, 'is allowed only with in and not_in')
  }
}

function validateOrder({ order_by, metrics, dimensions, granularity }: QueryBody): void {
  if (!order_by) return
  const known = [...metrics, ...dimensions, requestCount.name, ...(granularity ? ['date'] : [])]
  if (!known.includes(order_by.field)) {
    throw invalidFieldError('order_by.field', `must be one of ${[...new Set(known)].join(', ')}`)
  }
}

function validateRangeLength(body: QueryBody, { from, to }: TimeRange): void {
  const field = body.time_range ? 'time_range' : 'granularity'
  if (body.granularity === 'minute' && to - from > maxMinuteRangeMs) {
    throw invalidFieldError(field, 'may be at most 3 hours with minute granularity')
  }
  const names = [...body.metrics, ...body.dimensions, ...body.filters.map((filter) => filter.field)]
  const shortRangeName = names.find((name) => (metricsByName.get(name) ?? findDimension(name))?.isShort)
  const maxDays = shortRangeName === undefined ? maxRangeDays : maxShortRangeDays
  if (to - from <= maxDays * dayMs) return
  throw invalidFieldError(
    'time_range',
    `may be at most ${maxDays} days${shortRangeName === undefined ? '' : ` with ${shortRangeName}`}`,
  )
}
