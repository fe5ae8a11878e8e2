import { asNumber, asObject, asObjects, type JsonObject } from '../../platform/json/json-values.ts'
import type { Usage, UsageCost } from '../call/usage.ts'
import { normalizeServedTier } from '../tier.ts'
import { encodeServiceMetadata, type ReplyContext } from '../wire-format.ts'
import { buildChunkHead } from './chunk.ts'
import { decodeFailure, encodeFailure, endedInErrorMessage } from './error.ts'
import { decodeFinishReason } from './finish-reason.ts'
import { newRelayedChoice, normalizeChoice } from './normalize.ts'
import { passPlainReply, readPlainReply } from './plain-reply.ts'
import { buildAnnotations, extractChoiceError, extractChunkError } from './reply-reader.ts'
import { findUsage, mergeUsage } from './usage.ts'

/** The fields of a choice that was cut off. */
function encodeBrokenChoice(error: unknown): JsonObject {
  return { finish_reason: 'error', error: encodeFailure(decodeFailure(error, null)) }
}

/** The vendor's reply with the gateway's fields; unknown fields stay. */
export function passReply(
  body: JsonObject,
  context: ReplyContext,
  cost: UsageCost,
  usage: Usage,
): JsonObject {
  const plain = readPlainReply(body)
  if (plain) return passPlainReply(body, plain, context, cost, usage)
  const hidesReasoning = !context.isPlain && context.call.reasoning?.exclude === true
  const options = { hidesReasoning, replyId: context.id, isStream: false, formatNames: context.formatNames }
  const annotations = buildAnnotations(body)
  const failure = extractChunkError(body, false)
  const choices = asObjects(body.choices).map((original, at) => {
    const index = asNumber(original.index) ?? at
    const state = newRelayedChoice()
    const choice = normalizeChoice({ ...original, index }, state, options)
    choice.finish_reason ??= decodeFinishReason(null, state.toolCalls.size > 0)
    const broken =
      extractChoiceError(original) ??
      failure ??
      (choice.finish_reason === 'error' ? endedInErrorMessage : undefined)
    if (broken !== undefined) Object.assign(choice, encodeBrokenChoice(broken))
    const message = asObject(choice.message)
    if (at === 0 && message && annotations.length > 0 && !message.annotations) {
      choice.message = { ...message, annotations }
    }
    return choice
  })
  const { error, ...rest } = body
  return {
    system_fingerprint: null,
    ...(failure === undefined ? body : rest),
    ...buildChunkHead(context, 'chat.completion'),
    ...encodeTier(body, context),
    choices,
    usage: mergeUsage(findUsage(body), usage, cost),
    ...encodeServiceMetadata(context),
  }
}

/** The tier the vendor reports, or else the requested one. */
export function encodeTier({ service_tier: reported }: JsonObject, { tier }: ReplyContext): JsonObject {
  const tierName = reported ?? tier
  return tierName === null || tierName === undefined ? {} : { service_tier: normalizeServedTier(tierName) }
}
