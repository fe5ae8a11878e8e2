import { z } from 'zod'
import { checkServerTool } from '../schema/server-tools.ts'
import {
  envelopeFields,
  labels,
  reasoning,
  reasoningEffort,
  serviceTier,
  sharedFields,
  verbosity,
} from '../schema/shared-fields.ts'

const part = z.looseObject({ type: z.string().min(1), text: z.string().optional() })
const message = z
  .looseObject({
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
    content: z.union([z.string(), z.array(part)], 'must be a string or an array of parts').nullish(),
  })
  .refine(({ role, content }) => role === 'assistant' || (content !== undefined && content !== null), {
    path: ['content'],
    message: 'is required for every role but assistant',
  })

const between = (min: number, max: number) => z.number().min(min).max(max).nullish()
const functionName = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, underscores and hyphens')

const namedFunction = z.looseObject({
  name: functionName,
  description: z.string().optional(),
  parameters: z.looseObject({}).optional(),
  strict: z.boolean().nullish(),
})

const tool = z
  .looseObject({
    type: z.string().min(1),
    function: namedFunction.optional(),
    parameters: z.unknown().optional(),
  })
  .superRefine((given, context) => {
    checkServerTool(given, context)
    if (given.type === 'function' && !given.function) {
      context.addIssue({ code: 'custom', path: ['function'], message: 'is required for a function' })
    }
  })

const toolChoice = z.union(
  [
    z.enum(['none', 'auto', 'required']),
    z
      .looseObject({
        type: z.string().min(1),
        function: z.looseObject({ name: z.string().min(1) }).optional(),
      })
      .refine((choice) => choice.type !== 'function' || choice.function, {
        path: ['function'],
        message: 'is required for a function',
      }),
  ],
  'must be none, auto, required or { type }',
)

const responseFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({
    type: z.literal('json_schema'),
    json_schema: z.looseObject({
      name: z.string().min(1).max(64),
      description: z.string().optional(),
      schema: z.looseObject({}).optional(),
      strict: z.boolean().nullish(),
    }),
  }),
  z.looseObject({ type: z.literal('grammar'), grammar: z.string() }),
  z.looseObject({ type: z.literal('python') }),
])

const samplingFields = {
  temperature: between(0, 2),
  top_p: between(0, 1),
  top_k: z.int().min(0).nullish(),
  min_p: between(0, 1),
  top_a: between(0, 1),
  frequency_penalty: between(-2, 2),
  presence_penalty: between(-2, 2),
  repetition_penalty: between(0, 2),
  seed: z.int().nullish(),
  logit_bias: z.record(z.string(), z.number().min(-100).max(100)).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
}

/** A request in the chat format. Fields it does not have are left out; `.loose()` would let them pass. */
export const chatBody = z
  .object({
    ...sharedFields,
    ...envelopeFields,
    ...samplingFields,
    model: z.string().min(1).optional(),
    messages: z.array(message).min(1),
    max_tokens: z.int().min(1).nullish(),
    max_completion_tokens: z.int().min(1).nullish(),
    stop: z
      .union([z.string(), z.array(z.string()).max(4)], 'must be a string or at most 4 of them')
      .nullish(),
    response_format: responseFormat.optional(),
    tools: z.array(tool).optional(),
    tool_choice: toolChoice.optional(),
    parallel_tool_calls: z.boolean().nullish(),
    reasoning: reasoning.nullish(),
    reasoning_effort: reasoningEffort,
    verbosity,
    service_tier: serviceTier,
    transforms: z.array(z.string()).nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
    metadata: labels.optional(),
    user: z.string().optional(),
    prediction: z.looseObject({}).nullish(),
    preset: z.string().optional(),
  })
  .refine(({ top_logprobs, logprobs }) => !top_logprobs || logprobs, {
    path: ['top_logprobs'],
    message: 'needs logprobs',
  })
  .refine(
    ({ reasoning: wanted, reasoning_effort: effort }) =>
      !wanted?.effort || !effort || wanted.effort === effort,
    { path: ['reasoning_effort'], message: 'contradicts reasoning.effort' },
  )
  .meta({ id: 'ChatRequest' })

export type ChatBody = z.output<typeof chatBody>
