import { asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { Message } from '../call/call.ts'
import type { FilePart, ImagePart, InputPart, MediaSource, OutputPart, ToolCallPart } from '../call/part.ts'
import { urlOf } from '../chat/parts-decode.ts'
import type { Losses } from '../fields.ts'
import { readableTextOf } from '../messages/thinking.ts'
import { parseToolArguments } from '../messages/tool-arguments.ts'

type Part = InputPart | OutputPart

/** The messages, and the documents that the reply should cite, which are a list of their own. */
export function encodeMessages(
  messages: Message[],
  losses: Losses,
): { messages: JsonObject[]; documents: JsonObject[] } {
  const encoder = new MessageEncoder(losses)
  return { messages: messages.flatMap((message) => encoder.encode(message)), documents: encoder.documents }
}

class MessageEncoder {
  readonly documents: JsonObject[] = []
  readonly #losses: Losses

  constructor(losses: Losses) {
    this.#losses = losses
  }

  encode({ role, parts, name }: Message): JsonObject[] {
    if (name !== undefined) this.#losses.add('message_name')
    if (role === 'assistant') return [this.#encodeAssistant(parts)]
    if (role === 'user') return this.#encodeUser(parts)
    return [{ role: 'system', content: this.#encodeContent(parts, '\n\n') }]
  }

  /** Tool results directly follow their calls. They are text: their images and files move behind them. */
  #encodeUser(parts: Part[]): JsonObject[] {
    const encoded: JsonObject[] = []
    const moved: Part[] = []
    for (const part of parts) {
      if (part.kind !== 'tool-result') continue
      if (part.isError) this.#losses.add('is_error')
      if (part.cache) this.#losses.add('cache_control')
      const isMedia = ({ kind }: Part) => kind === 'image' || kind === 'file'
      moved.push(...part.content.filter(isMedia))
      const content = this.#encodeContent(
        part.content.filter((inner) => !isMedia(inner)),
        '\n\n',
      )
      encoded.push({ role: 'tool', tool_call_id: part.id, content })
    }
    const rest = [...moved, ...parts.filter(({ kind }) => kind !== 'tool-result')]
    if (rest.length === 0 && encoded.length > 0) return encoded
    return [...encoded, { role: 'user', content: this.#encodeContent(rest) }]
  }

  /** What the model said before its calls is its plan. */
  #encodeAssistant(parts: Part[]): JsonObject {
    const calls = parts.filter((part) => part.kind === 'tool-call')
    const text = parts
      .flatMap((part) => (part.kind === 'text' || part.kind === 'refusal' ? [this.#readText(part)] : []))
      .join('')
    const thinking = this.#encodeThinking(parts)
    const others = new Set<Part['kind']>(['image', 'audio', 'opaque', 'file', 'video'])
    for (const part of parts) if (others.has(part.kind)) this.#addPartLoss(part)
    const spoken = text === '' || calls.length > 0 ? [] : [{ type: 'text', text }]
    const content = thinking.length > 0 ? [...thinking, ...spoken] : text
    return omitUndefined({
      role: 'assistant',
      content: calls.length > 0 && thinking.length === 0 ? undefined : content,
      tool_plan: calls.length > 0 && text !== '' ? text : undefined,
      tool_calls: calls.length > 0 ? calls.map((call) => this.#encodeCall(call)) : undefined,
    })
  }

  #encodeThinking(parts: Part[]): JsonObject[] {
    return parts.flatMap((part) => {
      if (part.kind !== 'reasoning') return []
      const isSigned = part.signature !== undefined || part.encrypted !== undefined
      if (isSigned) this.#losses.add('reasoning_signature')
      const thinking = isSigned ? '' : readableTextOf(part)
      return thinking === '' ? [] : [{ type: 'thinking', thinking }]
    })
  }

  #encodeCall({ id, name, arguments: text, custom, cache }: ToolCallPart): JsonObject {
    if (cache) this.#losses.add('cache_control')
    const input = custom ? JSON.stringify(parseToolArguments(text, custom)) : text
    return { id, type: 'function', function: { name, arguments: input } }
  }

  /** A string for plain text; blocks for anything else, and for several texts without a separator. */
  #encodeContent(parts: Part[], separator?: string): string | JsonObject[] {
    const blocks = parts.map((part) => this.#encodePart(part)).filter((block) => block !== undefined)
    const texts = blocks.flatMap(({ type, text }) => (type === 'text' ? [asString(text) ?? ''] : []))
    const isPlain = texts.length === blocks.length
    return isPlain && (texts.length < 2 || separator !== undefined) ? texts.join(separator) : blocks
  }

  #encodePart(part: Part): JsonObject | undefined {
    if ('cache' in part && part.cache) this.#losses.add('cache_control')
    switch (part.kind) {
      case 'text':
      case 'refusal':
        return { type: 'text', text: this.#readText(part) }
      case 'image':
        return this.#encodeImage(part)
      case 'file':
        return this.#encodeFile(part)
      default:
        return this.#addPartLoss(part)
    }
  }

  #readText(part: Extract<Part, { kind: 'text' | 'refusal' }>): string {
    if (part.kind === 'text' && part.citations) this.#losses.add('citations')
    return part.text
  }

  #encodeImage({ source, detail }: Pick<ImagePart, 'source' | 'detail'>): JsonObject | undefined {
    const url = urlOf(source)
    if (url === undefined) return this.#losses.add('image')
    return { type: 'image_url', image_url: omitUndefined({ url, detail }) }
  }

  #encodeFile(part: FilePart): JsonObject | undefined {
    const { source, filename, context } = part
    if (context !== undefined) this.#losses.add('file_context')
    if (source.kind === 'data' && source.mediaType.startsWith('image/')) return this.#encodeImage({ source })
    const text = readFileText(source)
    if (text === undefined) return this.#losses.add('file')
    if (!part.citationsEnabled) return { type: 'text', text }
    this.documents.push(omitUndefined({ id: filename, data: omitUndefined({ text, title: filename }) }))
    return undefined
  }

  #addPartLoss(part: Part): undefined {
    if (part.kind === 'server-tool') return undefined
    if (part.kind !== 'opaque') return this.#losses.add(part.kind)
    return this.#losses.add(`block:${asString(part.value.type) ?? part.wireFormat}`)
  }
}

const textTypes = /^(?:text\/|application\/(?:json|xml|yaml|x-yaml)$)/

function readFileText(source: MediaSource): string | undefined {
  if (source.kind === 'text') return source.text
  if (source.kind !== 'data' || !textTypes.test(source.mediaType)) return undefined
  return Buffer.from(source.data, 'base64').toString('utf8')
}
