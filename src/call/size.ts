import { type JsonObject, objectOf } from '../lib/loose.ts'
import type { Call, Tool } from './call.ts'
import type { InputPart, OutputPart, Source } from './part.ts'

/** How large a request can turn out to be for a provider: never less than what it will count. */
export interface Size {
  promptTokens: number
  /** The most that may be answered, where the request says so. */
  outputTokens: number | null
  choices: number
  images: number
  hasAudio: boolean
  /** Something is to be cached for an hour. */
  longCache: boolean
  webSearches: number
}

/** No tokenizer makes more tokens of a text than it has bytes; around each message a few are added. */
const perMessage = 16
const perCall = 64
/** Vendors put instructions of their own in front of tools. */
const perTools = 2000
/** More than any vendor counts for one picture. */
const perImage = 20_000
/** What lies elsewhere can be as large as a model takes: more than nearly all of them do. */
const elsewhere = 2_000_000
/** How often a provider's own search is assumed to be used. */
const assumedSearches = 10

/** Fields that let a provider read what is not in the request; a `prompt` that is a text is none. */
const readingFields = [
  'web_search_options',
  'search_parameters',
  'enable_search',
  'mcp_servers',
  'cachedContent',
]
/** Tools that a vendor defines and the client runs: what they give is in the next request. */
const clientTools = /^(?:bash|text_editor|computer|memory|local_shell|shell|apply_patch)/
/** In a part we do not know: something that lies elsewhere. */
const pointer = /"(?:url|uri|file_?uri|file_?id|file_?data)":/i

/**
 * `body` is what the call was read from, and `bytes` its length as text: whatever a dialect makes of it,
 * a provider of the same format is given all of it.
 */
export function sizeOf(call: Call, body: JsonObject, bytes: number): Size {
  const size: Size = {
    promptTokens: perCall + perMessage * call.messages.length + bytes,
    outputTokens: mostOutput(call),
    choices: Math.max(call.n ?? 1, typeof body.best_of === 'number' ? body.best_of : 1),
    images: 0,
    hasAudio: false,
    longCache: call.cache?.ttl === '1h',
    webSearches: 0,
  }
  for (const { parts } of call.messages) for (const part of parts) addPart(size, part)
  if (call.tools) size.promptTokens += perTools
  for (const tool of call.tools ?? []) addTool(size, tool)
  for (const field of readingFields) if (body[field]) addReading(size, field)
  if (objectOf(body.prompt)) addReading(size, 'prompt')
  return size
}

/** Beside what is answered where nobody says how long that may be. */
const besideThinking = 32_768

function mostOutput({ maxTokens, reasoning }: Call): number | null {
  if (maxTokens !== undefined) return maxTokens
  return reasoning?.maxTokens ? reasoning.maxTokens + besideThinking : null
}

function addPart(size: Size, part: InputPart | OutputPart): void {
  if ('cache' in part && part.cache?.ttl === '1h') size.longCache = true
  switch (part.kind) {
    case 'tool-result':
      for (const inner of part.content) addPart(size, inner)
      break
    case 'image':
      size.images += 1
      size.promptTokens += perImage - pictureBytes(part.source)
      break
    case 'audio':
      size.hasAudio = true
      break
    case 'video':
      // Its sound counts as audio.
      size.hasAudio = true
      size.promptTokens += elsewhere
      break
    case 'file':
      if (part.source.kind === 'url' || part.source.kind === 'file') size.promptTokens += elsewhere
      break
    case 'opaque':
      if (pointer.test(JSON.stringify(part.value))) size.promptTokens += elsewhere
  }
}

/** A picture has far fewer tokens than bytes; what only calls itself one may be a text. */
function pictureBytes(source: Source): number {
  return source.kind === 'data' &&
    /^image\/(?:png|jpe?g|webp|gif|hei[cf]|avif|bmp|tiff)$/.test(source.mediaType)
    ? source.data.length
    : 0
}

/** What a provider's own tool finds is a prompt too. */
function addTool(size: Size, tool: Tool): void {
  if (tool.kind === 'native' && !clientTools.test(tool.type)) addReading(size, tool.type)
}

function addReading(size: Size, name: string): void {
  size.promptTokens += elsewhere
  if (/search/i.test(name)) size.webSearches += assumedSearches
}

const estimates = new WeakMap<Call, number>()

/** Four characters a token, where nobody counted. Asked for by several stages, and a prompt is long. */
export function promptEstimate(call: Call): number {
  const known = estimates.get(call)
  if (known !== undefined) return known
  const estimate = Math.ceil(promptLength(call) / 4)
  estimates.set(call, estimate)
  return estimate
}

function promptLength({ messages, tools }: Call): number {
  let length = 0
  for (const { parts } of messages) {
    for (const part of parts) {
      if ('text' in part) length += part.text.length
      else if (part.kind === 'tool-call') length += part.arguments.length
      else if (part.kind === 'tool-result') {
        for (const inner of part.content) if (inner.kind === 'text') length += inner.text.length
      }
    }
  }
  return tools ? length + JSON.stringify(tools).length : length
}
