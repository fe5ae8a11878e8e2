import { z } from 'zod'
import { providerPreferences } from '../schema/preferences.ts'
import { sharedFields } from '../schema/shared-fields.ts'

const maxDocuments = 10_000

const document = z.union(
  [
    z.string(),
    z
      .looseObject({ text: z.string().optional(), image: z.string().min(1).optional() })
      .refine(({ text, image }) => text !== undefined || image !== undefined, 'must have a text or an image')
      .meta({ override: { anyOf: [{ required: ['text'] }, { required: ['image'] }] } }),
  ],
  'must be a text, or an object with text, image or both',
)

/** A request to rank documents. Unknown fields reach providers of the same format. */
export const rerankRequest = z
  .looseObject({
    model: z.string().min(1).optional().describe('Required unless the workspace has a default model.'),
    models: sharedFields.models,
    query: z.string().min(1),
    documents: z.array(document).min(1).max(maxDocuments),
    top_n: z.int().min(1).nullish().describe('The number of results; by default all documents.'),
    user: z.string().nullish(),
    provider: providerPreferences.nullish(),
    session_id: sharedFields.session_id,
    trace: sharedFields.trace,
  })
  .meta({ id: 'RerankRequest' })
