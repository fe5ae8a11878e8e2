import { z } from 'zod'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { findDefaultEngine } from '../web/access.ts'
import { failedOutcome } from './failure.ts'
import { isAddedEntry } from './fusion/entry.ts'
import { resolvePreset } from './fusion/presets.ts'
import { runFusion } from './fusion/run-fusion.ts'
import { nestedRequestFields } from './nested-call.ts'
import { checkNestedTools } from './nested-tools.ts'
import { defineServerTool, type ToolOutcome, type ToolRequest } from './tool.ts'

const { instructions: _instructions, ...settings } = nestedRequestFields

const parameters = z.strictObject({
  ...settings,
  analysis_models: z.array(z.string().min(1).max(256)).min(1).max(8).optional(),
  max_tool_calls: z.int().min(1).max(16).default(4),
  tools: z
    .array(z.looseObject({ type: z.string() }))
    .max(8)
    .optional(),
  cache_control: z
    .looseObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional() })
    .optional(),
})

/** Several models reply to the same prompt, and another model compares their replies. */
export const fusion = defineServerTool({
  name: 'fusion',
  formats: ['chat', 'messages', 'responses'],
  isGlobal: true,
  parameters,
  create: async (parsed, setup) => {
    const { analysis_models, model, max_tool_calls, ...rest } = parsed
    if (setup.format === 'messages' && !isAddedEntry(setup.entry))
      throw invalidFieldError(
        `${setup.at}.type`,
        '"service:fusion" is not available in this format; use the plugin fusion',
      )
    checkNestedTools(rest.tools ?? [], `${setup.at}.parameters.tools`)
    const models = analysis_models ?? (await resolvePreset(setup, 'general-high')).analysis_models
    const tools: JsonObject[] = rest.tools ?? listWebTools(setup)
    let hasRun = false
    return {
      functions: [
        {
          kind: 'function',
          name: 'fusion',
          description:
            'Ask a panel of models the same question and get their answers with a comparison: what they agree on, ' +
            'where they differ, and what they miss. They see this conversation. It can be used once.',
          schema: {
            type: 'object',
            properties: { prompt: { type: 'string', description: 'The question for the panel.' } },
            required: ['prompt'],
          },
        },
      ],
      costs: {
        calls: [...models, model].map((called) => ({
          model: called,
          maxTokens: rest.max_completion_tokens,
        })),
      },
      describe: () => ({ item: { type: 'service:fusion' } }),
      timeoutMs: 2 * setup.gateway.settings.limits.whole_reply,
      run: async (_call, run) => {
        if (hasRun) return refuseSecondCall()
        hasRun = true
        const options = { models, analyst: model, settings: rest, tools, maxToolCalls: max_tool_calls }
        return runFusion(run, options)
      },
    }
  },
})

/** The default tools of the members of a panel: web search and page reading, if they are configured. */
function listWebTools({ gateway, keyContext }: ToolRequest): JsonObject[] {
  if (!findDefaultEngine(gateway, keyContext.byokKeys, null)) return []
  const { enabled } = gateway.settings.web.fetch
  return [{ type: 'service:web_search' }, ...(enabled ? [{ type: 'service:web_fetch' }] : [])]
}

function refuseSecondCall(): ToolOutcome {
  const error = 'The panel has answered already. Use its answers.'
  return failedOutcome(error, { failure_reason: 'fusion_invocation_capped', error })
}
