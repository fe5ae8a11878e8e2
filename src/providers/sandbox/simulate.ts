import type { Call } from '../../call/call.ts'
import type { ReplyEvent, ReplyStart } from '../../call/event.ts'
import type { UpstreamFailure } from '../../call/failure.ts'
import type { Usage } from '../../call/usage.ts'
import { sha256 } from '../../lib/secret.ts'
import type { SimulateOptions } from '../simulation.ts'
import { type PlannedChoice, type PlannedPart, planChoice } from './answer.ts'
import { type Directives, failureOf } from './directives.ts'
import { isForged, type Prompt, readPrompt } from './prompt.ts'
import { promptUsage } from './tokens.ts'
import { missingTool } from './tools.ts'

const thinkers: ReadonlySet<string> = new Set(['reasoner'])
const mostChoices = 128
/** Of a reply in all, logprobs included: a short request must not make a long one. */
const mostReplyBytes = 4 * 1024 * 1024
/** Others get their turn after so much was planned. */
const bytesInARow = 64 * 1024

/** Answers a call without any provider: the same call always gets the same events. docs/sandbox.md says which. */
export async function* simulate(
  call: Call,
  model: string,
  { signal, sleep, mostBytes }: SimulateOptions,
): AsyncGenerator<ReplyEvent> {
  const prompt = readPrompt(call)
  const { directives } = prompt
  if (directives.quiet) await sleep(directives.quiet)
  if (signal.aborted) return
  const failure = failureOf(directives) ?? refusedFor(call)
  if (failure) return yield { type: 'reply-error', failure }
  yield startOf(model, prompt.text)
  const choices: PlannedChoice[] = []
  for await (const choice of plan(call, prompt, model, { sleep, mostBytes })) {
    if (choice === null) return yield { type: 'reply-error', failure: tooLarge }
    choices.push(choice)
  }
  let deltas = 0
  for (const event of interleaved(choices.map(eventsOf))) {
    const broken = breakAt(directives, deltas, event)
    if (broken) return yield* broken
    if (event.type === 'part-delta') {
      if (directives.slow && deltas > 0) await sleep(directives.slow)
      deltas++
    }
    if (signal.aborted) return
    yield event
  }
  if (!directives.noUsage)
    yield { type: 'usage', usage: total(promptUsage(call, directives.cached), choices) }
  yield { type: 'reply-end' }
}

const tooLarge: UpstreamFailure = {
  kind: 'provider_unavailable',
  status: null,
  message: 'The reply of the sandbox is too large: ask for fewer words, choices or logprobs.',
  code: 'sandbox_too_large',
}

/** The choices one by one; null when they become too long. */
async function* plan(
  call: Call,
  prompt: Prompt,
  model: string,
  { sleep, mostBytes }: Pick<SimulateOptions, 'sleep' | 'mostBytes'>,
): AsyncGenerator<PlannedChoice | null> {
  let room = Math.min(mostBytes, mostReplyBytes)
  let inARow = 0
  for (let choice = 0; choice < Math.min(call.n ?? 1, mostChoices); choice++) {
    const planned = planChoice(call, prompt, thinkers.has(model), choice, room)
    if (planned === null) return yield null
    room -= planned.bytes
    inARow += planned.bytes
    yield planned
    if (inARow < bytesInARow) continue
    inARow = 0
    await sleep(0)
  }
}

function startOf(model: string, text: string): ReplyStart {
  return { type: 'reply-start', id: `sandbox-${sha256(text).slice(0, 16)}`, model }
}

/** What a vendor would not accept either. */
function refusedFor(call: Call): UpstreamFailure | undefined {
  const missing = missingTool(call)
  if (missing !== undefined) return invalid(`tool_choice names ${missing}, which is not among the tools.`)
  const forged = call.messages.some(({ parts }) =>
    parts.some((part) => part.kind === 'reasoning' && isForged(part)),
  )
  return forged ? invalid('The signature of the reasoning does not belong to its text.') : undefined
}

function invalid(message: string): UpstreamFailure {
  return { kind: 'invalid_request', status: 400, message, code: 'sandbox_invalid_request' }
}

/** What comes instead of the next event when the answer is to break off here: nothing, or an error. */
function breakAt(
  { breakAfter, failAfter }: Directives,
  deltas: number,
  next: ReplyEvent,
): ReplyEvent[] | undefined {
  const due = (after: number | undefined) =>
    after !== undefined && (deltas >= after || next.type === 'choice-end')
  if (due(breakAfter)) return []
  if (!due(failAfter)) return undefined
  const failure: UpstreamFailure = {
    kind: 'server',
    status: null,
    message: 'The sandbox was asked to fail within its answer.',
    code: 'sandbox_failure',
  }
  return [{ type: 'reply-error', failure }]
}

function* eventsOf({ groups, end }: PlannedChoice): Generator<ReplyEvent> {
  const { choice } = end
  let first = 0
  for (const group of groups) {
    yield* group.map(
      ({ content }, index): ReplyEvent => ({ type: 'part-start', choice, part: first + index, content }),
    )
    yield* interleaved(group.map((planned, index) => partEvents(planned, choice, first + index)))
    first += group.length
  }
  yield end
}

function* partEvents({ deltas }: PlannedPart, choice: number, part: number): Generator<ReplyEvent> {
  for (const delta of deltas) yield { type: 'part-delta', choice, part, delta }
  yield { type: 'part-end', choice, part }
}

/** One event of each in turn, as long as any has more. */
function* interleaved(sources: Generator<ReplyEvent>[]): Generator<ReplyEvent> {
  let open = sources
  while (open.length > 0) {
    const still: Generator<ReplyEvent>[] = []
    for (const source of open) {
      const next = source.next()
      if (next.done) continue
      still.push(source)
      yield next.value
    }
    open = still
  }
}

function total(prompt: Usage, choices: PlannedChoice[]): Usage {
  const usage = { ...prompt }
  for (const { spent } of choices) {
    for (const bucket of Object.keys(spent) as (keyof typeof spent)[]) usage[bucket] += spent[bucket]
  }
  return usage
}
