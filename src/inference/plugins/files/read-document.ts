import type { FilePart, MediaSource } from '../../../formats/call/part.ts'
import { isTextType } from '../../../formats/call/texts.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { TaskQuota } from '../../../platform/concurrency/fair-thread.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { fetchPage } from '../../web/fetch-page.ts'

export type DocumentKind = 'pdf' | 'office' | 'text' | 'image' | 'unknown'

export function nameOf({ filename, fallbackName, source }: FilePart): string {
  if (filename ?? fallbackName) return filename ?? fallbackName ?? ''
  const path = source.kind === 'url' ? (URL.parse(source.url)?.pathname.split('/').at(-1) ?? '') : ''
  return path || 'file'
}

/** Hashes the content; of a URL, its address, so that the file need not be fetched. */
export function hashOf(source: MediaSource): string {
  if (source.kind === 'data') return sha256(source.data)
  if (source.kind === 'text') return sha256(source.text)
  return sha256(source.kind === 'url' ? source.url : source.id)
}

/** `%PDF-` and the head of a ZIP file, in base64. */
const pdfHead = 'JVBERi0'
const zipHead = 'UEsDB'
const textNames = /\.(?:txt|md|markdown|csv|tsv|json|xml|html?|ya?ml|log)$/i

export function kindOf({ source, ...part }: FilePart): DocumentKind {
  if (source.kind === 'text') return 'text'
  if (source.kind !== 'data') return 'unknown'
  if (/^application\/pdf\b/i.test(source.mediaType) || source.data.startsWith(pdfHead)) return 'pdf'
  if (source.data.startsWith(zipHead)) return 'office'
  if (/^image\/(?:png|jpeg|webp|avif|gif|tiff|bmp)$/i.test(source.mediaType)) return 'image'
  return isTextType(source.mediaType) || textNames.test(nameOf({ ...part, source })) ? 'text' : 'unknown'
}

/** The part with the file itself, if it has the URL of one. */
export async function fetchFile(gateway: Gateway, part: FilePart, signal: AbortSignal): Promise<FilePart> {
  if (part.source.kind !== 'url') return part
  const options = { allowedDomains: [], blockedDomains: [], signal }
  const outcome = await fetchPage(gateway, part.source.url, options)
  if (!outcome.ok) throw unreadableError(part, outcome.error.message)
  const { bytes, contentType } = outcome.page
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')
  const mediaType = contentType.split(';')[0]?.trim() ?? ''
  return { ...part, filename: nameOf(part), source: { kind: 'data', mediaType, data } }
}

/** The text of a document. Throws 400 if it cannot be read. */
export async function readDocument(gateway: Gateway, part: FilePart, quota: TaskQuota): Promise<string> {
  const { source } = part
  if (source.kind === 'text') return source.text
  if (source.kind !== 'data') throw unreadableError(part, 'It is a file of another vendor.')
  switch (kindOf(part)) {
    case 'pdf': {
      const read = await gateway.readers.pdf.read(source.data, quota)
      if (read) return read.text
      throw unreadableError(
        part,
        'It has no text, or is encrypted, damaged or too large. Use the engine mistral-ocr or native.',
      )
    }
    case 'office': {
      const read = await gateway.readers.office.read(source.data, quota)
      if (read) return read.text
      throw unreadableError(part, 'It has no text, or is encrypted, damaged or too large.')
    }
    case 'text':
      return Buffer.from(source.data, 'base64').toString('utf8')
    case 'image':
      throw unreadableError(part, 'It is an image: use the engine mistral-ocr, or send it as an image.')
    default:
      throw unreadableError(part, 'Use PDF, docx, xlsx, pptx, odt, ods, odp or text.')
  }
}

export function unreadableError(part: FilePart, problem: string) {
  return gatewayError(
    'invalid_request',
    `The file "${nameOf(part).slice(0, 100)}" cannot be read. ${problem}`,
  )
}
