import {
  type CacheMark,
  type FilePart,
  type InputPart,
  linkedSource,
  type OutputPart,
  type Source,
  type TextPart,
  type ToolResultPart,
} from '../../call/part.ts'
import { badField } from '../../errors.ts'
import { flagOf, type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import { readCitations } from './citation.ts'
import { readRedacted, readThinking } from './thinking.ts'

type Part = InputPart | OutputPart
/** `path` is where the block is in the body, for a 400 that names it. */
type Decode = (block: JsonObject, path: string) => Part

const decoders: Record<string, Decode> = {
  text,
  image,
  document,
  search_result: searchResult,
  tool_use: toolUse,
  tool_result: toolResult,
  thinking: (block, path) => {
    wanted(block, 'thinking', path)
    return readThinking(block)
  },
  redacted_thinking: (block, path) => {
    wanted(block, 'data', path)
    return readRedacted(block)
  },
}

/** The content of a message, a tool result or the system prompt. */
export function decodeContent(content: unknown, path: string): Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  if (!Array.isArray(content)) throw badField(path, 'must be a string or an array of blocks')
  return content.map((block, index) => decodeBlock(block, `${path}.${index}`))
}

function decodeBlock(value: unknown, path: string): Part {
  const block = objectOf(value)
  const type = textOf(block?.type)
  if (!block || type === undefined) throw badField(path, 'must be a block with a type')
  const decode = Object.hasOwn(decoders, type) ? decoders[type] : undefined
  const part = decode ? decode(block, path) : opaque(block)
  const cache = cacheMark(block.cache_control)
  if (cache && 'kind' in part && canCache(part)) part.cache = cache
  return part
}

function canCache(part: Part): part is Extract<Part, { cache?: CacheMark }> {
  return ['text', 'image', 'file', 'tool-call', 'tool-result'].includes(part.kind)
}

export function cacheMark(value: unknown): CacheMark | undefined {
  const given = objectOf(value)
  if (!given) return undefined
  return given.ttl === '5m' || given.ttl === '1h' ? { ttl: given.ttl } : {}
}

function opaque(block: JsonObject): Part {
  return { kind: 'opaque', dialect: 'messages', value: block }
}

function wanted(block: JsonObject, field: string, path: string): string {
  const value = textOf(block[field])
  if (value === undefined) throw badField(`${path}.${field}`, 'must be a string')
  return value
}

function text(block: JsonObject, path: string): TextPart {
  const part: TextPart = { kind: 'text', text: wanted(block, 'text', path) }
  const citations = readCitations(block.citations)
  if (citations.length > 0) part.citations = citations
  return part
}

function image(block: JsonObject, path: string): Part {
  const source = sourceOf(block.source, `${path}.source`)
  return source ? { kind: 'image', source } : opaque(block)
}

/** Undefined for a kind of source that only this format knows. */
function sourceOf(value: unknown, path: string): Source | undefined {
  const source = objectOf(value)
  if (!source) throw badField(path, 'must be an object')
  if (source.type === 'base64') {
    return {
      kind: 'data',
      mediaType: wanted(source, 'media_type', path),
      data: wanted(source, 'data', path),
    }
  }
  if (source.type === 'url') return linkedSource(wanted(source, 'url', path))
  if (source.type === 'file') return { kind: 'file', id: wanted(source, 'file_id', path) }
  if (source.type === 'text') return { kind: 'text', text: wanted(source, 'data', path) }
  return source.type === 'content' ? contentSource(source.content) : undefined
}

/** A document in pieces, as one text; undefined when there are pictures in it. */
function contentSource(content: unknown): Source | undefined {
  if (typeof content === 'string') return { kind: 'text', text: content }
  const pieces = objectsOf(content).map((block) => textOf(block.text))
  if (pieces.length === 0 || pieces.includes(undefined)) return undefined
  return { kind: 'text', text: pieces.join('\n') }
}

function document(block: JsonObject, path: string): Part {
  const source = sourceOf(block.source, `${path}.source`)
  if (!source) return opaque(block)
  const part: FilePart = { kind: 'file', source }
  const [filename, context] = [textOf(block.title), textOf(block.context)]
  if (filename !== undefined) part.filename = filename
  if (context !== undefined) part.context = context
  const cite = flagOf(objectOf(block.citations)?.enabled)
  if (cite !== undefined) part.cite = cite
  return part
}

/** Every model can read it as text; only the vendor's own could cite it. */
function searchResult(block: JsonObject): Part {
  const head = [textOf(block.title), textOf(block.source)].filter((line) => line)
  const body = objectsOf(block.content).map((piece) => textOf(piece.text) ?? '')
  return { kind: 'text', text: [...head, '', ...body].join('\n') }
}

function toolUse(block: JsonObject, path: string): Part {
  return {
    kind: 'tool-call',
    id: wanted(block, 'id', path),
    name: wanted(block, 'name', path),
    arguments: JSON.stringify(block.input ?? {}),
  }
}

function toolResult(block: JsonObject, path: string): Part {
  const content = block.content ?? []
  const part: ToolResultPart = {
    kind: 'tool-result',
    id: wanted(block, 'tool_use_id', path),
    content: decodeContent(content, `${path}.content`).map(resultPart),
  }
  const isError = flagOf(block.is_error)
  if (isError !== undefined) part.isError = isError
  return part
}

function resultPart(part: Part): ToolResultPart['content'][number] {
  if (part.kind === 'text' || part.kind === 'image' || part.kind === 'file' || part.kind === 'opaque')
    return part
  return { kind: 'text', text: JSON.stringify(part) }
}
