import { z } from 'zod'
import { dialectNames } from './provider.ts'

/** A provider as headgate.yaml declares it. */
export const declaredProvider = z.strictObject({
  slug: z.string().min(1),
  name: z.string().min(1),
  base_url: z.url({ protocol: /^https?$/ }),
  api_key: z.string().optional(),
  dialects: z.array(z.enum(dialectNames)).min(1),
})

/** A model as headgate.yaml declares it. */
export const declaredModel = z.strictObject({
  id: z.string().min(1),
  name: z.string().min(1),
})
