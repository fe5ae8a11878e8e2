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
/** More than any vendor counts for one picture. */
const perImage = 20_000
/** Sound and video given by bytes: vendors count far fewer tokens than this. */
const bytesPerToken = 32
/** What lies elsewhere can be of any size: the model's own limits bound it. */
const unbounded = Number.MAX_SAFE_INTEGER / 4
/** How often a provider's own search is assumed to be used when nobody said how often it may. */
const assumedSearches = 10

export function sizeOf(call: Call): Size {
  const size: Size = {
    promptTokens: perCall,
    outputTokens: call.maxTokens ?? null,
    choices: call.n ?? 1,
    images: 0,
    hasAudio: false,
    longCache: call.cache?.ttl === '1h',
    webSearches: 0,
  }
  for (const { parts, name } of call.messages) {
    size.promptTokens += perMessage + (name?.length ?? 0)
    for (const part of parts) addPart(size, part)
  }
  for (const tool of call.tools ?? []) addTool(size, tool)
  if (call.format?.kind === 'schema') size.promptTokens += bytes(JSON.stringify(call.format.schema))
  if (call.prediction !== undefined) size.promptTokens += bytes(call.prediction)
  return size
}

function addPart(size: Size, part: InputPart | OutputPart): void {
  if ('cache' in part && part.cache?.ttl === '1h') size.longCache = true
  switch (part.kind) {
    case 'text':
    case 'refusal':
      size.promptTokens += bytes(part.text)
      break
    case 'reasoning':
      size.promptTokens += bytes(part.text) + bytes(part.encrypted ?? '') + bytes(part.signature ?? '')
      break
    case 'tool-call':
      size.promptTokens += perMessage + bytes(part.arguments) + bytes(part.name)
      break
    case 'tool-result':
      size.promptTokens += perMessage
      for (const inner of part.content) addPart(size, inner)
      break
    case 'image':
      size.images += 1
      size.promptTokens += perImage
      break
    case 'audio':
      size.hasAudio = true
      size.promptTokens += Math.ceil(part.data.length / bytesPerToken) + perMessage
      break
    case 'video':
      // Its sound counts as audio.
      size.hasAudio = true
      size.promptTokens += unbounded
      break
    case 'file':
      size.promptTokens += sourceTokens(part.source)
      break
    case 'opaque':
      size.promptTokens += bytes(JSON.stringify(part.value))
  }
}

/** A document may be shown to the model as text and as pictures. */
function sourceTokens(source: Source): number {
  if (source.kind === 'text') return bytes(source.text)
  return source.kind === 'data' ? source.data.length : unbounded
}

function addTool(size: Size, tool: Tool): void {
  size.promptTokens += perMessage + bytes(JSON.stringify(tool))
  if (tool.kind === 'native' && /search/.test(tool.type)) {
    const uses = tool.value.max_uses
    size.webSearches += typeof uses === 'number' && uses > 0 ? uses : assumedSearches
  }
}

function bytes(text: string): number {
  return Buffer.byteLength(text)
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
