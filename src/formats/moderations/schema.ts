import { z } from 'zod'
import { providerPreferences } from '../schema/preferences.ts'
import { sharedFields } from '../schema/shared-fields.ts'

const maxInputs = 2048

const part = z.discriminatedUnion(
  'type',
  [
    z.looseObject({ type: z.literal('text'), text: z.string() }),
    z.looseObject({ type: z.literal('image_url'), image_url: z.looseObject({ url: z.string().min(1) }) }),
  ],
  'must be a part of type text or image_url',
)

/** A request to classify content, in the OpenAI format. */
export const moderationsRequest = z
  .looseObject({
    model: z
      .string()
      .min(1)
      .optional()
      .describe('By default the moderation model of the gateway, or the first of a provider.'),
    input: z.union(
      [z.string(), z.array(z.string()).min(1).max(maxInputs), z.array(part).min(1).max(maxInputs)],
      'must be a text, a list of texts, or a list of text and image_url parts',
    ),
    provider: providerPreferences.nullish(),
    session_id: sharedFields.session_id,
    user: z.string().nullish(),
    trace: sharedFields.trace,
  })
  .meta({ id: 'ModerationsRequest' })
