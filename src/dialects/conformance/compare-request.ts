import { type Call, flatToolName, type Message, type Tool } from '../../call/call.ts'
import type { InputPart, OutputPart, ReasoningPart, Source, ToolResultPart } from '../../call/part.ts'
import { effortOf, wantsReasoning } from '../../call/reasoning.ts'
import type { JsonObject } from '../../lib/loose.ts'
import { type CallField, fieldNames } from '../fields.ts'

type Part = InputPart | OutputPart

/**
 * What of a call did not arrive, or arrived changed in meaning, in the names of `x-headgate-dropped`.
 * What is there and was not asked for is `added:<name>`.
 */
export function requestDifferences(asked: Call, arrived: Call): string[] {
  const names = new Set<string>(asked.unknown)
  compareFields(asked, arrived, names)
  compareReasoning(asked, arrived, names)
  compareFormat(asked, arrived, names)
  compareTools(asked.tools ?? [], arrived.tools ?? [], names)
  compareMessages(asked.messages, arrived.messages, names)
  return [...names].sort()
}

export function sameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

const elsewhere: ReadonlySet<string> = new Set(['tools', 'reasoning', 'format'])

function compareFields(asked: Call, arrived: Call, names: Set<string>): void {
  for (const field of Object.keys(fieldNames) as CallField[]) {
    if (elsewhere.has(field)) continue
    const [before, after] = [plainField(field, asked), plainField(field, arrived)]
    if (sameJson(before, after)) continue
    names.add(before === undefined ? `added:${fieldNames[field]}` : fieldNames[field])
  }
}

/** Words for one thing, and values that say no more than silence does. */
function plainField(field: CallField, call: Call): unknown {
  const value = call[field]
  if (field === 'serviceTier' && value === 'auto') return undefined
  if (field === 'n' && value === 1) return undefined
  if (field === 'logprobs' && value === false) return undefined
  if (field === 'parallelToolCalls' && value === true) return undefined
  if (field === 'modalities' && sameJson(value, ['text'])) return undefined
  if (field === 'cache' && call.cache) return { ttl: call.cache.ttl ?? '5m' }
  return value
}

function compareReasoning(asked: Call, arrived: Call, names: Set<string>): void {
  const [wish, got] = [asked.reasoning, arrived.reasoning]
  if (!wish) {
    if (wantsReasoning(got) !== undefined) names.add('added:reasoning')
    return
  }
  const cap = asked.maxTokens ?? 8192
  const wants = wantsReasoning(wish) === wantsReasoning(got)
  // A budget and an effort are the same wish when one comes to the other.
  const amount = wish.adaptive ? got?.adaptive === true : strength(wish, cap) === strength(got ?? {}, cap)
  const budget =
    wish.maxTokens === undefined || got?.maxTokens === wish.maxTokens || got?.effort !== undefined
  if (!wants || (wantsReasoning(wish) && !(amount && budget))) names.add('reasoning')
  if (wish.exclude && !got?.exclude) names.add('reasoning.exclude')
  if (!sameSummary(wish.summary, got)) names.add('reasoning.summary')
}

/** `auto` only asks to see the thinking, which formats that have no kinds of summaries say otherwise. */
function sameSummary(wanted: string | undefined, got: Call['reasoning']): boolean {
  if (wanted === undefined || got?.summary === wanted) return true
  return wanted === 'auto' && (got?.exclude === false || got?.enabled === true || got?.adaptive === true)
}

function strength(wish: NonNullable<Call['reasoning']>, cap: number): string | undefined {
  const { enabled: _, ...amount } = wish
  const said = wish.effort !== undefined || wish.maxTokens !== undefined
  return effortOf(said ? amount : wish, cap)
}

function compareFormat({ format: asked }: Call, { format: arrived }: Call, names: Set<string>): void {
  if (!asked) {
    if (arrived && arrived.kind !== 'text') names.add('added:response_format')
    return
  }
  if (asked.kind !== 'schema' || arrived?.kind !== 'schema') {
    if (!sameJson(asked, arrived)) names.add('response_format')
    return
  }
  if (!sameJson(asked.schema, arrived.schema)) names.add('response_format.schema')
  for (const field of ['name', 'strict', 'description'] as const) {
    if (asked[field] !== undefined && asked[field] !== arrived[field]) names.add(`response_format.${field}`)
  }
}

function compareTools(asked: Tool[], arrived: Tool[], names: Set<string>): void {
  const nameOf = (tool: Tool) => (tool.kind === 'native' ? `native ${tool.type}` : flatToolName(tool))
  for (const tool of asked) {
    const got = arrived.find((other) => nameOf(other) === nameOf(tool))
    if (!got) names.add(tool.kind === 'native' ? `tool:${tool.type}` : 'tools')
    else compareTool(tool, got, names)
  }
  const known = asked.map(nameOf)
  for (const tool of arrived) if (!known.includes(nameOf(tool))) names.add('added:tools')
}

function compareTool(asked: Tool, got: Tool, names: Set<string>): void {
  if (asked.kind === 'native' || got.kind === 'native') {
    if (!sameJson(asked, got)) names.add('tools')
    return
  }
  if (asked.description !== got.description) names.add('tools.description')
  if (asked.namespace !== got.namespace) names.add('tools.namespace')
  if (asked.kind === 'custom') {
    if (got.kind !== 'custom') names.add('tools.custom')
    if (asked.format && !(got.kind === 'custom' && sameJson(asked.format, got.format)))
      names.add('tools.format')
    return
  }
  if (got.kind !== 'function') return void names.add('tools')
  if (!sameJson(asked.schema ?? noArguments, got.schema ?? noArguments)) names.add('tools.schema')
  if ((asked.strict ?? false) !== (got.strict ?? false)) names.add('tools.strict')
  if (asked.deferLoading && !got.deferLoading) names.add('tools.defer_loading')
  if (!sameMark(asked.cache, got.cache)) names.add('cache_control')
}

const noArguments = { type: 'object', properties: {} }

function sameMark(one: { ttl?: string } | undefined, other: { ttl?: string } | undefined): boolean {
  if (!one || !other) return !one === !other
  return (one.ttl ?? '5m') === (other.ttl ?? '5m')
}

/** A part and who said it; who gives instructions is called one thing. */
interface Said {
  role: string
  part: Part
  used: boolean
}

function saidIn(messages: Message[]): Said[] {
  return messages.flatMap(({ role, parts }) =>
    parts.map((part) => {
      const inner = part.kind === 'text' && /^<system>\n([\s\S]*)\n<\/system>$/.exec(part.text)?.[1]
      if (inner) return { role: 'system', part: { ...part, text: inner }, used: false }
      return { role: role === 'developer' ? 'system' : role, part, used: false }
    }),
  )
}

function compareMessages(asked: Message[], arrived: Message[], names: Set<string>): void {
  const got = saidIn(arrived)
  let last = -1
  for (const said of saidIn(asked)) {
    const at = got.findIndex((other) => other.role === said.role && matches(said.part, other))
    const found = got[at]
    if (!found) {
      names.add(lossOf(said.part))
      continue
    }
    if (found.role !== 'system') {
      if (at < last) names.add('order')
      last = at
    }
    found.used = true
    compareAttributes(said.part, found.part, got, names)
  }
  for (const { part, used } of got) if (!used) names.add(`added:${part.kind}`)
  const speakers = (messages: Message[]) => messages.flatMap(({ name }) => (name === undefined ? [] : [name]))
  if (!sameJson(speakers(asked), speakers(arrived))) names.add('message_name')
}

function lossOf(part: Part): string {
  if (part.kind === 'reasoning') return isSigned(part) ? 'reasoning_signature' : 'reasoning'
  if (part.kind === 'opaque')
    return `block:${typeof part.value.type === 'string' ? part.value.type : part.dialect}`
  return part.kind
}

function isSigned(part: ReasoningPart): boolean {
  return part.signature !== undefined || part.encrypted !== undefined
}

/** Whether this is where a part arrived: its substance is there, in one piece. */
function matches(asked: Part, { part: got, used }: Said): boolean {
  if (asked.kind === 'text') return got.kind === 'text' && got.text.includes(asked.text)
  if (used) return false
  switch (asked.kind) {
    case 'refusal':
      return (got.kind === 'refusal' || got.kind === 'text') && got.text === asked.text
    case 'image':
    case 'video':
      return got.kind === asked.kind && addressOf(got.source) === addressOf(asked.source)
    case 'file':
      if (got.kind === 'text' && asked.source.kind === 'text') return got.text === asked.source.text
      return got.kind === 'file' && addressOf(got.source) === addressOf(asked.source)
    case 'audio':
      return got.kind === 'audio' && got.data === asked.data && got.format === asked.format
    case 'tool-call':
      return got.kind === 'tool-call' && got.id === asked.id && got.name === asked.name
    case 'tool-result':
      return got.kind === 'tool-result' && got.id === asked.id
    case 'reasoning':
      return got.kind === 'reasoning' && got.format === asked.format && isSigned(got) === isSigned(asked)
    case 'opaque':
      return got.kind === 'opaque' && sameJson(got, asked)
  }
}

function addressOf(source: Source): string {
  if (source.kind === 'data') return `data:${source.mediaType};base64,${source.data}`
  if (source.kind === 'url') return source.url
  return source.kind === 'file' ? `file ${source.id}` : `text ${source.text}`
}

function compareAttributes(asked: Part, got: Part, all: Said[], names: Set<string>): void {
  const mark = (part: Part) => ('cache' in part ? part.cache : undefined)
  if (!sameMark(mark(asked), mark(got))) names.add('cache_control')
  if (asked.kind === 'image' && got.kind === 'image') {
    if ((asked.detail ?? 'auto') !== (got.detail ?? 'auto')) names.add('image_detail')
  } else if (asked.kind === 'file') compareFile(asked, got, names)
  else if (asked.kind === 'tool-call' && got.kind === 'tool-call') {
    if (!sameArguments(asked, got)) names.add('arguments')
  } else if (asked.kind === 'tool-result' && got.kind === 'tool-result') compareResult(asked, got, all, names)
  else if (asked.kind === 'reasoning' && got.kind === 'reasoning') {
    if (got.signature !== asked.signature || got.encrypted !== asked.encrypted)
      names.add('reasoning_signature')
    if (got.text !== asked.text || !sameJson(got.summary, asked.summary) || got.id !== asked.id) {
      names.add('reasoning')
    }
  } else if (asked.kind === 'text' && got.kind === 'text' && asked.citations) {
    if (!sameJson(asked.citations, got.citations)) names.add('citations')
  }
}

function compareFile(asked: Part & { kind: 'file' }, got: Part, names: Set<string>): void {
  const file = got.kind === 'file' ? got : undefined
  if (asked.filename !== undefined && file?.filename !== asked.filename) names.add('filename')
  if (asked.context !== undefined && file?.context !== asked.context) names.add('file_context')
  if (asked.cite && !file?.cite) names.add('citations')
}

/** Byte for byte where both are text; as values where one of the formats has an object. */
function sameArguments(asked: Part & { kind: 'tool-call' }, got: Part & { kind: 'tool-call' }): boolean {
  if (asked.arguments === got.arguments) return true
  if (asked.custom && !got.custom) return sameJson({ input: asked.arguments }, jsonOf(got.arguments))
  return sameJson(jsonOf(asked.arguments), jsonOf(got.arguments))
}

export function jsonOf(text: string): unknown {
  try {
    // No arguments and an empty object are the same.
    return JSON.parse(text === '' ? '{}' : text) as JsonObject
  } catch {
    return text
  }
}

function compareResult(asked: ToolResultPart, got: ToolResultPart, all: Said[], names: Set<string>): void {
  if (textIn(asked) !== textIn(got)) names.add('tool-result')
  if (asked.isError && !got.isError) names.add('is_error')
  const inside: Said[] = got.content.map((part) => ({ role: 'user', part, used: false }))
  for (const part of asked.content) {
    if (part.kind === 'text') continue
    // Beside the result is as good as inside it.
    const found = [...inside, ...all].find((other) => matches(part, other))
    if (found) found.used = true
    else names.add(lossOf(part))
  }
}

function textIn({ content }: ToolResultPart): string {
  return content.map((part) => (part.kind === 'text' ? part.text : '')).join('')
}
