import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asBoolean, asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import {
  type CacheBreakpoint,
  type FilePart,
  type InputPart,
  type MediaSource,
  type OutputPart,
  sourceFromUrl,
  type TextPart,
  type ToolResultPart,
} from '../call/part.ts'
import { decodeCitations } from './citation.ts'
import { decodeServerToolUse, joinServerTools } from './server-tool.ts'
import { decodeRedactedThinking, decodeThinking } from './thinking.ts'

type Part = InputPart | OutputPart
/** `path` locates the block in the body, for error messages. */
type BlockDecoder = (block: JsonObject, path: string) => Part

const decoders: Record<string, BlockDecoder> = {
  text: decodeText,
  image: decodeImage,
  document: decodeDocument,
  search_result: decodeSearchResult,
  tool_use: decodeToolCall,
  tool_result: decodeToolResult,
  thinking: (block, path) => {
    requireString(block, 'thinking', path)
    return decodeThinking(block)
  },
  redacted_thinking: (block, path) => {
    requireString(block, 'data', path)
    return decodeRedactedThinking(block)
  },
}

/** The content of a message, a tool result or the system prompt. */
export function decodeContent(content: unknown, path: string): Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  if (!Array.isArray(content)) throw invalidFieldError(path, 'must be a string or an array of blocks')
  const parts = content.map((block, index) => decodeBlock(block, `${path}.${index}`))
  return joinServerTools(content, parts)
}

function decodeBlock(value: unknown, path: string): Part {
  const block = asObject(value)
  const type = asString(block?.type)
  if (!block || type === undefined) throw invalidFieldError(path, 'must be a block with a type')
  const decode = Object.hasOwn(decoders, type) ? decoders[type] : undefined
  const part = decode ? decode(block, path) : (decodeServerToolUse(block) ?? createOpaquePart(block))
  const cache = decodeCacheControl(block.cache_control)
  if (cache && 'kind' in part && isCacheable(part)) part.cache = cache
  return part
}

function isCacheable(part: Part): part is Extract<Part, { cache?: CacheBreakpoint }> {
  return ['text', 'image', 'file', 'tool-call', 'tool-result'].includes(part.kind)
}

export function decodeCacheControl(value: unknown): CacheBreakpoint | undefined {
  const control = asObject(value)
  if (!control) return undefined
  return control.ttl === '5m' || control.ttl === '1h' ? { ttl: control.ttl } : {}
}

function createOpaquePart(block: JsonObject): Part {
  return { kind: 'opaque', wireFormat: 'messages', value: block }
}

function requireString(block: JsonObject, field: string, path: string): string {
  const value = asString(block[field])
  if (value === undefined) throw invalidFieldError(`${path}.${field}`, 'must be a string')
  return value
}

function decodeText(block: JsonObject, path: string): TextPart {
  const part: TextPart = { kind: 'text', text: requireString(block, 'text', path) }
  const citations = decodeCitations(block.citations)
  if (citations.length > 0) part.citations = citations
  return part
}

function decodeImage(block: JsonObject, path: string): Part {
  const source = decodeSource(block.source, `${path}.source`)
  return source ? { kind: 'image', source } : createOpaquePart(block)
}

/** Undefined for a source that only this format has. */
function decodeSource(value: unknown, path: string): MediaSource | undefined {
  const source = asObject(value)
  if (!source) throw invalidFieldError(path, 'must be an object')
  if (source.type === 'base64') {
    return {
      kind: 'data',
      mediaType: requireString(source, 'media_type', path),
      data: requireString(source, 'data', path),
    }
  }
  if (source.type === 'url') return sourceFromUrl(requireString(source, 'url', path))
  if (source.type === 'file') return { kind: 'file', id: requireString(source, 'file_id', path) }
  if (source.type === 'text') return { kind: 'text', text: requireString(source, 'data', path) }
  return source.type === 'content' ? decodeContentSource(source.content) : undefined
}

/** A document of several blocks as one text; undefined when it contains images. */
function decodeContentSource(content: unknown): MediaSource | undefined {
  if (typeof content === 'string') return { kind: 'text', text: content }
  const texts = asObjects(content).map((block) => asString(block.text))
  if (texts.length === 0 || texts.includes(undefined)) return undefined
  return { kind: 'text', text: texts.join('\n') }
}

function decodeDocument(block: JsonObject, path: string): Part {
  const source = decodeSource(block.source, `${path}.source`)
  if (!source) return createOpaquePart(block)
  const part: FilePart = { kind: 'file', source }
  const [filename, context] = [asString(block.title), asString(block.context)]
  if (filename !== undefined) part.filename = filename
  if (context !== undefined) part.context = context
  const citationsEnabled = asBoolean(asObject(block.citations)?.enabled)
  if (citationsEnabled !== undefined) part.citationsEnabled = citationsEnabled
  return part
}

/** Sent as text, which every model can read; only the vendor's models can cite it. */
function decodeSearchResult(block: JsonObject): Part {
  const head = [asString(block.title), asString(block.source)].filter((line) => line)
  const body = asObjects(block.content).map((item) => asString(item.text) ?? '')
  return { kind: 'text', text: [...head, '', ...body].join('\n') }
}

function decodeToolCall(block: JsonObject, path: string): Part {
  return {
    kind: 'tool-call',
    id: requireString(block, 'id', path),
    name: requireString(block, 'name', path),
    arguments: JSON.stringify(block.input ?? {}),
  }
}

function decodeToolResult(block: JsonObject, path: string): Part {
  const content = block.content ?? []
  const part: ToolResultPart = {
    kind: 'tool-result',
    id: requireString(block, 'tool_use_id', path),
    content: decodeContent(content, `${path}.content`).map(toResultPart),
  }
  const isError = asBoolean(block.is_error)
  if (isError !== undefined) part.isError = isError
  return part
}

function toResultPart(part: Part): ToolResultPart['content'][number] {
  if (part.kind === 'text' || part.kind === 'image' || part.kind === 'file' || part.kind === 'opaque')
    return part
  return { kind: 'text', text: JSON.stringify(part) }
}
