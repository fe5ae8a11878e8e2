import { parseLenientJson } from '../../platform/json/json.ts'
import { JsonError } from '../../platform/json/json-error.ts'
import { asObject, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type {
  AudioPart,
  FilePart,
  ImagePart,
  InputPart,
  MediaSource,
  OutputPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  VideoPart,
} from '../call/part.ts'
import type { Losses } from '../fields.ts'
import { encodeAudioFormat, guessMediaType, isUri } from './media.ts'
import { generatedIdPrefix } from './parts-decode.ts'
import { isBareSignature, nativeFormat } from './thoughts.ts'

type Part = InputPart | OutputPart

/**
 * Attaches signatures to their parts: the tool call with the same id, otherwise the next part. A signature
 * without a next part is sent with an empty text, as the vendor does.
 */
export function attachSignatures(
  parts: Part[],
  encode: (part: Exclude<Part, ReasoningPart>) => JsonObject[],
  encodeReasoningPart: (part: ReasoningPart) => JsonObject | undefined,
): JsonObject[] {
  const toolCallIds = new Set(parts.flatMap((part) => (part.kind === 'tool-call' ? [part.id] : [])))
  const signaturesByToolCall = new Map<string, string>()
  const result: JsonObject[] = []
  let pending: string | undefined
  const flush = () => {
    if (pending !== undefined) result.push({ text: '', thoughtSignature: pending })
    pending = undefined
  }
  for (const part of parts) {
    if (part.kind === 'reasoning') {
      if (isBareSignature(part) && part.id !== undefined && toolCallIds.has(part.id)) {
        signaturesByToolCall.set(part.id, part.signature ?? '')
        continue
      }
      flush()
      if (isBareSignature(part)) pending = part.signature
      else {
        const thought = encodeReasoningPart(part)
        if (thought) result.push(thought)
      }
      continue
    }
    const [first, ...others] = encode(part)
    if (!first) continue
    const ownSignature = part.kind === 'tool-call' ? signaturesByToolCall.get(part.id) : undefined
    const hasSignature = 'thoughtSignature' in first
    if (ownSignature !== undefined || hasSignature) flush()
    const signature = ownSignature ?? pending
    pending = undefined
    const shouldSign = signature !== undefined && !hasSignature
    result.push(shouldSign ? { ...first, thoughtSignature: signature } : first, ...others)
  }
  flush()
  return result
}

interface EncodeContext {
  losses: Losses
  /** Tool names by tool call id. */
  toolNames: ReadonlyMap<string, string>
}

export function encodeParts(parts: Part[], context: EncodeContext): JsonObject[] {
  return attachSignatures(
    parts,
    (part) => encodePart(part, context),
    (part) => encodeThought(part, context.losses),
  )
}

/** Only the vendor's own thoughts are sent back. */
function encodeThought(part: ReasoningPart, losses: Losses): JsonObject | undefined {
  if (part.format !== nativeFormat) {
    const isSigned = part.signature !== undefined || part.encrypted !== undefined
    return losses.add(isSigned ? 'reasoning_signature' : 'reasoning')
  }
  return omitUndefined({ text: part.text, thought: true, thoughtSignature: part.signature })
}

function encodePart(part: Exclude<Part, ReasoningPart>, context: EncodeContext): JsonObject[] {
  const { losses } = context
  if ('cache' in part && part.cache) losses.add('cache_control')
  switch (part.kind) {
    case 'text':
      return encodeText(part, losses)
    case 'refusal':
      return part.text === '' ? [] : [{ text: part.text }]
    case 'image':
      if (part.detail !== undefined && part.detail !== 'auto') losses.add('image_detail')
      return encodeMedia(part, losses)
    case 'file':
      return encodeFile(part, losses)
    case 'video':
      return encodeMedia(part, losses)
    case 'audio':
      return [encodeAudio(part)]
    case 'tool-call':
      return [encodeToolCall(part)]
    case 'tool-result':
      return encodeToolResult(part, context)
    case 'server-tool':
      return []
    case 'opaque':
      if (part.wireFormat === 'gemini') return [part.value]
      losses.add(`block:${typeof part.value.type === 'string' ? part.value.type : part.wireFormat}`)
      return []
  }
}

function encodeText(part: TextPart, losses: Losses): JsonObject[] {
  if (part.citations?.length) losses.add('citations')
  return part.text === '' ? [] : [{ text: part.text }]
}

export function encodeAudio(part: Pick<AudioPart, 'data' | 'format'>): JsonObject {
  return { inlineData: { mimeType: encodeAudioFormat(part.format), data: part.data } }
}

function encodeFile(part: FilePart, losses: Losses): JsonObject[] {
  if (part.filename !== undefined) losses.add('filename')
  if (part.citationsEnabled) losses.add('citations')
  const context = part.context ? [{ text: part.context }] : []
  return [...context, ...encodeMedia(part, losses)]
}

function encodeMedia(part: ImagePart | FilePart | VideoPart, losses: Losses): JsonObject[] {
  const encoded = encodeSource(part.source)
  if (!encoded) losses.add(part.kind)
  return encoded ? [encoded] : []
}

export function encodeSource(source: MediaSource): JsonObject | undefined {
  switch (source.kind) {
    case 'data':
      return { inlineData: { mimeType: source.mediaType, data: source.data } }
    case 'url':
      return { fileData: omitUndefined({ mimeType: guessMediaType(source.url), fileUri: source.url }) }
    case 'file':
      return isUri(source.id)
        ? { fileData: omitUndefined({ mimeType: guessMediaType(source.id), fileUri: source.id }) }
        : undefined
    case 'text':
      return { text: source.text }
  }
}

/** Omits generated ids: not every version of the API accepts ids. */
function encodeToolCallId(id: string): string | undefined {
  return id === '' || id.startsWith(generatedIdPrefix) ? undefined : id
}

function encodeToolCall(part: ToolCallPart): JsonObject {
  return {
    functionCall: omitUndefined({
      id: encodeToolCallId(part.id),
      name: part.name,
      args: parseToolArguments(part),
    }),
  }
}

/**
 * Arguments as the object that the format requires. Free text becomes `input`, as the tool is declared; text
 * that is not a JSON object becomes `raw_arguments`, so that nothing is lost.
 */
export function parseToolArguments(part: Pick<ToolCallPart, 'arguments' | 'custom'>): JsonObject {
  if (part.custom) return { input: part.arguments }
  if (part.arguments.trim() === '') return {}
  return parseObject(part.arguments) ?? { raw_arguments: part.arguments }
}

function parseObject(text: string): JsonObject | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    return asObject(parseLenientJson(text))
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** Images and files of a result follow it as separate parts, which every model accepts. */
function encodeToolResult(part: ToolResultPart, context: EncodeContext): JsonObject[] {
  const texts = part.content.flatMap((item) => (item.kind === 'text' ? [item.text] : []))
  const attachments = part.content.flatMap((item) => (item.kind === 'text' ? [] : encodePart(item, context)))
  const text = texts.join('\n')
  const name = context.toolNames.get(part.id) ?? part.name ?? part.id
  const response = part.isError ? { error: text } : (parseObject(text) ?? { result: text })
  return [
    { functionResponse: omitUndefined({ id: encodeToolCallId(part.id), name, response }) },
    ...attachments,
  ]
}
