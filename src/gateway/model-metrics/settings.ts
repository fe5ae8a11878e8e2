import { z } from 'zod'

/** The labels of `GET /metrics`. */
export const metricsSettings = z
  .strictObject({
    /** Series by API key too. */
    by_key: z.boolean().default(false),
    /** Distinct models, endpoints, workspaces and keys of one process, each; further ones are counted as `other`. */
    max_label_values: z.int().min(1).max(10_000).default(500),
  })
  .prefault({})

export type MetricsSettings = z.output<typeof metricsSettings>
