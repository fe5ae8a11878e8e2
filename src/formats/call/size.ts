import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ModelCall, Tool } from './call.ts'
import type { InputPart, MediaSource, OutputPart } from './part.ts'
import type { PlainPrompt } from './plain-prompt.ts'
import type { RequestedImages } from './requested-images.ts'
import type { BilledUnits } from './units.ts'

/** Upper bounds of what a provider can count for a request. */
export interface RequestSize {
  promptTokens: number
  /** The number of inputs that may each fill the context; one if absent. */
  prompts?: number
  /** The limit on output, if the request sets one. */
  outputTokens: number | null
  choices: number
  images: number
  hasAudio: boolean
  /** Something is to be cached for one hour. */
  hasLongCache: boolean
  webSearches: number
  /** The images that the reply has, and those in the prompt, whose tokens depend on the model. */
  generatedImages?: GeneratedImages
  /** Known properties of the images that a reply to a conversation may have; null if the request excludes images. */
  replyImages?: RequestedImages | null
  /** Quantities that may be billed by another unit than the token. */
  units: readonly BilledUnits[]
}

/** `promptTokens` includes the most that any model counts for an input image. */
export interface GeneratedImages {
  requested: RequestedImages
  inputImages: number
  maxTokensPerInput: number
}

/** A text has at most as many tokens as bytes; vendors add a few tokens per message. */
const tokensPerMessage = 16
const tokensPerRequest = 64
/** Vendors add their own instructions to the tools. */
const tokensForTools = 2000
/** More than any vendor counts for one image. */
const tokensPerImage = 20_000
/** External content can fill the context window, and few models have a larger one. */
const tokensForExternalContent = 2_000_000
/** Searches assumed for a request that allows the provider's own search. */
const assumedWebSearches = 10

/** Fields that let a provider read content outside the request; `prompt` is one only as an object. */
const externalContentFields = [
  'web_search_options',
  'search_parameters',
  'enable_search',
  'mcp_servers',
  'cachedContent',
]
/** Tools that the vendor defines and the client runs: their results are in the next request. */
const clientToolPattern = /^(?:bash|text_editor|computer|memory|local_shell|shell|apply_patch)/
/** A reference to external content in a part of unknown type. */
const externalReferencePattern = /"(?:url|uri|file_?uri|file_?id|file_?data)":/i

/**
 * `body` is what the call was decoded from, and `bytes` its length as text: a provider of the same format
 * receives all of it, whatever the wire format decoded.
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
    units: [],
  }
  for (const { parts } of call.messages) for (const part of parts) addPartSize(size, part)
  if (call.modalities || call.imageConfig) size.replyImages = describeReplyImages(call)
  if (call.tools) size.promptTokens += tokensForTools
  for (const tool of call.tools ?? []) addToolSize(size, tool)
  for (const field of externalContentFields) if (body[field]) addExternalContent(size, field)
  if (asObject(body.prompt)) addExternalContent(size, 'prompt')
  return size
}

function describeReplyImages({ modalities, imageConfig }: ModelCall): RequestedImages | null {
  if (modalities && !modalities.some((name) => name.toLowerCase() === 'image')) return null
  return { resolution: asString(imageConfig?.image_size), previews: 0 }
}

/** Output besides the reasoning budget, when the request sets no limit. */
const defaultReplyTokens = 32_768

function computeMaxOutput({ maxTokens, reasoning }: ModelCall): number | null {
  if (maxTokens !== undefined) return maxTokens
  return reasoning?.maxTokens ? reasoning.maxTokens + defaultReplyTokens : null
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
      // The sound track counts as audio.
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

/** An image has far fewer tokens than bytes. Only known image types count: any other may be text. */
function countImageBytes(source: MediaSource): number {
  return source.kind === 'data' &&
    /^image\/(?:png|jpe?g|webp|gif|hei[cf]|avif|bmp|tiff)$/.test(source.mediaType)
    ? source.data.length
    : 0
}

/** The results of a provider's own tool are billed as prompt. */
function addToolSize(size: RequestSize, tool: Tool): void {
  if (tool.kind === 'native' && !clientToolPattern.test(tool.type)) addExternalContent(size, tool.type)
}

function addExternalContent(size: RequestSize, name: string): void {
  size.promptTokens += tokensForExternalContent
  if (/search/i.test(name)) size.webSearches += assumedWebSearches
}

/** Computes the size as `computeRequestSize` does, for a prompt that is not decoded. */
export function sizePlainPrompt({ messageCount, maxTokens }: PlainPrompt, bytes: number): RequestSize {
  return {
    promptTokens: tokensPerRequest + tokensPerMessage * messageCount + bytes,
    outputTokens: maxTokens ?? null,
    choices: 1,
    images: 0,
    hasAudio: false,
    hasLongCache: false,
    webSearches: 0,
    units: [],
  }
}

const promptEstimates = new WeakMap<ModelCall, number>()

const charactersPerToken = 4

export function estimatePlainTokens({ characters }: PlainPrompt): number {
  return Math.ceil(characters / charactersPerToken)
}

/** An estimate, memoized because several stages need it and prompts are long. */
export function estimatePromptTokens(call: ModelCall): number {
  const known = promptEstimates.get(call)
  if (known !== undefined) return known
  const estimate = Math.ceil(countPromptCharacters(call) / charactersPerToken)
  promptEstimates.set(call, estimate)
  return estimate
}

/** Sets the estimate of a prompt whose tokens are known, although it has no text. */
export function setPromptEstimate(call: ModelCall, tokens: number): void {
  promptEstimates.set(call, tokens)
}

function countPromptCharacters({ messages, tools }: ModelCall): number {
  let length = 0
  for (const { parts } of messages) {
    for (const part of parts) {
      if (part.kind === 'tool-call') length += part.arguments.length
      else if (part.kind === 'tool-result') for (const inner of part.content) length += countText(inner)
      else length += countText(part)
    }
  }
  return tools ? length + JSON.stringify(tools).length : length
}

function countText(part: InputPart | OutputPart): number {
  if ('text' in part) return part.text.length
  return part.kind === 'file' && part.source.kind === 'text' ? part.source.text.length : 0
}
