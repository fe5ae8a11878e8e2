import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import type { Usage, UsageCost } from '../call/usage.ts'
import type { ReplyContext } from '../wire-format.ts'
import { buildChunkHead } from './chunk.ts'
import { decodeFinishReason } from './finish-reason.ts'
import { findUsage, mergeUsage } from './usage.ts'

/** The parts of a plain reply. */
interface PlainReply {
  choice: JsonObject
  message: JsonObject
  finishReason: string
}

const bodyFields: ReadonlySet<string> = new Set([
  ...['id', 'object', 'created', 'model', 'choices', 'usage', 'system_fingerprint'],
])
const choiceFields: ReadonlySet<string> = new Set(['index', 'message', 'finish_reason', 'logprobs'])

/** The only choice of a reply that is a text with the usual fields; null for any other, which has to be normalized. */
export function readPlainReply(body: JsonObject): PlainReply | null {
  for (const name in body) if (!bodyFields.has(name)) return null
  const { choices } = body
  // How one vendor marks an error.
  if (body.object === 'error') return null
  if (!Array.isArray(choices) || choices.length !== 1) return null
  const choice = asObject(choices[0])
  const message = asObject(choice?.message)
  const finishReason = choice?.finish_reason
  if (!choice || !message || typeof finishReason !== 'string' || finishReason === '') return null
  if (decodeFinishReason(finishReason, false) === 'error') return null
  if (typeof choice.index !== 'number') return null
  for (const name in choice) if (!choiceFields.has(name)) return null
  if (typeof message.content !== 'string' || message.content === '') return null
  for (const name in message) {
    if (name === 'role' || name === 'content') continue
    if (name !== 'refusal' || message.refusal !== null) return null
  }
  return { choice, message, finishReason }
}

/** Passes a plain reply as `passReply` does. */
export function passPlainReply(
  body: JsonObject,
  { choice, message, finishReason }: PlainReply,
  context: ReplyContext,
  cost: UsageCost,
  usage: Usage,
): JsonObject {
  const reason = decodeFinishReason(finishReason, false)
  const { message: _message, ...fields } = choice
  return {
    system_fingerprint: null,
    ...body,
    ...buildChunkHead(context, 'chat.completion'),
    ...(context.tier !== null && { service_tier: context.tier }),
    choices: [
      {
        ...fields,
        message: { refusal: null, ...message },
        finish_reason: reason,
        native_finish_reason: finishReason,
      },
    ],
    usage: mergeUsage(findUsage(body), usage, cost),
    ...(context.explain && { service_metadata: context.explain() }),
  }
}
