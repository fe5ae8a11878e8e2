import type { JsonObject } from '../lib/loose.ts'
import type { Call, Tool } from './call.ts'
import type { InputPart, OutputPart } from './part.ts'

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
/** More than any vendor counts for one picture. */
const perImage = 20_000
/** What lies elsewhere can be as large as a model takes: more than nearly all of them do. */
const elsewhere = 2_000_000
/** How often a provider's own search is assumed to be used. */
const assumedSearches = 10

/** Fields that let a provider read what is not in the request. */
const readingFields = ['web_search_options', 'search_parameters', 'mcp_servers', 'cachedContent', 'prompt']

/**
 * `body` is what the call was read from, and `bytes` its length as text: whatever a dialect makes of it,
 * a provider of the same format is given all of it.
 */
export function sizeOf(call: Call, body: JsonObject, bytes: number): Size {
  const size: Size = {
    promptTokens: perCall + perMessage * call.messages.length + bytes,
    outputTokens: call.maxTokens ?? null,
    choices: call.n ?? 1,
    images: 0,
    hasAudio: false,
    longCache: call.cache?.ttl === '1h',
    webSearches: 0,
  }
  for (const { parts } of call.messages) for (const part of parts) addPart(size, part)
  for (const tool of call.tools ?? []) addTool(size, tool)
  for (const field of readingFields) if (reads(body[field])) addReading(size, field)
  return size
}

function addPart(size: Size, part: InputPart | OutputPart): void {
  if ('cache' in part && part.cache?.ttl === '1h') size.longCache = true
  switch (part.kind) {
    case 'tool-result':
      for (const inner of part.content) addPart(size, inner)
      break
    case 'image':
      size.images += 1
      size.promptTokens += perImage - (part.source.kind === 'data' ? part.source.data.length : 0)
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
  }
}

/** What a provider's own tool finds is a prompt too. */
function addTool(size: Size, tool: Tool): void {
  if (tool.kind === 'native') addReading(size, tool.type)
}

function addReading(size: Size, name: string): void {
  size.promptTokens += elsewhere
  if (/search/i.test(name)) size.webSearches += assumedSearches
}

/** A text is read as it stands; anything else says where to look. */
function reads(value: unknown): boolean {
  return value !== undefined && value !== null && typeof value === 'object' && !isTexts(value)
}

function isTexts(value: object): boolean {
  return Array.isArray(value) && value.every((item) => typeof item !== 'object')
}

/** Four characters a token, where nobody counted. */
export function promptEstimate(call: Call): number {
  return Math.ceil(promptLength(call) / 4)
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
