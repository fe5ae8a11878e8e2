import { asObject, type JsonObject } from '../lib/json-values.ts'
import type { ModelCall, Tool } from './call.ts'
import type { InputPart, MediaSource, OutputPart } from './part.ts'

/** How large a request can turn out to be for a provider: never less than what it will count. */
export interface RequestSize {
  promptTokens: number
  /** The most that may be answered, where the request says so. */
  outputTokens: number | null
  choices: number
  images: number
  hasAudio: boolean
  /** Something is to be cached for an hour. */
  hasLongCache: boolean
  webSearches: number
}

/** No tokenizer makes more tokens of a text than it has bytes; around each message a few are added. */
const tokensPerMessage = 16
const tokensPerRequest = 64
/** Vendors put instructions of their own in front of tools. */
const tokensForTools = 2000
/** More than any vendor counts for one picture. */
const tokensPerImage = 20_000
/** What lies elsewhere can be as large as a model takes: more than nearly all of them do. */
const tokensForExternalContent = 2_000_000
/** How often a provider's own search is assumed to be used. */
const assumedWebSearches = 10

/** Fields that let a provider read what is not in the request; a `prompt` that is a text is none. */
const externalContentFields = [
  'web_search_options',
  'search_parameters',
  'enable_search',
  'mcp_servers',
  'cachedContent',
]
/** Tools that a vendor defines and the client runs: what they give is in the next request. */
const clientToolPattern = /^(?:bash|text_editor|computer|memory|local_shell|shell|apply_patch)/
/** In a part we do not know: something that lies elsewhere. */
const externalReferencePattern = /"(?:url|uri|file_?uri|file_?id|file_?data)":/i

/**
 * `body` is what the call was read from, and `bytes` its length as text: whatever a dialect makes of it,
 * a provider of the same format is given all of it.
 */
export function computeRequestSize(call: ModelCall, body: JsonObject, bytes: number): RequestSize {
  const size: RequestSize = {
    promptTokens: tokensPerRequest + tokensPerMessage * call.messages.length + bytes,
    outputTokens: computeMaxOutput(call),
    choices: Math.max(call.n ?? 1, typeof body.best_of === 'number' ? body.best_of : 1),
    images: 0,
    hasAudio: false,
    hasLongCache: call.cache?.ttl === '1h',
    webSearches: 0,
  }
  for (const { parts } of call.messages) for (const part of parts) addPartSize(size, part)
  if (call.tools) size.promptTokens += tokensForTools
  for (const tool of call.tools ?? []) addToolSize(size, tool)
  for (const field of externalContentFields) if (body[field]) addExternalContent(size, field)
  if (asObject(body.prompt)) addExternalContent(size, 'prompt')
  return size
}

/** Beside what is answered where nobody says how long that may be. */
const defaultAnswerTokens = 32_768

function computeMaxOutput({ maxTokens, reasoning }: ModelCall): number | null {
  if (maxTokens !== undefined) return maxTokens
  return reasoning?.maxTokens ? reasoning.maxTokens + defaultAnswerTokens : null
}

function addPartSize(size: RequestSize, part: InputPart | OutputPart): void {
  if ('cache' in part && part.cache?.ttl === '1h') size.hasLongCache = true
  switch (part.kind) {
    case 'tool-result':
      for (const inner of part.content) addPartSize(size, inner)
      break
    case 'image':
      size.images += 1
      size.promptTokens += tokensPerImage - countImageBytes(part.source)
      break
    case 'audio':
      size.hasAudio = true
      break
    case 'video':
      // Its sound counts as audio.
      size.hasAudio = true
      size.promptTokens += tokensForExternalContent
      break
    case 'file':
      if (part.source.kind === 'url' || part.source.kind === 'file')
        size.promptTokens += tokensForExternalContent
      break
    case 'opaque':
      if (externalReferencePattern.test(JSON.stringify(part.value)))
        size.promptTokens += tokensForExternalContent
  }
}

/** A picture has far fewer tokens than bytes; what only calls itself one may be a text. */
function countImageBytes(source: MediaSource): number {
  return source.kind === 'data' &&
    /^image\/(?:png|jpe?g|webp|gif|hei[cf]|avif|bmp|tiff)$/.test(source.mediaType)
    ? source.data.length
    : 0
}

/** What a provider's own tool finds is a prompt too. */
function addToolSize(size: RequestSize, tool: Tool): void {
  if (tool.kind === 'native' && !clientToolPattern.test(tool.type)) addExternalContent(size, tool.type)
}

function addExternalContent(size: RequestSize, name: string): void {
  size.promptTokens += tokensForExternalContent
  if (/search/i.test(name)) size.webSearches += assumedWebSearches
}

const promptEstimates = new WeakMap<ModelCall, number>()

/** Four characters a token, where nobody counted. Asked for by several stages, and a prompt is long. */
export function estimatePromptTokens(call: ModelCall): number {
  const known = promptEstimates.get(call)
  if (known !== undefined) return known
  const estimate = Math.ceil(countPromptCharacters(call) / 4)
  promptEstimates.set(call, estimate)
  return estimate
}

function countPromptCharacters({ messages, tools }: ModelCall): number {
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
