import type { ModelCall } from '../../formats/call/call.ts'
import type { PluginSettings } from '../../formats/schema/plugins.ts'
import { omitUndefined } from '../../platform/json/json-values.ts'
import type { FusionPresetName } from '../routers/fusion-presets.ts'
import { createFusionEntry, isAddedEntry } from '../tools/fusion/entry.ts'
import { resolvePreset } from '../tools/fusion/presets.ts'
import type { Plugin, PluginContext } from './plugin.ts'
import { type Router, type RouterContext, settingsOf } from './router.ts'

type FusionSettings = Partial<PluginSettings<'fusion'>>

/** Adds the tool `fusion`, a panel of models, which the model of the request may call. */
export const fusionPlugin: Plugin<'fusion'> = {
  id: 'fusion',
  prepare: async (context, settings) => {
    const { content } = context.request
    // A router model has added it already.
    if (hasEntry(content.call)) return
    addTool(context, settings, await resolvePanel(context, settings, 'general-high'))
  },
}

/** A router model that must call the panel before it replies. */
function createFusionRouter(model: string, defaultPreset: FusionPresetName): Router {
  return {
    model,
    // It reads the settings of the plugin above, which applies to other models too.
    plugin: null,
    stage: 'fusion',
    strategy: 'fusion',
    route: async (context) => {
      const settings = settingsOf(context, 'fusion')
      const panel = await resolvePanel(context, settings, defaultPreset)
      addTool(context, settings, panel, { kind: 'tool', name: 'service:fusion' })
      return {
        selection: {
          models: [panel.model],
          reason: `It answers with the replies of ${panel.analysis_models.join(', ')}.`,
          runnersUp: [],
          data: { analysis_models: panel.analysis_models.join(', ') },
        },
      }
    },
  }
}

export const fusionRouter = createFusionRouter('service/fusion', 'general-high')
export const fusionFlashRouter = createFusionRouter('service/fusion-flash', 'general-fast')

async function resolvePanel(
  { gateway, request }: PluginContext | RouterContext,
  { preset, model, analysis_models }: FusionSettings,
  defaultPreset: FusionPresetName,
) {
  if (model !== undefined && analysis_models) return { model, analysis_models }
  const { caller, region } = request
  const chosen = await resolvePreset({ gateway, caller, region }, preset ?? defaultPreset)
  return { model: model ?? chosen.model, analysis_models: analysis_models ?? chosen.analysis_models }
}

/** The analyst is the model of the settings; by default that of the request. */
function addTool(
  { request }: PluginContext,
  { model, max_tool_calls, tools }: FusionSettings,
  { analysis_models }: { analysis_models: string[] },
  toolChoice?: ModelCall['toolChoice'],
): void {
  const { content } = request
  const { call } = content
  const entry = createFusionEntry(omitUndefined({ analysis_models, model, max_tool_calls, tools }))
  const changed = { ...call, tools: [...(call.tools ?? []), entry], ...(toolChoice && { toolChoice }) }
  request.content = content.replaceCall(changed)
}

function hasEntry({ tools = [] }: ModelCall): boolean {
  return tools.some((tool) => tool.kind === 'native' && isAddedEntry(tool.value))
}
