import type { Message, ModelCall, ResponseFormat, Tool, ToolChoice } from './call.ts'
import type { FilePart, InputPart, MediaSource, OutputPart } from './part.ts'

/** The position of a text in a request. */
export interface TextPlace {
  part: 'text' | 'reasoning' | 'tool-call' | 'tool-result' | 'file' | 'url' | 'name' | 'tool' | 'parameter'
  role: Message['role'] | null
  /** The index of its message. */
  message: number | null
}

type TextMapper = (text: string, place: TextPlace) => string

/** Content of a request that has no text to look at. */
export interface OpaqueContent extends TextPlace {
  kind: OpaqueKind
}

export type OpaqueKind = 'image' | 'audio' | 'video' | 'file' | 'encrypted' | 'tokens'

type Part = InputPart | OutputPart

/** A text and where it stands. */
export interface PlacedText {
  text: string
  place: TextPlace
}

/** Every text of a call, in a fixed order. */
export function collectTexts(call: ModelCall): PlacedText[] {
  return collect((map) => mapTexts(call, map))
}

/** Every text of the parts of a reply. */
export function collectPartTexts(parts: readonly OutputPart[]): PlacedText[] {
  const place = { role: 'assistant', message: null } as const
  return collect((map) => parts.map((part) => mapPart(part, place, map)))
}

function collect(visit: (map: TextMapper) => unknown): PlacedText[] {
  const texts: PlacedText[] = []
  visit((text, place) => {
    texts.push({ text, place })
    return text
  })
  return texts
}

/** The call with other texts, in the order of `collectTexts`; null is the same text. The same object if all are. */
export function replaceTexts(call: ModelCall, texts: readonly (string | null)[]): ModelCall {
  let index = 0
  return mapTexts(call, (text) => texts[index++] ?? text)
}

function mapTexts(call: ModelCall, map: TextMapper): ModelCall {
  const parameter = (text: string) => map(text, { part: 'parameter', role: null, message: null })
  const messages = mapList(call.messages, (message, index) => mapMessage(message, index, map))
  const tools = call.tools && mapList(call.tools, (tool) => mapTool(tool, map))
  const stop = call.stop && mapList(call.stop, parameter)
  const unknown = mapList(call.unknown, parameter)
  const mapped = {
    ...(messages !== call.messages && { messages }),
    ...(tools && tools !== call.tools && { tools }),
    ...(stop && stop !== call.stop && { stop }),
    ...(unknown !== call.unknown && { unknown }),
    ...(call.toolChoice && mapToolChoice(call.toolChoice, map)),
    ...(call.format && mapFormat(call.format, parameter)),
    ...mapFields(call, ['prediction', 'user', 'promptCacheKey', 'verbosity', 'serviceTier'], parameter),
    ...mapJsonFields(call, ['metadata', 'imageConfig', 'audio', 'modalities'], parameter),
  }
  return Object.keys(mapped).length > 0 ? { ...call, ...mapped } : call
}

function mapToolChoice(choice: ToolChoice, map: TextMapper): Pick<ModelCall, 'toolChoice'> {
  const apply = (text: string) => map(text, toolPlace)
  const fields =
    choice.kind === 'tool'
      ? mapFields(choice, ['name'], apply)
      : choice.kind === 'allowed'
        ? mapJsonFields(choice, ['names'], apply)
        : choice.kind === 'native'
          ? mapJsonFields(choice, ['value'], apply)
          : {}
  return isEmpty(fields) ? {} : { toolChoice: { ...choice, ...fields } as ToolChoice }
}

function mapFormat(format: ResponseFormat, map: (text: string) => string): Pick<ModelCall, 'format'> {
  const fields =
    format.kind === 'schema'
      ? { ...mapFields(format, ['name', 'description'], map), ...mapJsonFields(format, ['schema'], map) }
      : format.kind === 'grammar'
        ? mapFields(format, ['grammar'], map)
        : {}
  return isEmpty(fields) ? {} : { format: { ...format, ...fields } as ResponseFormat }
}

function mapMessage(message: Message, index: number, map: TextMapper): Message {
  const place = { role: message.role, message: index }
  const parts = mapList(message.parts, (part) => mapPart(part, place, map))
  const names = mapFields(message, ['name'], (text) => map(text, { part: 'name', ...place }))
  return parts === message.parts && isEmpty(names) ? message : { ...message, ...names, parts }
}

function mapPart(part: Part, place: Omit<TextPlace, 'part'>, map: TextMapper): Part {
  const apply = (name: TextPlace['part']) => (text: string) => map(text, { part: name, ...place })
  switch (part.kind) {
    case 'text':
      return withFields(part, {
        ...mapFields(part, ['text'], apply('text')),
        ...mapJsonFields(part, ['citations'], apply('text')),
      })
    case 'refusal':
      return withFields(part, mapFields(part, ['text'], apply('text')))
    case 'reasoning':
      return mapReasoning(part, apply('reasoning'))
    case 'tool-call':
      return withFields(part, {
        ...mapFields(part, ['arguments'], apply('tool-call')),
        ...mapFields(part, ['name', 'id'], apply('name')),
      })
    case 'tool-result': {
      const content = mapList(
        part.content,
        (inner) => mapPart(inner, place, mapAs('tool-result', map)) as typeof inner,
      )
      const names = mapFields(part, ['name', 'id'], apply('name'))
      return content === part.content && isEmpty(names) ? part : { ...part, ...names, content }
    }
    case 'opaque':
      return withFields(part, mapJsonFields(part, ['value'], apply('text')))
    case 'server-tool':
      return withFields(part, {
        ...mapFields(part, ['arguments'], apply('tool-call')),
        ...mapJsonFields(part, ['item', 'block'], apply('tool-result')),
        ...mapFields(part, ['result'], apply('tool-result')),
      })
    case 'file':
      return mapFile(part, apply)
    case 'image':
    case 'video': {
      const source = mapSource(part.source, apply)
      return source === part.source ? part : { ...part, source }
    }
    case 'audio':
      return withFields(part, mapFields(part, ['transcript'], apply('text')))
    default:
      return part
  }
}

function mapAs(part: TextPlace['part'], map: TextMapper): TextMapper {
  return (text, place) => map(text, { ...place, part })
}

/** A signature covers its text: if the text changes, the vendor would reject the signature. */
function mapReasoning(part: Extract<Part, { kind: 'reasoning' }>, map: (text: string) => string): Part {
  const summary = mapList(part.summary, map)
  const fields = mapFields(part, ['text'], map)
  if (summary === part.summary && isEmpty(fields)) return part
  const { signature: _signature, encrypted: _encrypted, ...plain } = part
  return { ...plain, ...fields, summary, format: 'unknown' }
}

type Apply = (name: TextPlace['part']) => (text: string) => string

function mapFile(part: FilePart, apply: Apply): FilePart {
  const fields = {
    ...mapFields(part, ['filename', 'fallbackName'], apply('name')),
    ...mapFields(part, ['context'], apply('text')),
  }
  const source = mapSource(part.source, apply)
  return source === part.source && isEmpty(fields) ? part : { ...part, ...fields, source }
}

function mapSource(source: MediaSource, apply: Apply): MediaSource {
  if (source.kind === 'url') return withFields(source, mapFields(source, ['url'], apply('url')))
  if (source.kind === 'file') return withFields(source, mapFields(source, ['id'], apply('url')))
  if (source.kind === 'text') return withFields(source, mapFields(source, ['text'], apply('file')))
  if (!isTextType(source.mediaType)) return source
  const text = Buffer.from(source.data, 'base64').toString()
  const mapped = apply('file')(text)
  return mapped === text ? source : { ...source, data: Buffer.from(mapped).toString('base64') }
}

/** Whether a file of this type consists of text. */
export function isTextType(mediaType: string): boolean {
  return /^text\/|^application\/(?:json|xml|x-ndjson|yaml|javascript)\b|\+(?:json|xml)$/i.test(mediaType)
}

const toolPlace: TextPlace = { part: 'tool', role: null, message: null }

function mapTool(tool: Tool, map: TextMapper): Tool {
  const apply = (text: string) => map(text, toolPlace)
  switch (tool.kind) {
    case 'native':
      return withFields(tool, mapJsonFields(tool, ['value'], apply))
    case 'custom':
      return withFields(tool, {
        ...mapFields(tool, ['name', 'namespace', 'description'], apply),
        ...mapJsonFields(tool, ['format'], apply),
      })
    case 'function':
      return withFields(tool, {
        ...mapFields(tool, ['name', 'namespace', 'description'], apply),
        ...mapJsonFields(tool, ['schema'], apply),
      })
  }
}

/** Lists content that `collectTexts` cannot show to a scanner. */
export function listOpaqueContent({ messages }: ModelCall): OpaqueContent[] {
  return messages.flatMap(({ role, parts }, message) =>
    parts.flatMap((part) => {
      const kind = opaqueKindOf(part)
      return kind ? [{ part: 'text' as const, role, message, kind }] : []
    }),
  )
}

function opaqueKindOf(part: Part): OpaqueContent['kind'] | null {
  switch (part.kind) {
    case 'image':
    case 'audio':
    case 'video':
      return part.kind
    case 'file':
      return part.source.kind === 'text' || (part.source.kind === 'data' && isTextType(part.source.mediaType))
        ? null
        : 'file'
    case 'reasoning':
      return part.encrypted === undefined ? null : 'encrypted'
    case 'tool-result':
      return part.content.map(opaqueKindOf).find((kind) => kind !== null) ?? null
    default:
      return null
  }
}

/** The same list if no item changes. */
function mapList<T>(list: T[], map: (item: T, index: number) => T): T[] {
  let mapped: T[] | null = null
  list.forEach((item, index) => {
    const next = map(item, index)
    if (next !== item) mapped ??= [...list]
    if (mapped) mapped[index] = next
  })
  return mapped ?? list
}

/** The fields whose text changes. */
function mapFields<T, K extends keyof T>(
  object: T,
  names: readonly K[],
  map: (text: string) => string,
): Partial<T> {
  const changed: Partial<T> = {}
  for (const name of names) {
    const text = object[name]
    if (typeof text !== 'string') continue
    const mapped = map(text)
    if (mapped !== text) changed[name] = mapped as T[K]
  }
  return changed
}

/** Maps fields as `mapFields` does, for objects: each is one JSON text. */
function mapJsonFields<T, K extends keyof T>(
  object: T,
  names: readonly K[],
  map: (text: string) => string,
): Partial<T> {
  const changed: Partial<T> = {}
  for (const name of names) {
    if (object[name] === undefined) continue
    const text = JSON.stringify(object[name])
    const mapped = map(text)
    if (mapped !== text) changed[name] = JSON.parse(mapped) as T[K]
  }
  return changed
}

function withFields<T extends object>(object: T, fields: Partial<T>): T {
  return isEmpty(fields) ? object : { ...object, ...fields }
}

function isEmpty(object: object): boolean {
  return Object.keys(object).length === 0
}
