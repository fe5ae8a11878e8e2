import { z } from 'zod'

/** In the record of every kind that configuration files can declare; see managed-records.ts. */
export const managedBy = z
  .string()
  .optional()
  .describe(
    'An extension: the set of configuration files that declares the record. The next `headgate apply` overwrites changes that are made elsewhere.',
  )
