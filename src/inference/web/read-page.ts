import type { PdfReader } from '../../governance/filters/pdf-reader.ts'
import { trimEnd } from '../../platform/text/trim-end.ts'
import { decodeText } from './charset.ts'
import {
  type FetchContext,
  type FetchedPage,
  type FetchOptions,
  fetchPage,
  type PageError,
  pageError,
} from './fetch-page.ts'
import type { HtmlReader } from './html-reader.ts'

export interface PageContext extends FetchContext {
  readers: { pdf: PdfReader; html: HtmlReader }
}

export interface PageOptions extends FetchOptions {
  /** The organization, for turns at the readers. */
  owner: string
  /** Limit in tokens; null: the operator's. */
  maxContentTokens: number | null
}

export interface WebPage {
  /** The address after redirects. */
  url: string
  status: number
  title: string | null
  /** Markdown of an HTML page, else its text. */
  text: string
  /** Whether the text is whole; false: it was shortened. */
  isComplete: boolean
}

export type PageOutcome = { ok: true; page: WebPage } | { ok: false; error: PageError }

/** An estimate that holds for most languages. */
const bytesPerToken = 4
const maxReadMilliseconds = 10_000

/** Reads a page of the web through the guarded egress. Never throws. */
export async function readPage(
  context: PageContext,
  url: string,
  options: PageOptions,
): Promise<PageOutcome> {
  const fetched = await fetchPage(context, url, options)
  if (!fetched.ok) return fetched
  const { page } = fetched
  const read = await readText(context, page, {
    owner: options.owner,
    maxBytes: bytesPerToken * resolveMaxTokens(context, options.maxContentTokens),
  })
  if ('code' in read) return { ok: false, error: read }
  return { ok: true, page: { url: page.url, status: page.status, ...read } }
}

export function resolveMaxTokens(
  { settings }: Pick<FetchContext, 'settings'>,
  maxContentTokens: number | null,
): number {
  const { max_content_tokens: max } = settings.web.fetch
  return Math.min(maxContentTokens ?? max, max)
}

type ReadText = Pick<WebPage, 'title' | 'text' | 'isComplete'>

interface ReadLimits {
  owner: string
  maxBytes: number
}

async function readText(
  { readers }: PageContext,
  page: FetchedPage,
  { owner, maxBytes }: ReadLimits,
): Promise<ReadText | PageError> {
  const { kind, charset } = parseContentType(page)
  const quota = { owner, milliseconds: maxReadMilliseconds }
  const unreadable = pageError('unreadable', page.status)
  try {
    if (kind === 'html') {
      const request = { charset, url: page.url, maxCharacters: maxBytes }
      const read = await readers.html.read(page.bytes, request, quota)
      return read ? limitBytes(read, maxBytes) : unreadable
    }
    if (kind === 'pdf') {
      const read = await readers.pdf.read(Buffer.from(page.bytes).toString('base64'), quota)
      return read ? limitBytes({ title: null, ...read }, maxBytes) : unreadable
    }
    if (kind !== 'text') return pageError('unsupported_content_type', page.status)
    // No encoding needs more than four bytes for what is at most four bytes of UTF-8.
    const start = page.bytes.subarray(0, maxBytes * 4)
    const isComplete = start.length === page.bytes.length
    return limitBytes({ title: null, text: decodeText(start, charset), isComplete }, maxBytes)
  } catch {
    return pageError('unavailable', page.status)
  }
}

type ContentKind = 'html' | 'pdf' | 'text' | 'other'

function parseContentType({ contentType, bytes }: FetchedPage): {
  kind: ContentKind
  charset: string | null
} {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';')
  const charset =
    parameters.map((text) => /^\s*charset\s*=\s*"?([^"\s]+)/.exec(text)?.[1]).find(Boolean) ?? null
  return { kind: classify(type.trim(), bytes), charset }
}

const textTypes =
  /^text\/|^application\/(?:json|ld\+json|xml|javascript|x-ndjson|yaml|x-yaml|toml)$|\+(?:json|xml)$/

function classify(type: string, bytes: Uint8Array): ContentKind {
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'html'
  if (type === 'application/pdf') return 'pdf'
  if (textTypes.test(type)) return 'text'
  return type === '' || type === 'application/octet-stream' ? sniff(bytes) : 'other'
}

const sniffedBytes = 1024

function sniff(bytes: Uint8Array): ContentKind {
  const start = Buffer.from(bytes.subarray(0, sniffedBytes)).toString('latin1')
  if (start.startsWith('%PDF-')) return 'pdf'
  if (start.includes('\0')) return 'other'
  return /^\s*<(?:!doctype html|html|head|body|!--)/i.test(start) ? 'html' : 'text'
}

function limitBytes({ title, text, isComplete }: ReadText, maxBytes: number): ReadText {
  // A UTF-16 unit is at most three bytes.
  const bytes = Buffer.from(text.slice(0, maxBytes), 'utf8')
  if (bytes.length <= maxBytes && text.length <= maxBytes) return { title, text, isComplete }
  const cut = trimEnd(bytes.subarray(0, maxBytes).toString('utf8'), '\ufffd')
  return { title, text: cut, isComplete: false }
}
