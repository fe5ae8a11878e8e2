import { z } from 'zod'
import { ifFieldIn } from '../../platform/validation/schema-rules.ts'
import {
  anyCacheControl,
  anyReasoning,
  anyShortText,
  reasoning,
  requestMetadata,
  requestOptionFields,
  serviceTier,
  sharedFields,
  verbosity,
} from '../schema/shared-fields.ts'

const includeName = z.enum([
  'code_interpreter_call.outputs',
  'computer_call_output.output.image_url',
  'file_search_call.results',
  'message.input_image.image_url',
  'reasoning.encrypted_content',
])

const tool = z
  .looseObject({
    type: z.string().min(1),
    name: z.string().min(1).optional(),
    parameters: z.unknown().optional(),
  })
  .superRefine((value, context) => {
    if (value.type === 'function' && value.name === undefined) {
      context.addIssue({
        code: 'custom',
        path: ['name'],
        message: 'is required for a function',
        continue: false,
      })
    }
  })
  .meta({ override: ifFieldIn('type', ['function'], { required: ['name'] }) })

const requiredChoiceFields = new Map<string, ('name' | 'mode' | 'tools')[]>([
  ['function', ['name']],
  ['allowed_tools', ['mode', 'tools']],
])

const toolChoice = z.union(
  [
    z.enum(['none', 'auto', 'required']),
    z
      .looseObject({
        type: z.string().min(1),
        name: z.string().min(1).optional(),
        mode: z.enum(['auto', 'required']).optional(),
        tools: z.array(z.looseObject({})).optional(),
      })
      .superRefine((choice, context) => {
        for (const field of requiredChoiceFields.get(choice.type) ?? []) {
          if (choice[field] === undefined) {
            context.addIssue({ code: 'custom', path: [field], message: `is required for ${choice.type}` })
          }
        }
      })
      .meta({
        override: {
          allOf: [...requiredChoiceFields].map(([type, required]) => ifFieldIn('type', [type], { required })),
        },
      }),
  ],
  'must be none, auto, required or { type }',
)

const textFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({
    type: z.literal('json_schema'),
    name: z.string().min(1),
    schema: z.looseObject({}),
    description: z.string().optional(),
    strict: z.boolean().nullish(),
  }),
])

const fields = {
  ...sharedFields,
  ...requestOptionFields,
  model: z.string().min(1).optional(),
  input: z
    .union([z.string(), z.array(z.looseObject({}))], 'must be a string or an array of items')
    .optional(),
  instructions: z.string().nullish(),
  max_output_tokens: z.int().min(0).nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.int().min(0).nullish(),
  frequency_penalty: z.number().nullish(),
  presence_penalty: z.number().nullish(),
  top_logprobs: z.int().min(0).nullish(),
  text: z.looseObject({ format: textFormat.optional(), verbosity }).optional(),
  tools: z.array(tool).optional(),
  tool_choice: toolChoice.optional(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: reasoning.nullish(),
  service_tier: serviceTier,
  include: z.array(includeName).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  metadata: requestMetadata.nullish(),
  user: z.string().max(256).optional(),
  prompt: z.looseObject({ id: z.string() }).nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.union([z.string(), z.looseObject({})]).nullish(),
  background: z.boolean().nullish(),
  safety_identifier: z.string().nullish(),
}

/** A Responses request as presets store it: unknown fields are dropped. */
export const responsesBody = z
  .object(fields)
  .refine((body) => Object.keys(body).length > 0, 'must have at least one field of a Responses request')
  .meta({ id: 'ResponsesRequest', description: 'At least one field is required' })

const anyToolChoice = z.union(
  [z.enum(['none', 'auto', 'required']), z.looseObject({ type: z.string().min(1) })],
  'must be none, auto, required or { type }',
)

/** A Responses request as clients send it: unknown fields and values pass. */
export const responsesRequest = z
  .looseObject({
    ...fields,
    include: z.array(z.string()).nullish(),
    text: z
      .looseObject({ format: z.looseObject({ type: z.string().min(1) }).nullish(), verbosity: anyShortText })
      .nullish(),
    tools: z
      .array(tool)
      .nullish()
      .describe('Functions, tools of the provider, and tools that the gateway runs (`ServerTool`)'),
    tool_choice: anyToolChoice.nullish(),
    reasoning: anyReasoning,
    service_tier: anyShortText,
    truncation: anyShortText,
    cache_control: anyCacheControl,
    user: z.string().max(256).nullish(),
    metadata: requestMetadata.nullish(),
  })
  .meta({ id: 'ResponsesInferenceRequest' })

export type ResponsesBody = z.output<typeof responsesBody>
