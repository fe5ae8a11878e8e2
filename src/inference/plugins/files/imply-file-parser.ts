import { findModel } from '../../../catalog/lookup.ts'
import type { ModelCall } from '../../../formats/call/call.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { InferenceRequest } from '../../request/inference-request.ts'
import { requireWork } from '../../request/work.ts'
import { kindOf } from './read-document.ts'

/**
 * Adds the plugin file-parser to a request with documents if its models declare that they do not read files: a provider
 * would reject or ignore them. Only the engine that is free and sends documents nowhere is used without being requested.
 */
export function implyFileParser(gateway: Gateway, request: InferenceRequest): void {
  if (!hasDocument(request.content.call)) return
  const { work, options } = request
  if (work?.findPlugin('file-parser') || work?.disabled.has('file-parser')) return
  const isUnable = (slug: string) => {
    const model = findModel(gateway.catalog, slug)?.model
    return model?.declares_input === true && !model.input_modalities.includes('file')
  }
  if (options.models.length === 0 || !options.models.every(isUnable)) return
  const settings = { pdf: { engine: 'pdf-text' as const } }
  const implied = requireWork(request)
  implied.plugins = [...implied.plugins, { id: 'file-parser', settings, isDefault: true, isImplied: true }]
}

/** Whether the messages have a PDF or Office document as data. Documents in tool results are not considered. */
function hasDocument({ messages }: ModelCall): boolean {
  for (const { parts } of messages)
    for (const part of parts) if (part.kind === 'file' && isDocument(kindOf(part))) return true
  return false
}

function isDocument(kind: ReturnType<typeof kindOf>): boolean {
  return kind === 'pdf' || kind === 'office'
}
