import type { Message, ModelCall } from '../../formats/call/call.ts'
import type { FilePart, MediaSource } from '../../formats/call/part.ts'
import { isTextType } from '../../formats/call/texts.ts'
import type { Gateway } from '../../gateway/gateway.ts'

/** A call whose PDFs have become texts, as far as they can be read. */
export interface ReadableCall {
  call: ModelCall
  /** The PDFs that have more text than is read, by the role of their message. */
  incomplete: { kind: 'file'; role: Message['role'] }[]
  /** The call with the PDFs whose text was not changed. A changed one stays a text. */
  restore(edited: ModelCall): ModelCall
}

/** Documents scanned per request; the others are not read. */
const maxDocuments = 20
const maxMilliseconds = 15_000

/** Reads the documents of a call; null if it has no PDF. `owner`: the organization that sent it. */
export async function readDocuments(
  { readers }: Gateway,
  call: ModelCall,
  owner: string,
): Promise<ReadableCall | null> {
  const documents = listDocuments(call).slice(0, maxDocuments)
  if (documents.length === 0) return null
  const texts = new Map<MediaSource, MediaSource>()
  const originals = new Map<MediaSource, MediaSource>()
  const incomplete: ReadableCall['incomplete'] = []
  const quota = { owner, milliseconds: maxMilliseconds }
  for (const { source, role } of documents) {
    const read = await readers.pdf.read(source.data, quota)
    if (!read) continue
    const text = { kind: 'text' as const, text: read.text }
    texts.set(source, text)
    originals.set(text, source)
    if (!read.isComplete) incomplete.push({ kind: 'file', role })
  }
  return {
    call: replaceSources(call, texts),
    incomplete,
    restore: (edited) => replaceSources(edited, originals),
  }
}

type PdfSource = Extract<MediaSource, { kind: 'data' }>

function listDocuments({ messages }: ModelCall): { source: PdfSource; role: Message['role'] }[] {
  return messages.flatMap(({ role, parts }) =>
    parts
      .flatMap((part) => (part.kind === 'tool-result' ? part.content : [part]))
      .flatMap((part) => (part.kind === 'file' && isPdf(part.source) ? [{ source: part.source, role }] : [])),
  )
}

/** `%PDF-` in base64. */
const pdfHead = 'JVBERi0'

function isPdf(source: MediaSource): source is PdfSource {
  if (source.kind !== 'data' || isTextType(source.mediaType)) return false
  return /^application\/pdf\b/i.test(source.mediaType) || source.data.startsWith(pdfHead)
}

function replaceSources(call: ModelCall, sources: ReadonlyMap<MediaSource, MediaSource>): ModelCall {
  if (sources.size === 0) return call
  const replace = <P extends { kind: string }>(part: P): P => {
    const file = part as unknown as FilePart
    const source = part.kind === 'file' ? sources.get(file.source) : undefined
    return source ? { ...part, source } : part
  }
  const messages = call.messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) =>
      part.kind === 'tool-result' ? { ...part, content: part.content.map(replace) } : replace(part),
    ),
  }))
  return { ...call, messages }
}
