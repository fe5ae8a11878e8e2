import { z } from 'zod'
import { ifFieldIn, ifThen, requireFields } from '../../platform/validation/schema-rules.ts'
import {
  anyCacheControl,
  anyReasoning,
  anyShortText,
  reasoning,
  reasoningEffort,
  requestMetadata,
  requestOptionFields,
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
  .meta({ override: ifFieldIn('role', ['system', 'developer', 'user', 'tool'], requireFields('content')) })

const numberBetween = (min: number, max: number) => z.number().min(min).max(max).nullish()
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
  .superRefine((value, context) => {
    if (value.type === 'function' && !value.function) {
      context.addIssue({ code: 'custom', path: ['function'], message: 'is required for a function' })
    }
  })
  .meta({ override: ifFieldIn('type', ['function'], requireFields('function')) })

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
      })
      .meta({ override: ifFieldIn('type', ['function'], requireFields('function')) }),
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
  temperature: numberBetween(0, 2),
  top_p: numberBetween(0, 1),
  top_k: z.int().min(0).nullish(),
  min_p: numberBetween(0, 1),
  top_a: numberBetween(0, 1),
  frequency_penalty: numberBetween(-2, 2),
  presence_penalty: numberBetween(-2, 2),
  repetition_penalty: numberBetween(0, 2),
  seed: z.int().nullish(),
  logit_bias: z.record(z.string(), z.number().min(-100).max(100)).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
}

const fields = {
  ...sharedFields,
  ...requestOptionFields,
  ...samplingFields,
  model: z.string().min(1).optional(),
  messages: z.array(message).min(1),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)], 'must be a string or at most 4 of them').nullish(),
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
  metadata: requestMetadata.optional(),
  user: z.string().optional(),
  prediction: z.looseObject({}).nullish(),
  preset: z.string().optional(),
}

interface CrossFieldInput {
  top_logprobs?: number | null | undefined
  logprobs?: boolean | number | null | undefined
  reasoning?: { effort?: string | null | undefined } | null | undefined
  reasoning_effort?: string | null | undefined
}

const logprobsRule = ifThen(
  { required: ['top_logprobs'], properties: { top_logprobs: { type: 'integer', minimum: 1 } } },
  { required: ['logprobs'], properties: { logprobs: { not: { enum: [null, false, 0] } } } },
)

/** Rules that involve two fields. */
function withCrossFieldRules<T extends z.ZodType<CrossFieldInput>>(body: T): T {
  return body
    .refine(({ top_logprobs, logprobs }) => !top_logprobs || logprobs, {
      path: ['top_logprobs'],
      message: 'requires logprobs',
    })
    .refine(
      ({ reasoning: options, reasoning_effort: effort }) =>
        !options?.effort || !effort || options.effort === effort,
      { path: ['reasoning_effort'], message: 'must equal reasoning.effort' },
    )
    .meta({ override: logprobsRule })
}

/** A chat request as presets store it: unknown fields are dropped. `chatRequest` lets them pass. */
export const chatBody = withCrossFieldRules(z.object(fields)).meta({ id: 'ChatRequest' })

export type ChatBody = z.output<typeof chatBody>

/** Roles whose messages may consist of tool calls alone, or of an empty tool result. */
const rolesWithoutContent: ReadonlySet<string> = new Set(['assistant', 'tool', 'function'])

const requestPart = z.looseObject({ type: z.string().min(1), text: z.string().nullish() })
const requestMessage = z
  .looseObject({
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
    content: z.union([z.string(), z.array(requestPart)], 'must be a string or an array of parts').nullish(),
  })
  .refine(
    ({ role, content }) => rolesWithoutContent.has(role) || (content !== undefined && content !== null),
    {
      path: ['content'],
      message: 'is required for this role',
      // Stop at the first invalid message: there may be thousands.
      abort: true,
    },
  )
  .meta({ override: ifFieldIn('role', ['system', 'developer', 'user'], requireFields('content')) })

const requestFunction = z.looseObject({
  name: z.string().min(1).max(256),
  description: z.string().nullish(),
  parameters: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
})

/** The type defaults to `function`. */
const requestTool = z
  .looseObject({
    type: z.string().min(1).nullish(),
    function: requestFunction.nullish(),
    parameters: z.unknown().optional(),
  })
  .superRefine((value, context) => {
    const isFunction = (value.type ?? 'function') === 'function'
    if (isFunction && !value.function && typeof value.name !== 'string') {
      context.addIssue({
        code: 'custom',
        path: ['function'],
        message: 'is required for a function',
        continue: false,
      })
    }
  })

const requestToolChoice = z.union(
  [z.enum(['none', 'auto', 'required', 'any']), z.looseObject({ type: z.string().min(1).nullish() })],
  'must be none, auto, required or { type }',
)

/** Vendors differ in the location of the schema and in the names of formats. */
const requestFormat = z
  .looseObject({
    type: z.string().min(1),
    json_schema: z.looseObject({ name: z.string().nullish(), schema: z.looseObject({}).nullish() }).nullish(),
    schema: z.looseObject({}).nullish(),
  })
  .refine(({ type, json_schema, schema }) => type !== 'json_schema' || json_schema || schema, {
    path: ['json_schema'],
    message: 'is required',
  })
  .meta({
    override: ifFieldIn('type', ['json_schema'], {
      anyOf: [requireFields('json_schema'), requireFields('schema')],
    }),
  })

/** Fields whose values some vendors extend. */
const requestValues = {
  top_k: z.int().min(-1).nullish(),
  repetition_penalty: z.number().min(0).nullish(),
  logprobs: z.union([z.boolean(), z.int().min(0)], 'must be true, false or a count').nullish(),
  top_logprobs: z.int().min(0).nullish(),
  stop: z
    .union([z.string(), z.array(z.string()).max(256)], 'must be a string or an array of strings')
    .nullish(),
  response_format: requestFormat.nullish(),
  reasoning: anyReasoning,
  reasoning_effort: anyShortText,
  verbosity: anyShortText,
  service_tier: anyShortText,
  cache_control: anyCacheControl,
}

/** Clients may send null for a field they do not use. */
function allowNull<T extends z.ZodRawShape>(shape: T) {
  const wrapped: Record<string, z.ZodType> = {}
  for (const [name, field] of Object.entries(shape)) wrapped[name] = z.nullish(field as z.ZodType)
  return wrapped as { [K in keyof T]: z.ZodOptional<z.ZodNullable<T[K]>> }
}

/**
 * A chat request as clients send it: with unknown fields, null for any field, a function's fields next to its
 * type, and the forms of older API versions.
 */
export const chatRequest = withCrossFieldRules(
  z.looseObject({
    ...allowNull(fields),
    ...requestValues,
    messages: z.array(requestMessage).min(1).nullish(),
    prompt: z.string().nullish().describe('A single user message, instead of `messages`'),
    tools: z
      .array(requestTool)
      .nullish()
      .describe('Functions, tools of the provider, and tools that the gateway runs (`ServerTool`)'),
    tool_choice: requestToolChoice.nullish(),
    functions: z
      .array(requestFunction)
      .nullish()
      .meta({ deprecated: true })
      .describe('Replaced by `tools`. The reply has its calls in `function_call`'),
    function_call: z
      .union(
        [z.enum(['none', 'auto']), z.looseObject({ name: functionName })],
        'must be none, auto or { name }',
      )
      .nullish()
      .meta({ deprecated: true }),
    n: z.int().min(1).max(128).nullish(),
    audio: z.looseObject({}).nullish(),
    include_reasoning: z.boolean().nullish(),
  }),
)
  .refine(({ messages, prompt, input }) => messages || typeof prompt === 'string' || input !== undefined, {
    path: ['messages'],
    message: 'is required',
  })
  .meta({
    id: 'ChatCompletionRequest',
    override: {
      ...logprobsRule,
      anyOf: [requireFields('messages'), requireFields('prompt'), { required: ['input'] }],
    },
  })
