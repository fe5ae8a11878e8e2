import { z } from 'zod'
import { checkServerTool } from '../schema/server-tools.ts'
import { cacheControl, sharedFields } from '../schema/shared-fields.ts'

const textBlock = z.looseObject({ type: z.literal('text'), text: z.string() })
const block = z.looseObject({ type: z.string().min(1) })
const message = z.looseObject({
  role: z.string().min(1),
  content: z.union([z.string(), z.array(block)], 'must be a string or an array of blocks'),
})

const shown = {
  display: z.enum(['summarized', 'omitted', 'updates']).nullish(),
  block_binding: z.looseObject({}).nullish(),
}
const thinking = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('enabled'), budget_tokens: z.int(), ...shown }),
  z.looseObject({ type: z.literal('disabled') }),
  z.looseObject({ type: z.literal('adaptive'), ...shown }),
])

const parallel = { disable_parallel_tool_use: z.boolean().optional() }
const toolChoice = z.discriminatedUnion('type', [
  z.looseObject({ type: z.enum(['auto', 'any']), ...parallel }),
  z.looseObject({ type: z.literal('none') }),
  z.looseObject({ type: z.literal('tool'), name: z.string().min(1), ...parallel }),
])

const inputSchema = z.looseObject({
  type: z.string().optional(),
  properties: z.unknown().optional(),
  required: z.array(z.string()).nullish(),
})

/** A tool without a type, or of type `custom`, is the client's own; others keep the shape of their vendor. */
const tool = z
  .looseObject({
    type: z.string().min(1).optional(),
    name: z.string().min(1).optional(),
    description: z.string().optional(),
    input_schema: inputSchema.optional(),
    defer_loading: z.boolean().optional(),
    cache_control: cacheControl.nullish(),
    parameters: z.unknown().optional(),
  })
  .superRefine((given, context) => {
    checkServerTool(given, context)
    if (given.type !== undefined && given.type !== 'custom') return
    for (const field of ['name', 'input_schema'] as const) {
      if (given[field] === undefined) {
        context.addIssue({ code: 'custom', path: [field], message: 'is required for a custom tool' })
      }
    }
  })

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

/** A request in the Messages format. Fields it does not have are left out; `.loose()` would let them pass. */
export const messagesBody = z
  .object({
    ...sharedFields,
    model: z.string().min(1),
    messages: z.array(message).min(1),
    system: z
      .union([z.string(), z.array(textBlock)], 'must be a string or an array of text blocks')
      .optional(),
    max_tokens: z.int().min(0).optional(),
    temperature: z.number().optional(),
    top_p: z.number().optional(),
    top_k: z.int().min(0).optional(),
    stop_sequences: z.array(z.string()).optional(),
    metadata: z.looseObject({ user_id: z.string().nullish() }).optional(),
    fallbacks: z
      .array(z.strictObject({ model: z.string().min(1) }))
      .max(3)
      .nullish(),
    service_tier: z.string().optional(),
    speed: z.enum(['fast', 'standard']).nullish(),
    thinking: thinking.optional(),
    tool_choice: toolChoice.optional(),
    tools: z.array(tool).optional(),
    context_management: contextManagement.nullish(),
    output_config: outputConfig.optional(),
    user: z.string().max(256).optional(),
  })
  .refine(({ fallbacks, models }) => !(fallbacks && models), {
    path: ['fallbacks'],
    message: 'cannot be combined with models',
  })
  .meta({ id: 'MessagesRequest' })

export type MessagesBody = z.output<typeof messagesBody>
