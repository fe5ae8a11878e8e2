import type { Bill, Usage } from '../../call/usage.ts'
import { type JsonObject, numberOf, objectOf, objectsOf } from '../../lib/loose.ts'
import { explained, type ReplyFacts } from '../dialect.ts'
import { shownTier } from '../tier.ts'
import { chunkHead } from './chunk.ts'
import { endedInError, failureObject, failureOf } from './error.ts'
import { finishReason } from './finish.ts'
import { newRelayedChoice, normaliseChoice } from './normalise.ts'
import { annotationsFor, choiceError, errorIn } from './reply-read.ts'
import { mergeUsage, usageObjectOf } from './usage.ts'

/** Where this API says that a reply broke off. */
function brokenFields(error: unknown): JsonObject {
  return { finish_reason: 'error', error: failureObject(failureOf(error, null)) }
}

/** The vendor's own reply with what we say of it ourselves; unknown fields stay. */
export function passReply(body: JsonObject, about: ReplyFacts, bill: Bill, usage: Usage): JsonObject {
  const hidesReasoning = about.call.reasoning?.exclude === true
  const manner = { hidesReasoning, replyId: about.id, streams: false, formatNames: about.formatNames }
  const annotations = annotationsFor(body)
  const failure = errorIn(body, false)
  const choices = objectsOf(body.choices).map((given, at) => {
    const index = numberOf(given.index) ?? at
    const state = newRelayedChoice()
    const choice = normaliseChoice({ ...given, index }, state, manner)
    choice.finish_reason ??= finishReason(null, state.calls.size > 0)
    const broken =
      choiceError(given) ?? failure ?? (choice.finish_reason === 'error' ? endedInError : undefined)
    if (broken !== undefined) Object.assign(choice, brokenFields(broken))
    const message = objectOf(choice.message)
    if (at === 0 && message && annotations.length > 0 && !message.annotations) {
      choice.message = { ...message, annotations }
    }
    return choice
  })
  const { error, ...rest } = body
  return {
    system_fingerprint: null,
    ...(failure === undefined ? body : rest),
    ...chunkHead(about, 'chat.completion'),
    ...tierField(body, about),
    choices,
    usage: mergeUsage(usageObjectOf(body), usage, bill),
    ...explained(about),
  }
}

/** What the vendor says of the tier, or else which one was asked. */
export function tierField({ service_tier: told }: JsonObject, { tier }: ReplyFacts): JsonObject {
  const said = told ?? tier
  return said === null || said === undefined ? {} : { service_tier: shownTier(said) }
}
