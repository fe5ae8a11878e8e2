import type { ModelCall } from '../../../formats/call/call.ts'
import type { ReplyEvent, ReplyStart } from '../../../formats/call/event.ts'
import type { UpstreamFailure } from '../../../formats/call/failure.ts'
import type { Usage } from '../../../formats/call/usage.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import type { SimulateOptions } from '../simulation.ts'
import { buildFailure, type Directives } from './directives.ts'
import { isForged, type Prompt, readPrompt } from './prompt.ts'
import { type PlannedChoice, type PlannedPart, planChoice } from './reply.ts'
import { computePromptUsage } from './tokens.ts'
import { findMissingTool } from './tools.ts'

const reasoningModels: ReadonlySet<string> = new Set(['reasoner'])
const maxChoices = 128
/** Bytes of a whole reply, including logprobs: a short request must not cause a huge reply. */
const maxReplyBytes = 4 * 1024 * 1024
/** Yields to the event loop after planning this much. */
const bytesPerTurn = 64 * 1024

/** Simulates a reply: the same call always gets the same events. See docs/sandbox.md. */
export async function* simulate(
  call: ModelCall,
  model: string,
  { signal, sleep, maxBytes }: SimulateOptions,
): AsyncGenerator<ReplyEvent> {
  const prompt = readPrompt(call)
  const { directives } = prompt
  if (directives.startDelayMs) await sleep(directives.startDelayMs)
  if (signal.aborted) return
  const failure = buildFailure(directives) ?? findRequestFailure(call)
  if (failure) return yield { type: 'reply-error', failure }
  yield buildStart(model, prompt.text)
  const choices: PlannedChoice[] = []
  for await (const choice of planChoices(call, prompt, model, { sleep, maxBytes })) {
    if (choice === null) return yield { type: 'reply-error', failure: tooLargeFailure }
    choices.push(choice)
  }
  let deltas = 0
  for (const event of interleave(choices.map(generateEvents))) {
    const broken = breakAt(directives, deltas, event)
    if (broken) return yield* broken
    if (event.type === 'part-delta') {
      if (directives.deltaDelayMs && deltas > 0) await sleep(directives.deltaDelayMs)
      deltas++
    }
    if (signal.aborted) return
    yield event
  }
  if (!directives.noUsage)
    yield { type: 'usage', usage: sumUsage(computePromptUsage(call, directives.cached), choices) }
  yield { type: 'reply-end' }
}

const tooLargeFailure: UpstreamFailure = {
  kind: 'provider_unavailable',
  status: null,
  message: 'The reply of the sandbox is too large: ask for fewer words, choices or logprobs.',
  code: 'sandbox_too_large',
}

/** Plans the choices one by one; null if they exceed the maximum size. */
async function* planChoices(
  call: ModelCall,
  prompt: Prompt,
  model: string,
  { sleep, maxBytes }: Pick<SimulateOptions, 'sleep' | 'maxBytes'>,
): AsyncGenerator<PlannedChoice | null> {
  let remainingBytes = Math.min(maxBytes, maxReplyBytes)
  let turnBytes = 0
  for (let choice = 0; choice < Math.min(call.n ?? 1, maxChoices); choice++) {
    const planned = planChoice(call, prompt, reasoningModels.has(model), choice, remainingBytes)
    if (planned === null) return yield null
    remainingBytes -= planned.bytes
    turnBytes += planned.bytes
    yield planned
    if (turnBytes < bytesPerTurn) continue
    turnBytes = 0
    await sleep(0)
  }
}

function buildStart(model: string, text: string): ReplyStart {
  return { type: 'reply-start', id: `sandbox-${sha256(text).slice(0, 16)}`, model }
}

/** Requests that a vendor would reject too. */
function findRequestFailure(call: ModelCall): UpstreamFailure | undefined {
  const missing = findMissingTool(call)
  if (missing !== undefined)
    return invalidRequestFailure(`tool_choice names ${missing}, which is not among the tools.`)
  const isForgedSignature = call.messages.some(({ parts }) =>
    parts.some((part) => part.kind === 'reasoning' && isForged(part)),
  )
  return isForgedSignature
    ? invalidRequestFailure('The signature of the reasoning does not belong to its text.')
    : undefined
}

function invalidRequestFailure(message: string): UpstreamFailure {
  return { kind: 'invalid_request', status: 400, message, code: 'sandbox_invalid_request' }
}

/** Returns the last events if a directive ends the stream here: none, or an error. */
function breakAt(
  { breakAfter, failAfter }: Directives,
  deltas: number,
  next: ReplyEvent,
): ReplyEvent[] | undefined {
  const isDue = (after: number | undefined) =>
    after !== undefined && (deltas >= after || next.type === 'choice-end')
  if (isDue(breakAfter)) return []
  if (!isDue(failAfter)) return undefined
  const failure: UpstreamFailure = {
    kind: 'server',
    status: null,
    message: 'The sandbox was directed to fail within its reply.',
    code: 'sandbox_failure',
  }
  return [{ type: 'reply-error', failure }]
}

function* generateEvents({ groups, end }: PlannedChoice): Generator<ReplyEvent> {
  const { choice } = end
  let first = 0
  for (const group of groups) {
    yield* group.map(
      ({ content }, index): ReplyEvent => ({ type: 'part-start', choice, part: first + index, content }),
    )
    yield* interleave(group.map((planned, index) => generatePartEvents(planned, choice, first + index)))
    first += group.length
  }
  yield end
}

function* generatePartEvents({ deltas }: PlannedPart, choice: number, part: number): Generator<ReplyEvent> {
  for (const delta of deltas) yield { type: 'part-delta', choice, part, delta }
  yield { type: 'part-end', choice, part }
}

/** Interleaves: one event of each in turn. */
function* interleave(sources: Generator<ReplyEvent>[]): Generator<ReplyEvent> {
  let open = sources
  while (open.length > 0) {
    const remaining: Generator<ReplyEvent>[] = []
    for (const source of open) {
      const next = source.next()
      if (next.done) continue
      remaining.push(source)
      yield next.value
    }
    open = remaining
  }
}

function sumUsage(prompt: Usage, choices: PlannedChoice[]): Usage {
  const usage = { ...prompt }
  for (const { outputTokens } of choices) {
    for (const bucket of Object.keys(outputTokens) as (keyof typeof outputTokens)[])
      usage[bucket] += outputTokens[bucket]
  }
  return usage
}
