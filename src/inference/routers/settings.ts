import { z } from 'zod'
import { routerPrefix } from '../../formats/vocabulary.ts'
import { secondsField } from '../../platform/validation/setting-fields.ts'
import { costTiers } from './cost-bands.ts'

/** `*` in a pattern matches any characters. */
const modelPatterns = z.array(z.string().min(1).max(1024)).max(1024)

/** `routers` of headgate.yaml. */
export const routerSettings = z.strictObject({
  /** Router models that requests cannot use, such as service/free. */
  disabled: z.array(z.string().startsWith(routerPrefix)).default([]),
  /** The models that they may choose; null: any. */
  allowed_models: modelPatterns.min(1).nullable().default(null),
  excluded_models: modelPatterns.default([]),
  /** The default of service/auto and service/auto-beta. */
  cost_tier: z.enum(costTiers).default('low'),
  /** The default of service/pareto-code. */
  min_coding_score: z.number().min(0).max(1).default(1),
  /** The models of service/switchyard, where a request lists none, and the model that rates how demanding it is. */
  switchyard: z
    .strictObject({
      weak: z.array(z.string().min(1)).max(4).default([]),
      strong: z.array(z.string().min(1)).max(4).default([]),
      judge: z.string().min(1).nullable().default(null),
      /** Time limit for the reply of the judge, in seconds. */
      timeout: secondsField(10),
    })
    .prefault({}),
})
