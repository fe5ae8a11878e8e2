import type { PartDelta } from '../../formats/call/event.ts'
import type { Citation, OutputPart } from '../../formats/call/part.ts'
import type { TextPlace } from '../../formats/call/texts.ts'
import type { ReplyFeature } from '../../formats/reply-losses.ts'

/** A text that is edited while it arrives. */
export interface EditedText {
  /** The text that can be released. */
  add(text: string): Promise<string>
  /** The rest of the text. */
  end(): Promise<string>
  /** Maps the offset of a character to its offset after the edits; undefined if that is unknown. */
  mapOffset(offset: number): number | undefined
  readonly isChanged: boolean
}

/** The functions of a reply filter that the filters of its parts call. */
export interface PartFilterContext {
  openText(content: OutputPart, field: TextField): EditedText
  /** The object with its strings edited. */
  editJson<T extends object>(value: T, part: TextPlace['part']): Promise<T>
  addLoss(feature: ReplyFeature): void
}

export type TextField = 'text' | 'arguments' | 'summary' | 'transcript'

interface OpenField {
  name: TextField
  section: number | undefined
  text: EditedText
}

/** The filters of one part of a reply, from its start to its end. */
export class PartFilter {
  readonly #content: OutputPart
  readonly #context: PartFilterContext
  readonly #fields: OpenField[] = []
  readonly #citations: Citation[] = []
  /** Chunks of audio, sent at the end of the part. */
  readonly #audio: string[] = []
  #signature: Pick<PartDelta, 'signature' | 'encrypted'> = {}

  constructor(content: OutputPart, context: PartFilterContext) {
    this.#content = content
    this.#context = context
  }

  /** The deltas that can be sent. */
  async add(delta: PartDelta): Promise<PartDelta[]> {
    const { signature, encrypted, citation, data, logprobs, ended, progress } = delta
    if (signature !== undefined) this.#signature.signature = (this.#signature.signature ?? '') + signature
    if (encrypted !== undefined) this.#signature.encrypted = (this.#signature.encrypted ?? '') + encrypted
    if (citation) this.#citations.push(citation)
    if (data !== undefined) this.#audio.push(data)
    // Their tokens spell the text before it is filtered.
    if (logprobs) this.#context.addLoss('logprobs')
    const deltas: PartDelta[] = []
    for (const name of textFields) {
      const text = delta[name]
      if (text !== undefined) deltas.push(...(await this.#addText(name, delta.section, text)))
    }
    if (ended) deltas.push({ ended: await this.#context.editJson(ended, 'tool-result') })
    // A text in pieces cannot be filtered piece by piece: the item has all of it at the end.
    if (progress && typeof progress.delta !== 'string')
      deltas.push({ progress: await this.#context.editJson(progress, 'tool-result') })
    return deltas
  }

  /** Releases the deltas that were held back. */
  async end(): Promise<PartDelta[]> {
    const deltas: PartDelta[] = []
    for (const field of this.#fields) deltas.push(...toDelta(field, await field.text.end()))
    for (const citation of this.#citations)
      deltas.push({ citation: this.#moveCitation(await this.#context.editJson(citation, 'text')) })
    if (this.#audio.length > 0) deltas.push({ data: this.#audio.join('') })
    return [...deltas, ...this.#endSignature()]
  }

  async #addText(name: TextField, section: number | undefined, text: string): Promise<PartDelta[]> {
    const last = this.#fields.findLast((field) => field.name === name)
    if (last && (section === undefined || section === last.section))
      return toDelta(last, await last.text.add(text))
    const ended = last ? toDelta(last, await last.text.end()) : []
    const field = { name, section, text: this.#context.openText(this.#content, name) }
    this.#fields.push(field)
    return [...ended, ...toDelta(field, await field.text.add(text))]
  }

  /** A signature covers its text: if the text has changed, the vendor would reject the signature. */
  #endSignature(): PartDelta[] {
    if (Object.keys(this.#signature).length === 0) return []
    if (!this.#fields.some(({ text }) => text.isChanged)) return [this.#signature]
    this.#context.addLoss('reasoning_signature')
    return []
  }

  /**
   * Moves a citation to its offsets after the edits of the text; its native form, with the earlier ones, is dropped.
   */
  #moveCitation(citation: Citation): Citation {
    const text = this.#fields.find(({ name }) => name === 'text')?.text
    if (!text?.isChanged || (citation.start === undefined && citation.end === undefined)) return citation
    const { start, end, native: _native, ...rest } = citation
    const [from, to] = [start, end].map((offset) => offset && text.mapOffset(offset))
    return {
      ...rest,
      ...(from !== undefined && { start: from }),
      ...(to !== undefined && { end: to }),
    }
  }
}

const textFields: readonly TextField[] = ['text', 'arguments', 'summary', 'transcript']

export const placeOf: Partial<Record<OutputPart['kind'], TextPlace['part']>> = {
  reasoning: 'reasoning',
  'tool-call': 'tool-call',
}

function toDelta({ name, section }: OpenField, text: string): PartDelta[] {
  return text === '' ? [] : [{ [name]: text, ...(section !== undefined && { section }) }]
}

/** A part without its texts, and the deltas with them. */
export function splitPart(part: OutputPart): { content: OutputPart; deltas: PartDelta[] } {
  switch (part.kind) {
    case 'text': {
      const { citations = [], logprobs, text, ...rest } = part
      const annotations = citations.map((citation) => ({ citation }))
      return {
        content: { ...rest, text: '' },
        deltas: [{ text }, ...annotations, ...(logprobs ? [{ logprobs }] : [])],
      }
    }
    case 'refusal':
      return { content: { ...part, text: '' }, deltas: [{ text: part.text }] }
    case 'reasoning': {
      const { text, summary, signature, encrypted, ...rest } = part
      const sections = summary.map((section, index) => ({ summary: section, section: index }))
      const encrypt = {
        ...(signature !== undefined && { signature }),
        ...(encrypted !== undefined && { encrypted }),
      }
      return { content: { ...rest, text: '', summary: [] }, deltas: [{ text }, ...sections, encrypt] }
    }
    case 'tool-call':
      return { content: { ...part, arguments: '' }, deltas: [{ arguments: part.arguments }] }
    case 'audio': {
      const { data, transcript, ...rest } = part
      return {
        content: { ...rest, data: '' },
        deltas: [{ ...(data !== '' && { data }), ...(transcript !== undefined && { transcript }) }],
      }
    }
    default:
      return { content: part, deltas: [] }
  }
}
