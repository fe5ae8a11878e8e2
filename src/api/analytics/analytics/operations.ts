import { z } from 'zod'
import { callerIdOf } from '../../../access/caller.ts'
import { granularities } from '../../../analytics/rollups/aggregator.ts'
import { defineOperation } from '../../../http/operation.ts'
import { activityItem, activityQuery, readActivity } from './activity.ts'
import { dimensions } from './dimensions.ts'
import { displayFormats, metrics } from './metrics.ts'
import { runQuery } from './query.ts'
import { operators, queryBody } from './request.ts'
import { listVisibleUsage } from './visible-usage.ts'

const tag = 'Analytics'

const analyticsMeta = z
  .strictObject({
    metrics: z.array(
      z.strictObject({
        name: z.string(),
        display_label: z.string(),
        display_format: z.enum(displayFormats),
        is_rate: z.boolean(),
      }),
    ),
    dimensions: z.array(z.strictObject({ name: z.string(), display_label: z.string() })),
    granularities: z.array(z.strictObject({ name: z.enum(granularities), display_label: z.string() })),
    operators: z.array(
      z.strictObject({
        name: z.enum(operators.map(({ name }) => name)),
        value_type: z.enum(['scalar', 'array']),
      }),
    ),
  })
  .meta({ id: 'AnalyticsMeta' })

const analyticsResult = z
  .strictObject({
    data: z
      .array(z.record(z.string(), z.union([z.string(), z.number(), z.null()])))
      .describe(
        'Metrics and dimensions by name, and the time bucket if there is a granularity. Beside the name of a key, member, workspace or app, `api_key_hash`, `user_id`, `workspace_id` or `app_url` has the value to filter by.',
      ),
    metadata: z.strictObject({
      query_time_ms: z.number(),
      row_count: z.int(),
      truncated: z.boolean().describe('Whether there are more rows than these.'),
    }),
    warnings: z.array(z.string()).optional(),
  })
  .meta({ id: 'AnalyticsResult' })

const getActivity = defineOperation({
  id: 'getActivity',
  method: 'GET',
  path: '/activity',
  tag,
  summary: 'Retrieves the usage of the last 30 completed UTC days, by day, model and endpoint.',
  permission: 'activity:read',
  query: activityQuery,
  errors: [404],
  response: z.strictObject({ data: z.array(activityItem) }),
  handle: async (context) => ({ data: await readActivity(context) }),
})

const getAnalyticsMeta = defineOperation({
  id: 'getAnalyticsMeta',
  method: 'GET',
  path: '/analytics/meta',
  tag,
  summary: 'Lists the metrics, dimensions, operators and granularities of queries.',
  permission: 'activity:read',
  response: z.strictObject({ data: analyticsMeta }),
  handle: async () => ({ data: meta }),
})

const meta: z.input<typeof analyticsMeta> = {
  metrics: metrics.map(({ name, label, format, isRate }) => ({
    name,
    display_label: label,
    display_format: format,
    is_rate: isRate,
  })),
  dimensions: dimensions.map(({ name, label }) => ({ name, display_label: label })),
  granularities: granularities.map((name) => ({
    name,
    display_label: `${name[0]?.toUpperCase()}${name.slice(1)}`,
  })),
  operators: [...operators],
}

const maxQueriesPerMinute = 64
const rateLimitMessage = `At most ${maxQueriesPerMinute} queries per minute are allowed for each key or member.`

const queryAnalytics = defineOperation({
  id: 'queryAnalytics',
  method: 'POST',
  path: '/analytics/query',
  tag,
  summary: 'Queries metrics over a time range, by up to two dimensions.',
  description: rateLimitMessage,
  permission: 'activity:read',
  body: queryBody,
  errors: [408, 429],
  response: z.strictObject({ data: analyticsResult }),
  handle: async ({ gateway, caller, scope, body }) => {
    const startedAt = performance.now()
    const { organizationId } = caller
    const { rateLimiter, clock } = gateway
    await rateLimiter.consume(
      `query ${callerIdOf(caller)}`,
      maxQueriesPerMinute,
      clock.now(),
      rateLimitMessage,
    )
    const { rows, truncated, warnings } = await runQuery(
      gateway,
      { organizationId, visible: listVisibleUsage(scope) },
      body,
    )
    const query_time_ms = Math.round(performance.now() - startedAt)
    return {
      data: {
        data: rows,
        metadata: { query_time_ms, row_count: rows.length, truncated },
        ...(warnings.length > 0 && { warnings }),
      },
    }
  },
})

export const analyticsOperations = [getActivity, getAnalyticsMeta, queryAnalytics]
