import { z } from 'zod'

export const slugParam = z.object({
  slug: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,100}$/, 'must be 1 to 100 letters, digits, hyphens and underscores')
    .describe('The name of the preset in paths and requests. Case-sensitive.'),
})
