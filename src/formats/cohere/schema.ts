import { z } from 'zod'
import { maxInputs } from '../embeddings/schema.ts'
import { maxDimensions } from '../embeddings/vector.ts'
import { providerPreferences } from '../schema/preferences.ts'
import { sharedFields } from '../schema/shared-fields.ts'

const text = z.string()
const documentData = z.looseObject({})
const document = z.union(
  [text, z.looseObject({ id: text.nullish(), data: z.union([text, documentData]) })],
  'must be a text or an object with data',
)

const part = z.looseObject({ type: text.min(1), text: text.optional() })

const message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.union([text, z.array(part)], 'must be a string or an array of parts').nullish(),
  tool_plan: text.nullish(),
  tool_calls: z
    .array(
      z.looseObject({
        id: text.nullish(),
        function: z.looseObject({ name: text.min(1), arguments: text.nullish() }),
      }),
    )
    .nullish(),
  tool_call_id: text.nullish(),
})

const tool = z.looseObject({
  type: text.min(1),
  function: z
    .looseObject({
      name: text.min(1),
      description: text.nullish(),
      parameters: z.looseObject({}).nullish(),
    })
    .nullish(),
})

/** Cohere's `/v2/chat`. */
export const cohereChatRequest = z
  .looseObject({
    ...sharedFields,
    model: text.min(1).optional().describe('Required unless the workspace has a default model.'),
    messages: z.array(message).min(1),
    tools: z.array(tool).nullish(),
    strict_tools: z.boolean().nullish(),
    tool_choice: z.enum(['REQUIRED', 'NONE']).nullish(),
    documents: z.array(document).nullish().describe('Given to the model with the last message of the user.'),
    citation_options: z.looseObject({ mode: text.nullish() }).nullish(),
    response_format: z
      .looseObject({ type: z.enum(['text', 'json_object']), json_schema: z.looseObject({}).nullish() })
      .nullish(),
    thinking: z
      .looseObject({ type: z.enum(['enabled', 'disabled']), token_budget: z.int().min(0).nullish() })
      .nullish(),
    max_tokens: z.int().min(1).nullish(),
    stop_sequences: z.array(text).nullish(),
    temperature: z.number().nullish(),
    seed: z.int().nullish(),
    frequency_penalty: z.number().nullish(),
    presence_penalty: z.number().nullish(),
    k: z.int().min(0).nullish(),
    p: z.number().min(0).max(1).nullish(),
    logprobs: z.boolean().nullish(),
  })
  .meta({ id: 'CohereChatRequest' })

/** Fields of this API that the embed format has too. */
const gatewayFields = {
  model: text.min(1).optional().describe('Required unless the workspace has a default model.'),
  models: sharedFields.models,
  provider: providerPreferences.nullish(),
  session_id: sharedFields.session_id,
  trace: sharedFields.trace,
}

const embedContent = z.discriminatedUnion(
  'type',
  [
    z.looseObject({ type: z.literal('text'), text: text.min(1) }),
    z.looseObject({ type: z.literal('image_url'), image_url: z.looseObject({ url: text.min(1) }) }),
  ],
  'must be a part of type text or image_url',
)

/** Cohere's `/v2/embed`. */
export const cohereEmbedRequest = z
  .looseObject({
    ...gatewayFields,
    texts: z.array(text.min(1)).max(maxInputs).nullish(),
    images: z.array(text.min(1)).max(maxInputs).nullish().describe('Data URLs.'),
    inputs: z
      .array(z.looseObject({ content: z.array(embedContent).min(1) }))
      .max(maxInputs)
      .nullish(),
    input_type: text.min(1).max(256).nullish(),
    output_dimension: z.int().min(1).max(maxDimensions).nullish(),
    embedding_types: z
      .array(
        z.enum(['float', 'base64'], 'must be float or base64: providers of other formats have no other type'),
      )
      .nullish(),
  })
  .meta({ id: 'CohereEmbedRequest' })
