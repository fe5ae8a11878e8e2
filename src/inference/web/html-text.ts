import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'
import TurndownService from 'turndown'
import { decodeText } from './charset.ts'
import type { HtmlRequest, HtmlText } from './html-reader.ts'

/** Limits beyond which parsing takes more than proportional time: the tags are removed instead. */
const maxDepth = 1_000
const maxTags = 100_000
const maxTitleLength = 500
/** An article with less is taken for a failure to find it. */
const minArticleLength = 200
/** Tags without text for a reader. */
const ignoredTags = [
  'head',
  'title',
  'script',
  'style',
  'noscript',
  'template',
  'iframe',
  'object',
  'svg',
  'canvas',
  'form',
] as const
const voidTags = new Set(
  [
    'area',
    'base',
    'br',
    'col',
    'embed',
    'hr',
    'img',
    'input',
    'link',
    'meta',
    'source',
    'track',
    'wbr',
  ].concat(
    // Their end tags are often omitted.
    ['p', 'li', 'dt', 'dd', 'tr', 'td', 'th', 'option'],
  ),
)

/** Runs on the thread of the reader, which bounds its time. */
export function readHtml(bytes: Uint8Array, { charset, url, maxCharacters }: HtmlRequest): HtmlText {
  const html = decodeText(bytes, charset)
  const { title, text } = isSimple(html) ? convertDocument(html, url) : removeTags(html)
  const clean = text
    .replace(/[ \t]+\n/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
  return {
    title: title?.replace(/\s+/g, ' ').trim().slice(0, maxTitleLength) || null,
    text: clean.slice(0, maxCharacters).toWellFormed(),
    isComplete: clean.length <= maxCharacters,
  }
}

interface RawText {
  title: string | null
  text: string
}

/** The part of the DOM's `Element` that is used; the types of the runtime do not have it. */
interface PageElement {
  getAttribute(name: string): string | null
}

function isSimple(html: string): boolean {
  let depth = 0
  let tags = 0
  for (const [, slash, name = ''] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)/gi)) {
    if (!voidTags.has(name.toLowerCase())) depth += slash === '' ? 1 : -1
    if (++tags > maxTags || depth > maxDepth) return false
  }
  return true
}

function convertDocument(html: string, url: string): RawText {
  // The parser adds no root of its own.
  const rooted = /<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`
  const { document } = parseHTML(rooted)
  const title = document.querySelector('title')?.textContent ?? null
  const turndown = createConverter(url)
  // Reading changes the document, and the whole one is used where there is no article.
  const copy = parseHTML(rooted).document
  const article = new Readability<PageElement>(copy, { serializer: (node) => node }).parse()
  const text = article?.content ? turndown.turndown(article.content) : ''
  if (text.length >= minArticleLength) return { title: article?.title || title, text }
  const whole = turndown.turndown(document.documentElement)
  return { title: title ?? article?.title ?? null, text: whole.length > text.length ? whole : text }
}

function createConverter(base: string): TurndownService {
  const turndown = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
  })
  turndown.remove([...ignoredTags] as TurndownService.Filter)
  turndown.addRule('images', {
    filter: 'img',
    replacement: (_, node) => (node as PageElement).getAttribute('alt')?.trim() ?? '',
  })
  turndown.addRule('links', {
    filter: 'a',
    replacement: (content, node) => {
      const target = URL.parse((node as PageElement).getAttribute('href') ?? '', base)
      const isWeb = target !== null && /^https?:$/.test(target.protocol)
      return content.trim() === '' || !isWeb ? content : `[${content}](${target.href})`
    },
  })
  return turndown
}

/** Extracts the text of documents whose tags are too many or nested too deeply to parse. */
function removeTags(html: string): RawText {
  const title = /<title[^>]{0,200}>([^<]{0,1000})/i.exec(html)?.[1] ?? null
  const text = html
    .replace(/<(script|style|noscript|template)\b[\s\S]*?(?:<\/\1\s*>|$)/gi, ' ')
    .replace(/<!--[\s\S]*?(?:-->|$)/g, ' ')
    .replace(/<\/?(?:p|div|br|li|tr|h[1-6]|section|article|blockquote|pre)\b[^>]*>/gi, '\n')
    .replace(/<[a-z/!?][^>]*>/gi, '')
  return { title: title && decodeEntities(title), text: decodeEntities(text) }
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,5}));/gi, (whole, decimal, hex, name) => {
    if (name) return entities[String(name).toLowerCase()] ?? whole
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}
