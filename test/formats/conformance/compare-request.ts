import { flattenToolName, type Message, type ModelCall, type Tool } from '../../../src/formats/call/call.ts'
import type {
  InputPart,
  MediaSource,
  OutputPart,
  ReasoningPart,
  ToolResultPart,
} from '../../../src/formats/call/part.ts'
import { isReasoningRequested, resolveEffort } from '../../../src/formats/call/reasoning.ts'
import { type CallField, fieldNames } from '../../../src/formats/fields.ts'
import type { JsonObject } from '../../../src/platform/json/json-values.ts'

type Part = InputPart | OutputPart

/**
 * Lists what a call lost, or what changed its meaning, in the names of `x-headgate-dropped`. Content that was not in
 * the call is `added:<name>`.
 */
export function compareRequests(sent: ModelCall, received: ModelCall): string[] {
  const names = new Set<string>(sent.unknown)
  compareFields(sent, received, names)
  compareReasoning(sent, received, names)
  compareFormat(sent, received, names)
  compareTools(sent.tools ?? [], received.tools ?? [], names)
  compareMessages(sent.messages, received.messages, names)
  return [...names].sort()
}

export function isSameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

const separatelyCompared: ReadonlySet<string> = new Set(['tools', 'reasoning', 'format'])

function compareFields(sent: ModelCall, received: ModelCall, names: Set<string>): void {
  for (const field of Object.keys(fieldNames) as CallField[]) {
    if (separatelyCompared.has(field)) continue
    const [before, after] = [normalizeField(field, sent), normalizeField(field, received)]
    if (isSameJson(before, after)) continue
    names.add(before === undefined ? `added:${fieldNames[field]}` : fieldNames[field])
  }
}

/** Normalizes synonyms, and removes values that equal the default. */
function normalizeField(field: CallField, call: ModelCall): unknown {
  const value = call[field]
  if (field === 'serviceTier' && value === 'auto') return undefined
  if (field === 'n' && value === 1) return undefined
  if (field === 'logprobs' && value === false) return undefined
  if (field === 'parallelToolCalls' && value === true) return undefined
  if (field === 'modalities' && isSameJson(value, ['text'])) return undefined
  if (field === 'cache' && call.cache) return { ttl: call.cache.ttl ?? '5m' }
  return value
}

function compareReasoning(sent: ModelCall, received: ModelCall, names: Set<string>): void {
  const [sentOptions, receivedOptions] = [sent.reasoning, received.reasoning]
  if (!sentOptions) {
    if (isReasoningRequested(receivedOptions) !== undefined) names.add('added:reasoning')
    return
  }
  const maxTokens = sent.maxTokens ?? 8192
  const isSameSwitch = isReasoningRequested(sentOptions) === isReasoningRequested(receivedOptions)
  // A budget and an effort are equivalent when one converts to the other.
  const isSameAmount = sentOptions.adaptive
    ? receivedOptions?.adaptive === true
    : resolveComparableEffort(sentOptions, maxTokens) ===
      resolveComparableEffort(receivedOptions ?? {}, maxTokens)
  const isSameBudget =
    sentOptions.maxTokens === undefined ||
    receivedOptions?.maxTokens === sentOptions.maxTokens ||
    receivedOptions?.effort !== undefined
  if (!isSameSwitch || (isReasoningRequested(sentOptions) && !(isSameAmount && isSameBudget)))
    names.add('reasoning')
  if (sentOptions.exclude && !receivedOptions?.exclude) names.add('reasoning.exclude')
  if (!isSameSummary(sentOptions.summary, receivedOptions)) names.add('reasoning.summary')
}

/** `auto` only requests visible reasoning, which formats without summary types express in another field. */
function isSameSummary(sentSummary: string | undefined, received: ModelCall['reasoning']): boolean {
  if (sentSummary === undefined || received?.summary === sentSummary) return true
  return (
    sentSummary === 'auto' &&
    (received?.exclude === false || received?.enabled === true || received?.adaptive === true)
  )
}

function resolveComparableEffort(
  options: NonNullable<ModelCall['reasoning']>,
  maxTokens: number,
): string | undefined {
  const { enabled: _, ...amount } = options
  const hasAmount = options.effort !== undefined || options.maxTokens !== undefined
  return resolveEffort(hasAmount ? amount : options, maxTokens)
}

function compareFormat(
  { format: sent }: ModelCall,
  { format: received }: ModelCall,
  names: Set<string>,
): void {
  if (!sent) {
    if (received && received.kind !== 'text') names.add('added:response_format')
    return
  }
  if (sent.kind !== 'schema' || received?.kind !== 'schema') {
    if (!isSameJson(sent, received)) names.add('response_format')
    return
  }
  if (!isSameJson(sent.schema, received.schema)) names.add('response_format.schema')
  for (const field of ['name', 'strict', 'description'] as const) {
    if (sent[field] !== undefined && sent[field] !== received[field]) names.add(`response_format.${field}`)
  }
}

function compareTools(sent: Tool[], received: Tool[], names: Set<string>): void {
  const nameOf = (tool: Tool) => (tool.kind === 'native' ? `native ${tool.type}` : flattenToolName(tool))
  for (const tool of sent) {
    const match = received.find((other) => nameOf(other) === nameOf(tool))
    if (!match) names.add(tool.kind === 'native' ? `tool:${tool.type}` : 'tools')
    else compareTool(tool, match, names)
  }
  const known = sent.map(nameOf)
  for (const tool of received) if (!known.includes(nameOf(tool))) names.add('added:tools')
}

function compareTool(sent: Tool, received: Tool, names: Set<string>): void {
  if (sent.kind === 'native' || received.kind === 'native') {
    if (!isSameJson(sent, received)) names.add('tools')
    return
  }
  if (sent.description !== received.description) names.add('tools.description')
  if (sent.namespace !== received.namespace) names.add('tools.namespace')
  if (sent.kind === 'custom') {
    if (received.kind !== 'custom') names.add('tools.custom')
    if (sent.format && !(received.kind === 'custom' && isSameJson(sent.format, received.format)))
      names.add('tools.format')
    return
  }
  if (received.kind !== 'function') return void names.add('tools')
  if (!isSameJson(sent.schema ?? emptySchema, received.schema ?? emptySchema)) names.add('tools.schema')
  if ((sent.strict ?? false) !== (received.strict ?? false)) names.add('tools.strict')
  if (sent.deferLoading && !received.deferLoading) names.add('tools.defer_loading')
  if (!isSameCacheControl(sent.cache, received.cache)) names.add('cache_control')
}

const emptySchema = { type: 'object', properties: {} }

function isSameCacheControl(one: { ttl?: string } | undefined, other: { ttl?: string } | undefined): boolean {
  if (!one || !other) return !one === !other
  return (one.ttl ?? '5m') === (other.ttl ?? '5m')
}

/** A part with its role; `system` and `developer` count as one role. */
interface MessagePart {
  role: string
  part: Part
  isMatched: boolean
}

function listMessageParts(messages: Message[]): MessagePart[] {
  return messages.flatMap(({ role, parts }) =>
    parts.map((part) => {
      const inner = part.kind === 'text' && /^<system>\n([\s\S]*)\n<\/system>$/.exec(part.text)?.[1]
      if (inner) return { role: 'system', part: { ...part, text: inner }, isMatched: false }
      return { role: role === 'developer' ? 'system' : role, part, isMatched: false }
    }),
  )
}

function compareMessages(sent: Message[], received: Message[], names: Set<string>): void {
  const receivedParts = listMessageParts(received)
  let last = -1
  for (const sentPart of listMessageParts(sent)) {
    const index = receivedParts.findIndex(
      (other) => other.role === sentPart.role && isMatch(sentPart.part, other),
    )
    const match = receivedParts[index]
    if (!match) {
      names.add(lossNameOf(sentPart.part))
      continue
    }
    if (match.role !== 'system') {
      if (index < last) names.add('order')
      last = index
    }
    match.isMatched = true
    compareAttributes(sentPart.part, match.part, receivedParts, names)
  }
  for (const { part, isMatched } of receivedParts) if (!isMatched) names.add(`added:${part.kind}`)
  const speakers = (messages: Message[]) => messages.flatMap(({ name }) => (name === undefined ? [] : [name]))
  if (!isSameJson(speakers(sent), speakers(received))) names.add('message_name')
}

function lossNameOf(part: Part): string {
  if (part.kind === 'reasoning') return isSigned(part) ? 'reasoning_signature' : 'reasoning'
  if (part.kind === 'opaque')
    return `block:${typeof part.value.type === 'string' ? part.value.type : part.wireFormat}`
  return part.kind
}

function isSigned(part: ReasoningPart): boolean {
  return part.signature !== undefined || part.encrypted !== undefined
}

/** Whether a part contains all of the sent content. */
function isMatch(sent: Part, { part: received, isMatched }: MessagePart): boolean {
  if (sent.kind === 'text') return received.kind === 'text' && received.text.includes(sent.text)
  if (isMatched) return false
  switch (sent.kind) {
    case 'refusal':
      return (received.kind === 'refusal' || received.kind === 'text') && received.text === sent.text
    case 'image':
    case 'video':
      return received.kind === sent.kind && sourceKeyOf(received.source) === sourceKeyOf(sent.source)
    case 'file':
      if (received.kind === 'text' && sent.source.kind === 'text') return received.text === sent.source.text
      return received.kind === 'file' && sourceKeyOf(received.source) === sourceKeyOf(sent.source)
    case 'audio':
      return received.kind === 'audio' && received.data === sent.data && received.format === sent.format
    case 'tool-call':
      return received.kind === 'tool-call' && received.id === sent.id && received.name === sent.name
    case 'tool-result':
      return received.kind === 'tool-result' && received.id === sent.id
    case 'reasoning':
      return (
        received.kind === 'reasoning' &&
        received.format === sent.format &&
        isSigned(received) === isSigned(sent)
      )
    case 'server-tool':
      return false
    case 'opaque':
      return received.kind === 'opaque' && isSameJson(received, sent)
  }
}

function sourceKeyOf(source: MediaSource): string {
  if (source.kind === 'data') return `data:${source.mediaType};base64,${source.data}`
  if (source.kind === 'url') return source.url
  return source.kind === 'file' ? `file ${source.id}` : `text ${source.text}`
}

function compareAttributes(sent: Part, received: Part, all: MessagePart[], names: Set<string>): void {
  const cacheOf = (part: Part) => ('cache' in part ? part.cache : undefined)
  if (!isSameCacheControl(cacheOf(sent), cacheOf(received))) names.add('cache_control')
  if (sent.kind === 'image' && received.kind === 'image') {
    if ((sent.detail ?? 'auto') !== (received.detail ?? 'auto')) names.add('image_detail')
  } else if (sent.kind === 'file') compareFile(sent, received, names)
  else if (sent.kind === 'tool-call' && received.kind === 'tool-call') {
    if (!hasSameArguments(sent, received)) names.add('arguments')
  } else if (sent.kind === 'tool-result' && received.kind === 'tool-result')
    compareToolResult(sent, received, all, names)
  else if (sent.kind === 'reasoning' && received.kind === 'reasoning') {
    if (received.signature !== sent.signature || received.encrypted !== sent.encrypted)
      names.add('reasoning_signature')
    if (
      received.text !== sent.text ||
      !isSameJson(received.summary, sent.summary) ||
      received.id !== sent.id
    ) {
      names.add('reasoning')
    }
  } else if (sent.kind === 'text' && received.kind === 'text' && sent.citations) {
    if (!isSameJson(sent.citations, received.citations)) names.add('citations')
  }
}

function compareFile(sent: Part & { kind: 'file' }, received: Part, names: Set<string>): void {
  const file = received.kind === 'file' ? received : undefined
  if (sent.filename !== undefined && file?.filename !== sent.filename) names.add('filename')
  if (sent.context !== undefined && file?.context !== sent.context) names.add('file_context')
  if (sent.citationsEnabled && !file?.citationsEnabled) names.add('citations')
}

/** Compares bytes if both are text, values if one of the formats has an object. */
function hasSameArguments(
  sent: Part & { kind: 'tool-call' },
  received: Part & { kind: 'tool-call' },
): boolean {
  if (sent.arguments === received.arguments) return true
  if (sent.custom && !received.custom)
    return isSameJson({ input: sent.arguments }, parseJson(received.arguments))
  return isSameJson(parseJson(sent.arguments), parseJson(received.arguments))
}

export function parseJson(text: string): unknown {
  try {
    // An empty arguments string equals an empty object.
    return JSON.parse(text === '' ? '{}' : text) as JsonObject
  } catch {
    return text
  }
}

function compareToolResult(
  sent: ToolResultPart,
  received: ToolResultPart,
  all: MessagePart[],
  names: Set<string>,
): void {
  if (joinText(sent) !== joinText(received)) names.add('tool-result')
  if (sent.isError && !received.isError) names.add('is_error')
  const inside: MessagePart[] = received.content.map((part) => ({ role: 'user', part, isMatched: false }))
  for (const part of sent.content) {
    if (part.kind === 'text') continue
    // An attachment may follow the result instead of being inside it.
    const match = [...inside, ...all].find((other) => isMatch(part, other))
    if (match) match.isMatched = true
    else names.add(lossNameOf(part))
  }
}

function joinText({ content }: ToolResultPart): string {
  return content.map((part) => (part.kind === 'text' ? part.text : '')).join('')
}
