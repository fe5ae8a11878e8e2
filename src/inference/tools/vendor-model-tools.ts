import { findModel } from '../../catalog/lookup.ts'
import type { NativeTool } from '../../formats/call/call.ts'
import { asString } from '../../platform/json/json-values.ts'
import type { ToolRequest } from './tool.ts'

export const vendorAdvisorType = 'advisor_20260301'
export const vendorImageType = 'image_generation'

/** Tools of vendors that call other models, as tools of the gateway where a provider cannot run them. */
export function convertModelTool(tool: NativeTool, request: ToolRequest): NativeTool {
  if (tool.wireFormat === 'messages' && tool.type === vendorAdvisorType) return convertAdvisor(tool, request)
  if (tool.wireFormat === 'responses' && tool.type === vendorImageType) return convertImages(tool, request)
  return tool
}

/** The gateway can only call models of its catalogue. */
function convertAdvisor(tool: NativeTool, { gateway }: ToolRequest): NativeTool {
  const { model } = tool.value
  const slug = asString(model)
  if (slug === undefined || !findModel(gateway.catalog, slug)) return tool
  const parameters = { model: slug, forward_transcript: true }
  return { ...tool, type: 'service:advisor', value: { ...tool.value, parameters } }
}

/** Providers of the format of the tool have it themselves. */
function convertImages(tool: NativeTool, { gateway, model }: ToolRequest): NativeTool {
  const endpoints = findModel(gateway.catalog, model)?.model.endpoints ?? []
  if (endpoints.some(({ wireFormats, provider }) => !provider.inProcess && wireFormats.includes('responses')))
    return tool
  const { type, ...entry } = tool.value
  const parameters = Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null))
  return { ...tool, type: 'service:image_generation', value: { type, parameters } }
}
