import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { decodeServedTier } from '../tier.ts'
import { newReplySummary, type ReplySummary } from '../wire-format.ts'
import { decodeFinishReason } from './finish-reason.ts'
import { functionFieldsOf, isCustomToolCall } from './tool-call-table.ts'
import { decodeUsage, findUsage } from './usage.ts'

/** Summarizes a plain reply: every choice has content and a finish reason, and there is no error. */
export function summarizeReply(body: JsonObject): ReplySummary | undefined {
  if (!Array.isArray(body.choices) || body.choices.length === 0 || 'error' in body) return undefined
  const summary = newReplySummary()
  for (const [at, value] of body.choices.entries()) {
    const choice = asObject(value)
    const message = asObject(choice?.message)
    const native = asString(choice?.finish_reason)
    if (!choice || !message || !native || 'error' in choice) return undefined
    const hasToolCalls = Array.isArray(message.tool_calls) && message.tool_calls.length > 0
    if (hasToolCalls) addToolCalls(summary, at, message.tool_calls)
    const text = asString(message.content) ?? ''
    if (text === '' && !hasToolCalls) return undefined
    const reason = decodeFinishReason(native, hasToolCalls)
    if (reason === 'error') return undefined
    summary.finishReasons[at] = { reason, native }
    summary.characters += text.length
  }
  const usage = findUsage(body)
  if (usage) summary.usage = decodeUsage(usage)
  summary.model = asString(body.model) ?? null
  if (body.service_tier !== undefined) summary.tier = decodeServedTier(body.service_tier) ?? null
  summary.hasContent = true
  summary.isComplete = true
  return summary
}

function addToolCalls(summary: ReplySummary, choice: number, toolCalls: unknown): void {
  for (const [part, toolCall] of asObjects(toolCalls).entries()) {
    summary.partCount++
    const [functionFields, custom] = [functionFieldsOf(toolCall), isCustomToolCall(toolCall)]
    const [name, text] = [
      asString(functionFields.name),
      asString(custom ? functionFields.input : functionFields.arguments),
    ]
    summary.toolCalls.push({ choice, part, name: name ?? '', arguments: text ?? '', custom })
  }
}
