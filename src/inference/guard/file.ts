import { readJsonText } from '../../formats/call/json-text.ts'
import { isTextType, type PlacedText, type TextPlace } from '../../formats/call/texts.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { HitOwner } from '../../governance/guardrail-hits.ts'
import type { ContentRules, GuardrailHit } from '../../governance/policy/content-rules.ts'
import type { FormText } from '../../platform/http/form-encode.ts'
import { findBlock } from './block.ts'
import { recordFileHits } from './hits.ts'
import { listUnscannable, scanTexts } from './inspect.ts'

/** A file on its way to the storage of a vendor. */
export interface OutgoingFile {
  filename: string
  mimeType: string
  size: number
  content: Blob
  /** Form fields that are sent with the file. */
  fields: readonly FormText[]
}

/** A file that may be sent: only `guard` makes one. */
export class GuardedFile implements OutgoingFile {
  readonly #file: OutgoingFile

  private constructor(file: OutgoingFile) {
    this.#file = file
  }

  get filename(): string {
    return this.#file.filename
  }

  get mimeType(): string {
    return this.#file.mimeType
  }

  get size(): number {
    return this.#file.size
  }

  get content(): Blob {
    return this.#file.content
  }

  get fields(): readonly FormText[] {
    return this.#file.fields
  }

  /** Applies the filters to its name and its text: refuses it, or returns it as it may be sent. */
  static async guard(
    gateway: Gateway,
    rules: ContentRules | null,
    owner: HitOwner,
    file: OutgoingFile,
  ): Promise<GuardedFile> {
    if (!rules) return new GuardedFile(file)
    const { inspected, hits } = await inspectFile(gateway, rules, owner, file)
    await recordFileHits(gateway, owner, hits)
    const error = findBlock(hits)
    if (error) throw error
    return new GuardedFile(inspected)
  }
}

interface InspectedFile {
  inspected: OutgoingFile
  hits: GuardrailHit[]
}

/** A larger file is not read. */
const maxReadBytes = 8 * 1024 * 1024
const maxReadMilliseconds = 15_000

async function inspectFile(
  gateway: Gateway,
  rules: ContentRules,
  { organizationId }: HitOwner,
  file: OutgoingFile,
): Promise<InspectedFile> {
  const { texts, isComplete } = await readTexts(gateway, organizationId, file)
  const opaque = isComplete ? [] : listUnscannable([{ kind: 'file', role: null }], rules)
  if (!rules.input) return { inspected: file, hits: opaque }
  const placed = [
    place([file.filename], 'name'),
    place(
      file.fields.map(({ value }) => value),
      'parameter',
    ),
    place(texts, 'file'),
  ]
  const scanned = await scanTexts(gateway, rules.input, placed.flat())
  const edited = placed.flat().map(({ text }, index) => scanned.texts[index] ?? text)
  const [filename = '', ...rest] = edited
  const fields = file.fields.map((field, index) => ({ ...field, value: rest[index] ?? '' }))
  const lines = rest.slice(fields.length)
  const hits = [...opaque, ...scanned.hits]
  if (lines.every((line, index) => line === texts[index]))
    return { inspected: { ...file, filename, fields }, hits }
  // Only a text can be changed.
  if (!isTextType(file.mimeType)) return { inspected: file, hits: hits.map(refuseRedaction) }
  const content = new Blob([lines.join('\n')])
  return { inspected: { ...file, filename, fields, content, size: content.size }, hits }
}

function place(texts: readonly string[], part: TextPlace['part']): PlacedText[] {
  return texts.map((text) => ({ text, place: { part, role: null, message: null } }))
}

function refuseRedaction(hit: GuardrailHit): GuardrailHit {
  return hit.action === 'redact' ? { ...hit, action: 'block' } : hit
}

async function readTexts(
  { readers }: Gateway,
  owner: string,
  { mimeType, size, content }: OutgoingFile,
): Promise<{ texts: string[]; isComplete: boolean }> {
  if (size > maxReadBytes) return { texts: [], isComplete: false }
  if (isTextType(mimeType)) return { texts: splitLines(await content.text()), isComplete: true }
  if (mimeType !== 'application/pdf') return { texts: [], isComplete: false }
  const data = Buffer.from(await content.arrayBuffer()).toString('base64')
  const read = await readers.pdf.read(data, { owner, milliseconds: maxReadMilliseconds })
  return read ? { texts: [read.text], isComplete: read.isComplete } : { texts: [], isComplete: false }
}

/** Each line of a list of JSON objects, such as a batch, is a text of its own: filters read JSON without escapes. */
function splitLines(text: string): string[] {
  const end = text.indexOf('\n')
  return end !== -1 && readJsonText(text.slice(0, end)) ? text.split('\n') : [text]
}
