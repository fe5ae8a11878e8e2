import type { ReplyEvent } from '../../formats/call/event.ts'
import { addReplyLosses, type ReplyLimits } from '../../formats/reply-losses.ts'
import { newReplySummary, type ReplySummary } from '../../formats/wire-format.ts'
import { recordToolCall } from './tool-calls.ts'

/** Updates what the gateway knows of a reply; `limits` are those of the format it is re-encoded in. */
export function recordEvent(summary: ReplySummary, event: ReplyEvent, limits: ReplyLimits | null): void {
  if (limits) addReplyLosses(summary.losses, event, limits)
  switch (event.type) {
    case 'reply-start':
      summary.isBetweenTurns = false
      summary.model = event.model ?? summary.model
      summary.tier = event.serviceTier ?? summary.tier
      break
    case 'part-start':
      summary.partCount++
      if (hasContent(event.content)) recordProgress(summary)
      recordToolCall(summary, event)
      break
    case 'part-delta':
      if (!isEmptyDelta(event.delta)) recordProgress(summary)
      summary.characters += lengthOf(event.delta)
      recordToolCall(summary, event)
      break
    case 'choice-end':
      summary.finishReasons[event.choice] = { reason: event.reason, native: event.native }
      break
    case 'usage':
      summary.usage = event.usage
      break
    case 'reply-end':
      summary.isComplete = true
      break
    case 'reply-error':
      summary.failure ??= event.failure
      break
    case 'turn-end':
      startTurn(summary)
      break
    case 'part-end':
      break
  }
}

/** The finished turn is on the bill; what follows is charged for separately. */
function startTurn(summary: ReplySummary): void {
  const { usage, finishReasons, characters, units, isComplete, tier } = newReplySummary()
  Object.assign(summary, { usage, finishReasons, characters, units, isComplete, tier, isBetweenTurns: true })
}

function recordProgress(summary: ReplySummary): void {
  summary.hasContent = true
  summary.contentEvents++
}

type StartedPart = Extract<ReplyEvent, { type: 'part-start' }>['content']
type PartDelta = Extract<ReplyEvent, { type: 'part-delta' }>['delta']

/** Whether a part begins with content: an empty text part is only an announcement. */
function hasContent(part: StartedPart): boolean {
  return (part.kind !== 'text' && part.kind !== 'refusal') || part.text !== ''
}

function lengthOf({ text, arguments: args, summary, transcript }: PartDelta): number {
  return (text?.length ?? 0) + (args?.length ?? 0) + (summary?.length ?? 0) + (transcript?.length ?? 0)
}

function isEmptyDelta(delta: PartDelta): boolean {
  const { signature, encrypted, data, citation, logprobs } = delta
  return lengthOf(delta) === 0 && !signature && !encrypted && !data && !citation && !logprobs?.length
}
