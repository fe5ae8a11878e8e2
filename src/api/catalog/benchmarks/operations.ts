import { z } from 'zod'
import { benchmarkSources } from '../../../catalog/benchmarks/result.ts'
import { defineOperation } from '../../../http/operation.ts'
import { publicDataLimit } from '../../../http/rate-limit.ts'
import { benchmarkItem } from './items.ts'
import { buildMeta, listItems } from './list.ts'
import { assertConsistent, benchmarksQuery } from './query.ts'

const meta = z
  .strictObject({
    as_of: z.string().describe('The date of the newest result; the present time if there are none'),
    citation: z.string().nullable().describe('The attribution; null if results come from several sources'),
    model_count: z.int(),
    source: z.enum(benchmarkSources).nullable(),
    source_url: z.string().nullable(),
    task_type: z.string().nullable(),
    version: z.literal('v1'),
  })
  .meta({ id: 'UnifiedBenchmarksMeta' })

const getBenchmarks = defineOperation({
  id: 'getBenchmarks',
  method: 'GET',
  path: '/benchmarks',
  tag: 'Benchmarks',
  summary: 'Lists the results of models in benchmarks.',
  description:
    'Results that the operator imported with `headgate benchmark import` or measured with `headgate benchmark run`. Parameters that exclude each other are rejected.',
  permission: 'datasets:read',
  query: benchmarksQuery,
  rateLimit: publicDataLimit,
  response: z.strictObject({ data: z.array(benchmarkItem), meta }).meta({ id: 'UnifiedBenchmarksResponse' }),
  handle: async ({ gateway, query }) => {
    assertConsistent(query, gateway.benchmarks.current)
    const items = listItems(gateway, query).slice(0, query.max_results)
    return { data: items.map(({ item }) => item), meta: buildMeta(gateway, query, items) }
  },
})

export const benchmarkOperations = [getBenchmarks]
