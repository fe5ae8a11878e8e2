import type {
  AudioPart,
  FilePart,
  ImagePart,
  InputPart,
  OutputPart,
  ReasoningPart,
  Source,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  VideoPart,
} from '../../call/part.ts'
import { parsePrompt } from '../../lib/json.ts'
import { JsonError } from '../../lib/json-error.ts'
import { defined, type JsonObject, objectOf } from '../../lib/loose.ts'
import type { Losses } from '../fields.ts'
import { audioType, isUri, typeOfUri } from './media.ts'
import { mintedPrefix } from './parts-decode.ts'
import { isBareSignature, ownFormat } from './thoughts.ts'

type Part = InputPart | OutputPart

/**
 * Puts signatures on the parts they belong to: on the call with their id, or else on the part that follows;
 * one that nothing follows goes in an empty text, as the vendor itself sends it.
 */
export function attachSignatures(
  parts: Part[],
  encode: (part: Exclude<Part, ReasoningPart>) => JsonObject[],
  think: (part: ReasoningPart) => JsonObject | undefined,
): JsonObject[] {
  const calls = new Set(parts.flatMap((part) => (part.kind === 'tool-call' ? [part.id] : [])))
  const byCall = new Map<string, string>()
  const result: JsonObject[] = []
  let pending: string | undefined
  const flush = () => {
    if (pending !== undefined) result.push({ text: '', thoughtSignature: pending })
    pending = undefined
  }
  for (const part of parts) {
    if (part.kind === 'reasoning') {
      if (isBareSignature(part) && part.id !== undefined && calls.has(part.id)) {
        byCall.set(part.id, part.signature ?? '')
        continue
      }
      flush()
      if (isBareSignature(part)) pending = part.signature
      else {
        const thought = think(part)
        if (thought) result.push(thought)
      }
      continue
    }
    const [first, ...others] = encode(part)
    if (!first) continue
    const own = part.kind === 'tool-call' ? byCall.get(part.id) : undefined
    const taken = 'thoughtSignature' in first
    if (own !== undefined || taken) flush()
    const signature = own ?? pending
    pending = undefined
    const signed = signature !== undefined && !taken
    result.push(signed ? { ...first, thoughtSignature: signature } : first, ...others)
  }
  flush()
  return result
}

interface Writing {
  losses: Losses
  /** Names of the tools that were called, by the id of the call. */
  names: ReadonlyMap<string, string>
}

export function encodeMessageParts(parts: Part[], writing: Writing): JsonObject[] {
  return attachSignatures(
    parts,
    (part) => encodePart(part, writing),
    (part) => encodeThought(part, writing.losses),
  )
}

/** The vendor's own thoughts go back; others are left out. */
function encodeThought(part: ReasoningPart, losses: Losses): JsonObject | undefined {
  if (part.format !== ownFormat) {
    const signed = part.signature !== undefined || part.encrypted !== undefined
    return losses.add(signed ? 'reasoning_signature' : 'reasoning')
  }
  return defined({ text: part.text, thought: true, thoughtSignature: part.signature })
}

function encodePart(part: Exclude<Part, ReasoningPart>, writing: Writing): JsonObject[] {
  const { losses } = writing
  if ('cache' in part && part.cache) losses.add('cache_control')
  switch (part.kind) {
    case 'text':
      return encodeText(part, losses)
    case 'refusal':
      return part.text === '' ? [] : [{ text: part.text }]
    case 'image':
      if (part.detail !== undefined && part.detail !== 'auto') losses.add('image_detail')
      return encodeSource(part, losses)
    case 'file':
      return encodeFile(part, losses)
    case 'video':
      return encodeSource(part, losses)
    case 'audio':
      return [encodeAudio(part)]
    case 'tool-call':
      return [encodeCall(part)]
    case 'tool-result':
      return encodeResult(part, writing)
    case 'opaque':
      if (part.dialect === 'gemini') return [part.value]
      losses.add(`block:${typeof part.value.type === 'string' ? part.value.type : part.dialect}`)
      return []
  }
}

function encodeText(part: TextPart, losses: Losses): JsonObject[] {
  if (part.citations?.length) losses.add('citations')
  return part.text === '' ? [] : [{ text: part.text }]
}

export function encodeAudio(part: Pick<AudioPart, 'data' | 'format'>): JsonObject {
  return { inlineData: { mimeType: audioType(part.format), data: part.data } }
}

function encodeFile(part: FilePart, losses: Losses): JsonObject[] {
  if (part.filename !== undefined) losses.add('filename')
  if (part.cite) losses.add('citations')
  const context = part.context ? [{ text: part.context }] : []
  return [...context, ...encodeSource(part, losses)]
}

function encodeSource(part: ImagePart | FilePart | VideoPart, losses: Losses): JsonObject[] {
  const encoded = sourceOf(part.source)
  if (!encoded) losses.add(part.kind)
  return encoded ? [encoded] : []
}

export function sourceOf(source: Source): JsonObject | undefined {
  switch (source.kind) {
    case 'data':
      return { inlineData: { mimeType: source.mediaType, data: source.data } }
    case 'url':
      return { fileData: defined({ mimeType: typeOfUri(source.url), fileUri: source.url }) }
    case 'file':
      return isUri(source.id)
        ? { fileData: defined({ mimeType: typeOfUri(source.id), fileUri: source.id }) }
        : undefined
    case 'text':
      return { text: source.text }
  }
}

/** Ids we made up for calls that came without one are ours alone: not every version of the API takes ids. */
function sentId(id: string): string | undefined {
  return id === '' || id.startsWith(mintedPrefix) ? undefined : id
}

function encodeCall(part: ToolCallPart): JsonObject {
  return { functionCall: defined({ id: sentId(part.id), name: part.name, args: argumentsOf(part) }) }
}

/**
 * Arguments as the object this format wants. Free text goes under `input`, as the tool is declared; what is
 * no JSON object goes whole under `raw_arguments`, so that nothing of it is lost.
 */
export function argumentsOf(part: Pick<ToolCallPart, 'arguments' | 'custom'>): JsonObject {
  if (part.custom) return { input: part.arguments }
  if (part.arguments.trim() === '') return {}
  return objectIn(part.arguments) ?? { raw_arguments: part.arguments }
}

function objectIn(text: string): JsonObject | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    return objectOf(parsePrompt(text))
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** Pictures and files of a result stand beside it: every model takes them there. */
function encodeResult(part: ToolResultPart, writing: Writing): JsonObject[] {
  const texts = part.content.flatMap((item) => (item.kind === 'text' ? [item.text] : []))
  const beside = part.content.flatMap((item) => (item.kind === 'text' ? [] : encodePart(item, writing)))
  const text = texts.join('\n')
  const name = writing.names.get(part.id) ?? part.name ?? part.id
  const response = part.isError ? { error: text } : (objectIn(text) ?? { result: text })
  return [{ functionResponse: defined({ id: sentId(part.id), name, response }) }, ...beside]
}
