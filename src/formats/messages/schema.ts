import { z } from 'zod'
import { ifThen, requireFields } from '../../platform/validation/schema-rules.ts'
import { anyCacheControl, cacheControl, sharedFields } from '../schema/shared-fields.ts'

const textBlock = z.looseObject({ type: z.literal('text'), text: z.string() })
const block = z.looseObject({ type: z.string().min(1) })
const message = z.looseObject({
  role: z.string().min(1),
  content: z.union([z.string(), z.array(block)], 'must be a string or an array of blocks'),
})

const thinkingDisplay = {
  display: z.enum(['summarized', 'omitted', 'updates']).nullish(),
  block_binding: z.looseObject({}).nullish(),
}
const thinking = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('enabled'), budget_tokens: z.int(), ...thinkingDisplay }),
  z.looseObject({ type: z.literal('disabled') }),
  z.looseObject({ type: z.literal('adaptive'), ...thinkingDisplay }),
])

const parallelToolUse = { disable_parallel_tool_use: z.boolean().optional() }
const toolChoice = z.discriminatedUnion('type', [
  z.looseObject({ type: z.enum(['auto', 'any']), ...parallelToolUse }),
  z.looseObject({ type: z.literal('none') }),
  z.looseObject({ type: z.literal('tool'), name: z.string().min(1), ...parallelToolUse }),
])

const inputSchema = z.looseObject({
  type: z.string().optional(),
  properties: z.unknown().optional(),
  required: z.array(z.string()).nullish(),
})

const toolFields = {
  type: z.string().min(1).optional(),
  name: z.string().min(1).optional(),
  description: z.string().optional(),
  input_schema: inputSchema.optional(),
  defer_loading: z.boolean().optional(),
  cache_control: cacheControl.nullish(),
  parameters: z.unknown().optional(),
}

/** A tool without a type, or of type `custom`, is defined by the client; others are defined by the vendor. */
function checkTool(
  toolBody: z.output<z.ZodObject<typeof toolFields, z.core.$loose>>,
  context: z.core.$RefinementCtx,
): void {
  if (toolBody.type !== undefined && toolBody.type !== 'custom') return
  for (const field of ['name', 'input_schema'] as const) {
    if (toolBody[field] === undefined) {
      context.addIssue({
        code: 'custom',
        path: [field],
        message: 'is required for a custom tool',
        continue: false,
      })
    }
  }
}

/** The rule of `checkTool` in JSON Schema. */
const customTool = ifThen(
  { properties: { type: { const: 'custom' } } },
  { required: ['name', 'input_schema'] },
)

const tool = z.looseObject(toolFields).superRefine(checkTool).meta({ override: customTool })

const contextManagement = z.looseObject({
  edits: z
    .array(
      z.discriminatedUnion('type', [
        z.looseObject({ type: z.literal('clear_tool_uses_20250919') }),
        z.looseObject({ type: z.literal('clear_thinking_20251015') }),
        z.looseObject({ type: z.literal('compact_20260112') }),
      ]),
    )
    .optional(),
})

const outputConfig = z.looseObject({
  effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  format: z.looseObject({ type: z.literal('json_schema'), schema: z.looseObject({}) }).nullish(),
})

const fields = {
  ...sharedFields,
  model: z.string().min(1),
  messages: z.array(message).min(1),
  system: z.union([z.string(), z.array(textBlock)], 'must be a string or an array of text blocks').optional(),
  max_tokens: z.int().min(0).optional(),
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  top_k: z.int().min(0).optional(),
  stop_sequences: z.array(z.string()).optional(),
  metadata: z.looseObject({ user_id: z.string().nullish() }).optional(),
  service_tier: z.string().optional(),
  speed: z.enum(['fast', 'standard']).nullish(),
  thinking: thinking.optional(),
  tool_choice: toolChoice.optional(),
  tools: z.array(tool).optional(),
  context_management: contextManagement.nullish(),
  output_config: outputConfig.optional(),
  user: z.string().max(256).optional(),
}

function hasOneModelList({ fallbacks, models }: { fallbacks?: unknown; models?: unknown }): boolean {
  return !(Array.isArray(fallbacks) && models)
}
const oneModelList = {
  not: {
    ...requireFields('fallbacks', 'models'),
    properties: { fallbacks: { type: 'array' as const }, models: { not: { type: 'null' as const } } },
  },
}
const modelListConflict = { path: ['fallbacks'], message: 'cannot be combined with models' }

/** A request in the Messages format. Unknown fields are removed. */
export const messagesBody = z
  .object(fields)
  .refine(hasOneModelList, modelListConflict)
  .meta({ id: 'MessagesRequest', override: oneModelList })

export type MessagesBody = z.output<typeof messagesBody>

const nonEmptyString = z.string().min(1)
const lenientTool = z
  .looseObject({ ...toolFields, cache_control: anyCacheControl })
  .superRefine((toolBody, context) => checkTool(toolBody as Parameters<typeof checkTool>[0], context))
  .meta({ override: customTool })

/**
 * The same for inference: clients may be newer than this schema, so unknown fields, tools, modes and values
 * pass, and null counts as absent. Only a known field of the wrong type is rejected.
 */
export const messagesRequest = z
  .looseObject({
    ...fields,
    stream: fields.stream.nullable(),
    system: fields.system.nullable(),
    max_tokens: fields.max_tokens.nullable(),
    temperature: fields.temperature.nullable(),
    top_p: fields.top_p.nullable(),
    top_k: fields.top_k.nullable(),
    stop_sequences: fields.stop_sequences.nullable(),
    metadata: fields.metadata.nullable(),
    service_tier: fields.service_tier.nullable(),
    cache_control: anyCacheControl,
    speed: z.string().nullish(),
    thinking: z.looseObject({ type: nonEmptyString, budget_tokens: z.int().optional() }).nullish(),
    tool_choice: z
      .looseObject({
        type: nonEmptyString,
        name: nonEmptyString.optional(),
        disable_parallel_tool_use: z.boolean().optional(),
      })
      .nullish(),
    tools: z
      .array(lenientTool)
      .nullish()
      .describe('Functions, tools of the provider, and tools that the gateway runs (`ServerTool`)'),
    mcp_servers: z
      .array(z.looseObject({ type: z.string(), name: z.string(), url: z.string() }))
      .nullish()
      .describe('Remote MCP servers, for every model'),
    context_management: z
      .looseObject({ edits: z.array(z.looseObject({ type: nonEmptyString })).optional() })
      .nullish(),
    output_config: z
      .looseObject({
        effort: z.string().nullish(),
        format: z.looseObject({ type: nonEmptyString, schema: z.looseObject({}).optional() }).nullish(),
      })
      .nullish(),
  })
  .refine(hasOneModelList, modelListConflict)
  .meta({ id: 'MessagesInferenceRequest', override: oneModelList })
