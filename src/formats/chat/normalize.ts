import {
  asNumber,
  asObject,
  asObjects,
  asString,
  firstFilled,
  isBlank,
  type JsonObject,
} from '../../platform/json/json-values.ts'
import { decodeReasoningFormat, type FormatNames } from '../reasoning-format.ts'
import { decodeFinishReason } from './finish-reason.ts'
import { toArgumentsText } from './messages-decode.ts'
import { joinThinkingText } from './parts-decode.ts'
import { functionFieldsOf, isCustomToolCall, ToolCallTable } from './tool-call-table.ts'

/** State of one choice of a relayed reply. */
export interface RelayedChoice {
  toolCalls: ToolCallTable
  finish: { reason: string; native: string | null } | null
  /** Indexes of tool calls had to be changed. */
  isRenumbered: boolean
  hasContent: boolean
}

export function newRelayedChoice(): RelayedChoice {
  return { toolCalls: new ToolCallTable(), finish: null, isRenumbered: false, hasContent: false }
}

export interface RelayOptions {
  hidesReasoning: boolean
  /** Tool call deltas have an index, whole tool calls do not. */
  isStream: boolean
  /** The base of ids for tool calls that have none. */
  replyId: string
  formatNames: FormatNames | undefined
}

/** A choice of a vendor's chunk or reply in this API's form; unknown fields stay. */
export function normalizeChoice(
  original: JsonObject,
  state: RelayedChoice,
  options: RelayOptions,
): JsonObject {
  const { usage: _usage, delta, message, ...choice } = original
  const content = selectContent(original, !options.isStream, state.hasContent)
  if (countContentCharacters(content) > 0) state.hasContent = true
  const normalized = normalizeMessage(content, state, options)
  if (options.isStream) choice.delta = normalized
  else choice.message = { refusal: null, ...normalized }
  const reported = asString(choice.finish_reason)
  if (reported) {
    const native = asString(choice.native_finish_reason) || reported
    const reason = decodeFinishReason(reported, state.toolCalls.size > 0)
    state.finish = { reason, native }
    choice.finish_reason = reason
    choice.native_finish_reason = native
  } else if (choice.finish_reason !== null) choice.finish_reason = null
  return choice
}

function normalizeMessage(original: JsonObject, state: RelayedChoice, options: RelayOptions): JsonObject {
  let message = dropBlankMembers(original)
  if (Array.isArray(message.content)) message = flattenContent(message)
  if (options.hidesReasoning) {
    const { reasoning: _text, reasoning_content: _alias, reasoning_details: _details, ...shown } = message
    message = shown
  } else message = withReasoningDetails(message, options)
  const toolCalls = asObjects(message.tool_calls)
  if (toolCalls.length > 0) {
    message = {
      ...message,
      tool_calls: toolCalls.map((toolCall) => normalizeToolCall(toolCall, state, options)),
    }
  }
  if (asObject(message.function_call)) state.toolCalls.add({}, '', 0).hasArguments = true
  return message
}

/** Clients treat these as content when they are present and not null. */
const droppedWhenBlank = ['tool_calls', 'function_call', 'audio', 'reasoning_details']

function dropBlankMembers(original: JsonObject): JsonObject {
  let message = original
  for (const name of droppedWhenBlank) {
    if (message[name] === undefined || message[name] === null || !isBlank(message[name])) continue
    const { [name]: _blank, ...rest } = message
    message = rest
  }
  return message.refusal === '' ? { ...message, refusal: null } : message
}

/** One vendor sends content as an array that includes its thinking. */
function flattenContent(message: JsonObject): JsonObject {
  let [text, reasoning] = ['', '']
  for (const chunk of message.content as unknown[]) {
    const part = asObject(chunk)
    if (typeof chunk === 'string') text += chunk
    else if (part?.type === 'thinking') reasoning += joinThinkingText(part.thinking)
    else text += asString(part?.text) ?? ''
  }
  return { ...message, content: text, ...(reasoning !== '' && { reasoning }) }
}

function withReasoningDetails(original: JsonObject, { formatNames }: RelayOptions): JsonObject {
  const message = formatNames === 'neutral' ? withNeutralFormats(original) : original
  const text = asString(message.reasoning) || asString(message.reasoning_content)
  if (!text) return message
  const details = message.reasoning_details ?? [{ type: 'reasoning.text', text, format: 'unknown', index: 0 }]
  return { ...message, reasoning: text, reasoning_details: details }
}

function withNeutralFormats(message: JsonObject): JsonObject {
  if (!Array.isArray(message.reasoning_details)) return message
  const details = asObjects(message.reasoning_details).map((entry) => {
    const format = decodeReasoningFormat(entry.format)
    return format === undefined ? entry : { ...entry, format }
  })
  return { ...message, reasoning_details: details }
}

function normalizeToolCall(toolCall: JsonObject, state: RelayedChoice, options: RelayOptions): JsonObject {
  const existing = state.toolCalls.find(toolCall)
  const id = asString(toolCall.id) || `call_${options.replyId}_${state.toolCalls.size}`
  const open = existing ?? state.toolCalls.add(toolCall, id, 0)
  if (asNumber(toolCall.index) !== open.ordinal) state.isRenumbered = true
  const functionFields = functionFieldsOf(toolCall)
  const argumentsText = toArgumentsText(
    isCustomToolCall(toolCall) ? functionFields.input : functionFields.arguments,
  )
  if (argumentsText !== '') open.hasArguments = true
  const { custom, ...rest } = toolCall
  const normalized: JsonObject = {
    ...(isBlank(custom) ? rest : toolCall),
    ...(options.isStream && { index: open.ordinal }),
  }
  if (!existing) {
    normalized.id = open.id
    normalized.type = asString(toolCall.type) ?? 'function'
  }
  if (isCustomToolCall(toolCall)) return normalized
  // A whole tool call must have arguments; in a stream they may still follow.
  const isEmptyCall = !options.isStream && argumentsText === ''
  if (
    isEmptyCall ||
    (functionFields.arguments !== undefined && typeof functionFields.arguments !== 'string')
  ) {
    normalized.function = { ...functionFields, arguments: isEmptyCall ? '{}' : argumentsText }
  }
  return normalized
}

/** Deltas for tool calls that ended without arguments, which get an empty object. */
export function takeMissingArguments({ toolCalls }: RelayedChoice): JsonObject[] {
  return toolCalls.all
    .filter(({ custom, hasArguments }) => !custom && !hasArguments)
    .map((toolCall) => {
      toolCall.hasArguments = true
      return { index: toolCall.ordinal, function: { arguments: '{}' } }
    })
}

/**
 * The delta or message of a choice. Some vendors send both: in a whole reply an empty delta, in a stream the
 * message so far beside each delta.
 */
export function selectContent(choice: JsonObject, isWhole: boolean, hasContent: boolean): JsonObject {
  const [delta, message] = [asObject(choice.delta), asObject(choice.message)]
  const [first, second] = isWhole ? [message, delta] : [delta, message]
  const isFirstEmpty = !first || (!hasContent && countContentCharacters(first) === 0)
  if (second && isFirstEmpty && (!first || countContentCharacters(second) > 0)) return second
  return first ?? { content: choice.text }
}

/** Characters of content in a delta or message; zero means it has no content. */
export function countContentCharacters(message: JsonObject): number {
  let length = 0
  for (const name of ['content', 'refusal', 'reasoning', 'reasoning_content'])
    length += asString(message[name])?.length ?? 0
  if (Array.isArray(message.content)) length += JSON.stringify(message.content).length
  if (length === 0) length += asObjects(message.reasoning_details).length
  for (const toolCall of [...asObjects(message.tool_calls), asObject(message.function_call)]) {
    if (!toolCall) continue
    const functionFields = asObject(firstFilled(toolCall.function, toolCall.custom)) ?? toolCall
    length +=
      (asString(functionFields.name)?.length ?? 0) +
      toArgumentsText(firstFilled(functionFields.arguments, functionFields.input)).length
  }
  const audio = asObject(message.audio)
  if (audio) length += (asString(audio.data) || asString(audio.transcript) || '').length
  return length + asObjects(message.images).length
}
