import { type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import { nothingSeen, type Seen } from '../dialect.ts'
import { servedTier } from '../tier.ts'
import { functionOf, isCustomCall } from './call-table.ts'
import { finishReason } from './finish.ts'
import { readUsage, usageObjectOf } from './usage.ts'

/** The usual reply: choices that are finished and said something, no error anywhere. */
export function seeReply(body: JsonObject): Seen | undefined {
  if (!Array.isArray(body.choices) || body.choices.length === 0 || 'error' in body) return undefined
  const seen = nothingSeen()
  for (const [at, given] of body.choices.entries()) {
    const choice = objectOf(given)
    const message = objectOf(choice?.message)
    const native = textOf(choice?.finish_reason)
    if (!choice || !message || !native || 'error' in choice) return undefined
    const calls = Array.isArray(message.tool_calls) && message.tool_calls.length > 0
    if (calls) seeCalls(seen, at, message.tool_calls)
    const text = textOf(message.content) ?? ''
    if (text === '' && !calls) return undefined
    const reason = finishReason(native, calls)
    if (reason === 'error') return undefined
    seen.finishes[at] = { reason, native }
    seen.characters += text.length
  }
  const usage = usageObjectOf(body)
  if (usage) seen.usage = readUsage(usage)
  seen.model = textOf(body.model) ?? null
  seen.tier = servedTier(body.service_tier) ?? null
  seen.content = true
  seen.complete = true
  return seen
}

function seeCalls(seen: Seen, choice: number, calls: unknown): void {
  for (const [part, call] of objectsOf(calls).entries()) {
    seen.parts++
    const [given, custom] = [functionOf(call), isCustomCall(call)]
    const [name, text] = [textOf(given.name), textOf(custom ? given.input : given.arguments)]
    seen.calls.push({ choice, part, name: name ?? '', arguments: text ?? '', custom })
  }
}
