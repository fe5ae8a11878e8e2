import { z } from 'zod'
import type { Model } from '../../../catalog/model.ts'

const efforts = ['xhigh', 'high', 'medium', 'low', 'minimal', 'none'] as const
type Effort = (typeof efforts)[number]

/** A model in the catalog format of the Codex CLI, which sends `client_version`. */
export const codexModel = z
  .strictObject({
    slug: z.string(),
    display_name: z.string(),
    description: z.string(),
    default_reasoning_level: z.enum(efforts).nullable(),
    supported_reasoning_levels: z.array(z.strictObject({ effort: z.enum(efforts), description: z.string() })),
    shell_type: z.literal('shell_command'),
    visibility: z.literal('list'),
    supported_in_api: z.literal(true),
    priority: z.int(),
    upgrade: z.null(),
    base_instructions: z.string(),
    supports_reasoning_summaries: z.boolean(),
    support_verbosity: z.boolean(),
    default_verbosity: z.null(),
    apply_patch_tool_type: z.literal('freeform'),
    truncation_policy: z.strictObject({ mode: z.literal('tokens'), limit: z.int() }),
    supports_parallel_tool_calls: z.boolean(),
    context_window: z.int().nullable(),
    experimental_supported_tools: z.array(z.string()),
    input_modalities: z.array(z.enum(['text', 'image'])),
  })
  .meta({ id: 'CodexModel' })

/** Maximum tokens of a tool's output that the client retains: the client's default. */
const maxToolOutputTokens = 10_000

export function toCodexModel(model: Model, priority: number): z.input<typeof codexModel> {
  const supported = (model.reasoning?.supported_efforts ?? []).filter(isKnownEffort)
  const defaultEffort = model.reasoning?.default_effort ?? null
  return {
    slug: model.id,
    display_name: model.name,
    description: model.description,
    default_reasoning_level: defaultEffort !== null && isKnownEffort(defaultEffort) ? defaultEffort : null,
    supported_reasoning_levels: supported.map((effort) => ({ effort, description: effort })),
    shell_type: 'shell_command',
    visibility: 'list',
    supported_in_api: true,
    priority,
    upgrade: null,
    base_instructions: '',
    supports_reasoning_summaries: model.supported_parameters.includes('reasoning'),
    support_verbosity: model.supported_parameters.includes('verbosity'),
    default_verbosity: null,
    apply_patch_tool_type: 'freeform',
    truncation_policy: { mode: 'tokens', limit: maxToolOutputTokens },
    supports_parallel_tool_calls: model.supported_parameters.includes('parallel_tool_calls'),
    context_window: model.context_length,
    experimental_supported_tools: [],
    input_modalities: model.input_modalities.filter(
      (modality) => modality === 'text' || modality === 'image',
    ),
  }
}

function isKnownEffort(effort: string): effort is Effort {
  return efforts.some((known) => known === effort)
}
