import { type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import { type FormatNames, reasoningFormatOf } from '../reasoning-format.ts'
import { CallTable, functionOf, isBlank, isCustomCall } from './call-table.ts'
import { finishReason } from './finish.ts'
import { argumentsText } from './messages-decode.ts'
import { thinkingText } from './parts-decode.ts'

/** What one choice of a relayed reply leaves for its next pieces. */
export interface RelayedChoice {
  calls: CallTable
  finish: { reason: string; native: string | null } | null
  /** Numbers of calls had to be changed. */
  renumbered: boolean
}

export function newRelayedChoice(): RelayedChoice {
  return { calls: new CallTable(), finish: null, renumbered: false }
}

export interface Manner {
  hidesReasoning: boolean
  /** Pieces of calls are numbered, whole calls are not. */
  streams: boolean
  /** For calls that come without an id. */
  replyId: string
  formatNames: FormatNames | undefined
}

/** A choice of a vendor's chunk or reply as clients of ours know it; what is not known stays. */
export function normaliseChoice(given: JsonObject, state: RelayedChoice, manner: Manner): JsonObject {
  const { usage: _counted, ...choice } = given
  const [delta, message] = [objectOf(choice.delta), objectOf(choice.message)]
  if (delta) choice.delta = normaliseSaid(delta, state, manner)
  if (message) choice.message = { refusal: null, ...normaliseSaid(message, state, manner) }
  const word = textOf(choice.finish_reason)
  if (word) {
    const native = textOf(choice.native_finish_reason) || word
    const reason = finishReason(word, state.calls.size > 0)
    state.finish = { reason, native }
    choice.finish_reason = reason
    choice.native_finish_reason = native
  } else if (choice.finish_reason !== null) choice.finish_reason = null
  return choice
}

function normaliseSaid(given: JsonObject, state: RelayedChoice, manner: Manner): JsonObject {
  let said = withoutBlanks(given)
  if (Array.isArray(said.content)) said = flattened(said)
  if (manner.hidesReasoning) {
    const { reasoning: _text, reasoning_content: _alias, reasoning_details: _details, ...shown } = said
    said = shown
  } else said = withThoughts(said, manner)
  const calls = objectsOf(said.tool_calls)
  if (calls.length > 0) {
    said = { ...said, tool_calls: calls.map((call) => normaliseCall(call, state, manner)) }
  }
  if (objectOf(said.function_call)) state.calls.add({}, '', 0).hasArguments = true
  return said
}

/** Members that clients take for something because they are there and not null. */
const mayBeBlank = ['tool_calls', 'function_call', 'audio', 'reasoning_details']

function withoutBlanks(given: JsonObject): JsonObject {
  let said = given
  for (const name of mayBeBlank) {
    if (said[name] === undefined || said[name] === null || !isBlank(said[name])) continue
    const { [name]: _blank, ...rest } = said
    said = rest
  }
  return said.refusal === '' ? { ...said, refusal: null } : said
}

/** One vendor's content is a list, with its thinking among it. */
function flattened(said: JsonObject): JsonObject {
  let [text, thought] = ['', '']
  for (const chunk of said.content as unknown[]) {
    const part = objectOf(chunk)
    if (typeof chunk === 'string') text += chunk
    else if (part?.type === 'thinking') thought += thinkingText(part.thinking)
    else text += textOf(part?.text) ?? ''
  }
  return { ...said, content: text, ...(thought !== '' && { reasoning: thought }) }
}

function withThoughts(given: JsonObject, { formatNames }: Manner): JsonObject {
  const said = formatNames === 'neutral' ? withNeutralFormats(given) : given
  const text = textOf(said.reasoning) || textOf(said.reasoning_content)
  if (!text) return said
  const details = said.reasoning_details ?? [{ type: 'reasoning.text', text, format: 'unknown', index: 0 }]
  return { ...said, reasoning: text, reasoning_details: details }
}

function withNeutralFormats(said: JsonObject): JsonObject {
  if (!Array.isArray(said.reasoning_details)) return said
  const details = objectsOf(said.reasoning_details).map((entry) => {
    const format = reasoningFormatOf(entry.format)
    return format === undefined ? entry : { ...entry, format }
  })
  return { ...said, reasoning_details: details }
}

function normaliseCall(call: JsonObject, state: RelayedChoice, manner: Manner): JsonObject {
  const known = state.calls.find(call)
  const id = textOf(call.id) || `call_${manner.replyId}_${state.calls.size}`
  const open = known ?? state.calls.add(call, id, 0)
  if (numberOf(call.index) !== open.ordinal) state.renumbered = true
  const named = functionOf(call)
  const given = argumentsText(isCustomCall(call) ? named.input : named.arguments)
  if (given !== '') open.hasArguments = true
  const { custom, ...rest } = call
  const changed: JsonObject = {
    ...(isBlank(custom) ? rest : call),
    ...(manner.streams && { index: open.ordinal }),
  }
  if (!known) {
    changed.id = open.id
    changed.type = textOf(call.type) ?? 'function'
  }
  if (isCustomCall(call)) return changed
  // A whole call must have arguments; of one in pieces they may still come.
  const whole = !manner.streams && given === ''
  if (whole || (named.arguments !== undefined && typeof named.arguments !== 'string')) {
    changed.function = { ...named, arguments: whole ? '{}' : given }
  }
  return changed
}

/** The pieces that a choice still owes its calls when it is over: a call without arguments has an empty object. */
export function owedArguments({ calls }: RelayedChoice): JsonObject[] {
  return calls.all
    .filter(({ custom, hasArguments }) => !custom && !hasArguments)
    .map((call) => {
      call.hasArguments = true
      return { index: call.ordinal, function: { arguments: '{}' } }
    })
}

/** Characters of an answer in a delta or message; more than none means that something was said. */
export function saidLength(said: JsonObject): number {
  let length = 0
  for (const name of ['content', 'refusal', 'reasoning', 'reasoning_content'])
    length += textOf(said[name])?.length ?? 0
  if (Array.isArray(said.content)) length += JSON.stringify(said.content).length
  if (length === 0) length += objectsOf(said.reasoning_details).length
  for (const call of [...objectsOf(said.tool_calls), objectOf(said.function_call)]) {
    if (!call) continue
    const named = objectOf(call.function) ?? objectOf(call.custom) ?? call
    length += (textOf(named.name)?.length ?? 0) + argumentsText(named.arguments ?? named.input).length
  }
  const audio = objectOf(said.audio)
  if (audio) length += (textOf(audio.data) ?? textOf(audio.transcript) ?? '').length
  return length + objectsOf(said.images).length
}
