import type { ModelCall } from '../../formats/call/call.ts'
import type { Reply } from '../../formats/call/event.ts'
import type { OutputPart } from '../../formats/call/part.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { conformsTo } from './conforms-to.ts'

/** What is compared of a reply: its structure, without its texts. */
export interface ReplyFacts {
  finishReason: string | null
  choices: number
  /** Kinds of parts of the first choice that has content, sorted, each once. */
  parts: string[]
  /** In the order of the reply. */
  toolCalls: ToolCallFacts[]
  /** Types by the path in a text that is a JSON object or list; null for any other text. */
  json: ReadonlyMap<string, string> | null
  /** Whether the text meets the format that the request asks for; null if it asks for none. */
  isValid: boolean | null
}

export interface ToolCallFacts {
  name: string
  /** Names of the arguments, sorted; null if the arguments are not a JSON object. */
  arguments: string[] | null
}

/** A longer text is compared as text: parsing it would hold the event loop. */
const maxJsonLength = 256 * 1024
const maxPaths = 500
const maxDepth = 12
const maxToolCalls = 100
const maxArguments = 100
/** The entries of a list whose shape is read. */
const maxEntries = 20

export function describeReply({ choices }: Reply, { format }: Pick<ModelCall, 'format'>): ReplyFacts {
  const [first] = choices
  const parts = (first?.parts ?? []).filter((part) => part !== undefined)
  const text = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
  const value = text.length <= maxJsonLength ? parseContainer(text) : undefined
  const expected = format?.kind === 'schema' || format?.kind === 'json' ? format : null
  const schema = expected?.kind === 'schema' ? expected.schema : null
  const hasText = parts.some(({ kind }) => kind === 'text')
  return {
    finishReason: first?.end?.reason ?? null,
    choices: choices.length,
    parts: [...new Set(parts.filter(isCompared).map(({ kind }) => kind))].sort(),
    toolCalls: parts.flatMap(describeToolCall).slice(0, maxToolCalls),
    json: value === undefined ? null : readShape(value),
    isValid: expected && hasText ? isValidOutput(text, value, schema) : null,
  }
}

/** Reasoning is shown by some providers and hidden by others, for the same model. */
function isCompared(part: OutputPart): boolean {
  if (part.kind === 'text') return part.text !== ''
  return part.kind !== 'reasoning' && part.kind !== 'opaque'
}

function isValidOutput(
  text: string,
  value: unknown,
  schema: Parameters<typeof conformsTo>[0] | null,
): boolean | null {
  if (text.length > maxJsonLength) return null
  if (value === undefined) return schema ? conformsTo(schema, tryParseJson(text)) : false
  return schema ? conformsTo(schema, value) : true
}

function describeToolCall(part: OutputPart): ToolCallFacts[] {
  if (part.kind !== 'tool-call') return []
  const value = part.arguments.length <= maxJsonLength ? parseContainer(part.arguments || '{}') : undefined
  const isObject = value !== undefined && !Array.isArray(value)
  return [{ name: part.name, arguments: isObject ? Object.keys(value).sort().slice(0, maxArguments) : null }]
}

function parseContainer(text: string): object | undefined {
  const value = /^\s*[[{]/.test(text) ? tryParseJson(text) : undefined
  return typeof value === 'object' && value !== null ? value : undefined
}

/** The types in a JSON value by their paths; entries of a list share the path `[]`. */
function readShape(root: object): ReadonlyMap<string, string> {
  const types = new Map<string, Set<string>>()
  const waiting: { path: string; value: unknown; depth: number }[] = [{ path: '$', value: root, depth: 0 }]
  for (let next = waiting.pop(); next && types.size < maxPaths; next = waiting.pop()) {
    const { path, value, depth } = next
    const known = types.get(path) ?? new Set<string>()
    types.set(path, known.add(typeOf(value)))
    if (typeof value !== 'object' || value === null || depth === maxDepth) continue
    const entries: [string, unknown][] = Array.isArray(value)
      ? value.slice(0, maxEntries).map((entry) => ['[]', entry])
      : Object.entries(value)
          .slice(0, maxPaths)
          .map(([name, field]) => [`.${name}`, field])
    for (const [name, entry] of entries.toReversed())
      waiting.push({ path: path + name, value: entry, depth: depth + 1 })
  }
  return new Map([...types].map(([path, known]) => [path, [...known].sort().join('|')]))
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
